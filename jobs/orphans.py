"""Pods that no task waits for any more: what a killed loop, a test or a lint left on the engine.

Talks to the engine; reads the states below one home. A pod that a task's next run would adopt stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from instrument.found import find_tasks
from instrument.states import read_state
from jobs.engine import Engine
from jobs.engine.states import ContainerState
from jobs.pod import OURS

ANY_RUN = {OURS: "1", "factory.run": ""}
ABANDONED = timedelta(days=1)
"""A pod of another home, whose state we cannot read, is left alone for so long after its last sign."""


@dataclass(frozen=True, slots=True)
class FoundPod:
    """Everything on the engine with one run and key."""

    run_id: str
    key: str
    task_id: str
    containers: tuple[ContainerState, ...]
    volumes: tuple[str, ...]
    seen_utc: datetime
    """When the last of it was made, or ended."""

    @property
    def is_running(self) -> bool:
        """Whether its job is at work; a sidecar alone serves nobody."""
        return any(c.is_running and c.labels.get("factory.part") != "proxy" for c in self.containers)


@dataclass(frozen=True, slots=True)
class PodFate:
    """What becomes of a pod, and why in a few words."""

    pod: FoundPod
    is_kept: bool
    why: str


def look_at_pods(engine: Engine, home: Path, now: datetime) -> tuple[PodFate, ...]:
    """What `remove_orphans` would do; nothing is changed."""
    pods = _find_pods(engine, now)
    # The states after the pods: a key is in its state before the pod is made, so none looks forgotten.
    attempts = _attempts(home)
    return tuple(decide(pod, attempts, now) for pod in pods)


def remove_orphans(engine: Engine, home: Path, now: datetime) -> tuple[PodFate, ...]:
    """Remove every pod that no task waits for; return what became of each."""
    fates = look_at_pods(engine, home, now)
    for fate in fates:
        if not fate.is_kept:
            remove_pod(engine, fate.pod)
    return fates


def remove_pod(engine: Engine, pod: FoundPod) -> None:
    """Remove its containers, then its volumes; absent is no error."""
    for container in pod.containers:
        engine.containers.remove(container.id)
    for volume in pod.volumes:
        engine.volumes.remove(volume)


def decide(pod: FoundPod, attempts: Mapping[str, str | None], now: datetime) -> PodFate:
    """The fate of one pod; `attempts` has the key under way of each run in this home, none: nothing is."""
    if pod.run_id in attempts:
        is_kept = attempts[pod.run_id] == pod.key
        return PodFate(pod, is_kept, "its task waits for it" if is_kept else "its task has gone on")
    if pod.is_running:
        return PodFate(pod, is_kept=True, why="it is running, for no task of this home")
    if now - pod.seen_utc < ABANDONED:
        return PodFate(pod, is_kept=True, why="of no task of this home, but of the last day")
    return PodFate(pod, is_kept=False, why="of no task of this home, for more than a day")


def _attempts(home: Path) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for task in find_tasks(home):
        for folder in task.folders:
            state, _ = read_state(folder)
            if state is not None:
                # What a restart put aside is continued by nobody.
                is_present = folder.name == task.task_id
                found[state.run_id] = state.attempt.key if state.attempt and is_present else None
    return found


def _find_pods(engine: Engine, now: datetime) -> tuple[FoundPod, ...]:
    containers: dict[tuple[str, str], list[ContainerState]] = {}
    volumes: dict[tuple[str, str], list[str]] = {}
    tasks: dict[tuple[str, str], str] = {}
    for state in engine.containers.find(ANY_RUN):
        containers.setdefault(_name(state.labels, tasks), []).append(state)
    for volume, labels in engine.volumes.find(ANY_RUN):
        volumes.setdefault(_name(labels, tasks), []).append(volume)
    pods = []
    # Without a run it is no job's: perhaps a person's own container of an image of ours.
    for name in sorted(name for name in tasks if name[0]):
        parts, held = containers.get(name, []), volumes.get(name, [])
        seen = [time for state in parts for time in (state.created_utc, state.finished_utc) if time]
        seen += [time for volume in held if (time := engine.volumes.created_utc(volume))]
        # A time that nobody tells is no reason to call something old.
        pods.append(FoundPod(*name, tasks[name], tuple(parts), tuple(held), max(seen, default=now)))
    return tuple(pods)


def _name(labels: Mapping[str, str], tasks: dict[tuple[str, str], str]) -> tuple[str, str]:
    name = (labels.get("factory.run", ""), labels.get("factory.key", ""))
    tasks[name] = labels.get("factory.task", "")
    return name
