"""A job's money."""

import pytest

from proxy.account import Account


def test_calls_in_flight_count_before_they_are_settled() -> None:
    account = Account(100)
    account.hold(1, 60)
    assert account.has_room()
    account.hold(2, 40)
    assert not account.has_room()
    account.settle(1, 10)
    assert account.has_room()
    assert account.committed_microusd == 50


def test_a_spent_budget_has_no_room_and_no_budget_never_had() -> None:
    account = Account(100)
    account.hold(1, 1)
    account.settle(1, 100)
    assert not account.has_room()
    assert not Account(0).has_room()


def test_a_second_settlement_is_refused() -> None:
    account = Account(100)
    account.hold(1, 1)
    account.settle(1, 5)
    with pytest.raises(KeyError):
        account.settle(1, 5)
    assert account.spent_microusd == 5
