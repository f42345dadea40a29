"""Waits for a pod's end, and brings it about where it does not come by itself.

Talks to the engine; every wait has a deadline. Logs are never followed: a stream that stalls would
stall the deadline with it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from jobs.collect import BACKSTOP_S
from jobs.engine import Engine
from jobs.engine.states import ContainerState
from jobs.order import JobOrder
from jobs.progress import Progress, Ticker

POLL_FIRST_S = 0.2
POLL_LAST_S = 1.0
SETTLE_S = 3.0
"""What a sidecar gets to write the ends of its calls."""
END_LOOK_S = 0.1
END_S = 20.0
"""How long a killed container may take to be gone, on a busy machine."""


@dataclass(frozen=True, slots=True)
class Pod:
    """The two containers of a key, as last seen; either may be absent."""

    job: ContainerState | None
    sidecar: ContainerState | None


def wait_for_end(
    engine: Engine, order: JobOrder, pod: Pod, on_progress: Callable[[Progress], None] | None
) -> None:
    """Look until the job's container has ended; end it where its sidecar died or time is up.

    Raises:
        EngineUnavailableError: The engine went away.
    """
    if pod.job is None:
        return
    backstop = _backstop(engine, order, pod.job)
    ticker = Ticker(order, pod.job, on_progress, engine)
    pause = POLL_FIRST_S
    while (job := engine.containers.inspect(pod.job.id)) is not None and job.is_running:
        has_way_out = order.proxy is None or _is_alive(engine, pod.sidecar)
        if not has_way_out or time.monotonic() >= backstop:
            end_container(engine, job.id, END_S)
            return
        ticker.tick(pod.sidecar)
        # How often the sidecar is looked at; the job's own end is noticed at once.
        engine.containers.wait(job.id, pause)
        pause = min(POLL_LAST_S, pause * 1.5)


def _backstop(engine: Engine, order: JobOrder, job: ContainerState) -> float:
    """The moment of our own clock at which the engine's clock says that time is up."""
    now = engine.info().now_utc
    last = (job.started_utc or now) + timedelta(seconds=order.limits.deadline_s + BACKSTOP_S)
    return time.monotonic() + (last - now).total_seconds()


def _is_alive(engine: Engine, sidecar: ContainerState | None) -> bool:
    seen = None if sidecar is None else engine.containers.inspect(sidecar.id)
    return seen is not None and seen.is_running


def end_container(engine: Engine, container: str, within_s: float) -> None:
    """Kill the container and wait until it has ended or the time is over."""
    engine.containers.kill(container, "SIGKILL")
    await_end(engine, container, within_s)


def await_end(engine: Engine, container: str, within_s: float) -> None:
    """Wait until the container has ended or the time is over."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        engine.containers.wait(container, min(END_LOOK_S, deadline - time.monotonic()))
        state = engine.containers.inspect(container)
        if state is None or not state.is_running:
            return


def settle(engine: Engine, sidecar: str) -> None:
    """Wait for a sidecar that was told to end, so that its ledger is complete; then end it for sure."""
    await_end(engine, sidecar, SETTLE_S)
    end_container(engine, sidecar, END_S)
