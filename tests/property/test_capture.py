"""Whatever an agent makes of a tree, the diff's proof holds; in a folder, by the capture's own code."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.inside.capture import Captured, capture
from jobs.inside.leftovers import Leftovers
from jobs.inside.order import Order
from jobs.inside.places import Places, User
from jobs.inside.tree import lay
from support.gitkit import make_repo
from support.trees import TREES, State, import_tree

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

ATTRIBUTES = (
    b"* text=auto eol=crlf ident",
    b"* binary",
    b"* working-tree-encoding=UTF-16 filter=lfs -diff",
    b"",
)


def write_tree(root: Path, state: State) -> None:
    """Make the folder hold this state and nothing else but its `.git`."""
    for entry in root.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if entry.name != ".git":
                shutil.rmtree(entry)
        else:
            entry.unlink()
    for path, (mode, content) in state.items():
        full = root / os.fsdecode(path)
        full.parent.mkdir(parents=True, exist_ok=True)
        if mode == "120000":
            full.symlink_to(os.fsdecode(content))
        else:
            full.write_bytes(content)
            full.chmod(int(mode, 8) & 0o777)


def read_tree(root: Path) -> State:
    """What a folder holds beside its `.git`; it has to be without empty folders."""
    state: State = {}
    for entry in root.rglob("*"):
        path = os.fsencode(entry.relative_to(root))
        if path.split(b"/")[0] == b".git":
            continue
        if entry.is_symlink():
            state[path] = ("120000", os.fsencode(os.readlink(entry)))  # noqa: PTH115 - Path drops a slash
        elif entry.is_file():
            state[path] = ("100755" if entry.stat().st_mode & 0o100 else "100644", entry.read_bytes())
        else:
            assert any(entry.iterdir())
    return state


class World:
    """A repository and the places of one job below a folder."""

    def __init__(self, folder: Path, base: State) -> None:
        self.repo = make_repo(folder / "origin", "--bare")
        self.commit = import_tree(self.repo, base, "base")
        self.places = Places(str(folder), User(os.geteuid(), os.getegid()))
        for path in (self.places.repo, self.places.hand, self.places.out):
            Path(path).mkdir(parents=True, exist_ok=True)
        self.pack = folder / "tree.pack"

    def lay(self, commit: str) -> Order:
        self.pack.write_bytes(
            self.repo.git("pack-objects", "--revs", "--stdout", "-q", stdin=commit.encode() + b"\n")
        )
        order = Order("k", "coder", commit, str(self.pack), 60, 60, 1 << 30, 1 << 20, 100)
        lay(order, self.places, Leftovers(), time.monotonic() + 60)
        return order

    def capture(self, order: Order) -> tuple[Captured, bytes]:
        report = capture(order, self.places, Leftovers(), time.monotonic() + 60)
        return report, Path(self.places.out, "diff.patch").read_bytes()

    def apply(self, diff: bytes, commit: str) -> str:
        env = {"GIT_INDEX_FILE": str(self.pack.parent / "index")}
        self.repo.git("read-tree", commit, env=env)
        if diff:
            self.repo.git("apply", "--cached", "--whitespace=nowarn", stdin=diff, env=env)
        return self.repo.git("write-tree", env=env).decode().strip()


@settings(max_examples=12, deadline=None)
@given(base=TREES, work=TREES, attributes=st.sampled_from(ATTRIBUTES))
def test_the_diff_gives_exactly_the_tree_that_the_agent_left(
    base: State, work: State, attributes: bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), {**base, b".gitattributes": ("100644", attributes)})
        order = world.lay(world.commit)
        assert read_tree(Path(world.places.repo)) == {
            **base,
            b".gitattributes": ("100644", attributes),
        }
        write_tree(Path(world.places.repo), work)
        report, diff = world.capture(order)
        expected = world.repo.ask("rev-parse", import_tree(world.repo, work, "work") + "^{tree}")
        assert report.tree == expected
        assert world.apply(diff, world.commit) == expected
        assert report.diff_bytes == len(diff)


@settings(max_examples=10, deadline=None)
@given(old=TREES, new=TREES)
def test_laying_over_an_older_tree_gives_exactly_the_new_one(old: State, new: State) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), old)
        world.lay(world.commit)
        order = world.lay(import_tree(world.repo, new, "new"))
        assert read_tree(Path(world.places.repo)) == new
        report, diff = world.capture(order)
        assert (report.tree, diff) == (report.base_tree, b"")


def test_a_change_in_the_very_second_of_laying_is_seen(tmp_path: Path) -> None:
    world = World(tmp_path, {b"a": ("100644", b"one\n")})
    order = world.lay(world.commit)
    file = Path(world.places.repo, "a")
    before = file.stat()
    with file.open("r+b") as same_inode:
        same_inode.write(b"two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    report, diff = world.capture(order)
    assert report.changed_paths == 1
    assert b"+two\n" in diff
