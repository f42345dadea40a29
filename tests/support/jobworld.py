"""A commit laid and captured by the supervisor's own code, below a folder and as the user who runs the test.

Limits: no container, so that nothing keeps the capture's own git directory from the tree's user.
"""

import os
import shutil
import time
from pathlib import Path

from jobs.inside.capture import Captured, capture
from jobs.inside.leftovers import Leftovers
from jobs.inside.order import Order
from jobs.inside.places import Places, User
from jobs.inside.tree import lay
from support.gitkit import make_repo
from support.trees import State, import_tree


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

    def capture(self, order: Order) -> Captured:
        return capture(order, self.places, Leftovers(), time.monotonic() + 60)

    @property
    def diff(self) -> bytes:
        return Path(self.places.out, "diff.patch").read_bytes()

    def apply(self, diff: bytes, commit: str) -> str:
        env = {"GIT_INDEX_FILE": str(self.pack.parent / "index")}
        self.repo.git("read-tree", commit, env=env)
        if diff:
            self.repo.git("apply", "--cached", "--whitespace=nowarn", stdin=diff, env=env)
        return self.repo.git("write-tree", env=env).decode().strip()
