"""Records what is created on the engine beside a run, and finds fault with it.

Follows the engine's events in a thread: the engine itself keeps the last 256 only, fewer than a demo
makes, and a volume's labels can be asked for only while it is there.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from docker.errors import NotFound

from jobs.engine.client import QUICK_S, Api, open_api
from jobs.pod import OURS

LABELS = {
    OURS,
    "factory.run",
    "factory.key",
    "factory.task",
    "factory.purpose",
    "factory.part",
    "factory.role",
    "factory.home",
}
LONGEST_S = 900
"""No recorder follows longer than this, whatever becomes of its test."""
KINDS = ("container", "volume", "network")
IMAGE_PREFIX = "factory-loop/"
CATCH_UP_S = 10


@dataclass
class Thing:
    """One container, volume or network; times are the engine's, in nanoseconds."""

    kind: str
    id: str
    name: str
    created_ns: int
    labels: dict[str, str] = field(default_factory=dict)
    image: str = ""
    auto_remove: bool = False
    volumes: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    was_seen: bool = False
    """It was inspected while it was there."""
    died_ns: int | None = None
    exit_code: int | None = None
    destroyed_ns: int | None = None

    @property
    def key(self) -> str:
        return self.labels.get("factory.key", "")

    @property
    def part(self) -> str:
        return self.labels.get("factory.part", "")


class Recorder:
    """What was created since it began, oldest first; `record` makes one."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._things: dict[str, Thing] = {}
        self._last_ns = 0
        now = float(time.time())
        self._stream: Any = api.events(since=f"{now:.9f}", until=f"{now + LONGEST_S:.9f}", decode=True)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stream.close()
        self._thread.join(timeout=CATCH_UP_S)

    def things(self, run_id: str | None = None) -> list[Thing]:
        """All that was created, or what was created for one run; oldest first."""
        with self._lock:
            known = list(self._things.values())
        return [t for t in known if run_id is None or t.labels.get("factory.run") == run_id]

    def catch_up(self) -> None:
        """Wait until events of up to now have been read: the engine sends them in order."""
        name = f"recorder-mark-{time.monotonic_ns()}"
        self._api.create_volume(name, labels={"recorder": "mark"})
        self._api.remove_volume(name)
        deadline = time.monotonic() + CATCH_UP_S
        while time.monotonic() < deadline:
            with self._lock:
                mark = self._things.get(f"volume {name}")
                if mark is not None and mark.destroyed_ns is not None:
                    del self._things[mark.kind + " " + mark.id]
                    return
            time.sleep(0.02)
        raise AssertionError("the recorder does not hear the engine")

    def _follow(self) -> None:
        with suppress(Exception):  # the stream is closed under it
            for event in self._stream:
                if event.get("Type") in KINDS:
                    self._note(event)

    def _note(self, event: dict[str, Any]) -> None:
        kind, action = event["Type"], event["Action"]
        actor, at_ns = event["Actor"], event["timeNano"]
        attributes = actor.get("Attributes") or {}
        place = f"{kind} {actor['ID']}"
        if action == "create":
            thing = Thing(kind, actor["ID"], attributes.get("name", actor["ID"]), at_ns)
            thing.image = attributes.get("image", "")
            thing.labels = {k: v for k, v in attributes.items() if k == OURS or k.startswith("factory.")}
            self._look(thing)
            with self._lock:
                self._things[place] = thing
            return
        with self._lock:
            known = self._things.get(place)
            if known is None:
                return
            if action == "die":
                known.died_ns, known.exit_code = at_ns, int(attributes.get("exitCode", -1))
            elif action == "destroy":
                known.destroyed_ns = at_ns

    def _look(self, thing: Thing) -> None:
        """Ask for what events do not tell; what is gone already stays unseen."""
        with suppress(NotFound):
            if thing.kind == "container":
                raw: Any = self._api.inspect_container(thing.id)
                thing.labels = dict(raw["Config"]["Labels"] or {})
                thing.auto_remove = raw["HostConfig"]["AutoRemove"]
                thing.volumes = tuple(m["Name"] for m in raw["Mounts"] if m["Type"] == "volume")
                thing.networks = (raw["HostConfig"]["NetworkMode"],)
            elif thing.kind == "volume":
                thing.labels = dict(self._api.inspect_volume(thing.id)["Labels"] or {})
            else:
                thing.labels = dict(self._api.inspect_network(thing.id)["Labels"] or {})
            thing.was_seen = True


@contextmanager
def record() -> Iterator[Recorder]:
    """A recorder beside the block."""
    api = open_api(QUICK_S)
    recorder = Recorder(api)
    try:
        recorder.catch_up()
        yield recorder
    finally:
        recorder.close()
        api.close()


def faults(recorder: Recorder, run_id: str, *, is_calm: bool = True) -> list[str]:
    """What is wrong with what was created; empty where all is well.

    Args:
        recorder: It was there from before the run's beginning until after its end.
        run_id: The run's; what carries another run's label is that one's business.
        is_calm: Nothing was killed, so every object is gone before the next key's first is made.
    """
    recorder.catch_up()
    mine = recorder.things(run_id)
    found = [f"a {t.kind} without our labels: {t.name}" for t in _strangers(recorder, run_id)]
    for thing in mine:
        name = f"{thing.kind} {thing.name}"
        if missing := LABELS - set(thing.labels):
            found.append(f"{name} lacks {sorted(missing)}")
        if not thing.was_seen:
            found.append(f"{name} was gone before it could be looked at")
        if thing.auto_remove:
            found.append(f"{name} removes itself")
        if thing.kind == "network":
            found.append(f"{name}: no network is to be made")
        if thing.destroyed_ns is None:
            found.append(f"{name} is left")
    return found + (_overstayers(mine) if is_calm else [])


def _strangers(recorder: Recorder, run_id: str) -> list[Thing]:
    """What belongs to the run by its name or by its use, and does not carry the run's label."""
    mine = recorder.things(run_id)
    used = {volume for thing in mine for volume in thing.volumes}
    joined = {network for thing in mine for network in thing.networks}
    others = [t for t in recorder.things() if t.labels.get("factory.run") != run_id]
    return [
        t
        for t in others
        if t.name.startswith(f"factory-{run_id}")
        or t.id in used
        or (t.kind == "network" and t.name in joined)
        or (t.kind == "container" and t.image.startswith(IMAGE_PREFIX) and OURS not in t.labels)
    ]


def _overstayers(mine: list[Thing]) -> list[str]:
    """Objects that were still there when the run's next key got its first one: another step removed them."""
    begun: dict[str, int] = {}
    for thing in mine:
        begun.setdefault(thing.key, thing.created_ns)
    order = list(begun)
    found = []
    for thing in mine:
        later = order[order.index(thing.key) + 1 :]
        if later and (thing.destroyed_ns or 0) > begun[later[0]]:
            found.append(f"{thing.kind} {thing.name} outlived its step")
    return found


def creates(recorder: Recorder, run_id: str, part: str = "job") -> dict[str, int]:
    """How many containers of this part were created for each key of a run."""
    count: dict[str, int] = {}
    for thing in recorder.things(run_id):
        if thing.kind == "container" and thing.part == part:
            count[thing.key] = count.get(thing.key, 0) + 1
    return count
