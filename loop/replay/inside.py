"""Writes commits as a coder would and captures each, in a few work trees of one container.

The container runs this file with `jobs.inside` beside it, as root, on Python 3.9 or later with the standard
library alone. Limits: talks to nobody; takes `/job/replay.json`, leaves batches in `/job/out`, and ends
where nobody takes them.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import sys
import tarfile
import time
from typing import Any, Mapping, Sequence

from jobs.inside.attributes import PLAIN
from jobs.inside.capture import capture
from jobs.inside.leftovers import Leftovers
from jobs.inside.order import Order
from jobs.inside.places import Places
from jobs.inside.process import ChildError, do_as
from jobs.inside.sealed import Git, GitError, write_attributes
from jobs.inside.tree import lay, lay_tree
from jobs.inside.walk import WalkError
from loop.replay.coder import write_changes

LAY_S, STEP_S = 900.0, 60.0
"""What laying the first tree and what one commit may take; the latter is what a job gives its capture."""
BATCH_S, BATCH_BYTES = 2.0, 4 << 20
"""Fetching a batch costs the engine as much work as carrying a commit, whatever is in it."""
MOST_WAITING = 8
"""Batches of which nobody said that they were taken; then the container waits."""
GIVE_UP_S = 120.0
_LOOK_S = 0.01


class Lane:
    """One work tree, moved from commit to commit.

    A move writes only what differs, as long as the same attributes hold; else a job's own code lays the tree
    whole. The capture's index is not told what the coder wrote: it finds that out, as in a job.
    """

    def __init__(self, document: Mapping[str, Any], places: Places) -> None:
        self._document = document
        self._places = places
        self._is_laid = False
        self._at: tuple[str, str] | None = None
        """Commit that the tree holds, and the name of its attributes; none: nothing is believed of it."""
        self._rules = ""
        """Attributes under which the tree was laid, by name."""
        self._index_at: str | None = None

    def carry(self, step: Mapping[str, Any]) -> Mapping[str, Any]:
        """Lay the step's base, write its commit, capture; gives the report, or `error` in one line."""
        until = time.monotonic() + (STEP_S if self._is_laid else LAY_S)
        links = step["links"]
        try:
            self._move(step, until)
            self._at = None
            self._write(step["changes"], links)
            report = capture(self._order(step["base"]), self._places, Leftovers(), until)
            if links:
                do_as(self._places.user, lambda: _unmark(self._places.repo, links))
        except (GitError, WalkError, ChildError, OSError) as error:
            return {"error": "%s: %s" % (type(error).__name__, error)}
        self._at = (step["commit"], step["after"])
        self._index_at = step["commit"] if report.tree == step["tree"] else None
        return {"tree": dataclasses.asdict(report)}

    def _move(self, step: Mapping[str, Any], until: float) -> None:
        base, rules, order = step["base"], step["rules"], self._order(step["base"])
        if not self._is_laid:
            lay(order, self._places, Leftovers(), until)
        elif self._rules == rules and self._at == (step["before"], rules):
            self._write(step["move"])
            if self._index_at != base:
                Git(self._places.git, self._places.repo, until).run("read-tree", "--reset", base)
        else:
            # As in a fresh repository: without attributes, so that files are looked at as bytes.
            do_as(self._places.user, lambda: write_attributes(self._places.agent_git, PLAIN))
            lay_tree(order, self._places, Leftovers(), until)
        # Git compares with it too, and the further away it is the longer that takes.
        with open(os.path.join(self._places.git, "HEAD"), "r+", encoding="ascii") as file:
            file.write(base + "\n")
        self._is_laid, self._rules = True, rules

    def _write(self, changes: Sequence[Sequence[str]], marks: Sequence[str] = ()) -> None:
        def write() -> None:
            os.chdir(self._places.repo)
            os.environ["HOME"] = self._places.home
            write_changes(changes, marks)

        if changes or marks:
            do_as(self._places.user, write)

    def _order(self, commit: str) -> Order:
        document = self._document
        return Order(
            "replay", "coder", commit, document["pack"], LAY_S, LAY_S, 1 << 40,
            document["patch_bytes"], document["patch_files"],
        )  # fmt: skip


