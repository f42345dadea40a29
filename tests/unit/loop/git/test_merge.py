from pathlib import Path

import pytest

from loop.git.errors import BranchMissingError
from loop.git.merge import Merged, Moved, Refused
from support.gitkit import Repo, make_repo
from support.gitworld import World, land, make_change


def hook(folder: Path, name: str, line: str) -> None:
    file = folder / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{line}\n")
    file.chmod(0o755)


def test_the_remote_and_the_checked_out_branch_are_at_exactly_the_landing(world: World) -> None:
    landing = make_change(world)
    assert land(world, landing) == Merged()
    assert world.origin.head("main") == world.person.head("main") == landing.commit
    assert (world.person.root / "README").read_bytes() == b"changed\n"
    assert world.person.git("status", "--porcelain") == b""


def test_case_16_a_main_that_moved_is_seen_and_not_touched(world: World) -> None:
    landing = make_change(world)
    other = world.person.commit({"src/c.py": b"c\n"})
    world.person.git("push", "--quiet", "origin", "main")
    assert land(world, landing) == Moved(other)
    assert world.origin.head("main") == world.person.head("main") == other
    assert world.store.is_ancestor(world.base, other)


def test_case_16_a_local_main_that_moved_is_seen(world: World) -> None:
    landing = make_change(world)
    other = world.person.commit({"src/c.py": b"c\n"})
    assert land(world, landing, remote=None) == Moved(other)
    assert world.person.head("main") == other


def test_a_push_that_a_hook_of_the_remote_declines_is_refused_with_its_words(world: World) -> None:
    landing = make_change(world)
    hook(world.origin.root, "pre-receive", "echo 'only on weekdays' >&2; exit 1")
    end = land(world, landing)
    assert isinstance(end, Refused)
    assert "only on weekdays" in end.text
    assert "pre-receive hook declined" in end.text
    assert end.reached
    assert world.origin.head("main") == world.person.head("main") == world.base


def test_a_crash_after_the_push_is_recognised(world: World) -> None:
    landing = make_change(world)
    world.store.git(
        ["-c", "protocol.file.allow=always", "push", "-q", str(world.origin.root), f"{landing.commit}:main"]
    )
    assert land(world, landing) == Merged()
    assert world.person.head("main") == landing.commit
    assert land(world, landing) == Merged()


def test_a_landing_that_others_have_built_on_is_merged(world: World) -> None:
    landing = make_change(world)
    assert land(world, landing) == Merged()
    later = world.person.commit({"src/d.py": b"d\n"})
    world.person.git("push", "--quiet", "origin", "main")
    assert land(world, landing) == Merged()
    assert land(world, landing, remote=None) == Merged()
    assert world.origin.head("main") == world.person.head("main") == later


def test_a_remote_that_is_gone_has_not_said_no(world: World) -> None:
    landing = make_change(world)
    world.person.git("remote", "set-url", "origin", "../nowhere.git")
    end = land(world, landing)
    assert isinstance(end, Refused)
    assert not end.reached
    assert "nowhere" in end.text
    assert world.person.head("main") == world.base


def test_another_branch_checked_out_is_left_alone(world: World) -> None:
    world.person.git("switch", "--quiet", "-c", "mine")
    world.person.write({"README": b"my own work\n"})
    landing = make_change(world)
    assert land(world, landing) == Merged()
    assert world.person.head("main") == landing.commit
    assert world.person.head("mine") == world.base
    assert (world.person.root / "README").read_bytes() == b"my own work\n"


@pytest.mark.parametrize("remote", ["origin", None])
def test_files_in_the_way_are_named_and_kept(world: World, remote: str | None) -> None:
    landing = make_change(world)
    world.person.write({"README": b"my own work\n", "src/b.py": b"untracked\n"})
    end = land(world, landing, remote=remote)
    if remote:
        assert isinstance(end, Merged)
        (text,) = end.notes
        assert world.origin.head("main") == landing.commit
    else:
        assert isinstance(end, Refused)
        text = end.text
    assert "README" in text
    assert "src/b.py" in text
    assert world.person.head("main") == world.base
    assert (world.person.root / "README").read_bytes() == b"my own work\n"
    assert (world.person.root / "src/b.py").read_bytes() == b"untracked\n"


