from typing import Any

from instrument.planner.calls import Call, once
from instrument.planner.codex import calls_of
from instrument.schema.usage import Usage
from support.sessions import messages

NAME = "codex-session"
OWN = Usage(
    input_tokens=2967 - 300 - 47,
    cache_read_tokens=300,
    cache_write_5m_tokens=47,
    output_tokens=174,
    reasoning_tokens=11,
)
"""From the last running total of the log: input 2,967, of it 300 read and 47 written."""


def usage_of(calls: list[Call]) -> Usage:
    return sum((call.usage for call in calls), Usage())


def of_kinds(*kinds: str) -> list[Any]:
    return [line for line in messages(NAME) if line["type"] in kinds]


def test_every_answer_counts_once_to_the_programs_own_total() -> None:
    calls = list(calls_of(messages(NAME)))

    assert (len(calls), usage_of(calls)) == (5, OWN)
    assert {call.folder for call in calls} == {"/home/person/api/deep"}
    # The session went on with another model, after the first one had written its summary.
    assert [call.model for call in calls] == [*["gpt-5.5"] * 4, "gpt-6.2-sol"]


def test_a_log_of_running_totals_only_is_read_by_their_growth() -> None:
    calls = list(calls_of(of_kinds("session_meta", "turn_context", "event_msg")))

    assert (len(calls), usage_of(calls)) == (5, OWN)


def test_a_log_begun_with_totals_and_gone_on_with_answers_is_read_whole() -> None:
    lines = list(messages(NAME))
    half = len(lines) // 2
    early = [line for line in lines[:half] if line["type"] != "token_usage_record"]

    assert usage_of(list(calls_of([*early, *lines[half:]]))) == OWN


def test_a_log_without_totals_is_read_by_its_answers() -> None:
    lines = of_kinds("session_meta", "turn_context", "token_usage_record")

    assert usage_of(list(calls_of(lines))) == OWN


def test_answers_that_two_logs_repeat_count_once() -> None:
    assert usage_of(once([*calls_of(messages(NAME)), *calls_of(messages(NAME))])) == OWN


def test_what_is_no_call_is_passed_by() -> None:
    stamp = "2026-11-30T18:14:56.990Z"
    info: dict[str, Any] = {"type": "token_count", "info": None}

    assert list(calls_of([None, {}, {"timestamp": stamp, "type": "event_msg", "payload": info}])) == []
