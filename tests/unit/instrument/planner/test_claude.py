import pytest

from instrument.planner.calls import Call, once
from instrument.planner.claude import calls_of
from instrument.planner.prices import cost_of
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import RuntimeName
from support.sessions import messages

AGENTS = ("claude-with-agents", "claude-agent-1", "claude-agent-2", "claude-agent-3")


def read(*names: str) -> list[Call]:
    return once(call for name in names for call in calls_of(messages(name)))


def own_figures(name: str) -> tuple[Usage, int]:
    """What the program itself told last: its tokens and its cost in micro-dollars."""
    (told,) = [line for line in messages(name) if line["type"] == "cost-state"][-1]["modelUsage"].values()
    usage = Usage(
        input_tokens=told["inputTokens"],
        cache_read_tokens=told["cacheReadInputTokens"],
        cache_write_5m_tokens=told["cacheCreationEphemeral5mInputTokens"],
        cache_write_1h_tokens=told["cacheCreationEphemeral1hInputTokens"],
        output_tokens=told["outputTokens"],
        reasoning_tokens=told["thinkingTokens"],
    )
    return usage, round(told["costUSD"] * 1_000_000)


@pytest.mark.parametrize(
    ("names", "calls"),
    [
        (("claude-session",), 4),
        (("claude-forked",), 5),
        (("claude-forked", "claude-session"), 5),
        (AGENTS, 9),
    ],
    ids=["a session", "a fork", "a fork and where it came from", "sub-agents"],
)
def test_every_call_counts_once_to_the_programs_own_figures(names: tuple[str, ...], calls: int) -> None:
    found = read(*names)
    costs = [cost_of(call.program, call.model, call.usage, call.at_utc) for call in found]

    assert len(found) == calls
    total = sum((call.usage for call in found), Usage()), sum(cost or 0 for cost in costs)
    assert total == own_figures(names[0])


def test_a_call_is_where_and_when_it_was_made() -> None:
    call = read("claude-session")[0]

    assert (call.program, call.model, call.folder) == (
        RuntimeName.CLAUDE,
        "claude-sonnet-4-5",
        "/home/person/api/deep",
    )
    assert call.at_utc.isoformat() == "2026-11-30T18:14:53.059000+00:00"
    assert not call.has_extras


def test_the_fullest_of_a_calls_parts_counts() -> None:
    first, second, *_ = (line for line in messages("claude-session") if line["type"] == "assistant")
    first["message"]["usage"]["output_tokens"] = 1

    (call,) = once(calls_of([first, second]))
    assert call.usage.output_tokens == 80


@pytest.mark.parametrize(
    "extra",
    [
        {"server_tool_use": {"web_search_requests": 1}},
        {"service_tier": "priority"},
        {"speed": "fast"},
    ],
)
def test_what_a_price_list_does_not_tell_makes_the_cost_a_lower_bound(extra: dict[str, object]) -> None:
    (line, *_) = (line for line in messages("claude-session") if line["type"] == "assistant")
    line["message"]["usage"] |= extra

    assert [call.has_extras for call in calls_of([line])] == [True]


@pytest.mark.parametrize(
    "spoil",
    [
        {"timestamp": None},
        {"timestamp": "yesterday"},
        {"message": None},
        {"message": {"id": "x", "model": "<synthetic>", "usage": {"output_tokens": 1}}},
        {"message": {"id": "x", "model": "m"}},
    ],
)
def test_what_is_no_call_is_passed_by(spoil: dict[str, object]) -> None:
    (line, *_) = (line for line in messages("claude-session") if line["type"] == "assistant")

    assert list(calls_of([line | spoil, [], None, "x"])) == []
