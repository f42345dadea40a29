"""The kill matrix of the loop: it dies at every point of every effect, and the same command goes on.

The short form kills the last effect of each kind once; `slow` is the whole matrix (`make test-crash`).
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from loop.session import hold_lock
from support.fake_jobs import CREATED, EXITED, RUNNING
from support.repos import TASK_ID, Desk
from support.tripwire import (
    AFTER_EFFECT,
    AFTER_INTENT,
    AFTER_RECORD,
    AFTER_STATE,
    AMID_RECORD,
    BEFORE_INTENT,
    POINTS,
    Calm,
    run_killed,
)

STORY = (
    *("find-base", "setup", "baseline", "implement", "commit-candidate", "check", "check"),
    *("implement", "commit-candidate", "check", "review"),
    *("implement", "commit-candidate", "check", "review", "rebase", "gate", "gate"),
    *("implement", "commit-candidate", "check", "compare-tests", "review", "rebase", "gate", "merge"),
    *("rebase", "setup", "gate", "merge"),
)
"""The calm life's effects: a failed check, a must-fix, a failed gate, a changed test, a moved main, a push.

What fails is run once more; a candidate that changes a test of the base is compared before its review.
"""
CONFLICT_STORY = (
    *("find-base", "setup", "baseline", "implement", "commit-candidate"),
    *("check", "review", "rebase", "gate", "merge"),
)
"""From a person's ruling at a conflict on: the change is made again on what is there now."""
LADDER_STORY = (
    *("find-base", "setup", "baseline", "implement", "resolve", "resolve", "implement"),
    *("commit-candidate", "check", "review", "rebase", "gate", "merge"),
)
"""A coder asks, a model hands the stop up, another one rules."""
CONTAINERS = ("baseline", "implement", "check", "compare-tests", "review", "gate", "resolve")
LOST = {(slug, point) for slug in CONTAINERS for point in (AFTER_INTENT, CREATED)}
"""Where the machine loses the attempt: its container never ran."""
SHORT = (
    *((0, BEFORE_INTENT), (2, AFTER_INTENT), (17, CREATED), (18, RUNNING)),
    *((19, AFTER_EFFECT), (20, EXITED), (21, CREATED), (22, AFTER_RECORD), (23, AFTER_INTENT)),
    *((25, AFTER_RECORD), (27, AFTER_EFFECT)),
    *((28, AMID_RECORD), (29, AFTER_EFFECT), (29, AFTER_STATE)),
)


CONFLICT_SHORT = ((0, BEFORE_INTENT), (3, EXITED))
LADDER_SHORT = ((3, AFTER_RECORD), (4, CREATED), (4, AMID_RECORD), (5, EXITED))


def every(story: tuple[str, ...] = STORY) -> list[tuple[int, str]]:
    """Every effect with every point that it has."""
    return [
        (n, point)
        for n, slug in enumerate(story)
        for point in (*POINTS, *((CREATED, RUNNING, EXITED, AMID_RECORD) if slug in CONTAINERS else ()))
    ]


def named(case: Any) -> str:
    return f"{case[0]:02d} {STORY[case[0]]} {case[1]}"


def named_conflict(case: Any) -> str:
    return f"conflict {case[0]:02d} {CONFLICT_STORY[case[0]]} {case[1]}"


def named_ladder(case: Any) -> str:
    return f"ladder {case[0]:02d} {LADDER_STORY[case[0]]} {case[1]}"


def test_the_calm_life_is_the_story(calm: Calm):
    assert tuple(effect.kind.slug for effect in calm.effects) == STORY
    assert calm.desk.state.done == "merged"
    assert calm.desk.origin.ask("show", "main:docs.md") == "somebody else's"


def test_the_short_form_kills_every_kind_of_effect_and_at_every_point():
    assert {STORY[n] for n, _ in SHORT} == set(STORY)
    assert {point for _, point in SHORT} == {*POINTS, CREATED, RUNNING, EXITED, AMID_RECORD}


@pytest.mark.parametrize("case", SHORT, ids=named)
def test_the_same_command_ends_as_the_calm_life(calm: Calm, crashed_desk, case: tuple[int, str]):
    die_and_go_on(calm, crashed_desk, *case)


@pytest.mark.slow
@pytest.mark.parametrize("case", every(), ids=named)
def test_the_same_command_ends_as_the_calm_life_at_every_point(
    calm: Calm, crashed_desk, case: tuple[int, str]
):
    die_and_go_on(calm, crashed_desk, *case)


def test_the_calm_conflict_round_is_its_story(calm_conflict: Calm):
    assert tuple(effect.kind.slug for effect in calm_conflict.effects) == CONFLICT_STORY
    assert calm_conflict.desk.state.done == "merged"


