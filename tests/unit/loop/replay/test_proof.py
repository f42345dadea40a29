import hashlib
from pathlib import Path

import pytest

from instrument.schema.job import Tree
from loop.git.checkout import find_checkout
from loop.replay.history import Step
from loop.replay.place import Place
from loop.replay.proof import Prover
from loop.replay.record import Fate
from support.gitkit import CAPTURE, Repo, make_repo
from support.replays import FILE, commit_states, history_of
from support.trees import State

OLD: State = {b"a": (FILE, b"1\n"), b"b": (FILE, b"b\n")}
NEW: State = {b"a": (FILE, b"2\n"), b"b": (FILE, b"b\n")}
OTHER: State = {b"a": (FILE, b"2\n"), b"b": (FILE, b"lost\n")}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", "--bare")


def prover(repo: Repo, folder: Path, steps: tuple[Step, ...]) -> Prover:
    made = Prover(Place(folder, "0").new_store(find_checkout(repo.root), "store"), folder)
    made.begin(steps)
    return made


def captured(repo: Repo, base: str, tree: str) -> tuple[Tree, bytes]:
    """What a capture of this tree hands back."""
    env = {"GIT_INDEX_FILE": str(repo.root / "scratch-index")}
    repo.git("read-tree", tree, env=env)
    diff = repo.git(*CAPTURE, base, env=env)
    report = Tree(
        base_commit=base,
        base_tree=repo.head(f"{base}^{{tree}}"),
        tree=repo.head(f"{tree}^{{tree}}"),
        diff_bytes=len(diff),
        diff_sha256=hashlib.sha256(diff).hexdigest(),
    )
    return report, diff


def test_the_same_tree_has_travelled(repo: Repo, tmp_path: Path) -> None:
    tip = commit_states(repo, [OLD, NEW])
    (step,) = history_of(repo, f"{tip}~1..{tip}").steps

    line = prover(repo, tmp_path, (step,)).prove(step, *captured(repo, f"{tip}~1", tip))

    assert (line.fate, line.reason) == (Fate.TRAVELLED, None)


def test_another_tree_is_a_mismatch_that_names_the_path_and_keeps_the_diff(
    repo: Repo, tmp_path: Path
) -> None:
    other = commit_states(repo, [OLD, OTHER])
    tip = commit_states(repo, [OLD, NEW])
    (step,) = history_of(repo, f"{tip}~1..{tip}").steps
    tree, diff = captured(repo, f"{tip}~1", other)

    line = prover(repo, tmp_path, (step,)).prove(step, tree, diff)

    assert (line.fate, line.paths) == (Fate.MISMATCH, ("b",))
    kept = tmp_path / f"mismatch-{tip}.patch"
    assert str(kept) in (line.detail or "")
    assert kept.read_bytes() == diff
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_diff_that_does_not_give_its_tree_is_a_mismatch(repo: Repo, tmp_path: Path) -> None:
    tip = commit_states(repo, [OLD, NEW])
    (step,) = history_of(repo, f"{tip}~1..{tip}").steps
    tree, diff = captured(repo, f"{tip}~1", tip)

    line = prover(repo, tmp_path, (step,)).prove(step, tree, diff + b"\n")

    assert line.fate is Fate.MISMATCH
    assert "bytes and should have" in (line.detail or "")


def test_the_repository_has_nothing_of_a_commit_before_its_diff_made_it(repo: Repo, tmp_path: Path) -> None:
    tip = commit_states(repo, [OLD, NEW])
    (step,) = history_of(repo, f"{tip}~1..{tip}").steps
    prover(repo, tmp_path, (step,))

    store = Repo(tmp_path / "store.git")
    assert store.run("cat-file", "-e", repo.head(f"{tip}~1:a")).returncode == 0
    assert store.run("cat-file", "-e", repo.head(f"{tip}:a")).returncode != 0
