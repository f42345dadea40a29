"""What a person would type for a job: `docker run`, with a sidecar that was started first.

Limits: the docker command alone; all that it makes is named and labelled for `clear`.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jobs.pod import JOB_CAPABILITIES, LEDGER_FOLDER, SOCKET, SOCKET_FOLDER
from jobs.runtimes.protocol import REPO, AgentCommand

PORT = 8000
TIMEOUT_S = 120.0
HOME = "/home/agent"
SET_UP = f"echo prepared > {HOME}/prepared"
"""Next to nothing, so that what is measured is what surrounds a set-up."""
AGENT = "10001:10001"
_POLL_S = 0.02
_FENCE = ("--init", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
_PROVIDER = f"""
import sys
from http.server import ThreadingHTTPServer
from proxy.scripted.server import Handler, Script, Server
from proxy.scripted.story import load_story

class Open(Server):
    def __init__(self, script):
        self.script = script
        ThreadingHTTPServer.__init__(self, ("0.0.0.0", {PORT}), Handler)

server = Open(Script(load_story(sys.argv[1]), "coder", 1, None))
print("ready", flush=True)
server.serve_forever()
"""


class HandError(Exception):
    """A docker command failed, or something did not come in time."""


@dataclass(frozen=True, slots=True)
class Started:
    """Moments of a job's start, as seconds of the host's clock."""

    container: float
    call: float


@dataclass(frozen=True, slots=True)
class Hand:
    """One person's way to the engine; `label` begins every name, `checkout` is mounted as the tree."""

    label: str
    checkout: Path
    sidecar_image: str

    def start_provider(self, story: str) -> str:
        """A scripted provider in a container of its own; returns the address that sidecars call."""
        name, line = f"{self.label}-provider", ("python3", "-c", _PROVIDER, story)
        docker("run", "--detach", *self._named("provider"), "--entrypoint", "", self.sidecar_image, *line)
        _wait_for(lambda: "ready" in docker("logs", name))
        form = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        return f"http://{docker('inspect', '--format', form, name).strip()}:{PORT}"

    @contextmanager
    def sidecar(self, settings: bytes) -> Iterator[None]:
        """A sidecar that is up when the block begins, and gone after it."""
        name, socket, ledger = (f"{self.label}-{part}" for part in ("proxy", "socket", "ledger"))
        for volume in (socket, ledger):
            docker("volume", "create", "--label", self.label, volume)
        volumes = ("--volume", f"{socket}:{SOCKET_FOLDER}", "--volume", f"{ledger}:{LEDGER_FOLDER}")
        line = ["docker", "run", "--interactive", *self._named("proxy"), *_FENCE, "--read-only", *volumes]
        # Its standard input is where the settings go in, and it is left open until the end.
        process = subprocess.Popen([*line, self.sidecar_image], stdin=subprocess.PIPE)
        try:
            assert process.stdin is not None
            process.stdin.write(settings)
            process.stdin.flush()
            _wait_for(lambda: _succeeds("exec", name, "test", "-S", SOCKET))
            yield
        finally:
            _succeeds("rm", "--force", name)
            process.communicate(timeout=TIMEOUT_S)
            for volume in (socket, ledger):
                _succeeds("volume", "rm", "--force", volume)

    def set_up(self, image: str) -> str:
        """Run the set-up command in a container and keep it; returns the new image's name."""
        name, made = f"{self.label}-setup", f"{self.label}-setup:latest"
        place = ("--user", AGENT, "--volume", f"{self.checkout}:{REPO}")
        docker("run", *self._named("setup"), *place, "--entrypoint", "", image, "sh", "-c", SET_UP)
        docker("commit", name, made)
        docker("rm", name)
        return made

    def run_agent(self, image: str, command: AgentCommand, prompt: bytes) -> Started:
        """Run it to its end beside the sidecar that is up; the sidecar knows when it was called."""
        name = f"{self.label}-job"
        fence = [*_FENCE, *(word for one in JOB_CAPABILITIES for word in ("--cap-add", one))]
        fence += [
            "--network",
            "none",
            "--user",
            AGENT,
            "--memory",
            "2g",
            "--pids-limit",
            "1024",
            "--cpus",
            "2",
        ]
        volumes = ["--volume", f"{self.label}-socket:{SOCKET_FOLDER}:ro"]
        volumes += ["--volume", f"{self.checkout}:{REPO}", "--workdir", REPO]
        env = [word for one in self._environment(command).items() for word in ("--env", "=".join(one))]
        line = [*self._named("job"), *fence, *volumes, *env, image, *command.argv]
        docker("run", "--interactive", *line, stdin=prompt)
        container = docker("inspect", "--format", "{{.State.StartedAt}}", name).strip()
        docker("rm", name)
        ledger = docker("exec", f"{self.label}-proxy", "cat", f"{LEDGER_FOLDER}/ledger.jsonl")
        return Started(_moment(container), moment_of("call_started", ledger))

    def clear(self) -> None:
        """Remove whatever a round that failed has left, and the provider."""
        found = docker("ps", "--all", "--quiet", "--filter", f"label={self.label}").split()
        for container in found:
            _succeeds("rm", "--force", "--volumes", container)
        for volume in docker("volume", "ls", "--quiet", "--filter", f"label={self.label}").split():
            _succeeds("volume", "rm", "--force", volume)
        _succeeds("image", "rm", "--force", f"{self.label}-setup:latest")

    def _named(self, part: str) -> tuple[str, ...]:
        return ("--name", f"{self.label}-{part}", "--label", self.label)

    @staticmethod
    def _environment(command: AgentCommand) -> dict[str, str]:
        # The checkout is another user's, which git says of every mounted one.
        trust = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        return {"HOME": HOME, "LANG": "C.UTF-8", **trust, **command.env}


def moment_of(kind: str, ledger: str) -> float:
    """The moment of a ledger's first row of this kind.

    Raises:
        HandError: There is none.
    """
    for row in map(json.loads, ledger.splitlines()):
        if row["kind"] == kind:
            return _moment(row["at_utc"])
    raise HandError(f"the ledger has no {kind}: the agent made no call")


def docker(*words: str, stdin: bytes = b"") -> str:
    """What a docker command prints.

    Raises:
        HandError: It failed.
    """
    line = ["docker", *words]
    done = subprocess.run(line, input=stdin, capture_output=True, check=False, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise HandError(f"`docker {words[0]}` failed: {done.stderr.decode(errors='replace')[-500:]}")
    return done.stdout.decode(errors="replace")


def _succeeds(*words: str) -> bool:
    done = subprocess.run(["docker", *words], capture_output=True, check=False, timeout=TIMEOUT_S)
    return done.returncode == 0


def _wait_for(look: Callable[[], bool]) -> None:
    end_s = time.monotonic() + TIMEOUT_S
    while not look():
        if time.monotonic() > end_s:
            raise HandError("a container did not come up in time")
        time.sleep(_POLL_S)


def _moment(text: str) -> float:
    """Docker writes nanoseconds, which are more digits than Python reads."""
    head, _, rest = text.rstrip("Z").removesuffix("+00:00").partition(".")
    return datetime.fromisoformat(f"{head}+00:00").timestamp() + float(f"0.{rest or 0}")
