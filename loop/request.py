"""What a person asks of one run, and what it came to.

Pure: no I/O.
"""

from dataclasses import dataclass
from pathlib import Path

from instrument.schema.base import Frozen
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import DoneReason, Purpose, RuntimeName, Stage, StopReason
from loop.errors import Exit


@dataclass(frozen=True, slots=True)
class RunRequest:
    """`factory run TASK …`, parsed."""

    task: str
    """As typed: a path, relative to the current folder or to the repository."""
    repo: Path
    rulings: tuple[str, ...] = ()
    """The texts themselves; `@FILE` is read already, `F3=…` is still in front."""
    grants: tuple[tuple[str, int], ...] = ()
    """Counter and cap: a count, micro-dollars for `usd`, milliseconds for `minutes`."""
    allow: tuple[str, ...] = ()
    """Globs."""
    park: str | None = None
    """Why."""
    dry_run: bool = False
    wait: bool = False
    auto_merge: bool = False
    restart: bool = False
    runtime: RuntimeName | None = None
    model: str | None = None
    story: bytes | None = None
    """A scripted provider's story, for demos and tests."""
    purpose: Purpose = Purpose.TASK


class RunResult(Frozen):
    """What `--json` prints."""

    task_id: str
    stage: Stage
    stop_reason: StopReason | None
    done_reason: DoneReason | None
    commit: str | None
    """The merged commit; of a stop the candidate, where there is one."""
    coder_rounds: int
    review_rounds: int
    cost_microusd: int
    cost_is_lower_bound: bool
    run_folder: str

    @property
    def exit_code(self) -> Exit:
        """0 for a task that is done, 3 for one that waits for a person."""
        return Exit.DONE if self.stage is Stage.DONE else Exit.STOPPED


def result_of(state: TaskState, folder: Path) -> RunResult:
    """The result of a task in its present state."""
    candidate = state.candidate.commit if state.candidate else None
    return RunResult(
        task_id=state.task_id,
        stage=state.stage,
        stop_reason=state.stop.reason if state.stop else None,
        done_reason=state.done,
        commit=state.merged or candidate,
        coder_rounds=state.counters.coder_rounds,
        review_rounds=state.counters.review_rounds,
        cost_microusd=state.spend.microusd,
        cost_is_lower_bound=state.spend.lower_bound,
        run_folder=str(folder),
    )


def landing_of(state: TaskState, branch: str, remote: str | None) -> str:
    """What became of the branch, in one sentence, of a task that is done.

    Args:
        state: The task's.
        branch: That it lands on.
        remote: That landings are pushed to; none: they are not.
    """
    if state.merged is None or state.done is not DoneReason.MERGED:
        return f"{state.task_id} is done: {state.done}; nothing was merged into {branch}."
    where = f"pushed to {remote}" if remote else "not pushed"
    return f"{state.task_id} is merged: {state.merged[:12]} on {branch}, {where}."


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, for whoever prints it."""

    result: RunResult
    text: str
    """The bill of a task that is done, the brief of one that is stopped."""
