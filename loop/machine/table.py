"""The state machine: where each outcome leads from each stage, one hand-written row a line.

An absent pair is a bug and raises. Pure: no I/O.
"""

from dataclasses import dataclass

from instrument.schema.vocabulary import DoneReason, Outcome, Stage, StopReason


@dataclass(frozen=True, slots=True)
class Step:
    """Where an outcome leads; a stop and an end carry their reason.

    `stopped` without one is the stop that was looked into: a ruling leads on from it as a person's would,
    else the ladder's next step takes it up, or a person.
    """

    stage: Stage
    stop: StopReason | None = None
    done: DoneReason | None = None


def _to(stage: Stage) -> Step:
    return Step(stage)


def _stop(reason: StopReason) -> Step:
    return Step(Stage.STOPPED, stop=reason)


def _back() -> Step:
    return Step(Stage.STOPPED)


def _done(reason: DoneReason) -> Step:
    return Step(Stage.DONE, done=reason)


_S, _O, _R, _D = Stage, Outcome, StopReason, DoneReason

TABLE: dict[tuple[Stage, Outcome], Step] = {
    # ready: facts before money
    (_S.READY, _O.BASE_FOUND): _to(_S.READY),
    (_S.READY, _O.PRICE_UNKNOWN): _stop(_R.UNKNOWN_PRICE),
    (_S.READY, _O.PROVIDER_LIMITED): _stop(_R.PROVIDER_RATE_LIMITED),
    (_S.READY, _O.PROVIDER_DENIED): _stop(_R.PROVIDER_AUTH),
    (_S.READY, _O.PROVIDER_FAILED): _stop(_R.PROVIDER_UNAVAILABLE),
    (_S.READY, _O.IMAGE_READY): _to(_S.READY),
    (_S.READY, _O.SETUP_FAILED): _stop(_R.IMAGE_UNFIT),
    (_S.READY, _O.BASELINE_DOUBTED): _to(_S.READY),
    (_S.READY, _O.BASELINE_PASSED): _to(_S.IMPLEMENT),
    (_S.READY, _O.BASELINE_FAILED): _stop(_R.BASELINE_RED),
    (_S.READY, _O.BASELINE_ALREADY_GREEN): _stop(_R.BASELINE_GREEN),
    (_S.READY, _O.OUTPUT_UNUSABLE): _stop(_R.BAD_JOB_OUTPUT),
    (_S.READY, _O.TIME_EXHAUSTED): _stop(_R.TIME_BUDGET),
    (_S.READY, _O.DEADLINE_PASSED): _stop(_R.JOB_TIMEOUT),
    (_S.READY, _O.MEMORY_EXHAUSTED): _stop(_R.MEMORY_LIMIT),
    (_S.READY, _O.PIDS_EXHAUSTED): _stop(_R.PIDS_LIMIT),
    (_S.READY, _O.DISK_EXHAUSTED): _stop(_R.DISK_FULL),
    (_S.READY, _O.JOB_INTERRUPTED): _to(_S.READY),
    (_S.READY, _O.JOB_INTERRUPTED_TOO_OFTEN): _stop(_R.INTERRUPTED_TOO_OFTEN),
    (_S.READY, _O.ENGINE_FAILED): _stop(_R.RUNNER_UNAVAILABLE),
    # implement: a coder's round, then its diff proven and committed
    (_S.IMPLEMENT, _O.DIFF_RETURNED): _to(_S.IMPLEMENT),
    (_S.IMPLEMENT, _O.CANDIDATE_COMMITTED): _to(_S.CHECK),
    (_S.IMPLEMENT, _O.NO_CHANGE_DECLARED): _to(_S.REVIEW),
    (_S.IMPLEMENT, _O.CODER_BLOCKED): _stop(_R.BLOCKED),
    (_S.IMPLEMENT, _O.NOTHING_CHANGED): _stop(_R.NO_CHANGE),
    (_S.IMPLEMENT, _O.PROGRESS_STALLED): _stop(_R.NO_PROGRESS),
    (_S.IMPLEMENT, _O.TESTS_LOOSENED): _stop(_R.TESTS_WEAKENED),
    (_S.IMPLEMENT, _O.SECRET_DETECTED): _stop(_R.SECRET_FOUND),
    (_S.IMPLEMENT, _O.SUBMODULE_TOUCHED): _stop(_R.SUBMODULE_CHANGED),
    (_S.IMPLEMENT, _O.FILTER_UNSUPPORTED): _stop(_R.UNSUPPORTED_FILTER),
    (_S.IMPLEMENT, _O.PATHS_OUT_OF_SCOPE): _stop(_R.OUT_OF_SCOPE),
    (_S.IMPLEMENT, _O.PATHS_PROTECTED): _stop(_R.PROTECTED_PATH),
    (_S.IMPLEMENT, _O.REPOSITORY_NESTED): _stop(_R.NESTED_REPO),
    (_S.IMPLEMENT, _O.PATCH_OVERSIZED): _stop(_R.PATCH_TOO_LARGE),
    (_S.IMPLEMENT, _O.TREE_UNCAPTURABLE): _stop(_R.UNCAPTURABLE),
    (_S.IMPLEMENT, _O.PATCH_UNPROVEN): _stop(_R.PATCH_INTEGRITY),
    (_S.IMPLEMENT, _O.OUTPUT_UNUSABLE): _stop(_R.BAD_JOB_OUTPUT),
    (_S.IMPLEMENT, _O.SETUP_FAILED): _stop(_R.IMAGE_UNFIT),
    (_S.IMPLEMENT, _O.SPEND_EXHAUSTED): _stop(_R.SPEND_BUDGET),
    (_S.IMPLEMENT, _O.TIME_EXHAUSTED): _stop(_R.TIME_BUDGET),
    (_S.IMPLEMENT, _O.PRICE_UNKNOWN): _stop(_R.UNKNOWN_PRICE),
    (_S.IMPLEMENT, _O.PROVIDER_LIMITED): _stop(_R.PROVIDER_RATE_LIMITED),
    (_S.IMPLEMENT, _O.PROVIDER_DENIED): _stop(_R.PROVIDER_AUTH),
    (_S.IMPLEMENT, _O.PROVIDER_FAILED): _stop(_R.PROVIDER_UNAVAILABLE),
    (_S.IMPLEMENT, _O.AGENT_CRASHED): _stop(_R.AGENT_FAILED),
    (_S.IMPLEMENT, _O.FIRST_CALL_MISSING): _to(_S.IMPLEMENT),
    (_S.IMPLEMENT, _O.FIRST_CALL_MISSING_AGAIN): _stop(_R.AGENT_NO_FIRST_CALL),
    (_S.IMPLEMENT, _O.DEADLINE_PASSED): _stop(_R.JOB_TIMEOUT),
    (_S.IMPLEMENT, _O.MEMORY_EXHAUSTED): _stop(_R.MEMORY_LIMIT),
    (_S.IMPLEMENT, _O.PIDS_EXHAUSTED): _stop(_R.PIDS_LIMIT),
    (_S.IMPLEMENT, _O.DISK_EXHAUSTED): _stop(_R.DISK_FULL),
    (_S.IMPLEMENT, _O.JOB_INTERRUPTED): _to(_S.IMPLEMENT),
    (_S.IMPLEMENT, _O.JOB_INTERRUPTED_TOO_OFTEN): _stop(_R.INTERRUPTED_TOO_OFTEN),
    (_S.IMPLEMENT, _O.ENGINE_FAILED): _stop(_R.RUNNER_UNAVAILABLE),
    # check: the task's checks on the candidate, in a fresh container
    (_S.CHECK, _O.CHECKS_PASSED): _to(_S.REVIEW),
    (_S.CHECK, _O.CHECK_DOUBTED): _to(_S.CHECK),
    (_S.CHECK, _O.CHECK_FAILED): _to(_S.IMPLEMENT),
    (_S.CHECK, _O.CHECKS_FAILED_TOO_OFTEN): _stop(_R.CHECKS_EXHAUSTED),
    (_S.CHECK, _O.OUTPUT_UNUSABLE): _stop(_R.BAD_JOB_OUTPUT),
    (_S.CHECK, _O.TIME_EXHAUSTED): _stop(_R.TIME_BUDGET),
    (_S.CHECK, _O.DEADLINE_PASSED): _stop(_R.JOB_TIMEOUT),
    (_S.CHECK, _O.MEMORY_EXHAUSTED): _stop(_R.MEMORY_LIMIT),
    (_S.CHECK, _O.PIDS_EXHAUSTED): _stop(_R.PIDS_LIMIT),
    (_S.CHECK, _O.DISK_EXHAUSTED): _stop(_R.DISK_FULL),
    (_S.CHECK, _O.JOB_INTERRUPTED): _to(_S.CHECK),
    (_S.CHECK, _O.JOB_INTERRUPTED_TOO_OFTEN): _stop(_R.INTERRUPTED_TOO_OFTEN),
    (_S.CHECK, _O.ENGINE_FAILED): _stop(_R.RUNNER_UNAVAILABLE),
    # review: a reviewer's round on the candidate; on a base that moved, its image first
    (_S.REVIEW, _O.IMAGE_READY): _to(_S.REVIEW),
    (_S.REVIEW, _O.TESTS_COMPARED): _to(_S.REVIEW),
    (_S.REVIEW, _O.REVIEW_APPROVED): _to(_S.REBASE),
    (_S.REVIEW, _O.NO_CHANGE_CONFIRMED): _done(_D.ALREADY_SATISFIED),
    (_S.REVIEW, _O.MUST_FIX_FOUND): _to(_S.IMPLEMENT),
    (_S.REVIEW, _O.MUST_FIX_FOUND_TOO_OFTEN): _stop(_R.REVIEW_EXHAUSTED),
    (_S.REVIEW, _O.VERDICT_MISSING): _to(_S.REVIEW),
    (_S.REVIEW, _O.VERDICT_MISSING_AGAIN): _stop(_R.REVIEW_UNREADABLE),
    (_S.REVIEW, _O.OUTPUT_UNUSABLE): _stop(_R.BAD_JOB_OUTPUT),
    (_S.REVIEW, _O.SETUP_FAILED): _stop(_R.IMAGE_UNFIT),
    (_S.REVIEW, _O.SPEND_EXHAUSTED): _stop(_R.SPEND_BUDGET),
    (_S.REVIEW, _O.TIME_EXHAUSTED): _stop(_R.TIME_BUDGET),
    (_S.REVIEW, _O.PRICE_UNKNOWN): _stop(_R.UNKNOWN_PRICE),
    (_S.REVIEW, _O.PROVIDER_LIMITED): _stop(_R.PROVIDER_RATE_LIMITED),
    (_S.REVIEW, _O.PROVIDER_DENIED): _stop(_R.PROVIDER_AUTH),
    (_S.REVIEW, _O.PROVIDER_FAILED): _stop(_R.PROVIDER_UNAVAILABLE),
    (_S.REVIEW, _O.AGENT_CRASHED): _stop(_R.AGENT_FAILED),
    (_S.REVIEW, _O.FIRST_CALL_MISSING): _to(_S.REVIEW),
    (_S.REVIEW, _O.FIRST_CALL_MISSING_AGAIN): _stop(_R.AGENT_NO_FIRST_CALL),
    (_S.REVIEW, _O.DEADLINE_PASSED): _stop(_R.JOB_TIMEOUT),
    (_S.REVIEW, _O.MEMORY_EXHAUSTED): _stop(_R.MEMORY_LIMIT),
    (_S.REVIEW, _O.PIDS_EXHAUSTED): _stop(_R.PIDS_LIMIT),
    (_S.REVIEW, _O.DISK_EXHAUSTED): _stop(_R.DISK_FULL),
    (_S.REVIEW, _O.PROGRESS_STALLED): _stop(_R.NO_PROGRESS),
    (_S.REVIEW, _O.JOB_INTERRUPTED): _to(_S.REVIEW),
    (_S.REVIEW, _O.JOB_INTERRUPTED_TOO_OFTEN): _stop(_R.INTERRUPTED_TOO_OFTEN),
    (_S.REVIEW, _O.ENGINE_FAILED): _stop(_R.RUNNER_UNAVAILABLE),
    # rebase: the commit that lands is made on the branch's present tip
    (_S.REBASE, _O.REBASED): _to(_S.GATE),
    (_S.REBASE, _O.REBASE_CONFLICTED): _stop(_R.MERGE_CONFLICT),
    (_S.REBASE, _O.NOTHING_AHEAD): _done(_D.ALREADY_UPSTREAM),
    (_S.REBASE, _O.ENGINE_FAILED): _stop(_R.RUNNER_UNAVAILABLE),
    # gate: the repo's gate on exactly that commit
    (_S.GATE, _O.IMAGE_READY): _to(_S.GATE),
    (_S.GATE, _O.SETUP_FAILED): _stop(_R.IMAGE_UNFIT),
    (_S.GATE, _O.GATE_PASSED): _to(_S.MERGE),
    (_S.GATE, _O.GATE_PASSED_UNAUTHORISED): _stop(_R.READY_TO_MERGE),
    (_S.GATE, _O.GATE_DOUBTED): _to(_S.GATE),
    (_S.GATE, _O.GATE_FAILED): _to(_S.IMPLEMENT),
    (_S.GATE, _O.GATE_FAILED_TOO_OFTEN): _stop(_R.GATE_EXHAUSTED),
    (_S.GATE, _O.OUTPUT_UNUSABLE): _stop(_R.BAD_JOB_OUTPUT),
    (_S.GATE, _O.TIME_EXHAUSTED): _stop(_R.TIME_BUDGET),
    (_S.GATE, _O.DEADLINE_PASSED): _stop(_R.JOB_TIMEOUT),
    (_S.GATE, _O.MEMORY_EXHAUSTED): _stop(_R.MEMORY_LIMIT),
    (_S.GATE, _O.PIDS_EXHAUSTED): _stop(_R.PIDS_LIMIT),
    (_S.GATE, _O.DISK_EXHAUSTED): _stop(_R.DISK_FULL),
    (_S.GATE, _O.JOB_INTERRUPTED): _to(_S.GATE),
    (_S.GATE, _O.JOB_INTERRUPTED_TOO_OFTEN): _stop(_R.INTERRUPTED_TOO_OFTEN),
    (_S.GATE, _O.ENGINE_FAILED): _stop(_R.RUNNER_UNAVAILABLE),
    # merge: the branch moves to exactly the gated commit
    (_S.MERGE, _O.MERGED): _done(_D.MERGED),
    (_S.MERGE, _O.MAIN_MOVED): _to(_S.REBASE),
    (_S.MERGE, _O.MAIN_MOVED_TOO_OFTEN): _stop(_R.MAIN_MOVING),
    (_S.MERGE, _O.PUSH_REFUSED): _stop(_R.PUSH_REJECTED),
    (_S.MERGE, _O.ENGINE_FAILED): _stop(_R.RUNNER_UNAVAILABLE),
    # resolve: a model is asked about a stop before a person is
    (_S.RESOLVE, _O.STOP_RULED): _back(),
    (_S.RESOLVE, _O.STOP_HANDED_UP): _back(),
    (_S.RESOLVE, _O.JOB_INTERRUPTED): _to(_S.RESOLVE),
    (_S.RESOLVE, _O.ENGINE_FAILED): _stop(_R.RUNNER_UNAVAILABLE),
}


def step(stage: Stage, outcome: Outcome) -> Step:
    """Look the pair up.

    Raises:
        KeyError: The table has no such row: a bug of ours.
    """
    return TABLE[stage, outcome]
