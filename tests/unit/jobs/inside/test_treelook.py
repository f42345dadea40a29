import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.inside.leftovers import Leftovers
from jobs.inside.places import Places
from jobs.inside.sealed import CONFIG, GitError, make_directory
from jobs.inside.treelook import LOOK_S, REST_S, TreeLook, watched_paths
from support.gitkit import Repo, make_repo


class Clock:
    """Ahead of the real one, by which git is ended: a slow machine makes no look late."""

    def __init__(self, ahead_s: float = 60) -> None:
        self.now = time.monotonic() + ahead_s

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo")
    made.commit({"src/a.py": b"a\n", "b": b"b\n", ".gitignore": b"*.pyc\n/cache/\n!/left\n"})
    places = Places(str(tmp_path))
    make_directory(places.git, CONFIG, made.head() + "\n")
    shutil.copyfile(tmp_path / "repo" / ".git" / "index", Path(places.git) / "index")
    return made


def tree_of(repo: Repo, clock: Clock, *left: bytes, look_s: float = LOOK_S) -> TreeLook:
    places = Places(str(repo.root.parent))
    return TreeLook(places.repo, watched_paths(places, Leftovers().plus(left)), clock, look_s)


def has_changed(tree: TreeLook, clock: Clock) -> bool | None:
    clock.now += REST_S
    return tree.has_changed()


def test_what_a_capture_would_take_is_a_change(repo: Repo) -> None:
    clock = Clock()
    tree = tree_of(repo, clock)
    assert has_changed(tree, clock) is False
    (repo.root / "src" / "new.py").write_text("new\n")
    assert has_changed(tree, clock) is True
    assert has_changed(tree, clock) is False
    (repo.root / "b").write_text("c\n")
    assert has_changed(tree, clock) is True
    (repo.root / "b").chmod(0o755)
    assert has_changed(tree, clock) is True
    (repo.root / "src" / "a.py").unlink()
    assert has_changed(tree, clock) is True
    (repo.root / "src" / "new.py").rename(repo.root / "src" / "newer.py")
    assert has_changed(tree, clock) is True
    assert has_changed(tree, clock) is False


def test_what_is_ignored_or_left_by_set_up_is_none(repo: Repo) -> None:
    clock = Clock()
    (repo.root / "left").mkdir()
    tree = tree_of(repo, clock, b"left")
    for name in ("src/a.pyc", "cache/x", "left/y", ".git/z"):
        (repo.root / name).parent.mkdir(exist_ok=True)
        (repo.root / name).write_text("x")
    assert has_changed(tree, clock) is False


def test_a_look_right_after_another_is_not_taken(repo: Repo) -> None:
    clock = Clock()
    tree = tree_of(repo, clock)
    (repo.root / "b").write_text("c\n")
    clock.now += REST_S / 2
    assert tree.has_changed() is None
    clock.now += REST_S / 2
    assert tree.has_changed() is True


def test_a_slow_look_is_followed_by_a_long_rest(tmp_path: Path) -> None:
    clock = Clock()

    def slow(_until: float) -> Iterator[bytes]:
        clock.now += 1
        yield b"a"

    tree = TreeLook(str(tmp_path), slow, clock)
    clock.now += 19
    assert tree.has_changed() is None
    clock.now += 1
    assert tree.has_changed() is False


def test_a_tree_that_cannot_be_looked_at_counts_as_changed(tmp_path: Path) -> None:
    clock, is_broken = Clock(), False

    def paths(_until: float) -> Iterator[bytes]:
        if is_broken:
            raise GitError("git ls-files did not end in time")
        yield b"a"

    tree = TreeLook(str(tmp_path), paths, clock)
    assert has_changed(tree, clock) is False
    is_broken = True
    assert has_changed(tree, clock) is True
    assert has_changed(tree, clock) is True
    is_broken = False
    assert has_changed(tree, clock) is True
    assert has_changed(tree, clock) is False


def test_a_tree_that_is_too_big_to_be_looked_at_counts_as_changed(tmp_path: Path) -> None:
    clock = Clock()

    def paths(until: float) -> Iterator[bytes]:
        clock.now = until + 1
        yield from (b"a", b"b")

    tree = TreeLook(str(tmp_path), paths, clock)
    clock.now += 1000
    assert tree.has_changed() is True


def test_a_fifo_in_gits_way_ends_with_the_look(repo: Repo) -> None:
    (repo.root / "src" / "new.py").write_text("new\n")
    os.mkfifo(repo.root / "src" / ".gitignore")
    clock = Clock(ahead_s=0)
    tree = tree_of(repo, clock, look_s=0.2)
    clock.now = time.monotonic() + REST_S
    assert tree.has_changed() is True
