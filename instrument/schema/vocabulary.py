"""Every name that reaches the disk, declared once.

Adding a member is a schema change; a released name is never renamed or removed
(`tests/unit/instrument/released_names.txt` is the checked-in list).
Pure: no I/O.
"""

from enum import StrEnum, unique


@unique
class Purpose(StrEnum):
    """Why a task ran; headline figures count `TASK` only."""

    TASK = "task"
    DEMO = "demo"
    CANARY = "canary"
    PROBE = "probe"
    BAKEOFF = "bakeoff"


@unique
class Role(StrEnum):
    """What a job's container is for."""

    CODER = "coder"
    REVIEWER = "reviewer"
    SETUP = "setup"
    CHECK = "check"
    GATE = "gate"
    RESOLVER = "resolver"

    @property
    def is_agent(self) -> bool:
        """Whether a model works in it."""
        return self in (Role.CODER, Role.REVIEWER, Role.RESOLVER)


@unique
class ProviderName(StrEnum):
    """Whose wire protocol a job speaks, and whose prices hold."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


@unique
class RuntimeName(StrEnum):
    """Which agent program works in a coder or reviewer job."""

    CLAUDE = "claude"
    OPENCODE = "opencode"
    CODEX = "codex"
    COMMAND = "command"


@unique
class Stage(StrEnum):
    """Where a task stands."""

    READY = "ready"
    IMPLEMENT = "implement"
    CHECK = "check"
    REVIEW = "review"
    REBASE = "rebase"
    GATE = "gate"
    MERGE = "merge"
    DONE = "done"
    STOPPED = "stopped"
    RESOLVE = "resolve"

    @property
    def is_terminal(self) -> bool:
        """Whether no effect follows until a person acts, or ever."""
        return self in (Stage.DONE, Stage.STOPPED)


@unique
class EffectKind(StrEnum):
    """The one next thing to do; one kind a step."""

    FIND_BASE = "git.find_base"
    SET_UP = "job.setup"
    BASELINE = "job.baseline"
    IMPLEMENT = "job.implement"
    COMMIT_CANDIDATE = "git.commit_candidate"
    CHECK = "job.check"
    COMPARE_TESTS = "job.compare_tests"
    REVIEW = "job.review"
    REBASE = "git.rebase"
    GATE = "job.gate"
    MERGE = "git.merge"
    RESOLVE = "job.resolve"

    @property
    def is_job(self) -> bool:
        """Whether a container does it."""
        return self.value.startswith("job.")

    @property
    def slug(self) -> str:
        """The part of a key and of a container's name, such as `commit-candidate`."""
        return self.value.partition(".")[2].replace("_", "-")


