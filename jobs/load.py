"""How loaded an engine is: whose jobs run on it, and how much memory they may take.

Talks to the engine; decides nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.engine import Engine
from jobs.engine.states import ContainerState
from jobs.pod import OURS

ALIVE = ("created", "running", "paused", "restarting")
STARTING = timedelta(minutes=1)
"""A container that is created and not started may be about to: its start outlives who asked for it."""


@dataclass(frozen=True, slots=True)
class Load:
    """One look at an engine."""

    jobs: frozenset[str]
    """Keys of the jobs of the home and host asked for whose containers run, set-ups among them."""
    own_bytes: Mapping[str, int]
    """By key, the memory limits of what runs of that home and host; a pod's containers together."""
    other_bytes: int
    """The limits of what runs of any other home or host."""
    total_bytes: int
    """The memory of the engine's host; 0: it does not tell."""


def look_at_load(engine: Engine, total_bytes: int, *, home: str, host: str) -> Load:
    """Look at everything of ours that runs.

    Args:
        engine: The engine.
        total_bytes: See `Load.total_bytes`; it does not change.
        home: The mark of a home, as `Identity.home` has it.
        host: The label of a host, as `Identity.host` has it.

    Raises:
        JobsError: The engine does not answer, or not well.
    """
    found = engine.containers.find({OURS: "1", "factory.run": ""}, statuses=ALIVE)
    now = None if all(each.is_running for each in found) else engine.info().now_utc
    return sum_up([each for each in found if _has_work(each, now)], total_bytes, home=home, host=host)


def sum_up(running: Sequence[ContainerState], total_bytes: int, *, home: str, host: str) -> Load:
    """The load of these containers."""
    jobs: set[str] = set()
    own_bytes: dict[str, int] = {}
    other_bytes = 0
    for each in running:
        labels = each.labels
        # An image may bear an emptied label: that says what an absent one says.
        if (labels.get("factory.home", ""), labels.get("factory.host", "")) != (home, host):
            other_bytes += each.memory_bytes
            continue
        key = labels.get("factory.key", "")
        own_bytes[key] = own_bytes.get(key, 0) + each.memory_bytes
        if labels.get("factory.part") == "job":
            jobs.add(key)
    return Load(frozenset(jobs), own_bytes, other_bytes, total_bytes)


def _has_work(container: ContainerState, now: datetime | None) -> bool:
    """Whether it runs, or may at any moment; one without a run is a person's own, of an image of ours."""
    if not container.labels.get("factory.run"):
        return False
    if container.is_running or now is None or container.created_utc is None:
        return container.is_running
    return container.status == "created" and now - container.created_utc < STARTING