@pytest.mark.slow
@pytest.mark.parametrize("case", CONFLICT_SHORT, ids=named_conflict)
def test_the_same_command_ends_a_conflict_round_as_the_calm_one(
    calm_conflict: Calm, crashed_conflict, case: tuple[int, str]
):
    die_and_go_on(calm_conflict, crashed_conflict, *case)


@pytest.mark.slow
@pytest.mark.parametrize("case", every(CONFLICT_STORY), ids=named_conflict)
def test_the_same_command_ends_a_conflict_round_as_the_calm_one_at_every_point(
    calm_conflict: Calm, crashed_conflict, case: tuple[int, str]
):
    die_and_go_on(calm_conflict, crashed_conflict, *case)


def test_the_calm_life_with_a_ladder_is_its_story(calm_ladder: Calm):
    assert tuple(effect.kind.slug for effect in calm_ladder.effects) == LADDER_STORY
    assert calm_ladder.desk.state.done == "merged"


@pytest.mark.parametrize("case", LADDER_SHORT, ids=named_ladder)
def test_the_same_command_goes_on_up_the_ladder_as_the_calm_life(
    calm_ladder: Calm, crashed_ladder, case: tuple[int, str]
):
    die_and_go_on(calm_ladder, crashed_ladder, *case)


@pytest.mark.slow
@pytest.mark.parametrize("case", every(LADDER_STORY), ids=named_ladder)
def test_the_same_command_goes_on_up_the_ladder_as_the_calm_life_at_every_point(
    calm_ladder: Calm, crashed_ladder, case: tuple[int, str]
):
    die_and_go_on(calm_ladder, crashed_ladder, *case)


def die_and_go_on(calm: Calm, crashed_desk: Callable[[int], Desk], n: int, point: str) -> None:
    desk = crashed_desk(n)
    effect = calm.effects[n]
    # A git effect is no call of its own on what a run is given: its one line of record comes right after it.
    at = AMID_RECORD if point == AFTER_EFFECT and not effect.kind.is_job else point
    is_dead = run_killed(desk, at, last_clock_call=calm.clock_calls[n], rulings=calm.rulings)
    assert is_dead, "the child did not come to this point"
    desk.run(auto_merge=True, rulings=calm.rulings)
    is_lost = (effect.kind.slug, point) in LOST
    creates = int(is_lost and point == CREATED)
    # A ruling forgives what was lost before it, a model's as a person's.
    is_counted = is_lost and not any(later.kind.slug == "resolve" for later in calm.effects[n:])
    assert desk.state.counters.interruptions == int(is_counted)
    assert_same_end(calm.desk, desk, interruptions=int(is_lost), creates=creates)


def assert_same_end(calm: Desk, desk: Desk, *, interruptions: int, creates: int) -> None:
    assert desk.origin.head("main") == calm.origin.head("main"), "the very same commit, merged once"
    assert desk.person.head("main") == calm.person.head("main")
    assert desk.person.ask("status", "--porcelain") == ""
    state, wanted = desk.state, calm.state
    assert state.spend == wanted.spend
    same = {"coder_rounds", "review_rounds", "check_failures", "gate_failures", "main_moves", "findings"}
    assert state.counters.model_dump(include=same) == wanted.counters.model_dump(include=same)
    assert set(desk.jobs.created().values()) == {1}, "one create a key"
    assert desk.jobs.created().total() == calm.jobs.created().total() + creates
    assert desk.jobs.left() == []
    assert_same_record(calm, desk, interruptions)
    with hold_lock(desk.task_folder, TASK_ID):
        pass


def assert_same_record(calm: Desk, desk: Desk, interruptions: int) -> None:
    """What the calm life's record says, each thing once, and nothing else but the interruption."""
    calls = [(e.key, e.call, e.cost_microusd) for e in desk.events if e.kind == "model_call"]
    assert len({call[:2] for call in calls}) == len(calls)
    assert sum(cost for *_, cost in calls) == desk.state.spend.microusd
    told, wanted = (Counter(e.kind for e in each.events) for each in (desk, calm))
    for kind in ("model_call", "check_ended", "review_ended", "ruling_recorded", "ladder_step", "continued"):
        assert told[kind] == wanted[kind], kind
    assert desk.state.rulings == calm.state.rulings
    assert told["attempt_interrupted"] == interruptions
    outcomes = [o for o in desk.outcomes().split() if o != "job_interrupted"]
    assert outcomes == calm.outcomes().split()
    assert [e.n for e in desk.events] == list(range(1, len(desk.events) + 1))
