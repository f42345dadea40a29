import pytest

from instrument.schema.vocabulary import RuntimeName
from jobs.pins import pinned_versions
from loop.differences import differences_of
from support.ends import agent_run, call, coder_end, commands_end, failed_call

KEY = "demo-001-implement-1-00000000"
ASKED = "claude-sonnet-4-5"


def models(*calls, **agent):
    found = differences_of(coder_end(KEY, calls=calls, agent=agent_run().model_copy(update=agent)))
    return [(difference["asked"], difference["found"]) for difference in found]


def test_a_job_as_configured_differs_in_nothing():
    assert differences_of(coder_end(KEY)) == []
    assert differences_of(coder_end(KEY, calls=(call(model_answered=f"{ASKED}-20250929"),))) == []
    assert differences_of(commands_end(KEY)) == []


def test_each_model_that_answered_in_place_of_the_configured_one_is_named_once():
    calls = [call(n, model_answered=f"other-{n % 2}") for n in range(1, 5)]
    assert models(*calls, call(5)) == [(ASKED, "other-1"), (ASKED, "other-0")]


def test_a_model_that_the_program_called_by_itself_is_another_than_the_configured():
    assert models(call(1), call(2, model_asked="small", model_answered="small")) == [(ASKED, "small")]


def test_without_a_configured_model_the_calls_own_is_the_one_asked_for():
    assert models(call(1, model_asked="a", model_answered="b"), model_asked=None) == [("a", "b")]
    ended = coder_end(KEY, calls=(call(1, model_asked="a", model_answered="b"),), agent=None)
    assert [difference["found"] for difference in differences_of(ended)] == ["b"]


def test_the_agents_own_word_counts_only_where_no_call_tells():
    assert models(call(1), model_answered="other") == []
    assert models(model_answered="other") == [(ASKED, "other")]
    assert models(failed_call(500), model_answered="other") == [(ASKED, "other")]


@pytest.mark.parametrize("unknown", [{"model_answered": None}, {"model_asked": None}])
def test_what_is_not_known_is_no_difference(unknown):
    assert models(**unknown) == []


@pytest.mark.parametrize(
    ("runtime", "version", "differs"),
    [
        (RuntimeName.CODEX, "0.0.1", True),
        (RuntimeName.CODEX, pinned_versions()[RuntimeName.CODEX], False),
        (RuntimeName.CODEX, pinned_versions()[RuntimeName.CODEX] + "0", True),
        (RuntimeName.CODEX, None, False),
        (RuntimeName.COMMAND, "0.0.1", False),
    ],
)
def test_a_version_is_held_to_the_pin_of_its_own_program(runtime, version, *, differs):
    agent = agent_run(runtime=runtime).model_copy(update={"version": version})
    pinned = pinned_versions().get(runtime)
    expected = [{"what": "version", "asked": pinned, "found": version}] if differs else []
    assert differences_of(coder_end(KEY, agent=agent)) == expected


def test_every_program_that_the_images_hold_has_a_pin():
    assert set(pinned_versions()) == set(RuntimeName) - {RuntimeName.COMMAND}
