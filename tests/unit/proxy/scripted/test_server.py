"""The scripted provider over HTTP."""

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proxy.scripted.server import Script, Server
from proxy.scripted.story import load_story

STORY = """
rounds:
  - role: coder
    turns:
      - finish: "Done."
        usage: {input: 5, output: 6}
      - error: {status: 529, type: overloaded_error, message: "busy", retry_after: 3}
      - cut: 100
"""


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    return tmp_path / "requests.jsonl"


@pytest.fixture
def caller(requests: Path) -> Iterator[http.client.HTTPConnection]:
    with Server(Script(load_story(STORY), "coder", 1, requests)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        yield connection
        connection.close()
        server.shutdown()
        thread.join()


def ask(caller: http.client.HTTPConnection, turn: int, **fields: Any) -> http.client.HTTPResponse:
    messages = [{"role": "assistant", "content": "x"}] * turn
    tools = [{"name": "Bash"}]
    body = {"model": "claude-sonnet-4-5", "messages": messages, "tools": tools, **fields}
    caller.request("POST", "/v1/messages?beta=true", json.dumps(body))
    return caller.getresponse()


def test_a_kept_connection_gets_both_forms(caller: http.client.HTTPConnection, requests: Path) -> None:
    assert json.loads(ask(caller, 0).read())["content"] == [{"type": "text", "text": "Done."}]
    streamed = ask(caller, 0, stream=True)
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.read().endswith(b'data: {"type":"message_stop"}\n\n')
    rows = [json.loads(line) for line in requests.read_text().splitlines()]
    assert [(row["n"], row["turn"], row["stream"]) for row in rows] == [(1, 0, False), (2, 0, True)]


def test_errors_have_the_providers_shape(caller: http.client.HTTPConnection) -> None:
    answer = ask(caller, 1)
    assert (answer.status, answer.headers["retry-after"]) == (529, "3")
    assert json.loads(answer.read()) == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "busy"},
    }


RESPONSES, CHAT = "/v1/responses", "/v1/chat/completions"


def ask_openai(
    caller: http.client.HTTPConnection, path: str, turn: int, **fields: Any
) -> http.client.HTTPResponse:
    said = [{"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}] * turn
    names = {"name": "bash", "parameters": {}}
    tool = {"type": "function", **(names if path == RESPONSES else {"function": names})}
    body = {"model": "gpt-5", "input": said, "messages": said, "tools": [tool], **fields}
    caller.request("POST", path, json.dumps(body))
    return caller.getresponse()


@pytest.mark.parametrize(("path", "end"), [(RESPONSES, b"response.completed"), (CHAT, b"data: [DONE]\n\n")])
def test_openais_apis_get_both_forms(
    caller: http.client.HTTPConnection, requests: Path, path: str, end: bytes
) -> None:
    assert b'"Done."' in ask_openai(caller, path, 0).read()
    assert end in ask_openai(caller, path, 0, stream=True).read()
    rows = [json.loads(line) for line in requests.read_text().splitlines()]
    assert [(row["path"], row["turn"], row["stream"]) for row in rows] == [(path, 0, False), (path, 0, True)]


@pytest.mark.parametrize("path", [RESPONSES, CHAT])
def test_openais_errors_have_its_shape(caller: http.client.HTTPConnection, path: str) -> None:
    answer = ask_openai(caller, path, 1)
    assert (answer.status, answer.headers["retry-after"]) == (529, "3")
    error = {"message": "busy", "type": "overloaded_error", "param": None, "code": "overloaded_error"}
    assert json.loads(answer.read()) == {"error": error}


@pytest.mark.parametrize("path", [RESPONSES, CHAT])
def test_a_cut_ends_openais_streams_too(caller: http.client.HTTPConnection, path: str) -> None:
    answer = ask_openai(caller, path, 2, stream=True)
    with pytest.raises(http.client.IncompleteRead) as caught:
        answer.read()
    assert len(caught.value.partial) == 100


def test_a_cut_ends_the_connection_in_mid_stream(caller: http.client.HTTPConnection) -> None:
    answer = ask(caller, 2, stream=True)
    with pytest.raises(http.client.IncompleteRead) as caught:
        answer.read()
    assert len(caught.value.partial) == 100


def test_tokens_are_counted(caller: http.client.HTTPConnection) -> None:
    caller.request("POST", "/v1/messages/count_tokens", json.dumps({"model": "m"}))
    assert json.loads(caller.getresponse().read())["input_tokens"] > 0


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("POST", "no json")])
def test_anything_else_is_404_and_counted(
    caller: http.client.HTTPConnection, requests: Path, method: str, body: str | None
) -> None:
    caller.request(method, "/v1/messages", body)
    answer = caller.getresponse()
    answer.read()
    assert answer.status == 404
    assert json.loads(requests.read_text())["method"] == method


def test_a_round_that_the_story_has_not_is_400(requests: Path) -> None:
    with Server(Script(load_story(STORY), "reviewer", 1, requests)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        answer = ask(connection, 0)
        assert answer.status == 400
        assert "no round 1 for the reviewer" in json.loads(answer.read())["error"]["message"]
        connection.close()
        server.shutdown()
        thread.join()
