"""A session with a provider, recorded once and played again byte for byte."""

import http.client
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proxy.address import Address
from proxy.scripted.recorder import Recorder, Recording
from proxy.scripted.recording import Read, mask, to_headers, to_pieces
from proxy.scripted.server import Script, Server
from proxy.scripted.story import StoryError, load_story
from support.authority import Authority, make_authority
from support.serving import serving

KEY = "sk-ant-a-key-that-nobody-may-see"
MASKED = KEY.encode(), b"*" * len(KEY)
STORY = """
rounds:
  - role: coder
    turns:
      - {finish: "Käse.", usage: {input: 5, output: 6}, event_delay_ms: 3}
      - {error: {status: 529, type: overloaded_error, message: "busy, SECRET", retry_after: 3}}
      - {finish: "whatever", cut: 100}
""".replace("SECRET", KEY)


def ask(
    connection: http.client.HTTPConnection, turn: int, path: str = "/v1/messages?beta=true", **fields: Any
) -> tuple[int, dict[str, str], bytes, bool]:
    """Status, headers, body, and whether that was whole."""
    said = [{"role": "assistant", "content": "x"}, {"role": "user", "content": "y"}] * turn
    tool = {"name": "bash", "type": "function", "function": {"name": "bash"}}
    body = {"model": "m", "messages": said, "input": said, "tools": [tool], **fields}
    headers = {"x-api-key": KEY, "authorization": f"Bearer {KEY}-2", "content-type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    try:
        return answer.status, dict(answer.headers), answer.read(), True
    except http.client.IncompleteRead as error:
        connection.close()
        return answer.status, dict(answer.headers), error.partial, False


def session(connection: http.client.HTTPConnection) -> list[tuple[int, bytes, bool]]:
    """One conversation in all three protocols, with an error and two cuts in it."""
    paths = ("/v1/messages?beta=true", "/v1/responses", "/v1/chat/completions")
    said = [ask(connection, 0, path, stream=is_stream) for path in paths for is_stream in (True, False)]
    said += [ask(connection, 1), ask(connection, 2, stream=True), ask(connection, 2)]
    return [(status, body, is_whole) for status, _, body, is_whole in said]


def behind_tls(authority: Authority) -> Server:
    """The provider, with a certificate of its own."""
    told = Server(Script(load_story(STORY), "coder", 1, None))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.sign("provider"))
    told.socket = tls.wrap_socket(told.socket, server_side=True)
    return told


def record(out: Path, *, role: str = "coder", number: int = 1, has_pauses: bool = False) -> list[Any]:
    told = Server(Script(load_story(STORY), "coder", 1, None))
    with serving(told):
        provider = Address("127.0.0.1", told.server_port, is_tls=False, prefix=b"")
        recording = Recording(out, role, number, has_pauses=has_pauses)
        with serving(Recorder(("127.0.0.1", 0), provider, recording)) as connection:
            return session(connection)


def play(out: Path, role: str = "coder", number: int = 1) -> Server:
    return Server(Script(load_story(out.read_text(encoding="utf-8")), role, number, None))


def test_what_was_recorded_is_played_byte_for_byte_whatever_the_protocol(tmp_path: Path) -> None:
    out = tmp_path / "session.json"
    heard = record(out)
    assert [is_whole for *_, is_whole in heard] == [True] * 7 + [False] * 2
    with serving(play(out)) as connection:
        assert session(connection) == [(status, body.replace(*MASKED), end) for status, body, end in heard]


def test_behind_tls_the_same_is_recorded(tmp_path: Path) -> None:
    ours = make_authority(tmp_path / "ours")
    plain, out = tmp_path / "plain.json", tmp_path / "out.json"
    heard = record(plain)
    with serving(behind_tls(ours)) as provider:
        address = Address("127.0.0.1", provider.port, is_tls=True, prefix=b"")
        recording = Recording(out, "coder", 1, has_pauses=False)
        tls = ssl.create_default_context(cafile=ours.certificate)
        with serving(Recorder(("127.0.0.1", 0), address, recording, tls)) as connection:
            assert session(connection) == heard
    with serving(play(out)) as connection:
        assert session(connection) == [(status, body.replace(*MASKED), end) for status, body, end in heard]
    assert KEY not in out.read_text()


def test_no_key_and_nothing_of_a_request_is_in_a_recording(tmp_path: Path) -> None:
    out = tmp_path / "session.json"
    record(out)
    text = out.read_text(encoding="utf-8")
    assert KEY not in text
    assert "Bearer" not in text
    assert '"tools"' not in text
    assert "Käse" in text
    assert out.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["session.json"]


def test_the_headers_that_agents_read_are_played_too(tmp_path: Path) -> None:
    out = tmp_path / "session.json"
    record(out)
    with serving(play(out)) as connection:
        assert ask(connection, 0, stream=True)[1]["content-type"].startswith("text/event-stream")
        ask(connection, 0)
        status, headers, *_ = ask(connection, 1)
        assert (status, headers["retry-after"]) == (529, "3")
        assert headers["request-id"].startswith("req_")


def test_a_request_that_the_recording_has_no_answer_to_is_400_in_one_sentence(tmp_path: Path) -> None:
    out = tmp_path / "session.json"
    record(out)
    with serving(play(out)) as connection:
        for _ in range(5):
            ask(connection, 0)
        status, _, body, _ = ask(connection, 0)
        assert status == 400
        assert "no further answer to POST /v1/messages" in json.loads(body)["error"]["message"]


