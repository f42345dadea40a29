"""A provider in a container of its own that plays a story and says what it was sent.

Needs a Docker Engine and the sidecar's image; the container is gone after the block.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import DockerContainer

PORT = 8000
STARTED_S = 20
PROGRAM = f"""
import hashlib, io, json, sys
from http.server import ThreadingHTTPServer
from proxy.scripted.server import Handler, Script, Server
from proxy.scripted.story import load_story
from proxy.scripted.table import FORMS

WORDS, MOST_BYTES = json.loads(sys.argv[2]), int(sys.argv[3])
TOO_LONG = {{
    "/v1/messages": ("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
    "/v1/responses": (
        "context_length_exceeded",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
}}

def texts(value):
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts(part)

class Noting(Handler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        long = [text.strip() for text in texts(json.loads(body)) if len(text) > 100_000]
        sums = [hashlib.sha256(text.encode()).hexdigest() for text in long]
        found = [word for word in WORDS if word.encode() in body]
        print(json.dumps({{"path": self.path, "sums": sums, "words": found}}), flush=True)
        path = self.path.partition("?")[0]
        if len(body) > MOST_BYTES and path in TOO_LONG:
            self._form = FORMS[path]
            self._fail(400, *TOO_LONG[path])
            return
        stream, self.rfile = self.rfile, io.BytesIO(body)
        try:
            super().do_POST()
        finally:
            self.rfile = stream

class Open(Server):
    def __init__(self, script):
        self.script = script
        ThreadingHTTPServer.__init__(self, ("0.0.0.0", {PORT}), Noting)

server = Open(Script(load_story(sys.argv[1]), "coder", 1, None))
print("ready", flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class Witness:
    """`url` is its base address, in the engine's own network."""

    url: str
    container: DockerContainer

    def said(self) -> list[dict[str, Any]]:
        """One entry a request, oldest first: path, SHA-256 of each long text, words found."""
        lines = self.container.get_logs()[0].decode().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@contextmanager
def open_witness(
    image: str, story: str, words: list[str], most_bytes: int = 100_000_000
) -> Iterator[Witness]:
    """Play the story; `words` are looked for in every request, and a longer one has too long a prompt."""
    with provider_container(image, PROGRAM, story, json.dumps(words), str(most_bytes)) as (url, container):
        yield Witness(url, container)


@contextmanager
def provider_container(image: str, program: str, *arguments: str) -> Iterator[tuple[str, DockerContainer]]:
    """Run a provider that says when it is ready: the base address of its port 8000, and its container."""
    testcontainers_config.ryuk_disabled = True  # its image comes from a registry; the block ends this one
    container = DockerContainer(image).with_command(["python3", "-c", program, *arguments])
    with container.with_kwargs(entrypoint=[]) as running:
        deadline = time.monotonic() + STARTED_S
        while b"ready" not in running.get_logs()[0]:
            assert time.monotonic() < deadline, running.get_logs()
            time.sleep(0.05)
        wrapped = running.get_wrapped_container()
        wrapped.reload()
        address = wrapped.attrs["NetworkSettings"]["Networks"]["bridge"]["IPAddress"]
        yield f"http://{address}:{PORT}", running
