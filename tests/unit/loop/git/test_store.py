import hashlib
import os
import stat
import time
from pathlib import Path

import pytest

from loop.git.errors import (
    BranchMissingError,
    CheckoutUnfitError,
    CommitMissingError,
    LocalAheadError,
    RemoteMissingError,
    RemoteUnavailableError,
    RepositoryMismatchError,
)
from loop.git.tips import Tips
from support.gitkit import TASK, make_repo
from support.gitworld import World, ref_of, store_of


def test_the_store_is_private_and_opens_again(world: World) -> None:
    again = store_of(world.home, "person", world.person.root / "src")
    assert again.path == world.home / "repos/person.git"
    for folder in (world.home / "repos", again.path):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    loose = {stat.S_IMODE(file.stat().st_mode) & 0o077 for file in again.path.rglob("*") if file.is_file()}
    assert loose == {0}
    assert again.commit_text(world.base).subject == "base"


def test_another_repository_under_the_name_is_refused_naming_both(world: World) -> None:
    other = make_repo(world.folder / "other")
    other.commit({"x": b"x"}, "another root")
    with pytest.raises(RepositoryMismatchError) as raised:
        store_of(world.home, "person", other.root)
    assert str(world.person.root) in str(raised.value)
    assert str(other.root) in str(raised.value)


def test_a_second_clone_is_the_same_repository(world: World) -> None:
    world.person.git("clone", "--quiet", "../origin.git", "../clone")
    assert store_of(world.home, "person", world.folder / "clone").path == world.store.path


def test_a_second_root_merged_later_does_not_make_it_another_repository(world: World) -> None:
    world.person.git("switch", "--quiet", "--orphan", "docs")
    world.person.commit({"docs.md": b"docs"}, "an older-looking root")
    world.person.git("merge", "--quiet", "--allow-unrelated-histories", "-m", "join", "main")
    world.person.git("branch", "--force", "main")
    assert store_of(world.home, "person", world.person.root, "main").path == world.store.path


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "-x", "x.git", "a b"])
def test_a_name_that_is_no_folder_is_one_sentence(world: World, name: str) -> None:
    with pytest.raises(CheckoutUnfitError, match=r"\[repo\] name"):
        store_of(world.home, name, world.person.root)


def test_a_folder_without_a_repository_is_one_sentence(world: World) -> None:
    plain = world.folder / "plain"
    plain.mkdir()
    for path in (plain, world.folder / "absent/file"):
        with pytest.raises(CheckoutUnfitError):
            store_of(world.home, "x", path)


def test_a_shallow_clone_is_one_sentence_with_the_cure(world: World) -> None:
    world.person.commit({"src/c.py": b"c"})
    world.person.git("clone", "--quiet", "--depth=1", world.person.root.as_uri(), "../shallow")
    with pytest.raises(CheckoutUnfitError, match="unshallow"):
        store_of(world.home, "shallow", world.folder / "shallow")


def test_a_repository_with_longer_ids_is_one_sentence(world: World) -> None:
    other = make_repo(world.folder / "long", "--object-format=sha256")
    other.commit({"x": b"x"})
    with pytest.raises(CheckoutUnfitError, match="SHA-256"):
        store_of(world.home, "long", other.root)


def test_both_tips_are_fetched_and_the_checkout_stays_as_it_is(world: World) -> None:
    before = sorted(path for path in world.person.root.rglob("*"))
    tip = make_remote_commit(world)
    tips = world.store.fetch_tips("main", "origin")
    assert tips == Tips("main", world.base, tip)
    assert ref_of(world.store, "refs/base/local") == world.base
    assert ref_of(world.store, "refs/base/remote") == tip
    assert sorted(world.person.root.rglob("*")) == before


def test_a_branch_that_was_rewound_is_followed(world: World) -> None:
    later = world.person.commit({"src/c.py": b"c\n"})
    assert world.store.fetch_tips("main", None).local == later
    world.person.git("reset", "--quiet", "--hard", world.base)
    assert world.store.fetch_tips("main", None).local == world.base


