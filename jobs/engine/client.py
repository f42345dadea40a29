"""The way to the Docker Engine; the only module that imports its SDK.

The engine is the one that DOCKER_HOST or the docker command's current context names. Every call has
a timeout, and every failure leaves as one of `jobs.errors`.
"""

import contextlib
import os
import socket
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import docker
import requests
import urllib3
from docker.context import ContextAPI
from docker.errors import APIError, DockerException
from docker.utils import kwargs_from_env

from jobs.classify import DaemonAnswer, Meaning, classify, to_error
from jobs.errors import EngineRefusedError, EngineUnavailableError

QUICK_S = 60
SLOW_S = 900
"""For what the engine does in one silent step: a build's download, a commit, a big archive."""
REMOVAL_S = 60
BAD_STATUS = 400
LOCAL_URL = "http+docker://localhost"
"""What the SDK makes of a Unix socket's path."""
DEFAULT_SOCKET = "unix:///var/run/docker.sock"
"""Where the SDK looks where nothing is configured."""


class Api(docker.APIClient):
    """The SDK's client and the one request that it cannot make with a timeout."""

    @property
    def is_local(self) -> bool:
        """Whether the engine is behind a Unix socket, where another connection costs next to nothing."""
        return str(self.base_url) == LOCAL_URL

    def open_archive(self, container: str, path: str) -> requests.Response:
        """Begin to read a tar archive; the caller closes it.

        The SDK's `get_archive` switches the socket's timeout off: a hung engine would hang us.
        """
        response: requests.Response = self.get(
            f"{self.base_url}/v{self.api_version}/containers/{container}/archive",
            params={"path": path},
            headers={"Accept-Encoding": "identity"},
            stream=True,
            timeout=self.timeout,
        )
        if response.status_code >= BAD_STATUS:
            with response:
                raise APIError("archive", response=response, explanation=response.text)
        return response


@contextlib.contextmanager
def mapped(doing: str, ignore: Collection[Meaning] = ()) -> Iterator[None]:
    """Turn every foreign failure into one of ours; `ignore` names answers that are no failure."""
    try:
        yield
    except (requests.RequestException, urllib3.exceptions.HTTPError, DockerException, OSError) as error:
        answer = _answer(error)
        if classify(answer) not in ignore:
            raise to_error(answer, doing) from error


def _answer(error: Exception) -> DaemonAnswer:
    if isinstance(error, APIError) and error.response is not None:
        return DaemonAnswer(error.response.status_code, str(error.explanation or error))
    text = str(error)
    slow = isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError)
    return DaemonAnswer(None, text, timed_out=slow or "Read timed out" in text)


def address() -> dict[str, Any]:
    """Where the engine is, as the SDK's client takes it.

    Raises:
        EngineUnavailableError: The docker command's context does not exist.
    """
    if os.environ.get("DOCKER_HOST"):
        return dict(kwargs_from_env())
    name = os.environ.get("DOCKER_CONTEXT") or None
    context = ContextAPI.get_context(name)
    if context is None:
        raise EngineUnavailableError(
            f"The docker context {name or 'in use'} is not defined; choose another with `docker context use`."
        )
    tls: Any = context.TLSConfig
    found = {"base_url": context.Host, "tls": tls}
    return {name: value for name, value in found.items() if value}


def open_api(timeout_s: int) -> Api:
    """Reach the engine once.

    Raises:
        EngineUnavailableError: None answers at the configured address.
    """
    with mapped("connect"):
        where = address()
        _knock(str(where.get("base_url") or DEFAULT_SOCKET))
        return Api(
            version="auto",
            timeout=timeout_s,
            use_ssh_client=str(where.get("base_url", "")).startswith("ssh://"),
            **where,
        )


def _knock(base_url: str) -> None:
    """Open and close the engine's Unix socket: where nobody listens, the SDK would leave its own open.

    Raises:
        OSError: Nobody does.
    """
    path = base_url.removeprefix("http+").removeprefix("unix://")
    if path.startswith("/"):
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(QUICK_S)
            knocking.connect(path)


def remove_until_gone(
    doing: str, is_gone: Callable[[], bool], remove: Callable[[], object], within_s: float = REMOVAL_S
) -> None:
    """Repeat a removal until its object is gone: a busy mount answers 500 or 409 for a while.

    Raises:
        EngineRefusedError: It is still there after that time; the text is the engine's last answer.
    """
    deadline = time.monotonic() + within_s
    while True:
        failure: EngineRefusedError | None = None
        try:
            with mapped(doing, ignore=(Meaning.ABSENT,)):
                remove()
        except EngineRefusedError as error:
            failure = error
        if is_gone():
            return
        if time.monotonic() > deadline:
            raise failure or EngineRefusedError(f"The Docker Engine did not {doing} in {within_s:g} s.")
        time.sleep(0.2)