def test_work_in_the_way_is_never_stashed(world: World) -> None:
    (world.folder / ".gitconfig").write_text("[merge]\n\tautoStash = true\n")
    landing = make_change(world)
    world.person.write({"README": b"my own work\n"})
    assert isinstance(land(world, landing, remote=None), Refused)
    assert (world.person.root / "README").read_bytes() == b"my own work\n"
    assert world.person.git("stash", "list") == b""


def test_changes_elsewhere_in_the_working_copy_stay(world: World) -> None:
    landing = make_change(world)
    world.person.write({"src/a.py": b"half done\n", "notes.txt": b"untracked\n"})
    assert land(world, landing, remote=None) == Merged()
    assert (world.person.root / "src/a.py").read_bytes() == b"half done\n"
    assert (world.person.root / "notes.txt").read_bytes() == b"untracked\n"


def test_an_ignored_file_of_the_person_is_not_overwritten(world: World) -> None:
    (world.person.root / ".git/info").mkdir(exist_ok=True)
    (world.person.root / ".git/info/exclude").write_text(".env\n")
    landing = world.landing(world.changed({".env": b"from the task\n"}))
    world.person.write({".env": b"my secret\n"})
    assert isinstance(land(world, landing, remote=None), Refused)
    assert (world.person.root / ".env").read_bytes() == b"my secret\n"


def test_the_branch_in_a_second_worktree_is_brought_along_there(world: World) -> None:
    world.person.git("switch", "--quiet", "--detach")
    world.person.git("worktree", "add", "--quiet", "../second tree", "main")
    landing = make_change(world)
    assert land(world, landing, remote=None) == Merged()
    second = Repo(world.folder / "second tree")
    assert second.head() == landing.commit
    assert (second.root / "src/b.py").read_bytes() == b"b\n"
    assert second.git("status", "--porcelain") == b""


def test_a_worktree_whose_folder_is_gone_does_not_hold_the_branch(world: World) -> None:
    world.person.git("switch", "--quiet", "--detach")
    world.person.git("worktree", "add", "--quiet", "../gone", "main")
    (world.folder / "gone").rename(world.folder / "elsewhere")
    landing = make_change(world)
    assert land(world, landing, remote=None) == Merged()
    assert world.person.head("main") == landing.commit


def test_the_loop_may_be_started_from_a_linked_worktree(world: World) -> None:
    world.person.git("worktree", "add", "--quiet", "--detach", "../linked")
    landing = make_change(world)
    assert land(world, landing, at=world.folder / "linked") == Merged()
    assert world.person.head("main") == world.origin.head("main") == landing.commit
    assert (world.person.root / "src/b.py").is_file()


def test_a_bare_repository_of_the_person_works(world: World) -> None:
    bare = make_repo(world.folder / "bare.git", "--bare")
    world.person.git("push", "--quiet", str(bare.root), "main")
    bare.git("remote", "add", "origin", str(world.origin.root))
    landing = make_change(world)
    assert land(world, landing, remote=None, at=bare.root) == Merged()
    assert bare.head("main") == landing.commit
    assert land(world, landing, at=bare.root) == Merged()
    assert world.origin.head("main") == landing.commit


def test_a_rebase_under_way_keeps_its_branch(world: World) -> None:
    landing = make_change(world)
    world.person.git("switch", "--quiet", "--detach")
    rebasing = world.person.root / ".git/rebase-merge"
    rebasing.mkdir()
    (rebasing / "head-name").write_text("refs/heads/main\n")
    end = land(world, landing, remote=None)
    assert isinstance(end, Refused)
    assert "rebase" in end.text
    assert world.person.head("main") == world.base


def test_local_commits_made_meanwhile_are_only_noted(world: World) -> None:
    landing = make_change(world)
    own = world.person.commit({"src/own.py": b"own\n"})
    end = land(world, landing)
    assert isinstance(end, Merged)
    assert "commits of its own" in end.notes[0]
    assert world.origin.head("main") == landing.commit
    assert world.person.head("main") == own


def test_a_checkout_that_takes_no_objects_does_not_undo_what_was_pushed(world: World) -> None:
    landing = make_change(world)
    (world.person.root / ".git/objects" / landing.commit[:2]).write_text("in the way")
    end = land(world, landing)
    assert isinstance(end, Merged)
    assert "stays behind" in end.notes[0]
    assert world.origin.head("main") == landing.commit


