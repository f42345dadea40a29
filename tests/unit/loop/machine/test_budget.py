import pytest

from instrument.schema.grants import Grants
from instrument.schema.state import Caps, Spend
from loop.machine.budget import (
    agent_deadline_ms,
    caps_of,
    commands_deadline_ms,
    is_money_gone,
    is_time_gone,
    money_left,
    time_left_ms,
)
from support.lives import new_state, terms


def spent(microusd=0, ran_ms=0, **changes):
    return new_state(terms=terms(**changes), spend=Spend(microusd=microusd, job_ms=ran_ms))


def test_without_budgets_nothing_is_ever_gone():
    state = spent(10**12, 10**12)
    assert money_left(state) is None
    assert time_left_ms(state) is None
    assert not is_money_gone(state, for_coder=True)
    assert not is_time_gone(state, for_coder=True)
    assert agent_deadline_ms(state) == commands_deadline_ms(state) == 1_800_000


@pytest.mark.parametrize(("microusd", "left"), [(0, 100), (99, 1), (100, 0), (101, 0)])
def test_money_left_is_never_negative(microusd, left):
    state = spent(microusd, budget_microusd=100)
    assert money_left(state) == left
    assert is_money_gone(state, for_coder=False) is (left == 0)


def test_a_budget_of_nothing_is_gone_from_the_start():
    assert is_money_gone(spent(budget_microusd=0), for_coder=False)


@pytest.mark.parametrize(
    ("ran_ms", "coder_ms", "commands_ms"),
    [(0, 60_000, 60_000), (45_000, 35_000, 55_000), (95_000, 0, 5_000), (200_000, 0, 0)],
)
def test_a_deadline_is_what_is_left_and_a_coder_leaves_the_reserve(ran_ms, coder_ms, commands_ms):
    state = spent(ran_ms=ran_ms, budget_ms=100_000, reserve_ms=20_000, job_ms=60_000)
    assert agent_deadline_ms(state) == coder_ms
    assert commands_deadline_ms(state) == commands_ms


@pytest.mark.parametrize(
    ("ran_ms", "coder", "others"), [(79_000, False, False), (79_001, True, False), (99_001, True, True)]
)
def test_time_is_gone_where_a_job_could_not_run_for_a_second(ran_ms, coder, others):
    state = spent(ran_ms=ran_ms, budget_ms=100_000, reserve_ms=20_000)
    assert is_time_gone(state, for_coder=True) is coder
    assert is_time_gone(state, for_coder=False) is others


@pytest.mark.parametrize(
    ("microusd", "coder", "others"), [(0, 80, 100), (79, 1, 21), (80, 0, 20), (100, 0, 0), (200, 0, 0)]
)
def test_a_coder_leaves_the_reserve_of_money_alone(microusd, coder, others):
    state = spent(microusd, budget_microusd=100, reserve_microusd=20)
    assert money_left(state, for_coder=True) == coder
    assert money_left(state) == others
    assert is_money_gone(state, for_coder=True) is (coder == 0)
    assert is_money_gone(state, for_coder=False) is (others == 0)


def test_a_grant_is_in_force_over_the_terms_even_where_it_is_nothing():
    state = spent(10, 10, budget_microusd=100, budget_ms=100, caps=Caps(check=1, review=1))
    granted = state.model_copy(
        update={"grants": Grants(check=0, gate=7, budget_microusd=0, budget_ms=50_000)}
    )
    assert caps_of(granted) == Caps(check=0, review=1, gate=7)
    assert (money_left(granted), time_left_ms(granted)) == (0, 49_990)


def test_a_grant_is_a_limit_where_there_was_none():
    assert money_left(spent(10).model_copy(update={"grants": Grants(budget_microusd=15)})) == 5
