"""Whatever an agent makes of whatever tree, in a container, its candidate holds what `git add` would hold.

One job an example; its edits are random (support/edits.py). The tree that it left is read from the ended
container by the engine, and added by plain git in a clone that the job never saw. Which kind is proven where:

| kind | here | also by name in |
| --- | --- | --- |
| any bytes in content and names, binary, empty, no newline at the end, CRLF | yes | test_capture.py |
| modes, links, hard links, renames, swaps, changes of type | yes | test_capture.py |
| ignored, newly ignored, hostile `.gitattributes` of the agent's | yes | test_capture.py |
| intent-to-add, commits, branches, stashes, detached head, other settings | yes | test_capture.py |
| `.git` deleted, replaced, turned into a file | yes | test_capture.py |
| nested repositories, work in a submodule, a submodule removed | yes, as stops | test_capture.py |
| a filter such as LFS in the base's attributes | yes, as a stop | tests/unit/loop/git |
| files and folders without permissions, FIFOs, sockets | yes | test_capture.py |
| a change that keeps size and time, names that git refuses, paths too deep | no | test_capture.py |
| 100,000 files | below | |

Limits: attributes of the base that convert content (`text`, `eol`, `ident`, `working-tree-encoding`) are left
out: the capture takes the bytes as they lie, where `git add` would convert them.
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
from hypothesis import strategies as st

from instrument.schema.job import ContainerEnd, JobEnd, Tree
from instrument.schema.vocabulary import Outcome
from jobs.engine import Engine
from loop.git.candidate import build_candidate
from loop.git.errors import ChangeError, EmptyChangeError, FilterUnsupportedError, SubmoduleChangedError
from loop.git.paths import encode_path
from loop.git.store import Store
from loop.machine.guards import patch_oversized
from support.edits import EDITS, SUBMODULE, Edit, as_line
from support.gitkit import AUTHOR, PLAIN_ATTRIBUTES, WHEN, Repo, make_repo
from support.gitworld import store_of
from support.lives import new_state
from support.supervisor import Box, Done, open_box
from support.trees import TREES, State, import_tree

pytestmark = pytest.mark.docker

GITLINK = "160000"
FILTERED = {b"a", b"b"}
"""Files of these names have a filter under `WITH_FILTER`."""
WITH_FILTER = b"[ab] filter=lfs diff=lfs merge=lfs -text\n"
ATTRIBUTES = [
    b"",
    b"* binary\n",
    b"*.py diff=python\n* -text -diff\n",
    WITH_FILTER,
]
ONE_FILE: State = {b"a": ("100644", b"one\n")}
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


def entries_of(repo: Repo) -> dict[bytes, tuple[str, str]]:
    """Path to mode and blob id of the index."""
    records = [record.partition(b"\t") for record in repo.git("ls-files", "--stage", "-z").split(b"\0")[:-1]]
    return {path: (head.decode().split()[0], head.decode().split()[1]) for head, _, path in records}


@dataclass(frozen=True)
class Added:
    """What plain git makes of the job's tree; `entries` and `before` map paths to mode and blob id."""

    tree: str
    entries: dict[bytes, tuple[str, str]]
    before: dict[bytes, tuple[str, str]]
    filled: frozenset[bytes]
    """The submodule, where there is anything in its folder: plain git passes that by."""

    @property
    def changed(self) -> set[bytes]:
        return {path for path, _ in self.entries.items() ^ self.before.items()}

    @property
    def nested(self) -> set[bytes]:
        """Folders whose content no diff of this repository can carry."""
        links = {path for path, (mode, _) in self.entries.items() if mode == GITLINK}
        return links & self.changed | self.filled


def add_in_a_clone(person: Repo, base: str, done: Done, folder: Path, attributes: bytes) -> Added:
    """`git add --all` on a copy of the job's tree, under the base's attributes and no others."""
    clone = make_repo(folder)
    clone.git("fetch", "--quiet", str(person.root), base)
    (folder / ".git/info").mkdir()
    (folder / ".git/info/attributes").write_bytes(PLAIN_ATTRIBUTES.encode() + attributes)
    clone.git("read-tree", base)
    before = entries_of(clone)
    write_tree(done.container, folder)
    clone.git("-c", "advice.addEmbeddedRepo=false", "add", "--all")
    module = folder / os.fsdecode(SUBMODULE)
    filled = frozenset({SUBMODULE} if module.is_dir() and any(module.iterdir()) else ())
    return Added(clone.ask("write-tree"), entries_of(clone), before, filled)


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
    @given(base=TREES, attributes=st.sampled_from(ATTRIBUTES), edits=EDITS)
    @example(base=ONE_FILE, attributes=WITH_FILTER, edits=[("write", [b"a".hex(), "00"])])
    @example(base=ONE_FILE, attributes=b"", edits=[("fill", [])])
    def one_job(base: State, attributes: bytes, edits: list[Edit]) -> None:
        module = {SUBMODULE: (GITLINK, b"1" * 40)}
        commit = room.commit({**base, **module, b".gitattributes": ("100644", attributes)})
        done = room.box.run(room.person, commit, run=as_line(edits))
        try:
            assert done.report.exit_code == 0, done.out["agent-stderr.txt"]
            clone = tmp_path_factory.mktemp("clone")
            seen[
                outcome_of(room, commit, done, add_in_a_clone(room.person, commit, done, clone, attributes))
            ] += 1
        finally:
            done.container.remove(force=True, v=True)

    one_job()
    assert seen["whole"] >= jobs // 4, seen
    assert seen["filter"], seen
    assert seen["nested"], seen


def test_a_hundred_thousand_files_are_too_large_by_name_within_seconds(room: Room) -> None:
    base = room.commit({b"a": ("100644", b"a\n")})
    done = room.box.run(room.person, base, run=MANY)
    tree = tree_of(done)
    assert tree.oversized
    assert tree.tree is None
    assert tree.total_files == 100_000
    assert "diff.patch" not in done.out
    assert done.report.duration_ms - done.report.agent_ms < 5_000
    end = JobEnd(
        key=done.report.key, folder="jobs/1", container=ContainerEnd(exit_code=0), report=done.report
    )
    assert patch_oversized(new_state(), end) is Outcome.PATCH_OVERSIZED
