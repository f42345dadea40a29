import pytest

from instrument.schema.state import Spend
from loop.machine.budget import (
    agent_deadline_ms,
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
    assert not is_money_gone(state)
    assert not is_time_gone(state, for_coder=True)
    assert agent_deadline_ms(state) == commands_deadline_ms(state) == 1_800_000


@pytest.mark.parametrize(("microusd", "left"), [(0, 100), (99, 1), (100, 0), (101, 0)])
def test_money_left_is_never_negative(microusd, left):
    state = spent(microusd, budget_microusd=100)
    assert money_left(state) == left
    assert is_money_gone(state) is (left == 0)


def test_a_budget_of_nothing_is_gone_from_the_start():
    assert is_money_gone(spent(budget_microusd=0))


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
