"""Whatever an agent makes of a tree, the diff's proof holds; in a folder, by the capture's own code."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.inside.capture import show
from support.clones import add_all, checked_out
from support.jobworld import World, read_tree, write_tree
from support.trees import ATTRIBUTED, State, import_tree, without_clashes

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


@settings(max_examples=12, deadline=None)
@given(base=ATTRIBUTED, work=ATTRIBUTED, keeps=st.booleans())
def test_the_diff_gives_the_tree_that_git_add_gives_in_a_clone(
    base: State, work: State, *, keeps: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), base)
        order = world.lay(world.commit)
        clone = checked_out(world.repo, world.commit, Path(folder, "clone"))
        laid = read_tree(Path(world.places.repo))
        assert laid == read_tree(clone.root)
        write_tree(Path(world.places.repo), without_clashes({**laid, **work}) if keeps else work)
        added = add_all(clone, Path(world.places.repo))
        report = world.capture(order)
        assert set(report.unencodable) == {show(path) for path in added.unencodable}
        if added.unencodable:
            assert report.tree is None
            return
        assert report.tree == added.tree
        assert report.changed_paths == len(added.changed)
        assert world.apply(world.diff, world.commit) == added.tree
        assert report.diff_bytes == len(world.diff)


@settings(max_examples=8, deadline=None)
@given(old=ATTRIBUTED, new=ATTRIBUTED, keeps=st.booleans())
def test_laying_over_an_older_tree_gives_exactly_the_new_one(old: State, new: State, *, keeps: bool) -> None:
    new = without_clashes({**old, **new}) if keeps else new
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), old)
        world.lay(world.commit)
        commit = import_tree(world.repo, new, "new")
        order = world.lay(commit)
        clone = checked_out(world.repo, commit, Path(folder, "clone"))
        assert read_tree(Path(world.places.repo)) == read_tree(clone.root)
        report = world.capture(order)
        assert (report.tree, world.diff) == (report.base_tree, b"")


def test_a_change_in_the_very_second_of_laying_is_seen(tmp_path: Path) -> None:
    world = World(tmp_path, {b"a": ("100644", b"one\n")})
    order = world.lay(world.commit)
    file = Path(world.places.repo, "a")
    before = file.stat()
    with file.open("r+b") as same_inode:
        same_inode.write(b"two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    report = world.capture(order)
    assert report.changed_paths == 1
    assert b"+two\n" in world.diff
