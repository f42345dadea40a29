import pytest

from loop.doctor.money import look_at_keys, look_at_prices
from support.answering import answering
from support.repos import TASK, TASK_TEXT, TOML, edited

MODELS = "/v1/models?limit=1"
NO_KEY = {"ANTHROPIC_API_KEY": ""}
SHELL = edited(TOML, 'model = "claude-sonnet-4-5"', 'runtime = "command"\n[agent.command]\ncoder = "true"')


def point_at(office, url: str, more: str = "") -> None:
    office.desk.commit({"factory.toml": f'{TOML}[provider.anthropic]\nbase_url = "{url}"\n{more}'})


def test_a_model_with_a_price_is_well(office):
    assert office.look(look_at_prices) == ("ok", "claude-sonnet-4-5", "")


def test_a_model_without_a_price_is_found(office):
    office.desk.commit({TASK: edited(TASK_TEXT, "files:", "model: claude-sonnet-99\nfiles:")})
    state, found, mend = office.look(look_at_prices)
    assert (state, found) == ("failed", "no price is known for claude-sonnet-99")
    assert "[provider]" in mend


def test_a_persons_own_price_counts(office):
    own = '[provider.anthropic.prices."claude-sonnet-99"]\ninput = 1.0\noutput = 2.0\n'
    office.desk.commit(
        {
            "factory.toml": TOML + own,
            TASK: edited(TASK_TEXT, "files:", "model: claude-sonnet-99\nfiles:"),
        }
    )
    assert office.look(look_at_prices)[0] == "ok"


def test_a_repo_whose_agents_call_no_model_needs_neither_price_nor_key(office):
    office.desk.commit({"factory.toml": SHELL})
    assert office.look(look_at_prices) == ("skipped", "no model is configured", "")
    assert office.look(look_at_keys, NO_KEY) == (
        "skipped",
        "no provider is configured: no agent calls a model",
        "",
    )


def test_a_key_that_is_not_set_is_found(office):
    assert office.look(look_at_keys, NO_KEY) == (
        "failed",
        "ANTHROPIC_API_KEY is not set",
        "set it to the provider's key, where factory is started",
    )


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_found(office, status: int):
    with answering({MODELS: status}) as (url, asked):
        point_at(office, url)
        state, found, mend = office.look(look_at_keys)
    assert (state, found) == ("failed", f"{url} refuses ANTHROPIC_API_KEY")
    assert mend.startswith("set another key")
    ((path, headers),) = asked
    assert (path, headers["x-api-key"]) == (MODELS, "sk-key")


def test_a_key_that_is_taken_is_well(office):
    with answering({MODELS: 200}) as (url, _):
        point_at(office, url)
        assert office.look(look_at_keys) == ("ok", f"{url} takes ANTHROPIC_API_KEY", "")


@pytest.mark.parametrize("status", [404, 429, 500])
def test_any_other_answer_is_a_note_with_what_came(office, status: int):
    with answering({MODELS: status}) as (url, _):
        point_at(office, url)
        state, found, _ = office.look(look_at_keys)
    assert (state, found) == ("note", f"{url} answered HTTP {status}")


def test_no_answer_is_a_note_with_what_came(office):
    with answering({MODELS: 200}) as (url, _):
        point_at(office, url)
    state, found, _ = office.look(look_at_keys)
    assert (state, found) == ("note", f"{url} did not answer (ConnectError)")


def test_a_fallbacks_key_counts_too(office):
    with answering({MODELS: 200}) as (url, _):
        point_at(office, url, f'[[provider.anthropic.fallback]]\nbase_url = "{url}"\nkey_env = "OTHER"\n')
        assert office.look(look_at_keys)[:2] == ("failed", "OTHER is not set")
        assert office.look(look_at_keys, {"OTHER": "sk-other"})[0] == "ok"