@unique
class Outcome(StrEnum):
    """What happened, chosen from facts by the guards."""

    BASE_FOUND = "base_found"
    IMAGE_READY = "image_ready"
    SETUP_FAILED = "setup_failed"
    BASELINE_PASSED = "baseline_passed"
    BASELINE_FAILED = "baseline_failed"
    BASELINE_ALREADY_GREEN = "baseline_already_green"
    DIFF_RETURNED = "diff_returned"
    NOTHING_CHANGED = "nothing_changed"
    CANDIDATE_COMMITTED = "candidate_committed"
    PATHS_OUT_OF_SCOPE = "paths_out_of_scope"
    PATHS_PROTECTED = "paths_protected"
    REPOSITORY_NESTED = "repository_nested"
    PATCH_OVERSIZED = "patch_oversized"
    TREE_UNCAPTURABLE = "tree_uncapturable"
    PATCH_UNPROVEN = "patch_unproven"
    OUTPUT_UNUSABLE = "output_unusable"
    CHECKS_PASSED = "checks_passed"
    CHECK_FAILED = "check_failed"
    CHECKS_FAILED_TOO_OFTEN = "checks_failed_too_often"
    REVIEW_APPROVED = "review_approved"
    MUST_FIX_FOUND = "must_fix_found"
    MUST_FIX_FOUND_TOO_OFTEN = "must_fix_found_too_often"
    VERDICT_MISSING = "verdict_missing"
    VERDICT_MISSING_AGAIN = "verdict_missing_again"
    REBASED = "rebased"
    REBASE_CONFLICTED = "rebase_conflicted"
    NOTHING_AHEAD = "nothing_ahead"
    GATE_PASSED = "gate_passed"
    GATE_PASSED_UNAUTHORISED = "gate_passed_unauthorised"
    GATE_FAILED = "gate_failed"
    GATE_FAILED_TOO_OFTEN = "gate_failed_too_often"
    MERGED = "merged"
    MAIN_MOVED = "main_moved"
    MAIN_MOVED_TOO_OFTEN = "main_moved_too_often"
    PUSH_REFUSED = "push_refused"
    SPEND_EXHAUSTED = "spend_exhausted"
    TIME_EXHAUSTED = "time_exhausted"
    PRICE_UNKNOWN = "price_unknown"
    PROVIDER_LIMITED = "provider_limited"
    PROVIDER_DENIED = "provider_denied"
    PROVIDER_FAILED = "provider_failed"
    AGENT_CRASHED = "agent_crashed"
    FIRST_CALL_MISSING = "first_call_missing"
    FIRST_CALL_MISSING_AGAIN = "first_call_missing_again"
    DEADLINE_PASSED = "deadline_passed"
    MEMORY_EXHAUSTED = "memory_exhausted"
    JOB_INTERRUPTED = "job_interrupted"
    JOB_INTERRUPTED_TOO_OFTEN = "job_interrupted_too_often"
    ENGINE_FAILED = "engine_failed"
    CODER_BLOCKED = "coder_blocked"
    NO_CHANGE_DECLARED = "no_change_declared"
    NO_CHANGE_CONFIRMED = "no_change_confirmed"
    TESTS_LOOSENED = "tests_loosened"
    SECRET_DETECTED = "secret_detected"  # noqa: S105 - an outcome's name
    PROGRESS_STALLED = "progress_stalled"
    PIDS_EXHAUSTED = "pids_exhausted"
    DISK_EXHAUSTED = "disk_exhausted"
    SUBMODULE_TOUCHED = "submodule_touched"
    FILTER_UNSUPPORTED = "filter_unsupported"
    CHECK_DOUBTED = "check_doubted"
    GATE_DOUBTED = "gate_doubted"
    BASELINE_DOUBTED = "baseline_doubted"
    TESTS_COMPARED = "tests_compared"
    STOP_RULED = "stop_ruled"
    STOP_HANDED_UP = "stop_handed_up"


@unique
class StopReason(StrEnum):
    """Why a task waits for a person; a closed list."""

    READY_TO_MERGE = "ready_to_merge"
    BASELINE_RED = "baseline_red"
    BASELINE_GREEN = "baseline_green"
    NO_CHANGE = "no_change"
    OUT_OF_SCOPE = "out_of_scope"
    PROTECTED_PATH = "protected_path"
    NESTED_REPO = "nested_repo"
    PATCH_TOO_LARGE = "patch_too_large"
    UNCAPTURABLE = "uncapturable"
    PATCH_INTEGRITY = "patch_integrity"
    BAD_JOB_OUTPUT = "bad_job_output"
    CHECKS_EXHAUSTED = "checks_exhausted"
    REVIEW_EXHAUSTED = "review_exhausted"
    REVIEW_UNREADABLE = "review_unreadable"
    GATE_EXHAUSTED = "gate_exhausted"
    MERGE_CONFLICT = "merge_conflict"
    MAIN_MOVING = "main_moving"
    PUSH_REJECTED = "push_rejected"
    SPEND_BUDGET = "spend_budget"
    TIME_BUDGET = "time_budget"
    UNKNOWN_PRICE = "unknown_price"
    PROVIDER_RATE_LIMITED = "provider_rate_limited"
    PROVIDER_AUTH = "provider_auth"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    AGENT_FAILED = "agent_failed"
    AGENT_NO_FIRST_CALL = "agent_no_first_call"
    JOB_TIMEOUT = "job_timeout"
    MEMORY_LIMIT = "memory_limit"
    INTERRUPTED_TOO_OFTEN = "interrupted_too_often"
    RUNNER_UNAVAILABLE = "runner_unavailable"
    IMAGE_UNFIT = "image_unfit"
    STATE_CORRUPT = "state_corrupt"
    BLOCKED = "blocked"
    TESTS_WEAKENED = "tests_weakened"
    SECRET_FOUND = "secret_found"  # noqa: S105 - a reason's name
    NO_PROGRESS = "no_progress"
    PIDS_LIMIT = "pids_limit"
    DISK_FULL = "disk_full"
    SUBMODULE_CHANGED = "submodule_changed"
    UNSUPPORTED_FILTER = "unsupported_filter"
    PARKED = "parked"


