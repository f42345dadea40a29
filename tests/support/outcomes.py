"""Every kind of facts that a shell can come back with, by effect: what a search of all lives tries."""

from typing import Any

from instrument.schema.job import AgentResult, JobEnd
from instrument.schema.state import Candidate, Landing, TaskState
from instrument.schema.vocabulary import EffectKind, Ended
from loop.machine.facts import (
    BaseFacts,
    CandidateFacts,
    CandidateProblem,
    EngineFacts,
    JobFacts,
    MergeFacts,
    RebaseFacts,
    ResolveFacts,
    ReviewFacts,
    SetupFacts,
)
from support.ends import (
    agent_run,
    call,
    coder_end,
    command,
    commands_end,
    denied,
    end,
    failed_call,
    finding,
    resolver_end,
    review_end,
    tree,
)
from support.lives import Move

FIRST, MOVED = "a" * 40, "9" * 40
"""The two tips that the branch can have."""
LONG_S = 10**7
"""Longer than any time budget."""
COSTLY = (call(cost_microusd=10**12),)
"""More than any money budget."""

LOST = {"lost": True, "started_utc": None, "finished_utc": None}
EVERY_JOB: dict[str, dict[str, Any]] = {
    "unusable": {"report_error": "torn"},
    "late": {"report": {"ended": Ended.DEADLINE}},
    "out of memory": {"container": {"oom_killed": True}},
    "out of processes": {"report": {"pids_refused": 1, "commands": (command("unit", 1),)}},
    "out of disk": {"report": {"ended": Ended.DISK}},
    "on a full disk": {"report": {"ended": Ended.HOST_DISK}},
    "lost": {"container": LOST},
}
"""What can come of any job; changes to its good end."""
EVERY_DEAR_JOB: dict[str, dict[str, Any]] = {
    "late at the end of its time": {"report": {"ended": Ended.DEADLINE}, "seconds": LONG_S},
    "long": {"seconds": LONG_S},
}
"""What uses the time budget up."""
EVERY_AGENT: dict[str, dict[str, Any]] = EVERY_JOB | {
    "out of processes": {"report": {"pids_refused": 1}, "agent": agent_run(finished=False)},
    "set-up failed": {"report": {"setup_failed": "pip"}},
    "price": {"denials": (denied("price"),)},
    "budget": {"denials": (denied("budget"),)},
    "no first call": {"report": {"ended": Ended.NO_FIRST_CALL}, "calls": ()},
    "limited": {"calls": (failed_call(429),)},
    "denied": {"calls": (failed_call(401),)},
    "failed": {"calls": (failed_call(500),)},
    "stalled": {"report": {"ended": Ended.NO_PROGRESS}},
}
EVERY_DEAR_AGENT: dict[str, dict[str, Any]] = EVERY_DEAR_JOB | {"costly": {"calls": COSTLY}}
CODER = EVERY_AGENT | {
    "good": {},
    "blocked": {"result": AgentResult(outcome="blocked", question="which?")},
    "claims": {"result": AgentResult(outcome="no_change_needed"), "report": {"tree": tree("b")}},
    "unchanged": {"report": {"tree": tree("b")}},
    "crashed": {"report": {"tree": tree("b")}, "agent": agent_run(finished=False)},
    "nested": {"report": {"tree": tree(nested_repos=("x",))}},
    "oversized": {"report": {"tree": tree(oversized=True)}},
    "uncapturable": {"report": {"tree": tree(unencodable=("x",))}},
}


def _whole(made: JobEnd) -> JobEnd:
    """A job that handed nothing back has no report."""
    return made.model_copy(update={"report": None}) if made.report_error or made.container.lost else made


def _job(made: JobEnd) -> Move:
    return lambda _, e: JobFacts(key=e.key, end=_whole(made))


def _review(made: JobEnd, *, must_fix: bool = False, fault: str | None = None) -> Move:
    def move(state: TaskState, effect: Any) -> ReviewFacts:
        found = (finding(state.counters.findings + 1, effect.round),) if must_fix else ()
        return ReviewFacts(key=effect.key, end=_whole(made), findings=found, fault=fault)

    return move


def _base(**changes: Any) -> Move:
    return lambda s, e: BaseFacts(key=e.key, base=FIRST, terms=s.terms, **changes)


def _problem(problem: CandidateProblem) -> Move:
    return lambda _, e: CandidateFacts(key=e.key, problem=problem, details=("x",))


def _committed(*, changes_tests: bool) -> Move:
    def move(_: TaskState, effect: Any) -> CandidateFacts:
        made = Candidate(
            commit=f"{effect.n}c".rjust(40, "0"),
            tree=effect.pending.tree,
            base=effect.base,
            n=1,
            changes_tests=changes_tests,
        )
        return CandidateFacts(key=effect.key, candidate=made)

    return move


