"""Guards: from the facts of a job to the outcome's name, first match wins.

The order is the design's: the container's end, the ledger, the agent's own result, the
tree. An exit code alone says nothing. Pure: no I/O.
"""

from collections.abc import Callable

from instrument.schema.job import JobEnd
from instrument.schema.ledger import ModelCall
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import Ended, Outcome, RuntimeName
from loop.machine.budget import caps_of, time_left_ms

Guard = Callable[[TaskState, JobEnd], Outcome | None]
"""The state is the one after the job's cost was added."""

HTTP_RATE_LIMITED = 429
HTTP_DENIED = (401, 403)
KILLED = (137, 143, 255)
"""Exit codes of a container that SIGKILL or SIGTERM ended, and of one that was gone when the engine came up
again, as after a power cut."""


def interrupted(state: TaskState, end: JobEnd) -> Outcome | None:
    """The machine lost the container or its way out; never charged to the agent."""
    is_lost = end.container.lost or end.container.sidecar_lost or _is_killed_from_outside(end)
    if not is_lost and not (end.report and end.report.ended is Ended.SIDECAR_MISSING):
        return None
    if state.counters.interruptions >= caps_of(state).interruptions:
        return Outcome.JOB_INTERRUPTED_TOO_OFTEN
    return Outcome.JOB_INTERRUPTED


def _is_killed_from_outside(end: JobEnd) -> bool:
    """Ended by a signal that neither we nor the kernel sent for memory, such as `docker kill`."""
    container = end.container
    is_signalled = container.exit_code in KILLED and not container.oom_killed and not container.backstop
    return is_signalled and end.report is None


def memory_exhausted(_: TaskState, end: JobEnd) -> Outcome | None:
    """Anything in the container was killed for memory, whatever its shell's exit code says."""
    if end.container.oom_killed or (end.report and end.report.oom_kills):
        return Outcome.MEMORY_EXHAUSTED
    return None


def deadline_passed(state: TaskState, end: JobEnd) -> Outcome | None:
    """Time ended the job: the task's own budget, or one job's limit."""
    if not end.container.backstop and not (end.report and end.report.ended is Ended.DEADLINE):
        return None
    left_ms = time_left_ms(state)
    if left_ms is not None and left_ms <= state.terms.reserve_ms:
        return Outcome.TIME_EXHAUSTED
    return Outcome.DEADLINE_PASSED


def output_unusable(_: TaskState, end: JobEnd) -> Outcome | None:
    """No report, or the supervisor itself failed: nothing that the job did is used."""
    if end.report is None or end.report.error is not None:
        return Outcome.OUTPUT_UNUSABLE
    return None


def first_call_missing(state: TaskState, end: JobEnd) -> Outcome | None:
    """The agent never called a model in time; one free retry."""
    if not (end.report and end.report.ended is Ended.NO_FIRST_CALL):
        return None
    if state.counters.first_call_misses:
        return Outcome.FIRST_CALL_MISSING_AGAIN
    return Outcome.FIRST_CALL_MISSING


def setup_failed(_: TaskState, end: JobEnd) -> Outcome | None:
    """A set-up command failed before the work began."""
    return Outcome.SETUP_FAILED if end.report and end.report.setup_failed else None


def price_unknown(_: TaskState, end: JobEnd) -> Outcome | None:
    """A model without a price was asked for, or answered: never free."""
    is_denied = any(row.reason == "price" for row in end.ledger.denied)
    if is_denied or any(call.unknown_price for call in end.ledger.calls):
        return Outcome.PRICE_UNKNOWN
    return None


def spend_exhausted(_: TaskState, end: JobEnd) -> Outcome | None:
    """The proxy refused a call because the money is gone."""
    if any(row.reason == "budget" for row in end.ledger.denied):
        return Outcome.SPEND_EXHAUSTED
    return None


def provider_failed(_: TaskState, end: JobEnd) -> Outcome | None:
    """The agent's last call failed and the agent did not finish, or no call ever succeeded."""
    calls = end.ledger.calls
    if not calls or calls[-1].has_succeeded:
        return None
    has_any_succeeded = any(call.has_succeeded for call in calls)
    if has_any_succeeded and end.agent is not None and end.agent.finished:
        return None
    return _name_provider_failure(calls[-1])


def _name_provider_failure(call: ModelCall) -> Outcome:
    if call.status == HTTP_RATE_LIMITED:
        return Outcome.PROVIDER_LIMITED
    if call.status in HTTP_DENIED:
        return Outcome.PROVIDER_DENIED
    return Outcome.PROVIDER_FAILED


def model_not_called(_: TaskState, end: JobEnd) -> Outcome | None:
    """A runtime that works through a model ended without one call: it crashed, whatever it says."""
    uses_model = end.agent is not None and end.agent.runtime is not RuntimeName.COMMAND
    return Outcome.AGENT_CRASHED if uses_model and not end.ledger.calls else None


def host_disk_full(_: TaskState, end: JobEnd) -> Outcome | None:
    """The engine's disk was full, though the job wrote no more than it may."""
    return Outcome.ENGINE_FAILED if end.report and end.report.ended is Ended.HOST_DISK else None


