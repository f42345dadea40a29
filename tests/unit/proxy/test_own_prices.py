"""Prices of a person's own on the way that every call takes."""

from decimal import Decimal
from typing import Any

import orjson

from instrument.schema.prices import OwnPrice
from instrument.schema.usage import Usage
from proxy.buckets import Buckets
from proxy.own_prices import read_own_prices
from proxy.rates import Rate
from support.proxykit import Proxy, json_answer, message_stream, request, stream_answer


def own(**rates: Any) -> OwnPrice:
    return OwnPrice.model_validate_json(orjson.dumps({"input": 0, "output": 0, **rates}))


def asking(model: str, **fields: Any) -> bytes:
    return request(orjson.dumps({"model": model, "max_tokens": 100, "stream": True, **fields}))


def ask(proxy: Proxy, *asked: bytes) -> list[bytes]:
    """The heads of the answers."""
    heads: list[bytes] = []

    async def story(proxy: Proxy) -> None:
        for raw in asked:
            head, _ = await proxy.ask(raw)
            heads.append(head)

    proxy.run(story)
    return heads


def test_figures_are_taken_as_they_were_written() -> None:
    price = read_own_prices({"m": own(input=0.1, output=1e-06, cache_read=0.07)}, "anthropic")["m"]
    assert (price.input, price.cache_read) == (Rate(Decimal("0.1")), Rate(Decimal("0.07")))
    assert price.output == Rate(Decimal("0.000001"))
    assert price.cost_microusd(Buckets(input_tokens=3)) == 1


def test_writes_follow_the_input_as_the_provider_has_it() -> None:
    rates = {"input": 4, "above": [{"tokens": 9, "input": 8, "output": 0}]}
    for provider, five, hour in (("anthropic", 5, 8), ("openai", 4, 10)):
        price = read_own_prices({"m": own(**rates)}, provider)["m"]
        assert price.cache_write_5m == Rate(Decimal(five), ((9, Decimal(2 * five)),))
        assert price.cache_write_1h == Rate(Decimal(hour), ((9, Decimal(2 * hour)),))
        assert price.search_microusd is None


def test_a_free_model_is_called_with_no_more_than_a_micro_dollar_left(proxy: Proxy) -> None:
    proxy.own_prices = read_own_prices({"qwen3": own()}, "anthropic")
    proxy.budget_microusd = 1
    proxy.provider.answers = [stream_answer(message_stream("qwen3"))]
    heads = ask(proxy, *[asking("qwen3")] * 3)
    assert all(head.startswith(b"HTTP/1.1 200") for head in heads)
    calls = proxy.summary().calls
    assert [(call.cost_microusd, call.estimated) for call in calls] == [(0, False)] * 3
    assert calls[0].usage == Usage(input_tokens=25, output_tokens=15)


def test_the_ledger_says_what_lay_on_top_and_the_hash_is_another(proxy: Proxy) -> None:
    proxy.own_prices = read_own_prices({"claude-sonnet-4-5": own(input=1, output=2)}, "anthropic")
    ask(proxy, asking("claude-sonnet-4-5"))
    opened, *_, ended = [orjson.loads(line) for line in proxy.ledger_path.read_bytes().splitlines()]
    assert opened["price_package"].endswith(", 1 of factory.toml on top")
    assert ended["price_hash"] == proxy.own_prices["claude-sonnet-4-5"].price_hash
    assert ended["cost_microusd"] == 55  # 25 x 1 + 15 x 2


def test_a_model_without_any_price_never_leaves(proxy: Proxy) -> None:
    proxy.own_prices = read_own_prices({"qwen3": own()}, "anthropic")
    (head,) = ask(proxy, asking("qwen3-coder"))
    assert head.startswith(b"HTTP/1.1 400")
    assert proxy.provider.bodies == []
    assert [denied.reason for denied in proxy.summary().denied] == ["price"]


def test_a_dearer_mode_is_held_at_its_price_and_one_without_a_price_never_leaves(proxy: Proxy) -> None:
    proxy.provider.answers = [json_answer({"error": {"type": "x"}}, b"400 Bad Request")]
    opus = [asking("claude-opus-5-5", **mode) for mode in ({}, {"speed": "fast"}, {"inference_geo": "us"})]
    heads = ask(proxy, *opus, asking("claude-sonnet-4-5", speed="fast"))
    assert heads[-1].startswith(b"HTTP/1.1 400")
    assert len(proxy.provider.bodies) == 3
    rows = [orjson.loads(line) for line in proxy.ledger_path.read_bytes().splitlines()]
    plain, fast, there = [row["reserved_microusd"] for row in rows if row["kind"] == "call_started"]
    # A body counts a token for each two bytes at most, which fast mode's own word lengthens.
    assert fast > 2 * plain
    assert plain * 11 <= there * 10 < fast * 10
    assert rows[-1]["reason"] == "price"


def test_the_row_says_how_a_call_was_served(proxy: Proxy) -> None:
    opus = message_stream("claude-opus-5-5", speed="fast", service_tier="standard", inference_geo="global")
    proxy.provider.answers = [stream_answer(opus), stream_answer(message_stream("claude-opus-5-5"))]
    ask(proxy, *[asking("claude-opus-5-5")] * 2)
    rows = [orjson.loads(line) for line in proxy.ledger_path.read_bytes().splitlines()]
    ends = [(row["mode"], row["cost_microusd"]) for row in rows if row["kind"] == "call_ended"]
    # 25 x 4 + 15 x 20, and twice that.
    assert ends == [("speed fast", 800), ("", 400)]
