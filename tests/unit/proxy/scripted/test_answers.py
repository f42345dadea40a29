"""Which turn of a story a request gets."""

from typing import Any

import pytest

from proxy.scripted import messages
from proxy.scripted.answers import answer_to
from proxy.scripted.form import Asked
from proxy.scripted.story import Story, StoryError, load_story

BASH = {"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}, "description": {}}}}
STORY = load_story(
    """
    captures: {token: 'verdict ([0-9a-f]{4})'}
    aux_usage: {input: 7, output: 3}
    rounds:
      - role: coder
        turns:
          - say: "I look first."
            run: "ls {{token}}"
            usage: {input: 1, output: 90, cache_read: 2, cache_write_5m: 3, cache_write_1h: 4, reasoning: 5}
          - finish: "Done."
    """
)


def request(*assistant: str, user: str = "verdict aaaa, then verdict beef", **fields: Any) -> Asked:
    said: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": user}]}]
    for text in assistant:
        said += [{"role": "assistant", "content": text}, {"role": "user", "content": "go on"}]
    return messages.read({"model": "claude-sonnet-4-5", "messages": said, "tools": [BASH], **fields})


def test_the_turn_is_the_number_of_assistant_messages_and_the_last_again_past_the_end() -> None:
    indices = [answer_to(STORY, "coder", 1, request(*["x"] * count), 1).turn_index for count in (0, 0, 1, 5)]
    assert indices == [0, 0, 1, 1]


def test_captures_are_the_last_match_in_what_the_user_said() -> None:
    answer = answer_to(STORY, "coder", 1, request("verdict 0000"), 1)
    assert answer.text == "Done."
    answer = answer_to(STORY, "coder", 1, request(), 1)
    assert answer.call is not None
    assert answer.call.arguments["command"] == "ls beef"


def test_a_capture_in_a_tools_result_is_found_too() -> None:
    result = {"type": "tool_result", "content": [{"type": "text", "text": "verdict cafe"}]}
    answer = answer_to(STORY, "coder", 1, request(messages=[{"role": "user", "content": [result]}]), 1)
    assert answer.call is not None
    assert answer.call.arguments["command"] == "ls cafe"


def test_a_capture_that_is_nowhere_is_one_sentence() -> None:
    with pytest.raises(StoryError, match="capture token"):
        answer_to(STORY, "coder", 1, request(user="no such thing"), 1)


def test_a_request_without_tools_is_a_side_call() -> None:
    answer = answer_to(STORY, "coder", 1, request(tools=[]), 1)
    assert (answer.text, answer.call, answer.turn_index) == ("ok", None, None)
    assert (answer.usage.input, answer.usage.output) == (7, 3)


def test_the_model_of_an_answer_is_the_storys_or_the_one_asked_for() -> None:
    assert answer_to(STORY, "coder", 1, request(), 1).model == "claude-sonnet-4-5"
    renamed = Story(rounds=STORY.rounds, model="other")
    assert answer_to(renamed, "coder", 1, request("x"), 1).model == "other"
