"""The settings line."""

from typing import Any

import orjson
import pytest

from proxy.protocols import anthropic, openai
from proxy.settings import SettingsError, load_settings

SECRET = "sk-very-secret"


def line(**changes: Any) -> bytes:
    fields = {
        "socket": "/run/factory/proxy.sock",
        "marker": "/run/factory/called",
        "ledger": "/ledger/ledger.jsonl",
        "base_url": "https://api.anthropic.com",
        "secret": SECRET,
        "auth": "api_key",
        "budget_microusd": 5,
        "deadline_s": 10,
        "story": None,
        "story_role": "",
        "story_round": 0,
    }
    return orjson.dumps({**fields, **changes})


OTHER = "sk-of-another"
FALLBACK = {"base_url": "http://127.0.0.1:8080/llm", "secret": OTHER, "auth": "bearer"}


def test_both_kinds_of_key() -> None:
    settings = load_settings(line())
    assert settings.auth_header(settings.wire) == (b"x-api-key", SECRET.encode())
    settings = load_settings(line(auth="bearer"))
    assert settings.auth_header(settings.wire) == (b"authorization", b"Bearer sk-very-secret")


def test_fallbacks_follow_the_first_provider_each_with_its_own_key() -> None:
    settings = load_settings(line(fallbacks=[FALLBACK]))
    first, second = settings.providers
    assert first.address().host == "api.anthropic.com"
    assert (second.address().port, second.address().prefix) == (8080, b"/llm")
    assert first.auth_header(settings.wire) == (b"x-api-key", SECRET.encode())
    assert second.auth_header(settings.wire) == (b"authorization", b"Bearer sk-of-another")


def test_every_key_and_every_masked_value_is_a_secret() -> None:
    settings = load_settings(line(fallbacks=[FALLBACK], masked=["env-value"]))
    assert settings.secrets == (SECRET, OTHER, "env-value")
    for shown in (repr(settings), settings.model_dump_json()):
        assert not any(secret in shown for secret in settings.secrets)


def test_openais_key_is_always_a_bearers() -> None:
    for auth in ("api_key", "bearer"):
        settings = load_settings(line(protocol="openai", auth=auth))
        assert settings.wire is openai
        assert settings.auth_header(settings.wire) == (b"authorization", b"Bearer sk-very-secret")


def test_without_a_word_it_is_anthropics_protocol() -> None:
    assert load_settings(line()).wire is anthropic


def test_the_key_is_not_shown() -> None:
    settings = load_settings(line())
    assert SECRET not in repr(settings)
    assert SECRET not in settings.model_dump_json()


def test_a_story_needs_neither_address_nor_key() -> None:
    assert load_settings(line(story="rounds: []", base_url="", secret="")).story == "rounds: []"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"budget_microusd": -1}, "budget_microusd"),
        ({"budget_microusd": True}, "budget_microusd"),
        ({"deadline_s": 0}, "deadline_s"),
        ({"auth": "basic"}, "auth"),
        ({"protocol": "gemini"}, "protocol"),
        ({"more": 1}, "more"),
        ({"base_url": "nowhere"}, "base_url"),
        ({"secret": "two words"}, "secret"),
        ({"secret": "line\r\nbreak"}, "secret"),
        ({"secret": ""}, "secret"),
        ({"fallbacks": [{**FALLBACK, "secret": ""}]}, "secret"),
        ({"fallbacks": [{**FALLBACK, "base_url": "nowhere"}]}, "base_url"),
        ({"fallbacks": [{**FALLBACK, "auth": "basic"}]}, "fallbacks.0.auth"),
        ({"masked": [1]}, "masked.0"),
    ],
)
def test_a_wrong_line_names_its_field_and_never_the_key(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingsError, match=named) as caught:
        load_settings(line(**changes))
    assert SECRET not in str(caught.value)
    assert OTHER not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null"])
def test_no_object_is_one_sentence(data: bytes) -> None:
    with pytest.raises(SettingsError, match="settings line"):
        load_settings(data)
