"""A person's own prices: from `factory.toml` to what the sidecar charges."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from instrument.schema.prices import OwnPrice
from instrument.schema.state import AgentChoice
from instrument.schema.vocabulary import ProviderName, RuntimeName
from jobs.handover import sidecar_line
from jobs.order import ProxyOrder
from loop.config import Config, parse_config
from loop.problems import Problems
from loop.session import read_providers
from loop.together import provider_of
from proxy.buckets import Buckets
from proxy.prices import find_price
from proxy.settings import load_settings
from support.orders import make_order

REPO = '[repo]\nname = "demo"\n'
LOCAL = f"{REPO}[provider.openai.prices.qwen3]\ninput = 0\noutput = 0\n"
HOUSE = f"""{REPO}[provider.anthropic.prices."house/sonnet-1.5"]
input = 2.7
cache_read = 0.1
output = 13.5
web_searches = 8
above = [{{ tokens = 1000, input = 5.4, cache_read = 0.2, output = 20 }}]
"""


def parse(text: str) -> Config:
    return parse_config(text.encode())


def charged(text: str, tmp_path: Path, provider: ProviderName, model: str, usage: Buckets) -> int:
    """What a sidecar that this file's repo starts charges."""
    made = read_providers(parse(text), {})[provider]
    proxy = ProxyOrder("https://x.example.org", secret="k", protocol=provider, prices=made.prices)
    settings = load_settings(sidecar_line(make_order(tmp_path, proxy=proxy)))
    return find_price(model, provider, own=settings.own_prices).cost_microusd(usage)


def test_a_local_model_is_free_by_a_row_of_zeros(tmp_path: Path) -> None:
    usage = Buckets(input_tokens=9, cache_read_tokens=9, cache_write_1h_tokens=9, output_tokens=9)
    assert charged(LOCAL, tmp_path, ProviderName.OPENAI, "qwen3", usage) == 0


def test_what_is_set_is_charged_to_the_digit_and_what_is_not_follows_the_input(tmp_path: Path) -> None:
    def cost(**counts: int) -> int:
        return charged(HOUSE, tmp_path, ProviderName.ANTHROPIC, "house/sonnet-1.5", Buckets(**counts))

    assert cost(input_tokens=1000) == 2700
    assert cost(cache_read_tokens=1000) == 100
    assert cost(cache_write_5m_tokens=1000) == 3375  # 1.25 x 2.7
    assert cost(cache_write_1h_tokens=1000) == 5400  # 2 x 2.7
    assert cost(output_tokens=1000) == 13_500
    assert cost(web_searches=1) == 8000
    assert (
        cost(input_tokens=1, cache_read_tokens=1000, output_tokens=10) == 406
    )  # 5.4 + 200 + 200, rounded up


def test_a_price_of_ones_own_goes_before_the_datas_and_a_date_changes_nothing() -> None:
    own = {"claude-sonnet-4-5": find_price("claude-haiku-4-5")}
    for model in ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929"):
        assert find_price(model, own=own).input.base == Decimal(1)
    assert find_price("claude-sonnet-4-5").input.base == Decimal(3)


def test_a_model_with_a_price_is_of_the_provider_that_has_it() -> None:
    own = {"qwen3": ProviderName.OPENAI}
    assert provider_of(AgentChoice(runtime=RuntimeName.COMMAND, model="qwen3"), own) is ProviderName.OPENAI
    assert provider_of(AgentChoice(runtime=RuntimeName.COMMAND, model="qwen3"), {}) is ProviderName.ANTHROPIC
    assert provider_of(AgentChoice(runtime=RuntimeName.CLAUDE, model="qwen3"), own) is ProviderName.ANTHROPIC


def test_no_price_of_ones_own_tells_the_sidecar_nothing(tmp_path: Path) -> None:
    line = sidecar_line(make_order(tmp_path, proxy=ProxyOrder("https://x.example.org", secret="k")))
    assert json.loads(line)["prices"] == {}
    assert load_settings(line).own_prices == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[provider.openai.prices.q]\ninput = 0\n", "3: [provider.openai.prices.q] output is missing"),
        (
            "[provider.openai.prices.q]\ninput = -1\noutput = 1\n",
            "4: [provider.openai.prices.q] input must be at least 0",
        ),
        (
            '[provider.openai.prices.q]\ninput = "1"\noutput = 1\n',
            "4: [provider.openai.prices.q] input must be a number",
        ),
        (
            "[provider.openai.prices.q]\ninput = 1\noutput = 1\ncache_raed = 1\n",
            '6: unknown key "cache_raed" in [provider.openai.prices.q]; did you mean "cache_read"?',
        ),
        (
            "[provider.openai.prices.q]\ninput = 1\noutput = 1\nabove = [{ tokens = 9, input = 1 }]\n",
            "6: [provider.openai.prices.q] above.output, item 1 is missing",
        ),
        (
            (
                "[[provider.openai.prices.q.above]]\ntokens = 9\ninput = 1\noutput = 1\nfast = 1\n"
                "[provider.openai.prices.q]\ninput = 1\noutput = 1\n"
            ),
            (
                '7: unknown key "fast" in [provider.openai.prices.q.above]; '
                "known: cache_read, cache_write_1h, cache_write_5m, input, output, tokens"
            ),
        ),
        ("[provider.openai.prices]\nq = 3\n", "4: [provider.openai.prices.q] must be a table"),
        ("[provider.openai]\nprices = 3\n", "4: [provider.openai.prices] must be a table"),
        (
            '[provider.openai.prices."a b"]\ninput = 1\noutput = 1\n',
            "3: [provider.openai.prices.a b] must be a model id as the provider writes it",
        ),
    ],
)
def test_a_wrong_price_is_one_sentence_with_its_line(text: str, said: str) -> None:
    with pytest.raises(Problems) as caught:
        parse(REPO + text)
    assert [str(problem) for problem in caught.value.problems] == [f"factory.toml:{said}"]


@pytest.mark.parametrize(
    ("above", "said"),
    [
        ('[{"tokens":2,"input":1,"output":1},{"tokens":2,"input":1,"output":1}]', "rising in tokens"),
        ('[{"tokens":2,"input":1,"output":1,"cache_read":1}]', "the same rates"),
    ],
)
def test_cliffs_rise_and_set_what_stands_beside_them(above: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        OwnPrice.model_validate_json(f'{{"input":1,"output":1,"above":{above}}}')
