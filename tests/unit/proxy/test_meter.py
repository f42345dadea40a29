"""What all meters have in common."""

from typing import Any

import pytest

from proxy import meter
from proxy.buckets import Buckets
from proxy.meter import BodyMeter, StreamMeter, Tally, meter_over, shown_text
from proxy.mode import PLAIN
from proxy.protocols.anthropic_usage import MessagesFigures


class Output:
    """Figures of an API with one field."""

    def __init__(self) -> None:
        self.output: int | None = None
        self.is_wrong = self.is_odd = False
        self.mode, self.extras, self.has_gap = PLAIN, (), False

    def take(self, usage: object) -> None:
        assert isinstance(usage, int)
        self.output = usage

    @property
    def has_usage(self) -> bool:
        return self.output is not None

    def usage(self) -> Buckets:
        return Buckets(output_tokens=self.output or 0)


class Simple(Tally):
    """An API whose events are `{"usage": 3}`, `{"text": "…"}` and `END`."""

    end_mark = b"END"

    def __init__(self) -> None:
        super().__init__(Output())

    def take(self, event: dict[str, Any]) -> None:
        self.written_bytes += len(event.get("text", ""))
        if "usage" in event:
            self.figures.take(event["usage"])

    def take_body(self, value: dict[str, Any]) -> None:
        self.take(value)


def read_stream(data: bytes) -> meter.Reading:
    made = meter_over(Simple(), is_stream=True)
    made.feed(data)
    return made.read()


def test_the_end_mark_makes_a_stream_whole() -> None:
    assert not read_stream(b'data: {"usage": 3}\n\n').is_whole
    assert read_stream(b'data: {"usage": 3}\n\ndata: END\n\n').is_whole


def test_what_was_written_raises_the_output_of_a_stream_without_its_end() -> None:
    text = b'data: {"text": "12345"}\n\ndata: {"usage": 1}\n\n'
    assert read_stream(text).usage.output_tokens == 3
    assert read_stream(text + b"data: END\n\n").usage.output_tokens == 1


def test_an_event_that_is_no_json_is_flagged() -> None:
    reading = read_stream(b'data: {"usage": 3}\n\ndata: oops\n\ndata: END\n\n')
    assert (reading.is_whole, reading.has_usage) == (False, True)


def test_an_error_is_not_whole() -> None:
    tally = Simple()
    tally.error_type = "failed"
    made = StreamMeter(tally)
    made.feed(b'data: {"usage": 3}\n\ndata: END\n\n')
    assert not made.read().is_whole


def test_wrong_figures_are_not_whole() -> None:
    tally = Simple()
    tally.figures.is_wrong = True  # type: ignore[misc] - the fake's is a plain field
    made = BodyMeter(tally)
    made.feed(b'{"usage": 3}')
    assert not made.read().is_whole


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff"])
def test_a_body_that_says_nothing_is_not_whole(body: bytes) -> None:
    made = meter_over(Simple(), is_stream=False)
    made.feed(body)
    assert (made.read().is_whole, made.read().has_usage) == (False, False)


def test_a_body_beyond_the_limit_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "MAX_BODY_BYTES", 5)
    made = meter_over(Simple(), is_stream=False)
    made.feed(b'{"usage": 3}')
    assert not made.read().has_usage


@pytest.mark.parametrize("value", [True, -1, "12", 1.5, [1]])
def test_a_figure_that_is_no_count_is_odd_and_leaves_what_is_known(value: object) -> None:
    figures = MessagesFigures()
    assert (figures.count({"a": value}, "a", 7), figures.is_odd) == (7, True)
    assert (figures.count({"a": 8}, "a", 7), figures.is_odd) == (8, True)


def test_an_absent_figure_leaves_what_is_known() -> None:
    figures = MessagesFigures()
    assert figures.count({}, "a", 7) == 7
    assert figures.count({"a": None}, "a", None) is None
    assert figures.count({"a": 0}, "a", 7) == 0
    assert not figures.is_odd


def test_a_text_is_shortened_to_what_a_row_should_hold() -> None:
    assert shown_text("x" * 300) == "x" * 200
    assert shown_text("") is None
    assert shown_text(5) is None
