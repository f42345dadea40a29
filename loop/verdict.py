"""A reviewer's file, read into a verdict or into the reason why there is none.

Whatever is not plainly an approval is none. Pure: no I/O.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Literal

from pydantic import Field, PositiveInt, ValidationError

from instrument.schema.base import Frozen
from instrument.schema.state import Finding
from instrument.schema.vocabulary import Severity
from loop.quotes import bare

PLACEHOLDER = "<approve or changes>"
"""Stands in the template where a reviewer must decide; it makes the template no JSON."""
OUR_MARK = "[cut by the program"
"""How every cut that the program itself makes in a prompt begins."""
_OPENING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*verdict(?:[ \t]+(.*?))?[ \t]*", re.IGNORECASE)
_API_ERROR = re.compile(r"\s*(api error\b|\{\s*\"type\"\s*:\s*\"error\")", re.IGNORECASE)


@unique
class VerdictFault(StrEnum):
    """Why a review is none; a review without a verdict is asked for again once."""

    ABSENT = "absent"
    """There is no file `$FACTORY_REVIEW_FILE`."""
    EMPTY = "empty"
    """Nothing is in it."""
    API_ERROR = "api_error"
    """It holds a provider's error instead of a review."""
    NO_BLOCK = "no_block"
    """No line opens a `verdict` block."""
    TWO_BLOCKS = "two_blocks"
    """More than one line does, quoted ones included."""
    TEMPLATE_ECHOED = "template_echoed"
    """The block is the prompt's form, not filled in."""
    NOT_CLOSED = "not_closed"
    """No fence ends the block."""
    TEXT_AFTER = "text_after"
    """Something stands behind the block."""
    OTHER_TOKEN = "other_token"  # noqa: S105 - a reason's name
    """The block's token is not the one of this review's prompt."""
    NOT_JSON = "not_json"
    """The block holds no JSON, or a key twice."""
    WRONG_SHAPE = "wrong_shape"
    """Keys or values are not those of the form."""
    NOT_COVERED = "not_covered"
    """`covered` leaves a changed path out."""
    NOTHING_TO_FIX = "nothing_to_fix"
    """It asks for changes and names no must-fix."""


class Remark(Frozen):
    """One finding as the reviewer wrote it."""

    id: str | None = None
    """An id of ours where it repeats an earlier point; anything else is a new one."""
    severity: Severity
    path: str | None = None
    line: PositiveInt | None = None
    quote: str | None = None
    text: str = Field(min_length=1)
    evidence: str | None = None
    """A failing command or a named input."""


class _Written(Frozen):
    """The JSON of the block."""

    verdict: Literal["approve", "changes"]
    covered: tuple[str, ...]
    findings: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A review that can be used."""

    says: Literal["approve", "changes"]
    covered: tuple[str, ...]
    findings: tuple[Remark, ...]

    @property
    def must_fixes(self) -> tuple[Remark, ...]:
        """The findings that send the task back, whatever the verdict says."""
        return tuple(remark for remark in self.findings if remark.severity is Severity.MUST_FIX)


def verdict_template(token: str) -> str:
    """Return what the prompt shows: the block's form, which is no verdict itself."""
    return (
        f"```verdict {token}\n"
        f'{{"verdict": {PLACEHOLDER},\n'
        ' "covered": ["every changed path", "exactly as listed above"],\n'
        ' "findings": [{"id": "new", "severity": "must-fix", "path": "src/x.py", "line": 12,\n'
        '               "quote": "the line meant", "text": "what is wrong, and what would be right",\n'
        '               "evidence": "the failing command or the input, with what it gave"}]}\n'
        "```\n"
    )


def shown_path(path: str) -> str:
    """Give a path as it stands in prompts; bytes that are no UTF-8 (lone surrogates here) as escapes.

    No JSON could hold them, and such a path could never be covered.
    """
    return path.encode(errors="backslashreplace").decode()


