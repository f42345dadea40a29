from pathlib import Path

import pytest

from loop.errors import UsageError
from loop.git.checkout import find_checkout
from loop.git.errors import CheckoutUnfitError
from loop.replay.history import fetch_alone, read_history, write_feed
from support.gitkit import Repo, make_repo
from support.replays import FILE, SUBMODULE, commit_states, commit_tree, history_of
from support.trees import State, import_tree

ONE: State = {b"a": (FILE, b"1\n")}
TWO: State = {b"a": (FILE, b"2\n"), b"sub": (SUBMODULE, b"1" * 40)}
RULED: State = {b"a": (FILE, b"2\n"), b"x/.gitattributes": (FILE, b"* text\n")}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", "--bare")


def test_a_step_holds_what_changed_against_the_first_parent(repo: Repo) -> None:
    commit_states(repo, [ONE, TWO, RULED])

    first, second, third = history_of(repo).steps

    assert (first.base, first.changes, second.base) == (None, (), first.commit)
    assert [(c.path, c.mode) for c in second.changes] == [("a", FILE), ("sub", SUBMODULE)]
    assert (second.links, third.links) == (("sub",), ())
    assert [(c.path, c.mode) for c in third.changes] == [("sub", "000000"), ("x/.gitattributes", FILE)]
    assert second.tree == repo.head("main~1^{tree}")


def test_rules_have_a_name_that_changes_with_the_attributes_alone(repo: Repo) -> None:
    commit_states(repo, [ONE, TWO, RULED, {**RULED, b"b": (FILE, b"")}])

    _, second, third, fourth = history_of(repo).steps

    assert second.rules == second.after == third.rules
    assert third.after == fourth.rules == fourth.after != third.rules


def test_a_merge_stands_on_its_first_parent_and_tells_how_to_get_there(repo: Repo) -> None:
    tip = commit_states(repo, [ONE, ONE])
    side = commit_tree(repo, import_tree(repo, {**ONE, b"side": (FILE, b"s")}, "s"), tip)
    main = commit_tree(repo, import_tree(repo, {**ONE, b"main": (FILE, b"m")}, "s"), tip)
    both: State = {**ONE, b"side": (FILE, b"s"), b"main": (FILE, b"m")}
    merge = commit_tree(repo, import_tree(repo, both, "s"), main, side)

    history = history_of(repo, f"{tip}..{merge}")

    assert history.edges == (tip,)
    assert [step.commit for step in history.steps] == [main, merge, side]
    onto = history.steps[1]
    assert (onto.base, onto.before, onto.move) == (main, main, ())
    assert [c.path for c in onto.changes] == ["side"]
    beside = history.steps[2]
    assert (beside.base, beside.before) == (tip, merge)
    assert {c.mode for c in beside.move} == {"000000"}


def test_names_of_any_bytes_come_back(repo: Repo) -> None:
    commit_states(repo, [ONE, {b"li\nne \xff": (FILE, b"")}])

    assert {c.path for c in history_of(repo).steps[1].changes} == {"a", "li\nne \udcff"}


@pytest.mark.parametrize("chosen", ["nowhere..main", "main..main"])
def test_a_range_without_commits_is_refused_in_one_sentence(repo: Repo, chosen: str) -> None:
    commit_states(repo, [ONE])

    with pytest.raises(UsageError, match="name one that `git log` shows"):
        read_history(find_checkout(repo.root), (chosen,))


def test_a_repository_with_other_ids_is_refused(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "new", "--object-format=sha256")
    repo.commit({"a": b"a\n"})

    with pytest.raises(CheckoutUnfitError, match="only SHA-1"):
        history_of(repo)


def test_a_feed_holds_the_range_and_its_edge_and_nothing_older(repo: Repo, tmp_path: Path) -> None:
    tip = commit_states(repo, [{b"old": (FILE, b"old\n")}, ONE, TWO])
    feed = write_feed(find_checkout(repo.root), history_of(repo, f"{tip}~1..{tip}"), tmp_path / "feed.pack")

    fresh = make_repo(tmp_path / "fresh", "--bare")
    fresh.git("index-pack", "--stdin", stdin=feed.read_bytes())

    kept = fresh.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").decode().split()
    wanted = {repo.head(name) for name in (tip, f"{tip}~1", f"{tip}^{{tree}}", f"{tip}~1^{{tree}}")}
    assert wanted < set(kept)
    assert repo.head(f"{tip}~2") not in kept


def test_a_commit_is_fetched_without_its_history(repo: Repo, tmp_path: Path) -> None:
    tip = commit_states(repo, [{b"old": (FILE, b"old\n")}, ONE])
    ours = make_repo(tmp_path / "ours", "--bare")

    fetch_alone(ours.root, find_checkout(repo.root), [tip])

    assert ours.git("cat-file", "blob", f"{tip}:a") == b"1\n"
    assert ours.run("cat-file", "-e", repo.head(f"{tip}~1")).returncode != 0
