"""Let reviews converge: which findings of a verdict still send the task back.

Whether evidence is new is read from what changed and what checks printed, never taken from the
reviewer's word. Pure: no I/O.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from instrument.schema.job import Decision
from instrument.schema.state import Finding
from instrument.schema.vocabulary import Severity
from loop.git.lines import LineChange
from loop.quotes import bare, quotes
from loop.verdict import Remark, repeats, shown_path


@dataclass(frozen=True)  # not slotted: what is computed of it is kept
class Since:
    """What is new after a review."""

    changed: Mapping[str, LineChange] = field(default_factory=dict)
    """By path: from the candidate of then to the one under review."""
    outputs: Sequence[str] = ()
    """Of checks that ran after it; their ends will do."""
    old_outputs: Sequence[str] = ()
    """Of checks that had run before: a line that stood there already is nothing new."""

    @cached_property
    def changed_by_path(self) -> Mapping[str, LineChange]:
        """The same, under the paths that a reviewer was shown."""
        return {shown_path(path): change for path, change in self.changed.items()}

    @cached_property
    def new_lines(self) -> tuple[str, ...]:
        """Every line whose quotation is evidence that was not there before."""
        known = {bare(line) for output in self.old_outputs for line in output.splitlines()}
        printed = (line for output in self.outputs for line in output.splitlines())
        changed = (line for change in self.changed.values() for line in change.texts)
        by_bare = {bare(line): line for line in printed if bare(line) not in known}
        return tuple((by_bare | {bare(line): line for line in changed}).values())


@dataclass(frozen=True, slots=True)
class Converged:
    """A verdict's findings in their order, less what was dropped.

    An id is left only where the finding goes on under it; all others are to be numbered anew.
    """

    findings: tuple[Remark, ...]
    dropped: tuple[Remark, ...] = ()
    """Must-fixes that repeat a ruled or logged point without new evidence; not in `findings`."""
    demoted: tuple[Remark, ...] = ()
    """Must-fixes that came too late and stand in `findings` as should-fix."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a review is held against."""

    review_round: int
    """Of this review, from 1."""
    earlier: Sequence[Finding]
    """All that were raised before, the closed ones too."""
    decisions: Sequence[Decision]
    """The coders' log, oldest first: `D1` is the first."""
    since: Mapping[int, Since]
    """By review round: what is new after that review's candidate; 0, after the base, must be there."""
    judges_base: bool = False
    """The coder claims that no change is needed: no line can have changed, so no must-fix is too late."""

    def after(self, review_round: int) -> Since:
        """What is new after a review, or after the nearest one before it that is known."""
        return self.since[max(known for known in self.since if known <= review_round)]

    @property
    def last(self) -> Since:
        """What is new after the last review."""
        return self.after(self.review_round - 1)

    def open_point(self, remark: Remark) -> Finding | None:
        """The must-fix that the last review left open and this one raises again."""
        points = [
            point
            for point in self.earlier
            if point.round == self.review_round - 1
            and point.severity is Severity.MUST_FIX
            and not point.closed
        ]
        return _find(remark, points)

    def closed_point(self, remark: Remark) -> Finding | None:
        """The point that a ruling closed and this one repeats."""
        return _find(remark, [point for point in self.earlier if point.closed])

    def logged_point(self, remark: Remark) -> Decision | None:
        """The coder's decision that the remark names by its id, or quotes."""
        for n, decision in enumerate(self.decisions, start=1):
            quote = bare(remark.quote)
            if remark.id == f"D{n}" or (quote and quote == bare(decision.choice)):
                return decision
        return None

    def going_on(self, remark: Remark) -> str | None:
        """The id of an earlier point that is not closed, where the remark names one."""
        known = {point.id for point in self.earlier if not point.closed}
        return remark.id if remark.id in known else None


def _find(remark: Remark, points: Iterable[Finding]) -> Finding | None:
    """The point that it repeats; a named one goes before one in the same place."""
    repeated = [point for point in points if repeats(remark, point)]
    named = (point for point in repeated if point.id == remark.id)
    return next(named, repeated[0] if repeated else None)


def converge(remarks: Iterable[Remark], past: Past) -> Converged:
    """Judge each finding of a verdict; only must-fixes can be dropped or demoted."""
    findings: list[Remark] = []
    dropped: list[Remark] = []
    demoted: list[Remark] = []
    for remark in remarks:
        opened, closed = past.open_point(remark), past.closed_point(remark)
        if remark.severity is not Severity.MUST_FIX:
            findings.append(_as(remark, past.going_on(remark)))
        elif opened is not None:
            findings.append(_as(remark, opened.id))
        elif _is_settled(remark, closed, past):
            dropped.append(remark)
        elif not _is_timely(remark, past):
            demoted.append(remark)
            findings.append(_as(remark, past.going_on(remark), Severity.SHOULD_FIX))
        else:
            findings.append(_as(remark, closed.id if closed else past.going_on(remark)))
    return Converged(tuple(findings), tuple(dropped), tuple(demoted))


def _as(remark: Remark, number: str | None, severity: Severity | None = None) -> Remark:
    return remark.model_copy(update={"id": number, "severity": severity or remark.severity})


def _is_settled(remark: Remark, closed: Finding | None, past: Past) -> bool:
    """Whether it repeats a ruled or logged point and brings nothing new."""
    if closed is not None:
        known = f"{closed.quote}\n{closed.evidence}"
        return not has_new_evidence(remark, past.after(closed.round), known)
    logged = past.logged_point(remark)
    return logged is not None and not has_new_evidence(remark, past.last, logged.choice)


def _is_timely(remark: Remark, past: Past) -> bool:
    """Whether the last review could not have raised it."""
    if past.review_round == 1 or past.judges_base:
        return True
    before = next((point for point in past.earlier if point.id == remark.id), None)
    known = f"{before.quote}\n{before.evidence}" if before else ""
    return is_on_change(remark, past.last) or has_new_evidence(remark, past.last, known)


def is_on_change(remark: Remark, since: Since) -> bool:
    """Whether it is about a line that changed; by the quote or by the number, as reviewers miscount."""
    change = since.changed_by_path.get(remark.path or "")
    if change is None:
        return False
    is_there = change.whole or remark.line in change.numbers
    return is_there or any(quotes(remark.quote, text) for text in change.texts)


def has_new_evidence(remark: Remark, since: Since, known: str) -> bool:
    """Whether it quotes a line that changed, or that a check printed since.

    Args:
        remark: Its evidence counts, and its quoted line where that one changed in its own file.
        since: What is new.
        known: What the point it repeats had quoted already; the same again proves nothing.
    """
    change = since.changed_by_path.get(remark.path or "")
    shown = any(quotes(remark.evidence, line) and not quotes(known, line) for line in since.new_lines)
    return shown or any(
        quotes(remark.quote, line) and not quotes(known, line) for line in (change.texts if change else ())
    )
