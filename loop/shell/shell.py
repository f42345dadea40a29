"""The shell itself: one effect in, facts out.

Limits: errors of ours come back as facts for the machine; a bug still raises.
"""

import shutil
from dataclasses import replace

from instrument.schema.job import JobEnd
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Outcome
from jobs.errors import ImageGoneError, ImageUnfitError, JobsError
from jobs.order import JobOrder
from loop.git.errors import GitError
from loop.machine.checks import judge_baseline
from loop.machine.effects import (
    Baseline,
    Check,
    CommitCandidate,
    CompareTests,
    Effect,
    FindBase,
    Gate,
    Implement,
    Merge,
    Rebase,
    Resolve,
    Review,
    SetUp,
)
from loop.machine.facts import CancelledFacts, EngineFacts, Facts, JobFacts, SetupFacts
from loop.machine.guards import is_clean
from loop.problems import Problems
from loop.shell.base import find_base
from loop.shell.baselines import find_baseline, keep_baseline
from loop.shell.candidates import commit_candidate
from loop.shell.commits import merge_landing, rebase
from loop.shell.context import Context
from loop.shell.inputs import image_for
from loop.shell.orders import agent_order, commands_order, setup_order, setup_order_at
from loop.shell.packing import hold_if_large, packs_folder
from loop.shell.papers import papers_of
from loop.shell.resolutions import resolve_facts
from loop.shell.reviews import review_facts
from loop.shell.setups import kept_end
from loop.shell.telling import tell_coder, tell_resolver, tell_reviewer
from loop.shell.transcripts import redact_transcript

JobEffect = Baseline | Check | CompareTests | Gate | Implement | Review | Resolve


class Shell:
    """Implements `loop.drive.Perform` on real git and whoever runs jobs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def perform(self, state: TaskState, effect: Effect, *, resumed: bool) -> Facts:
        """Do the effect, or find what an earlier process did of it."""
        try:
            return self._perform(state, effect, resumed=resumed)
        except (JobsError, GitError, OSError) as error:
            return EngineFacts(key=effect.key, detail=str(error).replace("\n", " "))

    def cancel(self, state: TaskState, effect: Effect, signal: int) -> CancelledFacts:
        """End the job's pod and collect what it cost; a git effect has nothing to end."""
        end: JobEnd | None = None
        if isinstance(effect, JobEffect):
            try:
                end = self._context.jobs.cancel(self._order(state, effect))
            except JobsError:
                end = None
        return CancelledFacts(key=effect.key, end=end, signal=signal)

    def release(self, state: TaskState, key: str) -> None:
        """Take the pod away; an engine that is gone keeps it until the reaper comes by."""
        shutil.rmtree(packs_folder(self._context), ignore_errors=True)
        try:
            self._context.jobs.release(state.run_id, key)
        except JobsError:
            return

    def _perform(self, state: TaskState, effect: Effect, *, resumed: bool) -> Facts:
        context = self._context
        match effect:
            case FindBase():
                return find_base(context, state, effect)
            case SetUp():
                return self._set_up(state, effect)
            case CommitCandidate():
                return commit_candidate(context, state, effect)
            case Rebase():
                return rebase(context, state, effect)
            case Merge():
                return merge_landing(context, state, effect)
            case Review():
                end = self._run_agent(state, effect, resumed=resumed)
                return review_facts(context, state, effect, papers_of(context, state, effect.base), end)
            case Resolve():
                return resolve_facts(context, effect, self._run_agent(state, effect, resumed=resumed))
            case Implement():
                return JobFacts(key=effect.key, end=self._run_agent(state, effect, resumed=resumed))
            case Baseline():
                return self._baseline(state, effect, resumed=resumed)
            case Check() | CompareTests() | Gate():
                return JobFacts(key=effect.key, end=self._commands(state, effect, resumed=resumed))

    def _run(self, state: TaskState, order: JobOrder, *, resumed: bool) -> JobEnd:
        context = self._context
        try:
            return context.jobs.run(order, resumed=resumed)
        except ImageGoneError:
            # Removed to make room while the task was stopped.
            base = _base_of(state)
            papers = papers_of(context, state, base)
            setup = setup_order_at(context, state, papers, commit=base, key=order.identity.key)
            return context.jobs.run(replace(order, image=context.jobs.set_up(setup)), resumed=False)

    def _commands(self, state: TaskState, effect: Check | CompareTests | Gate, *, resumed: bool) -> JobEnd:
        order = self._order(state, effect)
        found = image_for(self._context, state, order, papers_of(self._context, state, _base_of(state)))
        if isinstance(found, JobEnd):
            return found
        return self._run(state, replace(order, image=found), resumed=resumed)

    def _run_agent(self, state: TaskState, effect: Implement | Review | Resolve, *, resumed: bool) -> JobEnd:
        order = self._order(state, effect)
        end = self._run(state, order, resumed=resumed)
        redact_transcript(order.folder)
        return end

    def _baseline(self, state: TaskState, effect: Baseline, *, resumed: bool) -> JobFacts:
        order = self._order(state, effect)
        is_second = bool(state.first_run)
        kept = None if resumed or is_second else find_baseline(self._context, order)
        if kept is not None:
            return JobFacts(key=effect.key, end=kept)
        end = self._run(state, order, resumed=resumed)
        if not is_second and is_clean(end) and judge_baseline(state, end) is Outcome.BASELINE_PASSED:
            keep_baseline(self._context, order, end)
        return JobFacts(key=effect.key, end=end)

    def _order(self, state: TaskState, effect: JobEffect) -> JobOrder:
        context = self._context
        papers = papers_of(context, state, _base_of(state))
        match effect:
            case Implement():
                return agent_order(context, state, effect, papers, tell_coder(context, state, effect, papers))
            case Review():
                prompt = tell_reviewer(context, state, effect, papers)
                return agent_order(context, state, effect, papers, prompt)
            case Resolve():
                prompt = tell_resolver(context, state, effect, papers)
                return agent_order(context, state, effect, papers, prompt)
            case _:
                return commands_order(context, state, effect, papers)

    def _set_up(self, state: TaskState, effect: SetUp) -> SetupFacts:
        context = self._context
        folder = state.attempt.folder if state.attempt else None
        try:
            papers = papers_of(context, state, effect.base)
            if not papers.config.limits.has_docker:
                hold_if_large(context, effect.base)
            image = context.jobs.set_up(setup_order(context, state, effect, papers))
        except Problems as problems:
            return SetupFacts(key=effect.key, image=None, detail=str(problems))
        except ImageUnfitError as error:
            detail = f"{error}" + (f"; see {error.evidence}" if error.evidence else "")
            return SetupFacts(key=effect.key, image=None, detail=detail, folder=folder, end=error.end)
        return SetupFacts(key=effect.key, image=image, end=kept_end(context, effect.key, folder))


def _base_of(state: TaskState) -> str:
    if state.base is None:
        raise ValueError("the task has no base yet")
    return state.base
