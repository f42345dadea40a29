"""The parts of prompts as Markdown: foreign text stays inside fences that it cannot close.

Pure: no I/O.
"""

import json
import re
from collections.abc import Iterable

from instrument.schema.job import CommandEnd, Decision
from instrument.schema.state import Finding, Ruling, Tried
from jobs.order import Command
from loop.prompts.materials import FailedCheck, SizedPath
from loop.verdict import OUR_MARK, shown_path

TAIL_CHARS = 8000


def fenced(text: str, info: str = "") -> str:
    """Put text verbatim between fences longer than any run of backticks in it; empty stays empty."""
    if not text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{info}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{ticks}"


def tail_of(text: str, limit: int = TAIL_CHARS) -> str:
    """Return the end of a text, with a mark in front where something was cut."""
    if len(text) <= limit:
        return text
    return f"{OUR_MARK}: {len(text) - limit} characters]\n{text[-limit:]}"


def ruling_blocks(rulings: Iterable[Ruling]) -> str:
    """Give each ruling verbatim in a fence of its own; the same text twice is one ruling."""
    by_text: dict[str, list[Ruling]] = {}
    for ruling in rulings:
        by_text.setdefault(ruling.text, []).append(ruling)
    blocks = [
        f"Ruling {n}{_about(same)}, given{_by(same)} when the task had stopped with `{same[-1].stop}`:\n"
        f"{fenced(text)}"
        for n, (text, same) in enumerate(by_text.items(), start=1)
    ]
    return "\n\n".join(blocks)


def _about(same: Iterable[Ruling]) -> str:
    """The findings that a ruling names; nothing where it was once given on all that was open."""
    names = list(dict.fromkeys(ruling.finding for ruling in same))
    return "" if None in names else f" on {', '.join(name for name in names if name)}"


def _by(same: Iterable[Ruling]) -> str:
    """Who ruled where no person did; a person's own word for it is a person's ruling."""
    givers = [ruling.by for ruling in same]
    by = None if None in givers else givers[-1]
    return "" if by is None else f" by a model ({by.model or by.step}) in a person's stead"


def tried_lines(tried: Iterable[Tried]) -> str:
    """Give what earlier steps of the ladder did, a fence each."""
    return "\n\n".join(fenced(show_tried(each)) for each in tried)


def show_tried(tried: Tried) -> str:
    """Say what a step of the ladder did: a model's words stand verbatim at the end."""
    if not tried.step.is_model:
        return f"{tried.step} ran it again"
    return f"{tried.step} {'ruled' if tried.ruled else 'handed it up'}: {tried.said}"


def command_lines(commands: Iterable[Command]) -> str:
    """List commands, one a block line."""
    return fenced("\n".join(f"{command.name}: {command.run}" for command in commands))


def ending(end: CommandEnd) -> str:
    """Say in a few words how a command ended."""
    if end.timed_out:
        return "ran into its time limit"
    if end.signal is not None:
        return f"was ended by signal {end.signal}"
    return "did not start" if end.exit_code is None else f"exit code {end.exit_code}"


def failed_blocks(failed: Iterable[FailedCheck]) -> str:
    """Give each failed command with how it ended, and the end of its output."""
    blocks = []
    for check in failed:
        where = "gate, after the rebase" if check.gate else "check"
        head = f"`{check.end.name}` ({where}): {ending(check.end)}"
        blocks.append(f"{head}\n{fenced(f'$ {check.end.run}{chr(10)}{tail_of(check.tail)}')}")
    return "\n\n".join(blocks)


def check_table(ends: Iterable[CommandEnd]) -> str:
    """Give the checks as the program saw them end."""
    rows = [f"{end.name}: {ending(end)}, {end.duration_ms / 1000:.1f} s\n  $ {end.run}" for end in ends]
    return fenced("\n".join(rows))


def finding_blocks(findings: Iterable[Finding]) -> str:
    """Give each finding in a fence of its own."""
    blocks = []
    for finding in findings:
        place = shown_path(finding.path) + (f", line {finding.line}" if finding.line else "")
        lines = [f"{finding.id} ({finding.severity}){f' in {place}' if place else ''}", finding.text]
        lines += [f"quoted: {finding.quote}"] if finding.quote else []
        lines += [f"evidence: {finding.evidence}"] if finding.evidence else []
        blocks.append(fenced("\n".join(lines)))
    return "\n\n".join(blocks)


def decision_lines(decisions: Iterable[Decision]) -> str:
    """List the choices that coders took by themselves, each with the id that a reviewer may name."""
    lines = (f"D{n}: {d.choice} (why: {d.why}; to undo: {d.undo})" for n, d in enumerate(decisions, start=1))
    return fenced("\n".join(lines))


def fact_lines(facts: Iterable[str]) -> str:
    """List what the program found, a line each."""
    return fenced("\n".join(f"- {shown_path(fact)}" for fact in facts))


def path_list(paths: Iterable[SizedPath]) -> str:
    """List paths as JSON strings, so that no name can pass for two, each with its size."""
    withheld = " (an instruction file: your tree has the base's)"
    return fenced(
        "\n".join(
            f"{_quoted(entry.path)} {entry.size_bytes} bytes{withheld if entry.is_withheld else ''}"
            for entry in paths
        )
    )


def name_list(names: Iterable[str]) -> str:
    """List paths or patterns as JSON strings."""
    return fenced("\n".join(_quoted(name) for name in names))


def _quoted(path: str) -> str:
    return json.dumps(shown_path(path), ensure_ascii=False)