def test_a_story_may_hold_several_recordings(tmp_path: Path) -> None:
    out = tmp_path / "session.json"
    first = record(out)
    record(out, role="reviewer")
    again = record(out)
    story = load_story(out.read_text(encoding="utf-8"))
    assert [(each.role, each.round) for each in story.rounds] == [("reviewer", 1), ("coder", 1)]
    assert first == again
    with serving(play(out, "reviewer")) as connection:
        assert ask(connection, 0, stream=True)[0] == 200
    with serving(play(out, "reviewer", 2)) as connection:
        assert ask(connection, 0, stream=True)[0] == 400


def test_pauses_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "session.json"
    record(out)
    assert "after_ms" not in out.read_text()
    record(out, has_pauses=True)
    assert '"after_ms"' in out.read_text()


def test_a_provider_that_cannot_be_reached_is_502_and_no_answer_of_the_recording(tmp_path: Path) -> None:
    out = tmp_path / "session.json"
    nobody = Address("127.0.0.1", 1, is_tls=False, prefix=b"")
    with serving(Recorder(("127.0.0.1", 0), nobody, Recording(out, "coder", 1, has_pauses=False))) as caller:
        assert ask(caller, 0)[0] == 502
    assert not out.exists()


def test_the_command_trusts_the_certificates_that_are_named_and_no_others(tmp_path: Path) -> None:
    ours, theirs = make_authority(tmp_path / "ours"), make_authority(tmp_path / "theirs")
    with serving(behind_tls(ours)) as provider:
        told = {}
        for trusted in (ours, theirs):
            out = tmp_path / f"{trusted.folder.name}.json"
            with recording_command(out, provider.port, trusted.certificate) as caller:
                status, _, body, _ = ask(caller, 0)
            told[trusted] = (status, out.exists(), b"see FACTORY_CA_BUNDLE" in body)
    assert told == {ours: (200, True, False), theirs: (502, False, True)}


@contextmanager
def recording_command(out: Path, port: int, bundle: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to what was typed in a terminal."""
    words = ("record", str(out), "--to", f"https://127.0.0.1:{port}")
    environment = os.environ | {"FACTORY_CA_BUNDLE": str(bundle)}
    with subprocess.Popen(
        [sys.executable, "-m", "proxy.scripted", *words], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        own = int(process.stdout.readline().rpartition(":")[2])
        caller = http.client.HTTPConnection("127.0.0.1", own, timeout=60)
        try:
            yield caller
        finally:
            caller.close()
            process.terminate()


def test_a_bundle_without_certificates_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    wrong = subprocess.run(
        [sys.executable, "-m", "proxy.scripted", "record", str(tmp_path / "x"), "--to", "https://localhost"],
        env=os.environ | {"FACTORY_CA_BUNDLE": str(tmp_path / "empty.pem")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert wrong.returncode == 2
    assert "FACTORY_CA_BUNDLE names" in wrong.stderr


def test_a_secret_is_masked_across_the_edges_of_reads_and_no_byte_is_added() -> None:
    pieces = to_pieces([Read(b"ab-sec"), Read(b"ret-"), Read(b"\xc3"), Read(b"\xa9", 7)], [b"secret"])
    assert b"".join(piece.data for piece in pieces) == b"ab-******-\xc3\xa9"
    assert [(piece.text, piece.base64, piece.after_ms) for piece in pieces] == [
        ("ab-***", None, 0),
        ("***-", None, 0),
        (None, "ww==", 0),
        (None, "qQ==", 7),
    ]
    assert mask(b"a secret", [b"secret"]) == b"a ******"


def test_headers_of_the_connection_and_of_the_account_are_left_out() -> None:
    given = [
        ("Content-Type", "a"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "close"),
        ("Set-Cookie", "a=b"),
        ("anthropic-organization-id", "1"),
        ("OpenAI-Project", "2"),
        ("x-echo", "has secret"),
    ]
    assert to_headers(given, [b"secret"]) == (("content-type", "a"), ("x-echo", "has ******"))


@pytest.mark.parametrize(
    ("round_", "place"),
    [
        ("{role: coder}", "either turns or recorded"),
        (
            "{role: coder, turns: [{finish: x}], recorded: [{path: /x, status: 200}]}",
            "either turns or recorded",
        ),
        ("{role: coder, recorded: []}", "recorded"),
        ("{role: coder, recorded: [{path: /x, status: 99}]}", "status"),
        ("{role: coder, recorded: [{path: /x, status: 200, pieces: [{}]}]}", "text or base64"),
        ("{role: coder, recorded: [{path: /x, status: 200, pieces: [{base64: '*'}]}]}", "pieces"),
    ],
)
def test_a_wrong_recording_is_one_sentence_with_the_place(round_: str, place: str) -> None:
    with pytest.raises(StoryError, match=place):
        load_story(f"rounds: [{round_}]")


def test_the_command_says_where_it_listens_and_what_is_wrong(tmp_path: Path) -> None:
    told = Server(Script(load_story(STORY), "coder", 1, None))
    line = [*(sys.executable, "-m", "proxy.scripted", "record"), str(tmp_path / "out.json"), "--to"]
    with serving(told):
        with subprocess.Popen(
            [*line, f"http://127.0.0.1:{told.server_port}/v1"], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            port = int(process.stdout.readline().rpartition(":")[2])
            caller = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            assert ask(caller, 0)[0] == 200
            caller.close()
            process.terminate()
        assert len(json.loads((tmp_path / "out.json").read_bytes())["rounds"][0]["recorded"]) == 1
        wrong = subprocess.run([*line, "ftp://x"], capture_output=True, text=True, check=False)
        assert wrong.returncode == 2
        assert "base_url must be an http" in wrong.stderr
