import os
from pathlib import Path

import pytest

from jobs.inside.leftovers import Leftovers
from jobs.inside.tree import find_stale
from support.gitkit import Repo
from support.jobworld import World, read_tree
from support.trees import State, import_tree

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

RULES = b".gitattributes"


def test_only_what_is_neither_tracked_nor_left_is_stale(tmp_path: Path) -> None:
    for name in (".git/HEAD", "kept/a", "kept/old", "gone/deep/x", "gone/cache/y", "left/z", "file"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "link").symlink_to("left")
    repo = os.fsencode(tmp_path)
    left = Leftovers(frozenset({b"left", b"gone/cache"}))
    stale = [
        (os.path.relpath(path, repo), is_folder)
        for path, is_folder in find_stale(repo, frozenset({b"kept/a"}), left)
    ]
    assert sorted(stale) == [
        (b"file", False),
        (b"gone", True),
        (b"gone/deep", True),
        (b"gone/deep/x", False),
        (b"kept/old", False),
        (b"link", False),
    ]
    assert (
        stale.index((b"gone/deep/x", False))
        < stale.index((b"gone/deep", True))
        < stale.index((b"gone", True))
    )


def laid(world: World) -> State:
    world.lay(world.commit)
    return read_tree(Path(world.places.repo))


def test_files_are_laid_as_a_checkout_lays_them(tmp_path: Path) -> None:
    rules = b"lines text eol=crlf\nid ident\nwide working-tree-encoding=UTF-16LE\nbig filter=lfs\n"
    files = {b"lines": b"a\n", b"id": b"$Id$\n", b"wide": b"a\n", b"big": b"a\n", b"plain": b"a\r\n"}
    world = World(tmp_path, {name: ("100644", content) for name, content in {**files, RULES: rules}.items()})
    blob = world.repo.head(f"{world.commit}:id").encode()
    assert laid(world) == {
        RULES: ("100644", rules),
        b"lines": ("100644", b"a\r\n"),
        b"id": ("100644", b"$Id: %s $\n" % blob),
        b"wide": ("100644", "a\n".encode("utf-16-le")),
        b"big": ("100644", b"a\n"),
        b"plain": ("100644", b"a\r\n"),
    }


@pytest.mark.parametrize(
    ("old", "new", "content"),
    [
        (b"", b"* text eol=crlf\n", b"a\r\n"),
        (b"* text eol=crlf\n", b"* text=auto\n", b"a\n"),
        (b"* text eol=crlf\n", b"", b"a\n"),
        (
            b"a working-tree-encoding=UTF-16LE\n",
            b"a working-tree-encoding=UTF-32LE\n",
            "a\n".encode("utf-32-le"),
        ),
    ],
)
def test_a_file_of_an_older_tree_is_laid_anew_where_attributes_changed(
    tmp_path: Path, old: bytes, new: bytes, content: bytes
) -> None:
    world = World(tmp_path, {b"a": ("100644", b"a\n"), RULES: ("100644", old)})
    laid(world)
    world.commit = import_tree(world.repo, {b"a": ("100644", b"a\n"), RULES: ("100644", new)}, "new")
    assert laid(world)[b"a"] == ("100644", content)


def test_a_file_that_is_as_a_checkout_writes_it_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path, {b"a": ("100644", b"a\n"), RULES: ("100644", b"* text=auto\n")})
    laid(world)
    file = Path(world.places.repo, "a")
    os.utime(file, (1, 1))
    laid(world)
    assert file.stat().st_mtime == 1


def test_the_agents_own_git_goes_by_the_trees_attributes_and_runs_no_filter(tmp_path: Path) -> None:
    rules = b"lines text eol=crlf\nbig filter=lfs\n"
    files: State = {b"lines": ("100644", b"a\n"), b"big": ("100644", b"a\n"), RULES: ("100644", rules)}
    world = World(tmp_path, files)
    laid(world)
    agents = Repo(Path(world.places.repo))
    agents.git("config", "filter.lfs.clean", "false")
    agents.git("config", "filter.lfs.required", "true")
    agents.write({"big": b"b\n", "lines": b"b\r\n"})
    agents.git("add", "--all")
    assert agents.git("cat-file", "blob", ":big") == b"b\n"
    assert agents.git("cat-file", "blob", ":lines") == b"b\n"
