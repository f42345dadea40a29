import pytest

from instrument.schema.vocabulary import Purpose
from loop.cli import main
from loop.demo import STORY, arguments


@pytest.mark.parametrize(
    ("environment", "typed"),
    [
        ({}, {"story": STORY, "runtime": None, "model": None}),
        ({"RUNTIME": "opencode"}, {"story": STORY, "runtime": "opencode", "model": None}),
        ({"PROVIDER": "anthropic", "MODEL": "m"}, {"story": None, "runtime": None, "model": "m"}),
        ({"PROVIDER": "openai", "MODEL": "m"}, {"story": None, "runtime": "codex", "model": "m"}),
        ({"PROVIDER": "openai", "RUNTIME": "opencode", "MODEL": "m"}, {"story": None, "runtime": "opencode"}),
    ],
)
def test_who_answers_and_who_works_is_said_by_the_environment(environment, typed):
    found = main.commands["run"].make_context("run", arguments(environment, purpose=Purpose.DEMO)).params
    assert {name: found[name] for name in typed} == typed
