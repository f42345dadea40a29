"""What all requests have in common."""

import pytest

from proxy.ask import Ask, BadAskError, estimate_tokens, load_request, read_count
from proxy.buckets import Buckets


def test_the_model_is_found() -> None:
    assert load_request(b'{"model":"m","n":1}', "X API") == ({"model": "m", "n": 1}, "m")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"model":5}', b'{"model":""}', b"\xff\xfe"])
def test_a_body_without_a_model_is_one_sentence(body: bytes) -> None:
    with pytest.raises(BadAskError, match="send a X API request"):
        load_request(body, "X API")


@pytest.mark.parametrize(
    ("value", "count"), [(1, 1), (50, 50), (0, None), (-5, None), (True, None), ("9", None), (1.5, None)]
)
def test_a_count_is_one_or_more(value: object, count: int | None) -> None:
    assert read_count(value) == count


def test_half_a_token_counts_whole() -> None:
    assert estimate_tokens(b"123") == 2


@pytest.mark.parametrize(("is_counting", "most"), [(False, 50), (True, 0)])
def test_the_most_output_is_the_ceiling_and_none_for_a_count(*, is_counting: bool, most: int) -> None:
    ask = Ask("m", 50, is_stream=True, input_usage=Buckets(), is_counting=is_counting)
    assert ask.most_output_tokens == most
