"""Every state that a person's checkout, or their remote, can be in when a task merges."""

from collections.abc import Callable
from pathlib import Path

import pytest

from loop.git.merge import Merged, Moved, Refused
from support.gitkit import Repo, make_repo
from support.gitworld import World, land, make_change


def receiver(world: World, script: str) -> None:
    """What answers a push; fetches go on as before."""
    file = world.folder / "receive.sh"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    world.person.git("config", "remote.origin.receivepack", str(file))


def staged(person: Repo) -> None:
    person.write({"README": b"my own work\n"})
    person.git("add", "README")


def merging(person: Repo) -> None:
    (person.root / ".git/MERGE_HEAD").write_text(f"{person.head()}\n")


def locked(person: Repo) -> None:
    (person.root / ".git/index.lock").touch()


@pytest.mark.parametrize(
    ("state", "said", "remote"),
    [(staged, "README", "origin"), (merging, "MERGE_HEAD", None), (locked, "index.lock", None)],
)
def test_a_working_copy_that_is_busy_stays_as_it_is_and_is_named(
    world: World, state: Callable[[Repo], None], said: str, remote: str | None
) -> None:
    landing = make_change(world)
    state(world.person)
    before = (world.person.root / "README").read_bytes()
    end = land(world, landing, remote=remote)
    text = end.notes[0] if isinstance(end, Merged) else end.text if isinstance(end, Refused) else ""
    assert isinstance(end, Merged if remote else Refused)
    assert said in text
    assert world.person.head("main") == world.base
    assert (world.person.root / "README").read_bytes() == before
    assert (world.origin.head("main") == landing.commit) == bool(remote)


def test_staged_work_elsewhere_stays_staged(world: World) -> None:
    landing = make_change(world)
    world.person.write({"src/a.py": b"half done\n"})
    world.person.git("add", "src/a.py")
    assert land(world, landing, remote=None) == Merged()
    assert world.person.ask("status", "--porcelain") == "M  src/a.py"
    assert world.person.head("main") == landing.commit


def test_a_detached_head_stays_where_it_is(world: World) -> None:
    world.person.git("switch", "--quiet", "--detach")
    landing = make_change(world)
    assert land(world, landing) == Merged()
    assert world.person.head() == world.base
    assert world.person.head("main") == world.origin.head("main") == landing.commit
    assert (world.person.root / "README").read_bytes() == b"read me\n"


def test_files_in_the_way_in_a_second_worktree_are_named_with_it(world: World) -> None:
    world.person.git("switch", "--quiet", "--detach")
    world.person.git("worktree", "add", "--quiet", "../second", "main")
    landing = make_change(world)
    second = Repo(world.folder / "second")
    second.write({"README": b"my own work\n", "src/b.py": b"untracked\n"})
    end = land(world, landing, remote=None)
    assert isinstance(end, Refused)
    assert all(name in end.text for name in ("README", "src/b.py", str(second.root)))
    assert (second.root / "src/b.py").read_bytes() == b"untracked\n"
    assert world.person.head("main") == world.base


def test_a_rebase_in_a_second_worktree_keeps_its_branch(world: World) -> None:
    world.person.git("switch", "--quiet", "--detach")
    world.person.git("worktree", "add", "--quiet", "../second", "main")
    second = Repo(world.folder / "second")
    landing = make_change(world)
    second.git("switch", "--quiet", "--detach")
    rebasing = Path(second.ask("rev-parse", "--absolute-git-dir")) / "rebase-merge"
    rebasing.mkdir()
    (rebasing / "head-name").write_text("refs/heads/main\n")
    end = land(world, landing, remote=None)
    assert isinstance(end, Refused)
    assert "rebase" in end.text
    assert world.person.head("main") == world.base


def test_a_bare_repository_with_a_worktree_brings_it_along(world: World) -> None:
    bare = make_repo(world.folder / "bare.git", "--bare")
    world.person.git("push", "--quiet", str(bare.root), "main")
    bare.git("worktree", "add", "--quiet", "../work", "main")
    landing = make_change(world)
    assert land(world, landing, remote=None, at=world.folder / "work") == Merged()
    assert bare.head("main") == landing.commit
    assert (world.folder / "work/src/b.py").read_bytes() == b"b\n"


