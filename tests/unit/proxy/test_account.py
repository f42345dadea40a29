"""A job's money."""

from proxy.account import Account, Standing

ADMITTED, WAITING, REFUSED = Standing.ADMITTED, Standing.WAITING, Standing.REFUSED


def test_alone_a_request_starts_with_anything_that_is_left() -> None:
    account = Account(100)
    assert account.enter(1, 5000) is ADMITTED
    account.charge(99)
    account.leave(1)
    assert account.enter(2, 5000) is ADMITTED


def test_beside_others_a_request_starts_only_if_all_inputs_fit() -> None:
    account = Account(100)
    assert account.enter(1, 60) is ADMITTED
    assert account.enter(2, 40) is ADMITTED
    assert account.committed_microusd == 100
    assert account.enter(3, 1) is WAITING


def test_beside_one_that_does_not_fit_by_itself_nothing_starts() -> None:
    account = Account(100)
    account.enter(1, 5000)
    assert account.enter(2, 0) is WAITING


def test_a_settled_call_lets_the_next_in_at_what_it_really_cost() -> None:
    account = Account(100)
    account.enter(1, 90)
    account.enter(2, 80)
    account.charge(10)
    assert account.leave(1) == {2: ADMITTED}
    assert account.committed_microusd == 90


def test_what_a_request_holds_stays_held_between_two_providers() -> None:
    account = Account(100)
    account.enter(1, 90)
    assert account.enter(2, 80) is WAITING
    account.charge(0)
    assert account.committed_microusd == 90


def test_nobody_overtakes_whoever_came_first() -> None:
    account = Account(100)
    account.enter(1, 50)
    account.enter(2, 60)
    assert account.enter(3, 1) is WAITING
    assert account.leave(1) == {2: ADMITTED, 3: ADMITTED}


def test_whoever_gives_up_waiting_makes_way() -> None:
    account = Account(100)
    account.enter(1, 50)
    account.enter(2, 60)
    account.enter(3, 50)
    assert account.leave(2) == {3: ADMITTED}
    assert account.leave(2) == {}


def test_when_the_money_is_spent_all_that_wait_are_refused() -> None:
    account = Account(100)
    account.enter(1, 90)
    account.enter(2, 90)
    account.enter(3, 90)
    account.charge(100)
    assert account.leave(1) == {2: REFUSED, 3: REFUSED}
    assert account.enter(4, 0) is REFUSED


def test_no_budget_admits_nothing() -> None:
    assert Account(0).enter(1, 0) is REFUSED