def make_remote_commit(world: World) -> str:
    world.person.git("clone", "--quiet", "../origin.git", "../colleague")
    colleague = type(world.person)(world.folder / "colleague")
    tip = colleague.commit({"src/theirs.py": b"theirs\n"})
    colleague.git("push", "--quiet", "origin", "main")
    return tip


def test_the_base_is_the_local_tip_or_with_push_the_remotes(world: World) -> None:
    tip = make_remote_commit(world)
    tips = world.store.fetch_tips("main", "origin")
    assert world.store.choose_base(tips, push=True) == tip
    assert world.store.choose_base(tips, push=False) == world.base


def test_a_local_branch_ahead_or_diverged_is_one_sentence_with_the_cure(world: World) -> None:
    world.person.commit({"src/own.py": b"own\n"})
    tips = world.store.fetch_tips("main", "origin")
    with pytest.raises(LocalAheadError, match="push it") as ahead:
        world.store.choose_base(tips, push=True)
    assert ahead.value.diverged is False
    make_remote_commit(world)
    tips = world.store.fetch_tips("main", "origin")
    with pytest.raises(LocalAheadError, match="diverged") as diverged:
        world.store.choose_base(tips, push=True)
    assert diverged.value.diverged is True
    assert world.store.choose_base(tips, push=False) == tips.local


def test_push_without_a_remote_is_one_sentence(world: World) -> None:
    with pytest.raises(RemoteMissingError):
        world.store.choose_base(world.store.fetch_tips("main", None), push=True)


def test_a_branch_or_remote_that_is_not_there_is_named(world: World) -> None:
    with pytest.raises(BranchMissingError, match="nope"):
        world.store.fetch_tips("nope", None)
    world.person.git("branch", "unpushed")
    with pytest.raises(BranchMissingError, match="'origin'"):
        world.store.fetch_tips("unpushed", "origin")
    world.person.git("remote", "set-url", "origin", "../nowhere.git")
    with pytest.raises(RemoteUnavailableError):
        world.store.fetch_tips("main", "origin")


def test_blobs_and_paths_are_read_whatever_their_bytes(world: World) -> None:
    odd = "a\nb/caf\udce9"
    (world.person.root / "a\nb").mkdir()
    commit = world.person.commit({odd: b"no newline at the end"})
    world.store.fetch_tips("main", None)
    assert odd in world.store.paths(commit)
    assert world.store.read_blob(commit, odd) == b"no newline at the end"
    assert world.store.blob_id(commit, TASK) == world.person.ask("rev-parse", f"HEAD:{TASK}")
    assert world.store.blob_id(commit, "src") is None
    assert world.store.read_blob(commit, "absent/file") is None
    assert world.store.read_blob(commit, "README/below") is None
    assert world.store.tree_of(commit) == world.person.ask("rev-parse", "HEAD^{tree}")


@pytest.mark.parametrize("name", ["1" * 40, "HEAD", "--all", "refs/base/local", ""])
def test_a_commit_that_is_not_there_is_named(world: World, name: str) -> None:
    for read in (
        world.store.tree_of,
        world.store.subject,
        lambda commit: world.store.blob_id(commit, "README"),
    ):
        with pytest.raises(CommitMissingError):
            read(name)


def test_the_pack_holds_the_commit_with_its_history_alone(world: World) -> None:
    tip = world.person.commit({"src/c.py": b"c\n"})
    world.store.fetch_tips("main", None)
    target = world.folder / "packs" / f"{tip}.pack"
    world.store.write_pack(tip, target)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(target.parent.iterdir()) == [target.with_suffix(".idx"), target]

    fresh = make_repo(world.folder / "fresh")
    fresh.git("index-pack", "--stdin", "--strict", stdin=target.read_bytes())
    assert fresh.ask("rev-list", tip).split() == [tip, world.base]
    fresh.git("checkout", "--quiet", tip)
    assert (fresh.root / "src/c.py").read_bytes() == b"c\n"


