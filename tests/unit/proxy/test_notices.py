"""What a person is told of while a job runs: once each, and not for what is no fault."""

from typing import Any

import pytest

from instrument.schema.vocabulary import NoticeKind
from proxy.notices import CACHED_FROM_TOKENS, EndedCall, Found, Watch


def ended(**changes: Any) -> EndedCall:
    fields: dict[str, Any] = {
        "status": 200,
        "model": "m",
        "input_tokens": CACHED_FROM_TOKENS,
        "cache_read_tokens": 0,
        "is_cacheable": True,
        "started_s": 0.0,
        "ended_s": 0.0,
    }
    return EndedCall(**{**fields, **changes})


CALL = ended()
MISSED = Found(NoticeKind.CACHE_MISSED, 3, 3 * CACHED_FROM_TOKENS)


def seen(*calls: EndedCall) -> list[Found]:
    watch = Watch(budget_microusd=1000)
    return [found for call in calls for found in watch.see(call, 0)]


def test_each_threshold_of_the_budget_is_told_once() -> None:
    watch = Watch(budget_microusd=1000)
    small = ended(input_tokens=0)
    told = [[found.what for found in watch.see(small, spent)] for spent in (799, 800, 949, 950, 2000)]
    assert told == [[], [NoticeKind.BUDGET_80], [], [NoticeKind.BUDGET_95], []]


def test_one_call_may_pass_both_thresholds() -> None:
    found = Watch(budget_microusd=1000).see(CALL, 1000)
    assert [each.what for each in found] == [NoticeKind.BUDGET_80, NoticeKind.BUDGET_95]


@pytest.mark.parametrize("statuses", [(401, 401), (403, 401), (401, None, 403)])
def test_a_key_refused_twice_in_a_row_is_told_once(statuses: tuple[int | None, ...]) -> None:
    calls = [ended(status=status, input_tokens=0) for status in (*statuses, 401)]
    assert seen(*calls) == [Found(NoticeKind.AUTH_REFUSED, 2)]


@pytest.mark.parametrize("statuses", [(401,), (401, 200, 401), (401, 429, 403), (None, None)])
def test_a_single_refusal_of_the_key_is_not_told(statuses: tuple[int | None, ...]) -> None:
    assert seen(*(ended(status=status, input_tokens=0) for status in statuses)) == []


def test_three_prompts_in_a_row_that_could_have_been_read_and_were_not_are_told_once() -> None:
    assert seen(CALL, CALL, CALL) == []
    assert seen(CALL, CALL, CALL, CALL) == [MISSED]
    assert seen(*[CALL] * 9) == [MISSED]


@pytest.mark.parametrize(
    "change",
    [
        {"cache_read_tokens": 1},
        {"input_tokens": CACHED_FROM_TOKENS - 1},
        {"is_cacheable": False},
    ],
    ids=["read", "short", "uncached_model"],
)
def test_what_is_read_too_short_or_never_cached_is_no_miss(change: dict[str, int]) -> None:
    assert seen(*[ended(**change)] * 9) == []


def test_a_shorter_prompt_than_the_one_before_begins_anew() -> None:
    longer = ended(input_tokens=2 * CACHED_FROM_TOKENS)
    assert seen(longer, CALL, longer, CALL, longer, CALL, longer) == []


def test_each_model_has_a_row_of_its_own() -> None:
    other = ended(model="small", input_tokens=10 * CACHED_FROM_TOKENS)
    assert seen(*[CALL, other] * 3) == []
    assert seen(*[CALL, other] * 4)[0] == MISSED


def test_calls_side_by_side_cannot_read_from_each_other() -> None:
    side_by_side = ended(started_s=1.0, ended_s=2.0)
    assert seen(*[side_by_side] * 9) == []
    one_by_one = [ended(started_s=float(n), ended_s=n + 0.5) for n in range(4)]
    assert seen(*one_by_one) == [MISSED]
