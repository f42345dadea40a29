import pytest

from instrument.schema.grants import Grants
from instrument.schema.state import Caps, Counters, Spend, Stop
from instrument.schema.vocabulary import Outcome, Stage, StopReason
from loop.machine.lift import USED, count_granted, is_lifted, least_cap
from loop.machine.resume import GRANTED
from support.lives import new_state, terms

USED_UP = Counters(check_failures=3, gate_failures=3, review_rounds=3, main_moves=3, interruptions=3)


def stop_at(stage):
    return Stop(reason=StopReason.TIME_BUDGET, stage=stage, outcome=Outcome.TIME_EXHAUSTED)


def test_every_cap_can_be_granted_and_both_budgets():
    assert set(USED) == set(Caps.model_fields)
    assert set(GRANTED) == {*USED, "usd", "minutes"}
    assert set(GRANTED.values()) == set(Grants.model_fields)
    assert {getattr(USED_UP, name) for name in USED.values()} == {3}


@pytest.mark.parametrize("counter", USED)
@pytest.mark.parametrize(("cap", "is_enough"), [(0, False), (3, False), (4, True), (9, True)])
def test_a_cap_is_enough_where_one_more_is_within_it(counter, cap, is_enough):
    state = new_state(counters=USED_UP, grants=Grants(**{GRANTED[counter]: cap}))
    assert is_lifted(state, stop_at(Stage.CHECK), counter) is is_enough
    assert least_cap(state, counter) == 4


@pytest.mark.parametrize(
    ("stage", "usd", "is_enough"),
    [
        (Stage.IMPLEMENT, 120, False),
        (Stage.IMPLEMENT, 121, True),
        (Stage.REVIEW, 100, False),
        (Stage.REVIEW, 101, True),
    ],
)
def test_a_coder_needs_more_than_the_reserve_of_money(stage, usd, is_enough):
    state = new_state(
        terms=terms(reserve_microusd=20), spend=Spend(microusd=100), grants=Grants(budget_microusd=usd)
    )
    assert is_lifted(state, stop_at(stage), "usd") is is_enough


@pytest.mark.parametrize(
    ("stage", "ms", "is_enough"),
    [
        (Stage.IMPLEMENT, 6999, False),
        (Stage.IMPLEMENT, 7000, True),
        (Stage.GATE, 3999, False),
        (Stage.GATE, 4000, True),
    ],
)
def test_a_coder_needs_a_second_more_than_the_reserve_of_time(stage, ms, is_enough):
    state = new_state(terms=terms(reserve_ms=3000), spend=Spend(job_ms=3000), grants=Grants(budget_ms=ms))
    assert is_lifted(state, stop_at(stage), "minutes") is is_enough


@pytest.mark.parametrize("counter", [*GRANTED, None])
def test_what_a_task_stopped_at_is_counted_when_it_is_granted_and_a_review_counts_itself(counter):
    after = count_granted(USED_UP, Counters(), counter)
    raised = USED[counter] if counter in USED and counter != "review" else None
    assert after == (Counters(**{raised: 4}) if raised else Counters())