def test_an_old_protocol_in_the_checkout_does_not_matter(world: World) -> None:
    world.person.git("config", "protocol.version", "0")
    landing = make_change(world)
    assert land(world, landing, remote=None) == Merged()


def test_a_branch_that_is_gone_on_the_remote_is_named_and_not_made_again(world: World) -> None:
    landing = make_change(world)
    world.origin.git("branch", "-m", "main", "trunk")
    with pytest.raises(BranchMissingError, match="origin"):
        land(world, landing)
    assert world.origin.ask("for-each-ref", "--format=%(refname)") == "refs/heads/trunk"
    assert world.person.head("main") == world.base


def test_case_24_the_persons_own_setup_has_no_say(world: World) -> None:
    config = world.folder / ".gitconfig"
    marker = world.folder / "hook-ran"
    config.write_text(
        "[commit]\n\tgpgsign = true\n[gpg]\n\tprogram = false\n[tag]\n\tgpgsign = true\n"
        "[push]\n\tgpgSign = true\n"
        "[color]\n\tui = always\n[diff]\n\texternal = false\n[user]\n\tuseConfigOnly = true\n"
        "[merge]\n\tff = false\n\tautoStash = true\n\tverifySignatures = true\n"
        "[core]\n\tfsmonitor = false-program\n"
        "[include]\n\tpath = absent-file\n[apply]\n\twhitespace = error-all\n[fetch]\n\tprune = true\n"
    )
    for name in (
        "pre-commit",
        "pre-push",
        "post-merge",
        "post-checkout",
        "reference-transaction",
        "commit-msg",
    ):
        hook(world.person.root / ".git", name, f"touch {marker}; exit 1")
    world.person.git("config", "core.fsmonitor", f"touch {marker}")
    before = (config.read_bytes(), (world.person.root / ".git/config").read_bytes())

    landing = world.landing(world.changed({"src/b.py": b"trailing  \n\n\n", "README": b"changed\n"}))
    assert land(world, landing) == Merged()

    assert not marker.exists()
    assert (config.read_bytes(), (world.person.root / ".git/config").read_bytes()) == before
    assert world.store.commit_text(landing.commit).author == "A Person <person@example.org>"
    assert world.person.head("main") == world.origin.head("main") == landing.commit
    assert (world.person.root / "src/b.py").read_bytes() == b"trailing  \n\n\n"


def test_case_24_hooks_stay_off_where_only_a_ref_moves(world: World) -> None:
    marker = world.folder / "hook-ran"
    world.person.git("switch", "--quiet", "--detach")
    hook(world.person.root / ".git", "reference-transaction", f"touch {marker}; exit 1")
    landing = make_change(world)
    assert land(world, landing, remote=None) == Merged()
    assert not marker.exists()


def test_filters_of_the_person_work_in_their_working_copy(world: World) -> None:
    world.person.git("config", "filter.shout.smudge", "tr a-z A-Z")
    world.person.git("config", "filter.shout.clean", "tr A-Z a-z")
    (world.person.root / ".git/info").mkdir(exist_ok=True)
    (world.person.root / ".git/info/attributes").write_text("src/b.py filter=shout\n")
    landing = make_change(world)
    assert land(world, landing, remote=None) == Merged()
    assert (world.person.root / "src/b.py").read_bytes() == b"B\n"


def test_a_variable_that_points_git_elsewhere_has_no_say(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoy = make_repo(world.folder / "decoy")
    decoy.commit({"x": b"x"})
    for name, value in {
        "GIT_DIR": decoy.root / ".git",
        "GIT_WORK_TREE": decoy.root,
        "GIT_INDEX_FILE": decoy.root / "index",
        "GIT_OBJECT_DIRECTORY": decoy.root / ".git/objects",
        "GIT_NAMESPACE": "other",
    }.items():
        monkeypatch.setenv(name, str(value))
    before = sorted(decoy.root.rglob("*"))
    landing = make_change(world)
    assert land(world, landing) == Merged()
    assert world.store.subject(landing.commit) == "Retry"
    assert world.person.head("main") == landing.commit
    assert sorted(decoy.root.rglob("*")) == before
