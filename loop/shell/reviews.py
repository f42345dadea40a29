"""From a reviewer's job to facts: its verdict, with the program's own ids.

Limits: reads the job's folder, writes nothing.
"""

from instrument.schema.job import JobEnd
from instrument.schema.state import TaskState
from loop.machine.effects import Review
from loop.machine.facts import ReviewFacts
from loop.shell.context import Context
from loop.shell.papers import Papers
from loop.shell.telling import must_cover
from loop.verdict import VerdictFault, drop_ruled, number_findings, read_verdict

TREE_CHANGED = "tree_changed"


def review_facts(
    context: Context, state: TaskState, effect: Review, papers: Papers, end: JobEnd
) -> ReviewFacts:
    """Read what the reviewer wrote; a reviewer that changed a tracked file is not heard."""
    if end.report is not None and end.report.tree is not None and _has_changed_files(end):
        return ReviewFacts(key=effect.key, end=end, fault=TREE_CHANGED)
    verdict = read_verdict(
        _review_text(context, end), token=effect.token, must_cover=must_cover(context, effect, papers)
    )
    if isinstance(verdict, VerdictFault):
        return ReviewFacts(key=effect.key, end=end, fault=verdict.value)
    kept, dropped = drop_ruled(verdict, (f for f in state.findings if f.closed))
    findings = number_findings(
        kept,
        review_round=effect.round,
        known={finding.id for finding in state.findings if not finding.closed},
        last=state.counters.findings,
    )
    return ReviewFacts(key=effect.key, end=end, findings=findings, dropped=len(dropped))


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
