"""Whatever an agent makes of whatever tree, in a container, its candidate holds what `git add` would hold.

One job an example; its edits are random (support/edits.py). The tree that it left is read from the ended
container by the engine, and added by plain git in a clone that the job never saw. Which kind is proven where:

| kind | here | also by name in |
| --- | --- | --- |
| any bytes in content and names, binary, empty, no newline at the end, CRLF | yes | test_capture.py |
| modes, links, hard links, renames, swaps, changes of type | yes | test_capture.py |
| ignored, newly ignored, hostile `.gitattributes` of the agent's | yes | test_capture.py |
| `text`, `eol`, `ident`, `working-tree-encoding` in attributes of the base | yes | test_capture.py |
| bytes that are not in the encoding that the base names | yes, as a stop | test_capture.py |
| intent-to-add, commits, branches, stashes, detached head, other settings | yes | test_capture.py |
| `.git` deleted, replaced, turned into a file | yes | test_capture.py |
| nested repositories, work in a submodule, a submodule removed | yes, as stops | test_capture.py |
| a filter such as LFS in the base's attributes | yes, as a stop | tests/unit/loop/git |
| files and folders without permissions, FIFOs, sockets | yes | test_capture.py |
| a change that keeps size and time, names that git refuses, paths too deep | no | test_capture.py |
| 100,000 files | below | |
"""

import hashlib
import io
import json
import os
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker.models.containers import Container
from hypothesis import HealthCheck, Phase, example, given, settings

from instrument.schema.job import ContainerEnd, JobEnd, Tree
from instrument.schema.vocabulary import Outcome
from jobs.engine import Engine
from loop.git.candidate import build_candidate
from loop.git.errors import ChangeError, EmptyChangeError, FilterUnsupportedError, SubmoduleChangedError
from loop.git.paths import encode_path
from loop.git.store import Store
from loop.machine.guards import patch_oversized
from support.clones import GITLINK, Added, add_all, checked_out
from support.edits import EDITS, SUBMODULE, Edit, as_line
from support.gitkit import AUTHOR, WHEN, Repo, make_repo
from support.gitworld import store_of
from support.lives import new_state
from support.supervisor import Box, Done, open_box
from support.trees import ATTRIBUTED, FILTERED, WITH_FILTER, State, import_tree

pytestmark = pytest.mark.docker

ONE_FILE: State = {b"a": ("100644", b"one\n")}
UNDER_FILTER: State = {**ONE_FILE, b".gitattributes": ("100644", WITH_FILTER)}
ENCODED: State = {**ONE_FILE, b".gitattributes": ("100644", b"a working-tree-encoding=UTF-16\n")}
MANY = """python3 -c '
import os
for folder in map(str, range(100)):
    os.mkdir(folder)
    open(folder + "/0", "w").close()
    for n in range(1, 1000):
        os.link(folder + "/0", f"{folder}/{n}")  # making as many inodes takes far longer than the capture
'
"""


@pytest.fixture(scope="module")
def box(engine: Engine, runs: set[str]) -> Iterator[Box]:
    with open_box(engine, runs) as opened:
        yield opened


@dataclass(frozen=True)
class Room:
    """A person's repository, our store of it, and the engine."""

    box: Box
    person: Repo
    store: Store

    def commit(self, state: State) -> str:
        base = import_tree(self.person, state, "main")
        self.store.fetch_tips("main", None)
        return base

    def candidate(self, base: str, done: Done) -> str:
        """The tree of the commit that the product makes of it."""
        tree = tree_of(done)
        assert tree.tree is not None
        made = build_candidate(
            self.store,
            base=base,
            start=base,
            diff=done.diff,
            sha256=tree.diff_sha256,
            tree=tree.tree,
            message="m",
            author=AUTHOR,
            when_utc=WHEN,
            ref="refs/factory/t/1",
            length_bytes=tree.diff_bytes,
        )
        return self.store.tree_of(made.commit)