def is_about_us(remark: Remark) -> bool:
    """Whether a remark quotes a cut that the program made: it says nothing about the code."""
    return (remark.quote or "").lstrip().startswith(OUR_MARK)


def read_verdict(text: str | None, *, token: str, must_cover: Collection[str]) -> Verdict | VerdictFault:
    """Read a review file; `None` is a file that was not there.

    Args:
        text: The whole file.
        token: What the block must carry; only this review's prompt knows it.
        must_cover: The changed paths; a review that leaves one out is none.
    """
    if text is None:
        return VerdictFault.ABSENT
    if not text.strip():
        return VerdictFault.EMPTY
    block = _block(text, token)
    if isinstance(block, VerdictFault):
        return block
    written = _parse(block)
    if isinstance(written, VerdictFault):
        return written
    if not {shown_path(path) for path in must_cover} <= set(written.covered):
        return VerdictFault.NOT_COVERED
    findings = tuple(remark for remark in written.findings if not is_about_us(remark))
    verdict = Verdict(written.verdict, written.covered, findings)
    if verdict.says == "changes" and not verdict.must_fixes:
        return VerdictFault.NOTHING_TO_FIX
    return verdict


def _block(text: str, token: str) -> str | VerdictFault:
    """Return the inside of the one block that ends the text.

    Every line that opens such a block counts, wherever it stands: a quoted one is as
    good a reason to ask again as a second verdict.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    openings = [(n, match) for n, line in enumerate(lines) if (match := _OPENING.fullmatch(line))]
    if not openings:
        return VerdictFault.API_ERROR if _API_ERROR.match(text) else VerdictFault.NO_BLOCK
    if len(openings) > 1:
        return VerdictFault.TWO_BLOCKS
    first, opening = openings[0]
    closing = re.compile(rf" {{0,3}}{re.escape(opening[1])}{opening[1][0]}*[ \t]*")
    last = next((n for n in range(first + 1, len(lines)) if closing.fullmatch(lines[n])), None)
    inside = "\n".join(lines[first + 1 : last])
    if PLACEHOLDER in inside:
        return VerdictFault.TEMPLATE_ECHOED
    if last is None:
        return VerdictFault.NOT_CLOSED
    if any(line.strip() for line in lines[last + 1 :]):
        return VerdictFault.TEXT_AFTER
    return inside if opening[2] == token else VerdictFault.OTHER_TOKEN


def _parse(block: str) -> _Written | VerdictFault:
    try:
        json.loads(block, object_pairs_hook=_refuse_twins)
    except (ValueError, RecursionError):
        return VerdictFault.NOT_JSON
    try:
        return _Written.model_validate_json(block)
    except ValidationError:
        return VerdictFault.WRONG_SHAPE


def _refuse_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse an object with one key twice: readers differ on which of the two counts."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def repeats(remark: Remark, point: Finding) -> bool:
    """Whether a remark is about a point raised before: it names its id, or quotes the same place."""
    return remark.id == point.id or is_same_place(remark, point)


def is_same_place(one: Remark | Finding, other: Remark | Finding) -> bool:
    """Whether both quote the same line of the same path, white space aside; no quote is no place."""
    quote = bare(one.quote)
    return bool(quote) and (one.path or "") == (other.path or "") and quote == bare(other.quote)


def number_findings(
    verdict: Verdict, *, review_round: int, known: Collection[str], last: int
) -> tuple[Finding, ...]:
    """Give every finding an id of ours: a `known` one that it repeats, else the next after `F<last>`."""
    findings: list[Finding] = []
    for remark in verdict.findings:
        taken = {finding.id for finding in findings}
        number = remark.id if remark.id and remark.id in known and remark.id not in taken else ""
        if not number:
            last += 1
            number = f"F{last}"
        findings.append(
            Finding(
                id=number,
                severity=remark.severity,
                path=remark.path or "",
                line=remark.line,
                quote=remark.quote or "",
                text=remark.text,
                evidence=remark.evidence or "",
                round=review_round,
            )
        )
    return tuple(findings)
