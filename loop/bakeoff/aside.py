"""Jobs outside of a task's life: a saved diff, rebuilt on its start, is checked or reviewed once more.

Limits: writes below the bake-off's folder; keeps no state of a task.
"""

from dataclasses import dataclass
from pathlib import Path

from instrument.schema.job import JobEnd
from instrument.schema.state import Attempt, TaskState
from instrument.schema.vocabulary import EffectKind, Purpose, Stage
from loop.bakeoff.diffs import rebuild
from loop.bakeoff.plan import Plan, Saved
from loop.bakeoff.result import CellResult
from loop.bakeoff.scratch import source_of
from loop.bakeoff.variants import Variant
from loop.errors import UsageError
from loop.home import make_private
from loop.machine.effects import Effect, SetUp
from loop.machine.facts import CancelledFacts, EngineFacts, Facts, SetupFacts
from loop.machine.keys import effect_key
from loop.run import World
from loop.session import read_providers
from loop.shell.context import Context
from loop.shell.papers import Papers, read_config, read_papers
from loop.shell.shell import Shell
from loop.signals import Interrupted

SETUP_FOLDER = "jobs/0000-setup"


@dataclass(frozen=True, slots=True)
class Aside:
    """One rebuilt diff with what its jobs need."""

    context: Context
    papers: Papers
    state: TaskState
    """Never saved: orders are made from one."""
    commit: str
    world: World

    @property
    def start(self) -> str:
        """The commit that the diff was made on."""
        if self.state.base is None:
            raise ValueError("made without a base")
        return self.state.base

    def set_up(self) -> str:
        """The image that jobs begin with.

        Raises:
            UsageError: There is none; the text says why.
        """
        key = effect_key(self.state, EffectKind.SET_UP, self.start)
        facts = self.perform(SetUp(key=key, base=self.start), SETUP_FOLDER)
        if not isinstance(facts, SetupFacts) or facts.image is None:
            raise UsageError(f"no image for {self.state.task_id}: {getattr(facts, 'detail', facts.key)}")
        return facts.image

    def begun(self, effect: Effect, folder: str) -> TaskState:
        """The state with this attempt under way."""
        attempt = Attempt(key=effect.key, kind=effect.kind, folder=folder)
        return self.state.model_copy(update={"attempt": attempt})

    def perform(self, effect: Effect, folder: str, *, resumed: bool = False) -> Facts:
        """Do the effect; what it left on the engine is taken away by `release`.

        Raises:
            UsageError: No engine answers.
            Cancelled: A signal ended it.
        """
        state, shell = self.begun(effect, folder), Shell(self.context)
        make_private(self.context.folder / "jobs")
        try:
            with self.world.signals.interruptible():
                facts = shell.perform(state, effect, resumed=resumed)
        except Interrupted as interrupted:
            ended = shell.cancel(state, effect, interrupted.signal)
            shell.release(state, effect.key)
            raise Cancelled(interrupted.signal, ended) from None
        if isinstance(facts, EngineFacts):
            raise UsageError(f"{facts.detail}; mend that and run the same command")
        return facts

    def release(self, key: str) -> None:
        """Take the effect's containers away; may be called twice."""
        Shell(self.context).release(self.state, key)


class Cancelled(Interrupted):
    """As its base; carries what the job that was ended had cost."""

    def __init__(self, signum: int, facts: CancelledFacts) -> None:
        super().__init__(signum)
        self.end: JobEnd | None = facts.end


@dataclass(frozen=True, slots=True)
class Again:
    """What all jobs of one rescore, or of one reviewer, have in common."""

    folder: Path
    """The bake-off's."""
    plan: Plan
    world: World
    run_id: str
    """Of their containers."""
    nonce: str
    """Of which a review's token is made."""


def open_aside(
    again: Again,
    below: str,
    found: CellResult,
    saved: Saved,
    *,
    variant: Variant | None = None,
    story: bytes | None = None,
) -> Aside:
    """Rebuild a diff and read the papers of its start.

    Args:
        again: What it shares with others.
        below: Where the jobs' files go, below the bake-off's folder.
        found: The cell that made the diff.
        saved: The diff.
        variant: Who works; none: the cell's own.
        story: A scripted provider's; none: the real one answers.

    Raises:
        ChangeError, OSError: The diff is not as it was saved.
    """
    plan = again.plan
    subject = plan.subjects[found.cell.subject]
    start = plan.starts[found.cell.subject][found.cell.variant]
    context = _context(again, below, start, variant or plan.variants[found.cell.variant], story)
    papers = read_papers(context, start, subject.path, subject.blob)
    commit = rebuild(
        again.folder,
        saved,
        context.store,
        start=start,
        author=papers.config.merge.author,
        when_utc=plan.created_utc,
        ref=f"refs/factory/{below}",
    )
    state = TaskState(
        run_id=again.run_id,
        nonce=again.nonce,
        task_id=subject.task_id,
        purpose=Purpose.BAKEOFF,
        created_utc=again.world.now(),
        repo=plan.repo,
        task_path=subject.path,
        task_blob=subject.blob,
        terms=papers.terms,
        stage=Stage.REVIEW,
        base=start,
    )
    return Aside(context, papers, state, commit, again.world)


def _context(again: Again, below: str, start: str, variant: Variant, story: bytes | None) -> Context:
    world, source = again.world, source_of(again.folder)
    return Context(
        home=again.folder,
        folder=make_private(again.folder / below),
        store=source,
        branch=again.plan.branch,
        remote=None,
        jobs=world.jobs,
        providers=read_providers(read_config(source, start), world.environment),
        environment=world.environment,
        now=world.now,
        runtime=variant.runtime,
        model=variant.model,
        story=story,
        has_ladder=False,
    )
