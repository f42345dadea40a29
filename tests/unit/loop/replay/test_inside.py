from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from jobs.inside.places import Places
from loop.replay.inside import MOST_WAITING, Outbox
from loop.replay.record import Fate
from support.gitkit import make_repo
from support.replays import carry, commit_states, history_of, make_history, named_commits, words_of
from support.trees import ATTRIBUTED, State

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_each_kind_of_commit_travels_or_is_stopped_by_name(tmp_path: Path) -> None:
    repo, words = make_history(tmp_path / "repo")
    history = history_of(repo)
    (tmp_path / "job").mkdir()

    lines = carry(repo, tmp_path / "job", history)

    named = dict(zip(named_commits(repo), words, strict=True))
    assert {line.commit: word for line, word in zip(lines, words_of(lines), strict=True)} == named


def test_a_range_that_begins_in_the_middle_needs_nothing_older(tmp_path: Path) -> None:
    repo, _ = make_history(tmp_path / "repo")
    history = history_of(repo, "main~8..main~6")
    (tmp_path / "job").mkdir()

    assert words_of(carry(repo, tmp_path / "job", history)) == ["unsupported_filter", "travelled"]


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])  # shrinking takes minutes
@given(states=st.lists(ATTRIBUTED, min_size=2, max_size=5))
def test_no_history_comes_out_as_another_one(
    tmp_path_factory: pytest.TempPathFactory, states: list[State]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    repo = make_repo(folder / "repo", "--bare")
    commit_states(repo, states)
    (folder / "job").mkdir()

    lines = carry(repo, folder / "job", history_of(repo))

    assert [line for line in lines if line.fate is Fate.MISMATCH] == []


def test_batches_that_were_taken_make_room_for_more(tmp_path: Path) -> None:
    places = Places(str(tmp_path))
    out, taken = Path(places.out), Path(places.job, "taken")
    out.mkdir(parents=True)
    taken.mkdir()
    outbox = Outbox(places)
    for _ in range(MOST_WAITING):
        assert outbox.flush()
    for n in range(4):
        (taken / f"batch-{n}.tar").touch()
    assert outbox.flush()
    assert {path.name for path in out.iterdir()} == {f"batch-{n}.tar" for n in range(4, MOST_WAITING + 1)}
    assert not any(taken.iterdir())
