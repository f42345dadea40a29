"""Story files, right and wrong."""

import pytest

from proxy.scripted.story import StoryError, load_story

ONE = "rounds: [{role: coder, turns: [{finish: done}]}]"


def test_rounds_are_found_by_role_and_number() -> None:
    story = load_story(
        """
        rounds:
          - {role: coder, round: 1, turns: [{finish: one}]}
          - {role: coder, turns: [{finish: later}]}
          - {role: reviewer, round: 1, turns: [{finish: look}]}
        """
    )
    assert story.turns_of("coder", 1)[0].finish == "one"
    assert story.turns_of("coder", 7)[0].finish == "later"
    assert story.turns_of("reviewer", 1)[0].finish == "look"
    with pytest.raises(StoryError, match="no round 2 for the reviewer"):
        story.turns_of("reviewer", 2)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rounds: [", "not YAML"),
        ("", "the file"),
        ("rounds: []", "rounds"),
        (ONE + "\nmodle: x", "modle"),
        ("rounds: [{role: coder, turns: []}]", "rounds.0.turns"),
        ("rounds: [{role: boss, turns: [{finish: x}]}]", "rounds.0.role"),
        ("rounds: [{role: coder, turns: [{say: x}]}]", "rounds.0.turns.0"),
        ("rounds: [{role: coder, turns: [{run: x, finish: y}]}]", "exactly one of"),
        ("rounds: [{role: coder, turns: [{finish: x, usage: {inptu: 3}}]}]", "usage.inptu"),
        ("rounds: [{role: coder, turns: [{finish: x, usage: {input: -3}}]}]", "usage.input"),
        ("rounds: [{role: coder, turns: [{finish: x, usage: {input: true}}]}]", "usage.input"),
        ("rounds: [{role: coder, turns: [{error: {status: 200, type: a, message: b}}]}]", "error.status"),
        ("rounds: [{role: coder, turns: [{error: {status: 500, type: a, message: b}, cut: 3}]}]", "no cut"),
        (ONE + "\ncaptures: {t: '('}", "no regular expression"),
        (ONE + "\ncaptures: {t: 'a(b)(c)'}", "exactly one group"),
        (ONE + "\n5: x", "quote it"),
    ],
)
def test_a_wrong_story_is_one_sentence_with_the_place(text: str, place: str) -> None:
    with pytest.raises(StoryError) as caught:
        load_story(text)
    assert place in str(caught.value)
    assert "\n" not in str(caught.value)
