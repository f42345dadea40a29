"""How a call is served, in words."""

import pytest

from proxy.mode import PLAIN, Mode


def test_an_answer_goes_before_what_was_asked_word_by_word() -> None:
    asked = Mode(service_tier="priority", speed="fast")
    assert PLAIN.over(asked) == asked
    assert Mode(service_tier="default").over(asked) == Mode(service_tier="default", speed="fast")
    assert asked.over(PLAIN) == asked


@pytest.mark.parametrize("word", ["standard", "standard_only", "default", "auto", "global", "not_available"])
def test_words_for_the_plain_price_are_left_out(word: str) -> None:
    assert Mode(word, word, word).plain == PLAIN
    assert Mode(word, "fast", word).plain == Mode(speed="fast")


def test_what_is_said_can_be_read() -> None:
    assert str(Mode(service_tier="priority", inference_geo="us")) == "service_tier priority, inference_geo us"
    assert str(PLAIN) == ""
