from collections.abc import Iterator

import pytest

from jobs.engine.client import Api, address, mapped, remove_until_gone
from jobs.errors import EngineRefusedError, EngineUnavailableError


def test_a_removal_is_repeated_until_the_object_is_gone() -> None:
    answers: Iterator[bool] = iter([False, False, True])
    asked: list[None] = []
    remove_until_gone("remove x", lambda: next(answers), lambda: asked.append(None))
    assert len(asked) == 3


def test_what_is_stuck_in_removal_is_named_with_the_engines_last_answer() -> None:
    def refuse() -> None:
        raise EngineRefusedError("the driver failed to remove its root")

    with pytest.raises(EngineRefusedError, match="the driver failed to remove its root"):
        remove_until_gone("remove x", lambda: False, refuse, within_s=0.01)
    with pytest.raises(EngineRefusedError, match=r"did not remove x in 0\.01 s"):
        remove_until_gone("remove x", lambda: False, lambda: None, within_s=0.01)


def test_an_engine_that_goes_away_ends_a_removal_at_once() -> None:
    def leave() -> None:
        with mapped("remove x"):
            raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(EngineUnavailableError, match="Connection refused"):
        remove_until_gone("remove x", lambda: False, leave)


def test_the_engine_is_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2376")
    monkeypatch.delenv("DOCKER_TLS_VERIFY", raising=False)
    assert address()["base_url"] in ("http://127.0.0.1:2376", "tcp://127.0.0.1:2376")
    monkeypatch.setenv("DOCKER_HOST", "ssh://me@build.example.org")
    assert address()["base_url"] == "ssh://me@build.example.org"


@pytest.mark.parametrize(
    ("where", "is_local"), [("unix:///run/docker.sock", True), ("tcp://127.0.0.1:2376", False)]
)
def test_an_engine_behind_a_unix_socket_is_local(where: str, *, is_local: bool) -> None:
    api = Api(base_url=where, version="1.41")
    assert api.is_local is is_local
    api.close()
