"""From a reviewer's job to facts: its verdict, converged with what was said before.

Limits: reads job folders and the store, writes nothing.
"""

from dataclasses import replace
from pathlib import Path

from instrument.schema.job import JobEnd
from instrument.schema.state import TaskState
from loop.convergence import Past, Since, converge
from loop.git.changes import changed_lines
from loop.machine.effects import Review
from loop.machine.facts import ReviewFacts
from loop.shell.context import Context
from loop.shell.papers import Papers
from loop.shell.telling import must_cover
from loop.verdict import VerdictFault, number_findings, read_verdict

TREE_CHANGED = "tree_changed"
CHECK_LABELS = ("baseline", "check", "compare", "gate")
MAX_OUTPUT_BYTES = 64 * 1024


def review_facts(
    context: Context, state: TaskState, effect: Review, papers: Papers, end: JobEnd
) -> ReviewFacts:
    """Read what the reviewer wrote; a reviewer that changed a tracked file is not heard."""
    if end.report is not None and end.report.tree is not None and _has_changed_files(end):
        return ReviewFacts(key=effect.key, end=end, fault=TREE_CHANGED)
    cover = () if state.declared else must_cover(context, effect, papers)
    verdict = read_verdict(_review_text(context, end), token=effect.token, must_cover=cover)
    if isinstance(verdict, VerdictFault):
        return ReviewFacts(key=effect.key, end=end, fault=verdict.value)
    converged = converge(verdict.findings, _past(context, state, effect))
    findings = number_findings(
        replace(verdict, findings=converged.findings),
        review_round=effect.round,
        known={finding.id for finding in state.findings},
        last=state.counters.findings,
    )
    return ReviewFacts(key=effect.key, end=end, findings=findings, dropped=len(converged.dropped))


def _past(context: Context, state: TaskState, effect: Review) -> Past:
    """What this review is held against: by round, what changed and what checks printed since."""
    outputs = _outputs(context)
    marks = [(0, effect.base, 0), *((n, m.commit, m.jobs) for n, m in enumerate(state.reviews, start=1))]
    since = {
        n: Since(
            changed=changed_lines(context.store, commit, effect.start),
            outputs=tuple(text for job, text in outputs if job > jobs),
            old_outputs=tuple(text for job, text in outputs if job <= jobs),
        )
        for n, commit, jobs in marks
    }
    return Past(effect.round, state.findings, state.decisions, since, judges_base=bool(state.declared))


def _outputs(context: Context) -> list[tuple[int, str]]:
    """The ends of what checks printed, each with its job's number; in order."""
    found: list[tuple[int, str]] = []
    for folder in sorted((context.folder / "jobs").glob("[0-9]*-*-*")):
        number, _, label = folder.name.partition("-")
        if number.isdecimal() and label.rpartition("-")[0] in CHECK_LABELS:
            found += [(int(number), _tail(path)) for path in sorted(folder.glob("out/commands/*.txt"))]
    return found


def _tail(path: Path) -> str:
    return path.read_bytes()[-MAX_OUTPUT_BYTES:].decode(errors="replace")


def _has_changed_files(end: JobEnd) -> bool:
    tree = end.report.tree if end.report else None
    return tree is not None and tree.changed_paths > tree.untracked


def _review_text(context: Context, end: JobEnd) -> str | None:
    if end.report is None or end.report.review_file != "kept":
        return None
    try:
        return (context.folder / end.folder / "out" / "review.md").read_text(
            encoding="utf-8", errors="replace"
        )
    except OSError:
        return None