def test_a_local_branch_behind_the_remote_comes_along_all_the_way(world: World) -> None:
    candidate = world.changed({"src/b.py": b"b\n"})
    onto = world.person.commit({"src/c.py": b"c\n"})
    world.person.git("push", "--quiet", "origin", "main")
    world.person.git("reset", "--quiet", "--hard", world.base)
    world.store.fetch_tips("main", "origin")
    landing = world.landing(candidate, onto)
    assert land(world, landing, onto=onto) == Merged()
    assert world.person.head("main") == world.origin.head("main") == landing.commit
    assert {"b.py", "c.py"} <= {path.name for path in (world.person.root / "src").iterdir()}


def test_a_local_branch_that_is_gone_is_noted_where_the_remote_has_it(world: World) -> None:
    landing = make_change(world)
    world.person.git("branch", "-m", "main", "mine")
    end = land(world, landing)
    assert isinstance(end, Merged)
    assert "no local branch 'main'" in end.notes[0]
    assert world.origin.head("main") == landing.commit
    assert world.person.head("mine") == world.base


def test_local_commits_of_ones_own_without_a_remote_mean_that_main_moved(world: World) -> None:
    landing = make_change(world)
    own = world.person.commit({"src/own.py": b"own\n"})
    assert land(world, landing, remote=None) == Moved(own)


def test_a_protected_branch_is_a_refusal_in_the_remotes_words(world: World) -> None:
    landing = make_change(world)
    hook = world.origin.root / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'main is protected: open a pull request' >&2\nexit 1\n")
    hook.chmod(0o755)
    end = land(world, landing)
    assert isinstance(end, Refused)
    assert end.reached
    assert "open a pull request" in end.text
    assert "remote rejected" in end.text
    assert world.person.head("main") == world.base


def test_a_remote_that_has_the_branch_checked_out_says_so(world: World) -> None:
    other = Repo(world.folder / "other")
    world.person.git("clone", "--quiet", str(world.origin.root), str(other.root))
    world.person.git("remote", "set-url", "origin", str(other.root))
    landing = make_change(world)
    end = land(world, landing)
    assert isinstance(end, Refused)
    assert end.reached
    assert "checked out" in end.text


BROKEN = (
    "exit 1",
    "echo 'ssh: connect to host example.org port 22: Connection timed out' >&2; exit 255",
    "echo 'fatal: unable to access: The requested URL returned error: 503' >&2; exit 1",
)
DENIED = (
    "echo 'ERROR: Permission to a/b.git denied to c.' >&2; exit 1",
    "echo 'remote: Write access to repository not granted.' >&2; exit 1",
    "echo 'fatal: unable to access: The requested URL returned error: 403' >&2; exit 1",
)


def test_a_connection_that_breaks_at_the_push_is_no_refusal(world: World) -> None:
    landing = make_change(world)
    for script in (*BROKEN, *DENIED):
        receiver(world, script)
        end = land(world, landing)
        assert isinstance(end, Refused), script
        assert end.reached is (script in DENIED), script
        assert end.text
        assert world.origin.head("main") == world.person.head("main") == world.base


def test_an_answer_that_is_lost_after_the_push_is_found_merged(world: World) -> None:
    landing = make_change(world)
    push = f"git -C {world.store.path} push -q {world.origin.root} {landing.commit}:refs/heads/main"
    receiver(world, f"{push} >&2; echo 'Connection reset' >&2; exit 1")
    assert land(world, landing) == Merged()
    assert world.origin.head("main") == world.person.head("main") == landing.commit


def test_a_branch_that_moves_between_the_look_and_the_push_has_moved(world: World) -> None:
    landing = make_change(world)
    other = world.person.commit({"src/c.py": b"c\n"})
    world.person.git("push", "--quiet", "origin", "main:refs/heads/other")
    receiver(world, f'git -C {world.origin.root} update-ref refs/heads/main {other}; git-receive-pack "$@"')
    assert land(world, landing) == Moved(other)
    assert world.origin.head("main") == other
