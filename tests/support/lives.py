"""Whole lives of a task with a scripted shell: the machine and the driver are real, the effects are not."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from instrument.schema.job import CommandEnd
from instrument.schema.state import AgentChoice, Candidate, Caps, LadderTerms, Landing, TaskState, Terms
from instrument.schema.vocabulary import EffectKind, LadderStep, Outcome, Purpose, RuntimeName
from loop.drive import Driver
from loop.journal import Journal
from loop.machine.effects import Effect
from loop.machine.facts import (
    BaseFacts,
    CancelledFacts,
    CandidateFacts,
    CandidateProblem,
    Facts,
    JobFacts,
    MergeFacts,
    RebaseFacts,
    ResolveFacts,
    ReviewFacts,
    SetupFacts,
)
from loop.machine.resume import How, allow, grant, park, record_ruling, resume
from loop.signals import Signals
from support.ends import START, coder_end, command, commands_end, finding, resolver_end, review_end

Move = Callable[[TaskState, Any], Facts]
CLAUDE = AgentChoice(runtime=RuntimeName.CLAUDE, model="claude-sonnet-4-5")
SMALL = AgentChoice(runtime=RuntimeName.CLAUDE, model="claude-haiku-4-5")
STRONG = AgentChoice(runtime=RuntimeName.CLAUDE, model="claude-opus-4-5")


def terms(**changes: Any) -> Terms:
    """Terms with small, plain numbers."""
    fields: dict[str, Any] = {"coder": CLAUDE, "reviewer": CLAUDE, "caps": Caps()}
    return Terms(**(fields | changes))


def ladder(*steps: LadderStep, **changes: Any) -> LadderTerms:
    """A ladder of these steps, each of which may act once; without any, all of them."""
    steps = steps or tuple(LadderStep)
    fields: dict[str, Any] = {"steps": steps, "caps": dict.fromkeys(steps, 1)}
    fields["small"] = SMALL if LadderStep.SMALL in steps else None
    fields["strong"] = STRONG if LadderStep.STRONG in steps else None
    return LadderTerms(**(fields | changes))


def new_state(**changes: Any) -> TaskState:
    """A task that has just been created."""
    fields: dict[str, Any] = {
        "run_id": "0123abcd",
        "nonce": "0" * 32,
        "task_id": "demo-001",
        "purpose": Purpose.TASK,
        "created_utc": START,
        "repo": "demo",
        "task_path": "tasks/001-x.md",
        "task_blob": "1" * 40,
        "terms": terms(),
        "authorised": True,
    }
    return TaskState(**(fields | changes))


def base_facts(state: TaskState, effect: Any, **changes: Any) -> BaseFacts:
    return BaseFacts(key=effect.key, base="a" * 40, terms=state.terms, **changes)


def rebase_facts(state: TaskState, effect: Any, onto: str | None = None) -> RebaseFacts:
    number = state.counters.main_moves
    landing = Landing(commit=f"{number}e".rjust(40, "0"), tree="f" * 40, onto=onto or state.base or "")
    return RebaseFacts(key=effect.key, onto=landing.onto, landing=landing, candidate=effect.candidate)


def candidate_facts(_: TaskState, effect: Any) -> CandidateFacts:
    commit = f"{effect.n}c".rjust(40, "0")
    made = Candidate(commit=commit, tree=effect.pending.tree, base=effect.base, n=effect.n)
    return CandidateFacts(key=effect.key, candidate=made)


GOOD: dict[EffectKind, Move] = {
    EffectKind.FIND_BASE: base_facts,
    EffectKind.SET_UP: lambda _, e: SetupFacts(key=e.key, image="sha256:1"),
    EffectKind.BASELINE: lambda _, e: JobFacts(key=e.key, end=commands_end(e.key)),
    EffectKind.IMPLEMENT: lambda _, e: JobFacts(key=e.key, end=coder_end(e.key)),
    EffectKind.COMMIT_CANDIDATE: candidate_facts,
    EffectKind.CHECK: lambda _, e: JobFacts(key=e.key, end=commands_end(e.key)),
    EffectKind.COMPARE_TESTS: lambda _, e: JobFacts(key=e.key, end=commands_end(e.key)),
    EffectKind.REVIEW: lambda _, e: ReviewFacts(key=e.key, end=review_end(e.key)),
    EffectKind.REBASE: rebase_facts,
    EffectKind.GATE: lambda _, e: JobFacts(key=e.key, end=commands_end(e.key)),
    EffectKind.MERGE: lambda _, e: MergeFacts(key=e.key, result="merged"),
    EffectKind.RESOLVE: lambda _, e: ResolveFacts(
        key=e.key, end=resolver_end(e.key), ruling=f"do as the {e.step} says ({e.round})"
    ),
}
"""What happens where the story says nothing else: all goes well."""


def coder(**changes: Any) -> Move:
    """A coder's job with another end than the good one."""
    return lambda _, e: JobFacts(key=e.key, end=coder_end(e.key, **changes))


def reviewer(fault: str | None = None, **changes: Any) -> Move:
    """A review with another end, or without a verdict."""
    return lambda _, e: ReviewFacts(key=e.key, end=review_end(e.key, **changes), fault=fault)


def hands_up(why: str = "not mine to say", **changes: Any) -> Move:
    """A resolver that does not rule, or whose job ends otherwise."""
    return lambda _, e: ResolveFacts(key=e.key, end=resolver_end(e.key, **changes), handed_up=why)