def disk_exhausted(_: TaskState, end: JobEnd) -> Outcome | None:
    """The job wrote more than it may."""
    return Outcome.DISK_EXHAUSTED if end.report and end.report.ended is Ended.DISK else None


def pids_exhausted(_: TaskState, end: JobEnd) -> Outcome | None:
    """The limit on processes refused one and something failed; what copes with it (`make -j`) is fine."""
    return Outcome.PIDS_EXHAUSTED if _lacks_processes(end) else None


def _lacks_processes(end: JobEnd) -> bool:
    if end.report is None or not end.report.pids_refused:
        return False
    has_failed = any(not command.has_passed for command in end.report.commands)
    is_unfinished = end.agent is None or not end.agent.finished
    return has_failed or (end.report.role.is_agent and is_unfinished)


def progress_stalled(_: TaskState, end: JobEnd) -> Outcome | None:
    """The agent ran the same command again and again without changing a file."""
    return Outcome.PROGRESS_STALLED if end.report and end.report.ended is Ended.NO_PROGRESS else None


def coder_blocked(_: TaskState, end: JobEnd) -> Outcome | None:
    """The coder asks a person; it may, once it finished, whatever it left in the tree."""
    has_finished = end.agent is not None and end.agent.finished
    is_asking = end.result is not None and end.result.outcome == "blocked"
    return Outcome.CODER_BLOCKED if has_finished and is_asking else None


def repository_nested(_: TaskState, end: JobEnd) -> Outcome | None:
    """The tree holds a repository of its own."""
    tree = end.report.tree if end.report else None
    return Outcome.REPOSITORY_NESTED if tree and tree.nested_repos else None


def patch_oversized(_: TaskState, end: JobEnd) -> Outcome | None:
    """The tree holds more than a diff may carry."""
    tree = end.report.tree if end.report else None
    return Outcome.PATCH_OVERSIZED if tree and tree.oversized else None


def tree_uncapturable(_: TaskState, end: JobEnd) -> Outcome | None:
    """The tree holds files that git cannot take."""
    tree = end.report.tree if end.report else None
    return Outcome.TREE_UNCAPTURABLE if tree and (tree.unreadable or tree.unencodable) else None


def tree_missing(_: TaskState, end: JobEnd) -> Outcome | None:
    """The report names no tree."""
    tree = end.report.tree if end.report else None
    return Outcome.OUTPUT_UNUSABLE if tree is None or tree.tree is None else None


def tree_unchanged(state: TaskState, end: JobEnd) -> Outcome | None:
    """Nothing was changed: a crash, a claim that the base is right already, or simply nothing done.

    A base on which checks fail that the task turns green is not right already, whatever is said.
    """
    tree = end.report.tree if end.report else None
    if tree is None or tree.tree != tree.base_tree:
        return None
    if end.agent is None or not end.agent.finished:
        return Outcome.AGENT_CRASHED
    is_claim = end.result is not None and end.result.outcome == "no_change_needed"
    if is_claim and state.candidate is None and not state.terms.turns_green:
        return Outcome.NO_CHANGE_DECLARED
    return Outcome.NOTHING_CHANGED


CODER_GUARDS: tuple[Guard, ...] = (
    interrupted,
    host_disk_full,
    memory_exhausted,
    deadline_passed,
    setup_failed,
    output_unusable,
    price_unknown,
    spend_exhausted,
    first_call_missing,
    disk_exhausted,
    pids_exhausted,
    progress_stalled,
    provider_failed,
    model_not_called,
    coder_blocked,
    repository_nested,
    patch_oversized,
    tree_uncapturable,
    tree_missing,
    tree_unchanged,
)
REVIEWER_GUARDS: tuple[Guard, ...] = (
    interrupted,
    host_disk_full,
    memory_exhausted,
    deadline_passed,
    setup_failed,
    output_unusable,
    price_unknown,
    spend_exhausted,
    first_call_missing,
    disk_exhausted,
    pids_exhausted,
    progress_stalled,
    provider_failed,
    model_not_called,
)
COMMANDS_GUARDS: tuple[Guard, ...] = (
    interrupted,
    host_disk_full,
    memory_exhausted,
    deadline_passed,
    output_unusable,
    disk_exhausted,
    pids_exhausted,
)


def first_match(guards: tuple[Guard, ...], state: TaskState, end: JobEnd) -> Outcome | None:
    """Ask the guards in order; none where every one of them lets the job pass."""
    for guard in guards:
        outcome = guard(state, end)
        if outcome is not None:
            return outcome
    return None


def is_clean(end: JobEnd) -> bool:
    """Whether a job of commands simply ran to its end: nothing killed it, nothing was lost."""
    report, container = end.report, end.container
    if report is None or report.ended is not Ended.EXITED or report.error is not None:
        return False
    if report.oom_kills or _lacks_processes(end):
        return False
    return not (container.lost or container.sidecar_lost or container.oom_killed or container.backstop)
