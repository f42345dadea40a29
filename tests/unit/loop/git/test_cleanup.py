import pytest

from loop.git.cleanup import forget_task
from support.gitworld import World, ref_of


def test_every_ref_of_the_task_is_gone_and_no_other(world: World) -> None:
    for name in ("t-1/1", "t-1/landing-1", "t-1/rebased-1", "t-10/1", "t/1"):
        world.store.set_ref(f"refs/factory/{name}", world.base)
    world.person.git("update-ref", "refs/factory/t-1/1", world.base)
    world.person.git("update-ref", "refs/factory/t-10/1", world.base)
    world.person.git("branch", "factory/t-1/mine")

    assert forget_task(world.store, "t-1") == 4

    left = world.store_repo.ask("for-each-ref", "--format=%(refname)", "refs/factory").split()
    assert left == ["refs/factory/t-10/1", "refs/factory/t/1"]
    assert world.person.ask("for-each-ref", "--format=%(refname)").split() == [
        "refs/factory/t-10/1",
        "refs/heads/factory/t-1/mine",
        "refs/heads/main",
        "refs/remotes/origin/main",
    ]


def test_it_may_be_done_twice_and_starts_no_hook(world: World) -> None:
    hook = world.person.root / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {world.folder / 'ran'}\nexit 1\n")
    hook.chmod(0o755)
    world.person.git("-c", "core.hooksPath=/dev/null", "update-ref", "refs/factory/t-1/1", world.base)

    assert forget_task(world.store, "t-1") == 1
    assert forget_task(world.store, "t-1") == 0
    assert not (world.folder / "ran").exists()


def test_what_is_no_task_id_removes_nothing(world: World) -> None:
    world.store.set_ref("refs/factory/t-1/1", world.base)
    for task_id in ("", "..", "a/b", "*"):
        with pytest.raises(ValueError, match="task id"):
            forget_task(world.store, task_id)
    assert ref_of(world.store, "refs/factory/t-1/1") == world.base
