"""What agents are told: a prompt's materials, gathered from state, git and folders.

Limits: reads job folders and the store, writes nothing.
"""

from collections.abc import Sequence

from pydantic import ValidationError

from instrument.schema.job import AgentResult
from instrument.schema.state import CheckFailure, Finding, Stop, TaskState
from instrument.schema.vocabulary import Role, Stage, StopReason
from loop.allowances import split_allowed
from loop.git.changes import ChangedPath, changed_lines, changed_paths, review_diff
from loop.git.lines import show_changes
from loop.globs import compile_globs
from loop.machine.effects import Implement, Resolve, Review
from loop.machine.resume import open_findings
from loop.machine.stops import STOPS
from loop.prompts.compose import coder_prompt, resolver_prompt, reviewer_prompt
from loop.prompts.materials import (
    CoderMaterials,
    FailedCheck,
    ResolverMaterials,
    ReviewerMaterials,
    SizedPath,
)
from loop.shell.context import Context
from loop.shell.instructions import instruction_files
from loop.shell.papers import Papers, task_difference
from loop.shell.resolutions import RESULT
from loop.together import baseline_checks

TAIL_BYTES = 32_000
"""More than a prompt shows, so that the cut is marked there."""
MAX_DIFF_BYTES = 200_000


def tell_coder(context: Context, state: TaskState, effect: Implement, papers: Papers) -> bytes:
    """A coder round's prompt, UTF-8."""
    materials = CoderMaterials(
        task=papers.task.text,
        round=effect.round,
        checks=baseline_checks(papers.task, papers.config),
        files=papers.task.files,
        allow=(*papers.task.allow, *split_allowed(state.allowed)[0]),
        protected=papers.config.protected,
        failed=tuple(_failed(context, failure) for failure in state.failures),
        findings=open_findings(state),
        rulings=state.rulings,
        decisions=state.decisions,
        task_diff=task_difference(context, state),
        conflict=_conflict(context, state),
    )
    return coder_prompt(
        materials, papers.templates.get(Role.CODER), name=papers.config.prompts.coder or "coder.md.j2"
    )


def tell_reviewer(context: Context, state: TaskState, effect: Review, papers: Papers) -> bytes:
    """A review's prompt, UTF-8."""
    changed = () if state.declared else changed_paths(context.store, effect.base, effect.start)
    generated = tuple(change.path for change in changed if _is_generated(change, papers))
    diff = review_diff(context.store, effect.base, effect.start, MAX_DIFF_BYTES, skip=generated)
    materials = ReviewerMaterials(
        task=papers.task.text,
        round=effect.round,
        base=effect.base,
        token=effect.token,
        checks=state.checked,
        diff=diff.text,
        paths=_sized(changed),
        left_out=tuple(change.path for change in diff.left_out),
        rulings=state.rulings,
        closed=tuple(finding for finding in state.findings if finding.closed),
        findings=open_findings(state),
        fixed=_fixed(state),
        changed_since=_changed_since(context, state, effect),
        compared=state.compared,
        flaky=state.flaky,
        declared=state.declared,
        decisions=state.decisions,
        summary=_summary(state),
        task_diff=task_difference(context, state),
    )
    return reviewer_prompt(
        materials,
        papers.templates.get(Role.REVIEWER),
        name=papers.config.prompts.reviewer or "reviewer.md.j2",
    )


def tell_resolver(context: Context, state: TaskState, effect: Resolve, papers: Papers) -> bytes:
    """What a model is told of the stop that it looks into, UTF-8."""
    assert state.climb is not None
    stop = state.climb.stop
    row = STOPS[stop.reason]
    choices = (f"it would do: {choice}" for choice in (*row.choices, *stop.choices))
    leads = stop.stage if row.ruling is Stage.STOPPED else row.ruling
    return resolver_prompt(
        ResolverMaterials(
            task=papers.task.text,
            base=effect.base,
            stop=(f"{stop.reason} (at {stop.stage}): {row.sentence}", *stop.details, *choices),
            leads=_LEADS.get(leads or stop.stage, f"The task goes on at `{leads}`."),
            asked=_asked(context, stop),
            failed=tuple(_failed(context, failure) for failure in state.failures),
            findings=open_findings(state),
            rulings=state.rulings,
            decisions=state.decisions,
            tried=tuple(tried for tried in state.tried if tried.stop is stop.reason),
        )
    )


_LEADS = {
    Stage.IMPLEMENT: "The coder has one more round, which is told your ruling.",
    Stage.REVIEW: "The open must-fixes are closed by your ruling, and one more review follows.",
    Stage.READY: "The task begins again on the branch as it is now; the coder is told your ruling.",
}


def _asked(context: Context, stop: Stop) -> str:
    """All that the coder wrote when it ended blocked: the stop itself holds only the beginning."""
    if stop.reason is not StopReason.BLOCKED or stop.folder is None:
        return ""
    try:
        said = AgentResult.model_validate_json((context.folder / stop.folder / RESULT).read_bytes())
    except (OSError, ValidationError):
        return ""
    parts = (said.summary, said.question, *(f"- {choice}" for choice in said.choices))
    return "\n".join(part for part in parts if part)


def _sized(changed: Sequence[ChangedPath]) -> tuple[SizedPath, ...]:
    withheld = instruction_files(changed)
    return tuple(SizedPath(each.path, each.size_bytes, each.path in withheld) for each in changed)


def _conflict(context: Context, state: TaskState) -> str:
    """The change that no longer fits, as it was made on the old base."""
    commit = state.conflict_commit
    if commit is None:
        return ""
    return review_diff(context.store, context.store.parent_of(commit), commit, MAX_DIFF_BYTES).text


def _fixed(state: TaskState) -> tuple[Finding, ...]:
    """What earlier reviews raised and the last one did not raise again."""
    last = state.counters.review_rounds
    return tuple(f for f in state.findings if not f.closed and f.round != last)


def _changed_since(context: Context, state: TaskState, effect: Review) -> tuple[str, ...]:
    """What changed since the last review, a path with its lines each; nothing at the first."""
    if not state.reviews or state.declared:
        return ()
    return show_changes(changed_lines(context.store, state.reviews[-1].commit, effect.start))


def _summary(state: TaskState) -> str:
    unsure = "".join(f"\nCould not verify: {each}" for each in state.could_not_verify)
    return state.summary + unsure


def must_cover(context: Context, effect: Review, papers: Papers) -> tuple[str, ...]:
    """The changed paths that a verdict must name; generated ones need not be read."""
    changed = changed_paths(context.store, effect.base, effect.start)
    return tuple(change.path for change in changed if not _is_generated(change, papers))


def _is_generated(change: ChangedPath, papers: Papers) -> bool:
    return compile_globs(papers.config.generated).match_file(change.path)


def _failed(context: Context, failure: CheckFailure) -> FailedCheck:
    path = context.folder / failure.folder / failure.command.output
    try:
        tail = path.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    except OSError:
        tail = "(the output is not there)"
    return FailedCheck(end=failure.command, tail=tail, gate=failure.gate)
