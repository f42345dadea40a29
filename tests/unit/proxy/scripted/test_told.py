"""Whatever a provider may answer can be told: every protocol, streamed and whole, read by our own meter."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxy.buckets import Buckets
from proxy.meter import Reading
from proxy.protocols import anthropic, openai
from proxy.scripted.server import Script, Server
from proxy.scripted.story import load_story
from support.serving import serving

MESSAGES, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"
every_path = pytest.mark.parametrize("path", [MESSAGES, RESPONSES, CHAT])
both_forms = pytest.mark.parametrize("is_stream", [True, False])


@contextmanager
def playing(*turns: str) -> Iterator[http.client.HTTPConnection]:
    """A connection to a provider that answers everything with the first of these turns."""
    story = load_story(f"rounds: [{{role: coder, turns: [{', '.join(turns)}]}}]")
    with serving(Server(Script(story, "coder", 1, None))) as connection:
        yield connection


def ask(connection: http.client.HTTPConnection, path: str, *, is_stream: bool) -> http.client.HTTPResponse:
    names = {"name": "bash", "input_schema": {}, "parameters": {}}
    tool = {"type": "function", "function": names} if path == CHAT else {"type": "function", **names}
    said = [{"role": "user", "content": "go"}]
    body = {"model": "m", "messages": said, "input": said, "tools": [tool], "stream": is_stream}
    connection.request("POST", path, json.dumps(body))
    return connection.getresponse()


def reading_of(path: str, turn: str, *, is_stream: bool) -> Reading:
    """What our meter makes of the answer."""
    wire = anthropic if path == MESSAGES else openai
    meter = wire.open_meter(path, is_stream=is_stream)
    with playing(turn) as connection:
        meter.feed(ask(connection, path, is_stream=is_stream).read())
    return meter.read()


@every_path
@both_forms
def test_every_bucket_of_usage(path: str, *, is_stream: bool) -> None:
    figures = "{input: 1, output: 90, cache_read: 2, cache_write_5m: 3, cache_write_1h: 4, searches: 1}"
    reading = reading_of(path, f"{{finish: done, usage: {figures}}}", is_stream=is_stream)
    assert reading.usage == Buckets(
        input_tokens=1,
        output_tokens=90,
        cache_read_tokens=2,
        cache_write_5m_tokens=3,
        cache_write_1h_tokens=4,
        web_searches=1,
    )
    assert (reading.is_whole, reading.has_gap, reading.extras) == (True, False, ())


@every_path
@both_forms
def test_the_tier_that_served_it(path: str, *, is_stream: bool) -> None:
    reading = reading_of(path, "{finish: done, usage: {input: 1, tier: priority}}", is_stream=is_stream)
    assert reading.mode.service_tier == "priority"


@both_forms
def test_what_anthropic_alone_reports(*, is_stream: bool) -> None:
    compaction = "{input: 100, output: 5, cache_read: 7}"
    usage = f"{{input: 1, output: 2, speed: fast, place: us, compactions: [{compaction}]}}"
    reading = reading_of(MESSAGES, f"{{finish: done, usage: {usage}}}", is_stream=is_stream)
    assert (reading.mode.speed, reading.mode.inference_geo) == ("fast", "us")
    assert [extra.usage for extra in reading.extras] == [
        Buckets(input_tokens=100, output_tokens=5, cache_read_tokens=7)
    ]


@every_path
@both_forms
def test_usage_that_is_wrong_or_missing_and_a_model_of_the_turns_own(path: str, *, is_stream: bool) -> None:
    names = "{prompt_tokens: -3, input_tokens: x}"
    wrong = reading_of(path, f"{{finish: done, model: other-9, raw_usage: {names}}}", is_stream=is_stream)
    assert (wrong.model, wrong.has_usage, wrong.is_whole) == ("other-9", False, False)
    missing = reading_of(path, "{finish: done, raw_usage: {}}", is_stream=is_stream)
    assert (missing.model, missing.has_usage) == ("m", False)


@every_path
def test_an_error_in_mid_stream(path: str) -> None:
    error = "{status: 529, type: overloaded_error, message: busy, retry_after: 3, after_events: 3}"
    with playing(f"{{say: hello, error: {error}}}") as connection:
        streamed = ask(connection, path, is_stream=True)
        assert streamed.status == 200
        events = streamed.read().strip().split(b"\n\n")
        assert len(events) == 4
        assert b"busy" in events[-1]
        whole = ask(connection, path, is_stream=False)
        assert (whole.status, whole.headers["retry-after"]) == (529, "3")
        assert json.loads(whole.read())["error"]["message"] == "busy"
    reading = reading_of(path, f"{{say: hello, error: {error}}}", is_stream=True)
    assert (reading.error_type, reading.is_whole) == ("overloaded_error", False)


@every_path
@both_forms
@pytest.mark.parametrize("cut", [0, 1, 77])
def test_a_cut_at_any_byte_by_an_end_or_a_reset(path: str, cut: int, *, is_stream: bool) -> None:
    with playing(f"{{finish: done, cut: {cut}}}") as connection:
        with pytest.raises(http.client.IncompleteRead) as caught:
            ask(connection, path, is_stream=is_stream).read()
        assert len(caught.value.partial) == cut
    with playing(f"{{finish: done, cut: {cut}, lost: reset}}") as connection, pytest.raises(ConnectionError):
        ask(connection, path, is_stream=is_stream).read()


@every_path
def test_no_answer_at_all(path: str) -> None:
    with playing("{lost: closed}") as connection, pytest.raises(http.client.RemoteDisconnected):
        ask(connection, path, is_stream=True)
    with playing("{lost: reset}") as connection, pytest.raises(ConnectionResetError):
        ask(connection, path, is_stream=True)
    with playing("{lost: silent}") as connection:
        connection.timeout = 0.2
        with pytest.raises(TimeoutError):
            ask(connection, path, is_stream=True)


@every_path
def test_delays_before_an_answer_and_between_its_events(path: str) -> None:
    with playing("{finish: done, delay_ms: 60, event_delay_ms: 20}") as connection:
        start_s = time.monotonic()
        answer = ask(connection, path, is_stream=True)
        assert time.monotonic() - start_s >= 0.06
        events = answer.read().count(b"\n\n")
        assert time.monotonic() - start_s >= 0.06 + 0.02 * events


@every_path
def test_a_fault_that_passes_and_the_turns_behind_it(path: str) -> None:
    busy = "{error: {status: 429, type: rate_limit_error, message: slow, retry_after: 0}, times: 2}"
    with playing(busy, "{lost: closed, times: 1}", "{finish: done}") as connection:
        for _ in range(2):
            refused = ask(connection, path, is_stream=False)
            assert (refused.status, refused.headers["retry-after"]) == (429, "0")
            refused.read()
        with pytest.raises(http.client.RemoteDisconnected):
            ask(connection, path, is_stream=False)
        connection.close()
        for _ in range(2):
            calm = ask(connection, path, is_stream=False)
            assert calm.status == 200
            assert b"done" in calm.read()
    with playing("{lost: closed, times: 1}") as connection:
        with pytest.raises(http.client.RemoteDisconnected):
            ask(connection, path, is_stream=False)
        connection.close()
        assert b"used up" in ask(connection, path, is_stream=False).read()