@unique
class LadderStep(StrEnum):
    """Who meets a stop before a person does; the cheapest first."""

    MACHINE = "machine"
    SMALL = "small"
    STRONG = "strong"

    @property
    def is_model(self) -> bool:
        """Whether a model answers the stop; the machine runs it again."""
        return self is not LadderStep.MACHINE


@unique
class Escalation(StrEnum):
    """What sends a task's stops straight to a person."""

    RISK_HIGH = "risk_high"
    CROSS_REPO = "cross_repo"
    CONFLICTING_REVIEWS = "conflicting_reviews"


@unique
class DoneReason(StrEnum):
    """How a task ended for good."""

    MERGED = "merged"
    ALREADY_UPSTREAM = "already_upstream"
    ALREADY_SATISFIED = "already_satisfied"


@unique
class Ended(StrEnum):
    """How the supervisor's command or agent came to its end."""

    EXITED = "exited"
    DEADLINE = "deadline"
    NO_FIRST_CALL = "no_first_call"
    SIDECAR_MISSING = "sidecar_missing"
    DISK = "disk"
    HOST_DISK = "host_disk"
    NO_PROGRESS = "no_progress"
    HUNG_AT_END = "hung_at_end"


@unique
class AgentFault(StrEnum):
    """Why an agent program did not finish, by its own words."""

    MAX_TURNS = "max_turns"
    CONTEXT_EXHAUSTED = "context_exhausted"
    PROVIDER_ERROR = "provider_error"
    ENDED_EARLY = "ended_early"
    AGENT_ERROR = "agent_error"


@unique
class WaitedFor(StrEnum):
    """What a run waited for before it could go on."""

    TASK = "task"
    SLOT = "slot"
    MAIN = "main"
    PROVIDER = "provider"
    GATE = "gate"
    """The owner's word on the phase that the task belongs to."""
    HOLD = "hold"
    """Somebody asked that it be held."""
    FAULT = "fault"
    """What a person wrote could not be read."""


@unique
class EventKind(StrEnum):
    """One line of `events.jsonl`."""

    RUN_STARTED = "run_started"
    RUN_ENDED = "run_ended"
    ATTEMPT_STARTED = "attempt_started"
    ATTEMPT_INTERRUPTED = "attempt_interrupted"
    ATTEMPT_CANCELLED = "attempt_cancelled"
    JOB_ENDED = "job_ended"
    CHECK_ENDED = "check_ended"
    MODEL_CALL = "model_call"
    REQUEST_DENIED = "request_denied"
    REVIEW_ENDED = "review_ended"
    TRANSITION = "transition"
    CONTINUED = "continued"
    RULING_RECORDED = "ruling_recorded"
    GRANTED = "granted"
    ALLOWED = "allowed"
    CHECK_FLAKY = "check_flaky"
    TASK_EDITED = "task_edited"
    TORN_TAIL = "torn_tail"
    RECORD_SET_ASIDE = "record_set_aside"
    AGENT_DIFFERED = "agent_differed"
    NOTICE_RAISED = "notice_raised"
    WAITED = "waited"
    LADDER_STEP = "ladder_step"
    NOTIFIED = "notified"


@unique
class NoticeKind(StrEnum):
    """What a job's proxy noticed while the job ran; nothing is decided from it."""

    BUDGET_80 = "budget_80"
    BUDGET_95 = "budget_95"
    AUTH_REFUSED = "auth_refused"
    CACHE_MISSED = "cache_missed"


@unique
class Severity(StrEnum):
    """How much a review finding weighs; only a must-fix sends a task back."""

    MUST_FIX = "must-fix"
    SHOULD_FIX = "should-fix"
    NOTE = "note"