def _unmark(repo: str, links: Sequence[str]) -> None:
    for path in links:
        os.rmdir(os.path.join(repo, path, ".git"))


class Outbox:
    """Batches of results, each a tar archive that appears whole; the host says which it has taken."""

    def __init__(self, places: Places) -> None:
        self._out = places.out
        self._taken = os.path.join(places.job, "taken")
        self._waiting: list[str] = []
        self._count = 0
        self._begin()

    def put(self, step: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
        """Keep one result with the diff that lies there; false where nobody takes them any more."""
        self._add("%d.json" % step["n"], json.dumps(result).encode("ascii"))
        if result.get("tree", {}).get("tree"):
            diff = os.path.join(self._out, "diff.patch")
            self._tar.add(diff, "%d.diff" % step["n"])
            os.unlink(diff)
        is_due = time.monotonic() > self._began + BATCH_S or self._buffer.tell() > BATCH_BYTES
        return not is_due or self.flush()

    def flush(self) -> bool:
        """Hand over what was kept; waits while too much lies there."""
        self._tar.close()
        name = "batch-%d.tar" % self._count
        partial = os.path.join(self._out, "part")
        with open(partial, "wb") as file:
            file.write(self._buffer.getvalue())
        os.rename(partial, os.path.join(self._out, name))
        self._waiting.append(name)
        self._count += 1
        self._begin()
        return self._has_room()

    def _begin(self) -> None:
        self._buffer, self._began = io.BytesIO(), time.monotonic()
        self._tar = tarfile.open(fileobj=self._buffer, mode="w")  # noqa: SIM115 - closed by `flush`

    def _add(self, name: str, data: bytes) -> None:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        self._tar.addfile(entry, io.BytesIO(data))

    def _has_room(self) -> bool:
        give_up = time.monotonic() + GIVE_UP_S
        while True:
            for name in [n for n in self._waiting if os.path.exists(os.path.join(self._taken, n))]:
                self._waiting.remove(name)
                for folder in (self._out, self._taken):
                    os.unlink(os.path.join(folder, name))
            if len(self._waiting) <= MOST_WAITING:
                return True
            if time.monotonic() > give_up:
                return False
            time.sleep(_LOOK_S)


def lane_root(lane: int) -> str:
    """The folder in which a lane has a job's places; the first one's are a job's own."""
    return "/" if lane == 0 else "/tmp/lane-%d" % lane  # noqa: S108 - made by us, in a container of ours


def main() -> int:
    """Carry every step of every lane; 1 where one of them could not go on."""
    with open(os.path.join(Places().job, "replay.json"), encoding="utf-8") as file:
        document = json.load(file)
    children = [_fork_lane(document, lane) for lane in range(1, len(document["lanes"]))]
    is_done = _carry_lane(document, 0)
    for child in children:
        is_done = os.waitpid(child, 0)[1] == 0 and is_done
    return 0 if is_done else 1


def _fork_lane(document: Mapping[str, Any], lane: int) -> int:
    places = Places(lane_root(lane))
    os.mkdir(places.root)
    os.chmod(places.root, 0o777)  # noqa: S103 - the agent's user makes its own places there
    do_as(places.user, lambda: _make_folders(places.repo, places.home, places.hand))
    _make_folders(places.out, os.path.join(places.job, "taken"))
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if _carry_lane(document, lane) else 1)
        except BaseException as error:  # noqa: BLE001 - the outermost frame of the child: it must never return
            sys.stderr.write("lane %d: %s: %s\n" % (lane, type(error).__name__, error))
            sys.stderr.flush()
            os._exit(1)
    return child


def _make_folders(*paths: str) -> None:
    for path in paths:
        os.makedirs(path, exist_ok=True)


def _carry_lane(document: Mapping[str, Any], number: int) -> bool:
    places = Places(lane_root(number))
    lane, outbox = Lane(document, places), Outbox(places)
    for step in document["lanes"][number]:
        if not outbox.put(step, lane.carry(step)):
            return False
    # The end takes nothing away: what lies in a dead container can be read all the same.
    return outbox.flush()


if __name__ == "__main__":
    sys.exit(main())
