from loop.git.reverts import find_reverts, has_looked, set_looked
from support.gitworld import World

OURS = "Retry\n\nTask: t-001\nFactory-Key: t-001-rebase-1-00000000\n"


def land(world: World, message: str = OURS, path: str = "src/new.py") -> str:
    return world.person.commit({path: message.encode()}, message)


def revert(world: World, commit: str, *options: str) -> str:
    world.person.git(*options, "revert", "--no-edit", commit)
    return world.person.head()


def tip(world: World) -> str:
    return world.store.fetch_tips("main", None).local


def seen(world: World, known: set[str] | None = None) -> list[tuple[str, str]]:
    return [(found.commit, found.reverts) for found in find_reverts(world.store, tip(world), known)]


def test_a_revert_of_ours_is_found_with_its_time(world: World):
    commit = land(world)
    undone = revert(world, commit)

    (found,) = find_reverts(world.store, tip(world), None)
    assert (found.commit, found.reverts) == (undone, commit)
    assert found.at_utc.isoformat() == world.person.ask("log", "-1", "--format=%cI")


def test_a_short_id_is_enough(world: World):
    commit = land(world)
    undone = revert(world, commit, "-c", "revert.reference=true")

    assert commit not in world.person.ask("log", "-1", "--format=%B")
    assert seen(world) == [(undone, commit)]


def test_a_revert_of_a_revert_is_found_after_it(world: World):
    commit = land(world)
    undone = revert(world, commit)
    again = revert(world, undone)

    assert seen(world) == [(undone, commit), (again, undone)]


def test_a_revert_of_somebody_elses_commit_is_none_of_ours(world: World):
    revert(world, land(world, "by hand\n"))

    assert seen(world) == []


def test_words_alone_revert_nothing(world: World):
    commit = land(world)
    land(world, f"Speak\n\nsaid: This reverts commit {commit}.\n", "a")
    land(world, "Speak\n\nThis reverts commit 0123456789012345678901234567890123456789.\n", "b")
    # The body of a commit of ours is a model's summary.
    land(world, f"Undo\n\nThis reverts commit {commit}.\n\nFactory-Key: t-002-rebase-1-00000000\n", "c")

    assert seen(world) == []


def test_a_commit_may_take_back_several(world: World):
    first, second = land(world), land(world, path="src/other.py")
    both = land(world, f"Undo\n\nThis reverts commit {first}.\nThis reverts commit {second}.\n", "a")

    assert seen(world) == [(both, first), (both, second)]


def test_only_what_is_new_is_searched_after_a_look(world: World):
    commit = land(world)
    undone = revert(world, commit)
    assert not has_looked(world.store, tip(world))
    set_looked(world.store, tip(world))
    assert has_looked(world.store, tip(world))
    assert seen(world, {undone}) == []

    again = revert(world, undone)

    assert not has_looked(world.store, tip(world))
    assert seen(world, {undone}) == [(again, undone)]
    assert seen(world) == [(undone, commit), (again, undone)], "unless nothing is known"


def test_what_came_by_a_merge_is_found_too(world: World):
    commit = land(world)
    world.person.git("checkout", "--quiet", "-b", "side")
    undone = revert(world, commit)
    world.person.git("checkout", "--quiet", "main")
    land(world, "meanwhile\n", "a")
    world.person.git("merge", "--quiet", "--no-edit", "side")

    assert seen(world) == [(undone, commit)]
