"""From what a resolver left to facts: a ruling, or a stop that is handed up with the reason."""

import json

import pytest

from instrument.schema.vocabulary import LadderStep
from loop.machine.effects import Resolve
from loop.shell.context import Context
from loop.shell.resolutions import MAX_CHARS, MAX_HANDED_UP_CHARS, resolve_facts
from support.ends import resolver_end
from support.lives import SMALL

EFFECT = Resolve(
    key="k",
    round=1,
    start="a" * 40,
    image="sha256:1",
    agent=SMALL,
    deadline_ms=1,
    budget_microusd=None,
    base="a" * 40,
    step=LadderStep.SMALL,
)


def answer(context: Context, text: str | bytes | None, *, said: str = "kept") -> tuple[str, str]:
    """The ruling and why there is none, of a job that left this text."""
    if text is not None:
        out = context.folder / "jobs/0001-x-1/out"
        out.mkdir(parents=True, exist_ok=True)
        (out / "agent-result.json").write_bytes(text.encode() if isinstance(text, str) else text)
    facts = resolve_facts(context, EFFECT, resolver_end("k", report={"result_file": said}))
    assert (facts.key, facts.end.key) == ("k", "k")
    assert bool(facts.ruling) != bool(facts.handed_up)
    return facts.ruling, facts.handed_up


def test_a_ruling_is_taken_verbatim_but_for_the_space_around_it(context: Context):
    text = "Call it `pause`.\n\tNot wait. Ä"
    assert answer(context, json.dumps({"ruling": f"  {text}\n", "hand_up": " "})) == (text, "")


def test_a_reason_is_shown_without_control_characters_and_cut(context: Context):
    said = {"ruling": "", "hand_up": "\x1b[2Ano\nidea " + "x" * MAX_HANDED_UP_CHARS}
    ruling, why = answer(context, json.dumps(said))
    assert ruling == ""
    assert why.startswith(" [2Ano\nidea xxx")
    assert len(why) == MAX_HANDED_UP_CHARS


def test_one_that_rules_and_hands_up_has_handed_up(context: Context):
    assert answer(context, json.dumps({"ruling": "pause", "hand_up": "not sure"})) == ("", "not sure")


@pytest.mark.parametrize("text", ["", "pause", "[]", '{"ruling": 1}', '{"rule": "x"}', b'{"ruling": "\xff"}'])
def test_another_form_than_the_one_asked_for_is_no_ruling(context: Context, text: str | bytes):
    assert answer(context, text) == ("", "its answer does not have the form asked for")


@pytest.mark.parametrize("ruling", ["a\x00b", "a\x1b[2Jb", "a\u202eb", "\ud800", "x" * (MAX_CHARS + 1)])
def test_what_is_no_short_plain_text_is_no_ruling(context: Context, ruling: str):
    _, why = answer(context, json.dumps({"ruling": ruling, "hand_up": ""}))
    assert why in (
        f"its ruling is no plain text of {MAX_CHARS} characters at most",
        "its answer does not have the form asked for",
    )
    assert answer(context, json.dumps({"ruling": "x" * MAX_CHARS}))[0] == "x" * MAX_CHARS


def test_no_answer_and_an_empty_one_say_why(context: Context):
    assert answer(context, None, said="too_large") == ("", "it left no answer (too_large)")
    assert answer(context, '{"ruling": " ", "hand_up": ""}') == ("", "its answer says nothing")
    lost = resolver_end("k").model_copy(update={"report": None})
    assert resolve_facts(context, EFFECT, lost).handed_up == "it left no answer (no report)"


def test_a_file_that_is_gone_is_no_ruling(context: Context):
    assert answer(context, None)[1] == "its answer does not have the form asked for"
