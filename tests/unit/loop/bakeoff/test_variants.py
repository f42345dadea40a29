import tomllib

import pytest

from instrument.schema.vocabulary import RuntimeName
from loop.bakeoff.variants import Variant, parse_variant, parse_variants, with_settings
from loop.errors import UsageError
from support.repos import TOML

PLAIN = TOML.encode()


def agent_of(toml: bytes) -> dict[str, object]:
    return tomllib.loads(toml.decode())["agent"]


def test_a_variant_is_a_runtime_a_model_and_settings() -> None:
    assert parse_variant("claude") == Variant(name="claude", runtime=RuntimeName.CLAUDE)
    variant = parse_variant("codex:gpt-5.5,context_limit_tokens=50000,command.coder=a, b=c")
    assert (variant.runtime, variant.model) == (RuntimeName.CODEX, "gpt-5.5")
    assert variant.settings == (("context_limit_tokens", "50000"), ("command.coder", "a, b=c"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("claud", 'unknown runtime "claud"; did you mean "claude"?'),
        ("claude:", "write RUNTIME:MODEL"),
        ("claude:one,two", "write RUNTIME:MODEL"),
        ("claude,model=x", "name runtime and model in front"),
        ("claude,context_limit_tokens=1,context_limit_tokens=2", "one key is set twice"),
    ],
)
def test_what_is_no_variant_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=r"^--with .*$") as caught:
        parse_variant(text)
    assert said in str(caught.value)


def test_one_variant_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="stands there twice"):
        parse_variants(["claude", "claude"])


def test_a_setting_is_put_into_the_table_and_nothing_else_changes() -> None:
    made = with_settings(PLAIN, parse_variant("claude,context_limit_tokens=50000"))
    expected = tomllib.loads(TOML)
    expected["agent"]["context_limit_tokens"] = 50000
    assert tomllib.loads(made.decode()) == expected


def test_without_settings_the_file_stays_byte_for_byte() -> None:
    assert with_settings(PLAIN, parse_variant("claude:other")) is PLAIN


@pytest.mark.parametrize(
    "written",
    [
        "[agent]\ncontext_limit_tokens = 2000 # few\nmodel = 'm'",
        "[ agent ] # who codes\nmodel = 'm'\ncontext_limit_tokens = 2000",
        "[agent.command]\ncoder = '''\na [agent]\n'''\n[agent]\ncontext_limit_tokens = 2000",
        "",
    ],
)
def test_a_setting_replaces_the_one_that_is_there(written: str) -> None:
    toml = TOML.replace('[agent]\nmodel = "claude-sonnet-4-5"', written).encode()
    made = with_settings(toml, parse_variant("claude,context_limit_tokens=50000"))
    assert agent_of(made)["context_limit_tokens"] == 50000
    assert made.count(b"2000") == 0


def test_a_text_needs_no_quotes_and_may_go_into_a_table_below() -> None:
    made = with_settings(PLAIN, parse_variant('command,command.coder=sh -c "true", twice'))
    assert agent_of(made)["command"] == {"coder": 'sh -c "true", twice'}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("context_limit=5", 'unknown key "context_limit" in [agent]; did you mean "context_limit_tokens"?'),
        ("context_limit_tokens=5", "[agent] context_limit_tokens must be at least 1000"),
        ("context_limit_tokens=many", "[agent] context_limit_tokens must be a whole number"),
    ],
)
def test_the_files_own_models_judge_a_setting(setting: str, said: str) -> None:
    variant = parse_variant(f"claude,{setting}")
    with pytest.raises(UsageError) as caught:
        with_settings(PLAIN, variant)
    assert str(caught.value) == f"--with {variant.name}: {said}"


def test_a_file_written_so_that_a_key_cannot_be_set_is_named() -> None:
    toml = TOML.replace('[agent]\nmodel = "claude-sonnet-4-5"\n', "")
    toml = f'agent = {{model = "m"}}\n{toml}'
    with pytest.raises(UsageError, match=r"give factory.toml a table \[agent\] with a line a key"):
        with_settings(toml.encode(), parse_variant("claude,context_limit_tokens=50000"))