def _rebased(onto: str) -> Move:
    def move(_: TaskState, effect: Any) -> RebaseFacts:
        landing = Landing(commit="e" * 40, tree="f" * 40, onto=onto)
        candidate = effect.candidate.model_copy(update={"base": onto})
        return RebaseFacts(key=effect.key, onto=onto, landing=landing, candidate=candidate)

    return move


def _comparisons() -> list[Move]:
    return [_job(commands_end("k", **changes)) for changes in ({}, *EVERY_JOB.values())]


def _commands() -> list[Move]:
    red = command("unit", 1)
    ends = [commands_end("k", **changes) for changes in EVERY_JOB.values()]
    ends += [commands_end("k"), commands_end("k", red), end("k", report={"setup_failed": "always.1"})]
    return [_job(made) for made in ends]


def _dear_commands() -> list[Move]:
    ends = [commands_end("k", **changes) for changes in EVERY_DEAR_JOB.values()]
    return [_job(made) for made in (*ends, commands_end("k", command("unit", 1), seconds=LONG_S))]


def _reviews() -> list[Move]:
    moves = [_review(review_end("k", **changes)) for changes in EVERY_AGENT.values()]
    moves += [_review(review_end("k")), _review(review_end("k"), must_fix=True)]
    moves += [_review(review_end("k"), fault="no_block")]
    moves += [_review(review_end("k", agent=agent_run(finished=False)), fault="absent")]
    return moves


def _dear_reviews() -> list[Move]:
    return [
        _review(review_end("k", **changes), must_fix=must_fix)
        for changes in EVERY_DEAR_AGENT.values()
        for must_fix in (True, False)
    ]


def _answer(made: JobEnd, ruling: str = "so be it") -> Move:
    def move(_: TaskState, effect: Any) -> ResolveFacts:
        said = f"{ruling}, says {effect.key}" if ruling else ""
        return ResolveFacts(
            key=effect.key, end=_whole(made), ruling=said, handed_up="" if ruling else "no idea"
        )

    return move


def _answers() -> list[Move]:
    moves = [_answer(resolver_end("k", **changes)) for changes in EVERY_AGENT.values()]
    return [*moves, _answer(resolver_end("k")), _answer(resolver_end("k"), "")]


def _engine_gone(_: TaskState, effect: Any) -> EngineFacts:
    return EngineFacts(key=effect.key, detail="no engine answers")


def _both(*moves: Move) -> list[Move]:
    return [*moves, _engine_gone]


POSSIBLE: dict[EffectKind, list[Move]] = {
    EffectKind.FIND_BASE: _both(
        _base(),
        _base(unpriced=("x",)),
        _base(provider="limited"),
        _base(provider="denied"),
        _base(provider="failed"),
    ),
    EffectKind.SET_UP: _both(
        lambda _, e: SetupFacts(key=e.key, image="sha256:1"),
        lambda _, e: SetupFacts(key=e.key, image=None, detail="pip"),
    ),
    EffectKind.BASELINE: _both(*_commands()),
    EffectKind.IMPLEMENT: _both(*(_job(coder_end("k", **changes)) for changes in CODER.values())),
    EffectKind.COMMIT_CANDIDATE: _both(
        _committed(changes_tests=False),
        _committed(changes_tests=True),
        *(_problem(each) for each in CandidateProblem),
    ),
    EffectKind.CHECK: _both(*_commands()),
    EffectKind.COMPARE_TESTS: _both(*_comparisons()),
    EffectKind.REVIEW: _both(*_reviews()),
    EffectKind.REBASE: _both(
        _rebased(FIRST),
        _rebased(MOVED),
        lambda _, e: RebaseFacts(key=e.key, onto=MOVED, conflicts=("x",)),
        lambda _, e: RebaseFacts(key=e.key, onto=MOVED),
    ),
    EffectKind.GATE: _both(*_commands()),
    EffectKind.MERGE: _both(
        lambda _, e: MergeFacts(key=e.key, result="merged"),
        lambda _, e: MergeFacts(key=e.key, result="moved"),
        lambda _, e: MergeFacts(key=e.key, result="refused"),
    ),
    EffectKind.RESOLVE: _both(*_answers()),
}
"""What can happen, whatever it costs."""

DEAR: dict[EffectKind, list[Move]] = {
    EffectKind.BASELINE: _dear_commands(),
    EffectKind.IMPLEMENT: [_job(coder_end("k", **changes)) for changes in EVERY_DEAR_AGENT.values()],
    EffectKind.CHECK: _dear_commands(),
    EffectKind.COMPARE_TESTS: _dear_commands(),
    EffectKind.REVIEW: _dear_reviews(),
    EffectKind.GATE: _dear_commands(),
    EffectKind.RESOLVE: [
        _answer(resolver_end("k", **changes), ruling)
        for changes in EVERY_DEAR_AGENT.values()
        for ruling in ("so be it", "")
    ],
}
"""What uses a budget up."""