def rules(text: str, **changes: Any) -> Move:
    """A resolver that rules, whatever becomes of its job."""
    return lambda _, e: ResolveFacts(key=e.key, end=resolver_end(e.key, **changes), ruling=text)


def commands(*ends: CommandEnd, **changes: Any) -> Move:
    """A baseline, check, comparison or gate with these commands."""
    return lambda _, e: JobFacts(key=e.key, end=commands_end(e.key, *ends, **changes))


def problem(kind: CandidateProblem, *details: str) -> Move:
    """A diff that is no candidate."""
    return lambda _, e: CandidateFacts(key=e.key, problem=kind, details=details)


def must_fix(state: TaskState, effect: Any) -> ReviewFacts:
    """A review that raises a new must-fix."""
    found = (finding(state.counters.findings + 1, effect.round),)
    return ReviewFacts(key=effect.key, end=review_end(effect.key), findings=found)


def lost(_: TaskState, effect: Any) -> JobFacts:
    """A job that the machine lost."""
    return JobFacts(key=effect.key, end=commands_end(effect.key, container={"lost": True}, report=None))


RED = commands(command("unit", 1))
"""One check fails; it takes two of these in a row for a failed check."""
MANY = 300
"""More effects than any life has; one without an end would hang the suite."""


@dataclass
class Scripted:
    """A shell whose facts are a story's moves, by kind of effect; counts what it was asked."""

    moves: dict[EffectKind, list[Move]]
    asked: list[tuple[str, bool]] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)

    def perform(self, state: TaskState, effect: Effect, *, resumed: bool) -> Facts:
        self.asked.append((effect.key, resumed))
        self.effects.append(effect)
        assert len(self.effects) < MANY, "this life does not end"
        queue = self.moves.get(effect.kind)
        move = queue.pop(0) if queue else GOOD[effect.kind]
        return move(state, effect)

    def cancel(self, _: TaskState, effect: Effect, signal: int) -> CancelledFacts:
        return CancelledFacts(key=effect.key, end=None, signal=signal)

    def release(self, _: TaskState, key: str) -> None:
        self.released.append(key)


@dataclass
class Noted:
    """A watcher that keeps the outcomes."""

    outcomes: list[Outcome] = field(default_factory=list)

    def began(self, state: TaskState, effect: Effect, *, resumed: bool) -> None: ...

    def ended(self, _: TaskState, outcome: Outcome, __: TaskState, ___: Facts | None) -> None:
        self.outcomes.append(outcome)


class Life:
    """One task's life in a folder; `run` drives it, the other verbs are a person's."""

    def __init__(self, folder: Path, state: TaskState | None = None, **moves: Iterable[Move]) -> None:
        self.folder = folder
        self.state = state or new_state()
        self.shell = Scripted({EffectKind[name.upper()]: list(each) for name, each in moves.items()})
        self.noted = Noted()
        self.saved: list[str] = []
        """Every state that was written; that a disk keeps it is the store's own test."""

    def run(self) -> "Life":
        """Drive as far as it goes without a person."""
        journal = Journal(
            self.folder,
            task_id=self.state.task_id,
            run_id=self.state.run_id,
            purpose=self.state.purpose,
            now=lambda: START,
        )
        driver = Driver(
            self.folder,
            journal=journal,
            shell=self.shell,
            watcher=self.noted,
            signals=Signals(),
            now=lambda: START,
            save=lambda _, state: self.saved.append(state.model_dump_json()),
        )
        try:
            self.state = driver.drive(self.state)
        finally:
            with suppress(OSError):
                journal.close()
        return self

    def goes_on(self, how: How, *, main_has_moved: bool = False, counter: str | None = None) -> bool:
        """Let a person act; say whether that leads on, and drive if it does."""
        after = resume(self.state, how, main_has_moved=main_has_moved, counter=counter)
        if after is None:
            return False
        self.state = after
        self.run()
        return True

    def rule(self, text: str, *, finding: str | None = None) -> bool:
        """Let a person answer the stop."""
        self.state = record_ruling(self.state, text, finding=finding)
        return self.goes_on("ruling")

    def grant(self, counter: str, value: int) -> bool:
        """Let a person set a cap."""
        self.state = grant(self.state, counter, value)
        return self.goes_on("grant", counter=counter)

    def allow(self, glob: str) -> bool:
        """Let a person open a path to the task."""
        self.state = allow(self.state, glob)
        return self.goes_on("allow")

    def park(self, why: str = "not now") -> "Life":
        """Let a person put the task aside."""
        self.state = park(self.state, why)
        return self

    def begun(self, kind: EffectKind) -> list[Any]:
        """The effects of one kind that the shell was asked for, in order."""
        return [effect for effect in self.shell.effects if effect.kind is kind]

    def branch(self, state: TaskState) -> "Life":
        """Another life that goes on from here with what this one's moves have left."""
        other = Life(self.folder, state)
        other.shell.moves = {kind: list(left) for kind, left in self.shell.moves.items()}
        return other

    @property
    def trail(self) -> str:
        """The outcomes so far, as one line."""
        return " ".join(self.noted.outcomes)

    @property
    def ending(self) -> str:
        """The stop's or the end's reason."""
        return str(self.state.stop.reason if self.state.stop else self.state.done)