def test_a_pack_without_a_commit_lacks_what_that_one_reaches_even_if_nothing_is_left(world: World) -> None:
    tip = world.person.commit({"src/c.py": b"c\n"})
    world.store.fetch_tips("main", None)
    rest, nothing = (world.folder / name for name in ("rest.pack", "nothing.pack"))
    world.store.write_pack(tip, rest, without=world.base)
    world.store.write_pack(world.base, nothing, without=tip)
    assert world.store.has_commit(tip)
    assert not world.store.has_commit("1" * 40)

    fresh = make_repo(world.folder / "fresh")
    for pack in (rest, nothing):
        fresh.git("index-pack", "--stdin", stdin=pack.read_bytes())
    listed = fresh.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert sorted(listed) == [b"blob", b"commit", b"tree", b"tree"]


def test_a_pack_that_is_there_is_kept(world: World) -> None:
    target = world.folder / "one.pack"
    world.store.write_pack(world.base, target)
    inode = target.stat().st_ino
    world.store.write_pack(world.base, target)
    assert target.stat().st_ino == inode


def test_refs_are_set_and_forgotten_by_whole_parts(world: World) -> None:
    for name in ("t-1/1", "t-1/2", "t-10/1"):
        world.store.set_ref(f"refs/factory/{name}", world.base)
    assert world.store.delete_refs("refs/factory/t-1/") == 2
    assert ref_of(world.store, "refs/factory/t-1/1") is None
    assert ref_of(world.store, "refs/factory/t-10/1") == world.base
    assert world.store.delete_refs("refs/factory/t-1/") == 0


def test_the_inputs_digest_is_of_matching_files_only(world: World) -> None:
    first = world.store.inputs_digest(world.base, ["src/**", "*.lock", "!x"])
    assert first.unmatched == ("*.lock",)
    entries = sorted(entry for entry in [("src/a.py", "100644"), ("src/tool.sh", "100644")])
    expected = hashlib.sha256()
    for path, mode in entries:
        oid = world.store.blob_id(world.base, path)
        expected.update(f"{path}\0{mode}\0{oid}\0".encode())
    assert first.sha256 == expected.hexdigest()

    elsewhere = world.person.commit({"README": b"other\n"})
    (world.person.root / "src/tool.sh").chmod(0o755)
    mode = world.person.commit({})
    world.store.fetch_tips("main", None)
    assert world.store.inputs_digest(elsewhere, ["src/**", "*.lock", "!x"]) == first
    assert world.store.inputs_digest(mode, ["src/**", "*.lock", "!x"]).sha256 != first.sha256


def test_a_ref_lock_that_a_killed_git_left_does_not_stop_the_next_run(world: World) -> None:
    lock = world.store.path / "refs/base/local.lock"
    lock.touch()
    long_ago = time.time() - 3600
    os.utime(lock, (long_ago, long_ago))
    tip = world.person.commit({"src/c.py": b"c\n"})
    assert store_of(world.home, "person", world.person.root).fetch_tips("main", None).local == tip


def test_a_crash_while_it_was_made_is_mended_by_the_next_open(world: World) -> None:
    half = world.home / "repos/half.git"
    (half / "objects").mkdir(parents=True)
    assert store_of(world.home, "half", world.person.root).fetch_tips("main", None).local == world.base


def test_settings_of_the_checkout_start_nothing_while_it_is_read(world: World) -> None:
    marker = world.folder / "ran"
    for key in (
        "core.fsmonitor",
        "core.sshCommand",
        "uploadpack.packObjectsHook",
        "core.pager",
        "core.editor",
    ):
        world.person.git("config", key, f"touch {marker}")
    evil = world.folder / "evil-config"
    evil.write_text(
        f"[uploadpack]\n\tpackObjectsHook = touch {marker}\n[core]\n\thooksPath = {world.folder}\n"
    )
    world.person.git("config", "include.path", str(evil))
    tip = world.person.commit({"src/c.py": b"c\n"})
    marker.unlink(missing_ok=True)
    store = store_of(world.home, "person", Path(world.person.root))
    assert store.fetch_tips("main", "origin").local == tip
    assert not marker.exists()
