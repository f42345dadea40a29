"""What the capture makes of content where the commit's attributes convert it."""

from pathlib import Path

import pytest

from jobs.inside.capture import Captured
from jobs.inside.sealed import GitError
from support.jobworld import World, read_tree
from support.trees import State

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

UTF16 = "a\n".encode("utf-16")


def based(folder: Path, attributes: bytes, **files: bytes) -> World:
    """A world whose commit has these attributes at the top."""
    state: State = {name.encode(): ("100644", content) for name, content in files.items()}
    return World(folder, {**state, b".gitattributes": ("100644", attributes)})


def captured(world: World, **work: bytes) -> tuple[Captured, dict[str, bytes]]:
    """Lay the commit and write these files; the report, and what the tree that it names holds of them."""
    order = world.lay(world.commit)
    for name, content in work.items():
        Path(world.places.repo, name).write_bytes(content)
    report = world.capture(order)
    if report.tree is None:
        return report, {}
    assert world.apply(world.diff, world.commit) == report.tree
    return report, {name: world.repo.git("cat-file", "blob", f"{report.tree}:{name}") for name in work}


@pytest.mark.parametrize(
    ("attributes", "work", "blob"),
    [
        (b"", b"a\r\n", b"a\r\n"),
        (b"* text=auto\n", b"a\r\n", b"a\n"),
        (b"* text=auto\n", b"a\r\nb\n", b"a\nb\n"),
        (b"* text=auto\n", b"a\r\n\0", b"a\r\n\0"),
        (b"* text\n", b"a\r\n\0", b"a\n\0"),
        (b"* text\nnew -text\n", b"a\r\n", b"a\r\n"),
        (b"* eol=crlf\n", b"a\r\n", b"a\n"),
        (b"* crlf=input\n", b"a\r\n", b"a\n"),
        (b"* text\n* binary\n", b"a\r\n", b"a\r\n"),
        (b"[attr]lines text\nnew lines\n", b"a\r\n", b"a\n"),
        (b"* ident\n", b"$Id: 1234 $ $Id$\n", b"$Id$ $Id$\n"),
        (b"new working-tree-encoding=UTF-16\n", UTF16, b"a\n"),
        (b"new text working-tree-encoding=UTF-16LE\n", "a\r\n".encode("utf-16-le"), b"a\n"),
        (b"new filter=lfs\n", b"a\r\n", b"a\r\n"),
    ],
)
def test_a_new_file_is_converted_by_the_attributes_of_the_commit(
    tmp_path: Path, attributes: bytes, work: bytes, blob: bytes
) -> None:
    _, blobs = captured(based(tmp_path, attributes), new=work)
    assert blobs == {"new": blob}


@pytest.mark.parametrize(
    ("attributes", "base", "work", "blob"),
    [
        (b"* text=auto\n", b"a\r\n", b"a\r\nb\r\n", b"a\r\nb\r\n"),
        (b"* text\n", b"a\r\n", b"a\r\nb\r\n", b"a\nb\n"),
        (b"* text\n", b"a\r\n", b"a\r\n", b"a\r\n"),
        (b"* text eol=crlf\n", b"a\n", b"a\r\nb\r\n", b"a\nb\n"),
        (b"* text eol=crlf\n", b"a\r\nb\n", b"a\r\nb\r\n", b"a\r\nb\n"),
        (b"* ident\n", b"$Id: old $\n", b"more\n", b"more\n"),
        (b"old working-tree-encoding=UTF-16\n", b"a\n", "é\n".encode("utf-16"), "é\n".encode()),
    ],
)
def test_a_file_of_the_commit_is_converted_unless_it_holds_what_was_laid(
    tmp_path: Path, attributes: bytes, base: bytes, work: bytes, blob: bytes
) -> None:
    report, blobs = captured(based(tmp_path, attributes, old=base), old=work)
    assert blobs == {"old": blob}
    assert report.changed_paths == (0 if blob == base else 1)


def test_a_mode_alone_is_a_change_under_attributes_too(tmp_path: Path) -> None:
    world = based(tmp_path, b"* text=auto\n", old=b"a\n")
    order = world.lay(world.commit)
    Path(world.places.repo, "old").chmod(0o755)
    assert world.capture(order).changed_paths == 1


@pytest.mark.parametrize("attributes", [b"* text=auto\n", b""])
def test_a_folder_that_became_a_link_to_its_like_is_captured(tmp_path: Path, attributes: bytes) -> None:
    world = World(tmp_path, {b"src/a": ("100644", b"a\n"), b".gitattributes": ("100644", attributes)})
    order = world.lay(world.commit)
    source = Path(world.places.repo, "src")
    source.rename(source.with_name("other"))
    source.symlink_to("other")
    report = world.capture(order)
    assert report.changed_paths == 3


@pytest.mark.parametrize(
    "hostile",
    [
        b"* text=auto eol=crlf ident working-tree-encoding=UTF-16 filter=lfs\n",
        b"[attr]text -text\n[attr]ident eol=crlf\n[attr]binary text\n* text binary\n",
        b"* -text -ident\n",
    ],
)
@pytest.mark.parametrize("attributes", [b"* text ident\n", b"* binary\n", b""])
def test_attributes_of_the_tree_have_no_say(tmp_path: Path, attributes: bytes, hostile: bytes) -> None:
    content = b"a\r\n$Id: x $\r\n"
    world = based(tmp_path, attributes)
    calm = captured(world, new=content)[1]
    report, blobs = captured(world, new=content, **{".gitattributes": hostile})
    assert blobs == {**calm, ".gitattributes": hostile}
    assert report.changed_paths == 2


def test_attributes_that_a_diff_brings_hold_from_the_next_round_on(tmp_path: Path) -> None:
    world = based(tmp_path, b"", old=b"a\n")
    report, _ = captured(world, **{".gitattributes": b"* text eol=crlf\n"})
    assert report.tree is not None
    world.commit = world.repo.ask("commit-tree", "-m", "a round", report.tree)
    _, blobs = captured(world, new=b"b\r\n")
    assert read_tree(Path(world.places.repo))[b"old"] == ("100644", b"a\r\n")
    assert blobs == {"new": b"b\n"}


def test_every_file_that_is_not_in_its_encoding_is_named_and_no_diff_is_made(tmp_path: Path) -> None:
    world = based(tmp_path, b"* text\n[aeo]* working-tree-encoding=UTF-16\n", old=b"a\n", other=b"a\n")
    report, _ = captured(world, old=b"no mark", even=UTF16, another=UTF16 + b"x", plain=b"b\n")
    assert report.unencodable == ["another", "old"]
    assert report.tree is None
    assert not Path(world.places.out, "diff.patch").exists()


def test_a_commit_that_breaks_its_own_encoding_is_in_nobodys_way(tmp_path: Path) -> None:
    world = based(tmp_path, b"odd working-tree-encoding=UTF-16\n", odd=b"\xff no UTF-8")
    report, blobs = captured(world, new=b"a\n")
    assert (report.changed_paths, report.unencodable, blobs) == (1, [], {"new": b"a\n"})


def test_another_failure_of_git_is_not_put_down_to_an_encoding(tmp_path: Path) -> None:
    world = based(tmp_path, b"odd working-tree-encoding=UTF-16\n")
    order = world.lay(world.commit)
    Path(world.places.repo, "odd").write_bytes(b"no mark")
    for n in range(256):
        Path(world.places.git, "objects", f"{n:02x}").touch()  # where git would make a folder
    with pytest.raises(GitError, match="hash-object"):
        world.capture(order)
