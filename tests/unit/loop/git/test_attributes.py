import dataclasses

import pytest

from loop.git.attributes import filtered_paths
from loop.git.candidate import Candidate
from loop.git.errors import FilterUnsupportedError, NestedRepoError, SubmoduleChangedError
from support.gitkit import capture, make_repo
from support.gitworld import World, ref_of

LFS = b"*.bin filter=lfs diff=lfs merge=lfs -text\n[attr]large filter=lfs\nbig/* large\nplain/*.bin -filter\n"
OTHER = "2" * 40


def based(world: World, files: dict[str, bytes | None]) -> World:
    """The same world, its base one commit further."""
    base = world.person.commit(files)
    world.store.fetch_tips("main", None)
    return dataclasses.replace(world, base=base)


def linked(world: World) -> World:
    """A base with one submodule at `lib`."""
    world.person.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},lib")
    world.person.git("commit", "--quiet", "-m", "a submodule")
    world.store.fetch_tips("main", None)
    return dataclasses.replace(world, base=world.person.head())


def relinked(world: World, *update: str, files: dict[str, bytes | None] | None = None) -> Candidate:
    """A candidate whose job changed the index as git would for a submodule."""
    job = world.job()
    job.write(files or {})
    made = capture(job, world.base)
    index = make_repo(world.folder / "job-capture.git", "--bare")
    where = ("-c", "core.bare=false", f"--git-dir={index.root}", f"--work-tree={job.root}")
    job.git(*where, "update-index", *update)
    args = ("diff", "--cached", "--binary", "--full-index", "--no-renames", "--submodule=short", world.base)
    diff, tree = job.git(*where, *args), job.ask(*where, "write-tree")
    return world.candidate(dataclasses.replace(made, diff=diff, tree=tree))


def test_only_the_base_says_which_paths_are_filtered(world: World) -> None:
    world = based(world, {".gitattributes": LFS, "plain/.gitattributes": b"*.txt filter=other\n"})
    world.person.write({".gitattributes": b"*.py filter=lfs\n"})
    (world.store.path / "HEAD").write_text("ref: refs/base/local\n")
    asked = ("a.bin", "big/x", "plain/a.bin", "plain/n.txt", "src/a.py", "caf\udce9.bin", 'new\nline".bin')

    found = filtered_paths(world.store, world.base, asked)

    assert found == ("a.bin", "big/x", "plain/n.txt", "caf\udce9.bin", 'new\nline".bin')
    assert filtered_paths(world.store, world.base, ()) == ()


@pytest.mark.parametrize("folder", ["deep/er", ":(top)", "caf\udce9 *", 'q"\n'])
@pytest.mark.parametrize("count", [1, 9000], ids=["by name", "as a whole"])
def test_attributes_deep_in_the_tree_are_found_alone(world: World, folder: str, count: int) -> None:
    world = based(world, {f"{folder}/.gitattributes": b"*.bin filter=lfs\n"})
    asked = (f"{folder}/x/a.bin", *(f"other{n}/a.bin" for n in range(count)))

    assert filtered_paths(world.store, world.base, asked) == (f"{folder}/x/a.bin",)


def test_attributes_of_the_person_or_the_machine_have_no_say(world: World) -> None:
    attributes = world.folder / "attributes"
    attributes.write_text("* filter=lfs\n")
    (world.folder / ".gitconfig").write_text(f"[core]\n\tattributesFile = {attributes}\n")
    (world.person.root / ".git/info").mkdir(exist_ok=True)
    (world.person.root / ".git/info/attributes").write_text("* filter=lfs\n")
    assert filtered_paths(world.store, world.base, ("src/a.py",)) == ()


def test_a_changed_file_under_a_filter_is_unsupported(world: World) -> None:
    world = based(world, {".gitattributes": LFS, "old.bin": b"version https://git-lfs\n"})
    with pytest.raises(FilterUnsupportedError, match="LFS") as raised:
        world.changed({"old.bin": b"real bytes\n", "new.bin": b"more\n", "src/b.py": b"b\n"})
    assert raised.value.paths == ("new.bin", "old.bin")
    assert ref_of(world.store, "refs/factory/t/1") is None


def test_a_change_beside_the_filter_goes_on_and_so_does_a_removal(world: World) -> None:
    world = based(world, {".gitattributes": LFS, "old.bin": b"version https://git-lfs\n"})
    candidate = world.changed({"old.bin": None, "src/b.py": b"b\n", ".gitattributes": b"*.py filter=lfs\n"})
    assert "old.bin" not in world.store.paths(candidate.commit)


@pytest.mark.parametrize(
    ("update", "files"),
    [
        (("--cacheinfo", f"160000,{OTHER},lib"), None),
        (("--force-remove", "lib"), {"src/b.py": b"b\n"}),
    ],
)
def test_a_submodule_that_is_moved_or_removed_is_named(
    world: World, update: tuple[str, ...], files: dict[str, bytes | None] | None
) -> None:
    with pytest.raises(SubmoduleChangedError) as raised:
        relinked(linked(world), *update, files=files)
    assert raised.value.paths == ("lib",)


def test_a_submodule_that_files_replace_is_named(world: World) -> None:
    world = linked(world)
    oid = world.person.ask("hash-object", "-w", "src/a.py")
    with pytest.raises(SubmoduleChangedError) as raised:
        relinked(world, "--cacheinfo", f"100644,{oid},lib")
    assert raised.value.paths == ("lib",)


def test_an_untouched_submodule_stands_in_no_ones_way(world: World) -> None:
    world = linked(world)
    candidate = relinked(world, "--cacheinfo", f"160000,{'1' * 40},lib", files={"src/b.py": b"b\n"})
    assert {"lib", "src/b.py"} <= set(world.store.paths(candidate.commit))


def test_a_new_link_is_a_nested_repository_and_no_submodule(world: World) -> None:
    world = linked(world)
    keep = ("--cacheinfo", f"160000,{'1' * 40},lib")
    with pytest.raises(NestedRepoError) as raised:
        relinked(world, "--add", *keep, "--cacheinfo", f"160000,{OTHER},vendor")
    assert raised.value.paths == ("vendor",)