@pytest.fixture
def room(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    person = make_repo(tmp_path / "person")
    person.commit({"first": b"first\n"})
    return Room(box, person, store_of(tmp_path / "home", "person", person.root))


def tree_of(done: Done) -> Tree:
    assert done.report.error is None
    assert done.report.tree is not None
    return done.report.tree


def write_tree(container: Container, target: Path) -> None:
    """Write what lies in the job's tree, as the engine packs it, but for the top's `.git`."""
    stream, _ = container.get_archive("/repo")
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as tar:
        for entry in tar:
            name = entry.name.partition("/")[2]
            if not name or name == ".git" or name.startswith(".git/"):
                continue
            path = target / name
            if entry.isdir():
                path.mkdir()
            elif entry.issym():
                path.symlink_to(entry.linkname)
            elif entry.islnk():
                os.link(target / entry.linkname.partition("/")[2], path, follow_symlinks=False)
            else:
                file = tar.extractfile(entry)
                assert file is not None
                path.write_bytes(file.read())
                path.chmod(0o755 if entry.mode & 0o100 else 0o644)


def outcome_of(room: Room, base: str, done: Done, added: Added) -> str:
    """Take one job's tree to its candidate; how that ended, each end proven."""
    tree = tree_of(done)
    special = [bytes.fromhex(path) for path in json.loads(done.out["transcript.jsonl"])]
    assert set(tree.special) == {path.decode("utf-8", "backslashreplace") for path in special}
    assert not tree.unreadable
    assert not tree.oversized
    if added.nested:
        assert {os.fsencode(path) for path in tree.nested_repos} == added.nested
        assert tree.tree is None
        assert "diff.patch" not in done.out
        return "nested"
    assert set(tree.unencodable) == {path.decode("utf-8", "backslashreplace") for path in added.unencodable}
    if added.unencodable:
        assert tree.tree is None
        return "unencodable"
    assert (tree.nested_repos, tree.tree) == ((), added.tree)
    assert tree.changed_paths == len(added.changed)
    assert tree.diff_sha256 == hashlib.sha256(done.diff).hexdigest()
    try:
        made = room.candidate(base, done)
    except (EmptyChangeError, SubmoduleChangedError, FilterUnsupportedError) as error:
        return stop_of(error, added)
    assert made == added.tree
    return "whole"


def stop_of(error: ChangeError, added: Added) -> str:
    """The short name of a stop that the host makes; it has its reason and names its paths."""
    match error:
        case EmptyChangeError():
            assert not added.changed
            return "empty"
        case SubmoduleChangedError(paths=paths):
            assert paths == (SUBMODULE.decode(),)
            assert SUBMODULE in added.changed - set(added.entries)
            return "submodule"
        case FilterUnsupportedError(paths=paths):
            written = added.changed & set(added.entries)
            assert {encode_path(path) for path in paths} == {
                path for path in written if path.split(b"/")[-1] in FILTERED
            }
            return "filter"
    raise AssertionError(error)


@pytest.mark.parametrize(
    "jobs", [12, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])], ids="{} jobs".format
)
def test_the_candidate_holds_what_git_add_would_hold_in_a_clone(
    room: Room, tmp_path_factory: pytest.TempPathFactory, jobs: int
) -> None:
    seen: Counter[str] = Counter()

    @settings(
        max_examples=jobs,
        deadline=None,
        derandomize=jobs < 100,  # so that a short run finds the same everywhere; the long one looks for more
        phases=[Phase.explicit, Phase.generate],  # to make a failing example smaller takes minutes of jobs
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(base=ATTRIBUTED, edits=EDITS)
    @example(base=UNDER_FILTER, edits=[("write", [b"a".hex(), "00"])])
    @example(base=ENCODED, edits=[("write", [b"a".hex(), "00"])])
    @example(base=ONE_FILE, edits=[("fill", [])])
    def one_job(base: State, edits: list[Edit]) -> None:
        commit = room.commit({**base, SUBMODULE: (GITLINK, b"1" * 40)})
        done = room.box.run(room.person, commit, run=as_line(edits))
        try:
            assert done.report.exit_code == 0, done.out["agent-stderr.txt"]
            work = tmp_path_factory.mktemp("work")
            write_tree(done.container, work)
            clone = checked_out(room.person, commit, tmp_path_factory.mktemp("clone"))
            seen[outcome_of(room, commit, done, add_all(clone, work))] += 1
        finally:
            done.container.remove(force=True, v=True)

    one_job()
    assert seen["whole"] >= jobs // 4, seen
    assert seen["filter"], seen
    assert seen["unencodable"], seen
    assert seen["nested"], seen


def test_a_hundred_thousand_files_are_too_large_by_name_within_seconds(room: Room) -> None:
    base = room.commit({b"a": ("100644", b"a\n")})
    done = room.box.run(room.person, base, run=MANY)
    tree = tree_of(done)
    assert tree.oversized
    assert tree.tree is None
    assert tree.total_files == 100_000
    assert "diff.patch" not in done.out
    assert done.report.duration_ms - done.report.agent_ms < 30_000
    end = JobEnd(
        key=done.report.key, folder="jobs/1", container=ContainerEnd(exit_code=0), report=done.report
    )
    assert patch_oversized(new_state(), end) is Outcome.PATCH_OVERSIZED
