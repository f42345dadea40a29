"""Repositories with a backlog each, one home, and real worker processes for the engine.

Limits: below a temporary folder; shell lines are the agents, each with one call of a scripted model.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.workers import READY
from instrument.schema.events import EVENT, AnyEvent
from instrument.schema.state import TaskState
from jobs.engine import Engine
from jobs.pod import select_labels
from loop.git.seed import seed_repository

STORY = """\
rounds:
  - {role: coder, round: 1, turns: [{finish: Done., usage: {input: 1000, output: 100}}]}
  - {role: coder, round: 2, turns: [{finish: Done., usage: {input: 1000, output: 100}}]}
  - {role: reviewer, round: 1, turns: [{finish: Done., usage: {input: 2000, output: 50}}]}
  - {role: reviewer, round: 2, turns: [{finish: Done., usage: {input: 2000, output: 50}}]}
"""
CALL = """
python3 - <<'CALL'
import http.client, json, socket
way = http.client.HTTPConnection("localhost")
way.sock = socket.socket(socket.AF_UNIX)
way.sock.connect("/run/factory/proxy.sock")
tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
ask = {"model": "claude-sonnet-4-5", "max_tokens": 10, "messages": [{"role": "user", "content": "go"}]}
body = json.dumps(ask | {"tools": tools})
way.request("POST", "/v1/messages", body, {"content-type": "application/json"})
way.getresponse().read()
CALL
"""
CONFIG = """\
[repo]
name = "@NAME@"
branch = "main"
remote = "origin"
tasks = @TASKS@

[checks]
fast = ["notes"]
gate = ["notes"]

[checks.notes]
run = "! grep -L . notes/*.txt | grep ."

[agent]
runtime = "command"
@MODEL@

[reviewer]
runtime = "command"
@MODEL@

[limits]
memory = "512m"

[agent.command]
coder = '''
@CALL@
path=$(grep -o 'notes/[0-9]*\\.txt' "$FACTORY_PROMPT" | head -n 1)
sleep @SLEEP@
if grep -q 'Ask first' "$FACTORY_PROMPT" && ! grep -q 'Write it so' "$FACTORY_PROMPT"; then
    echo '{"outcome": "blocked", "question": "Which line?"}' > "$FACTORY_RESULT"
else
    echo a line > "$path"
fi
'''
reviewer = '''
@CALL@
token=$(grep -o 'verdict [0-9a-f]\\{16\\}' "$FACTORY_PROMPT" | tail -n 1)
path=$(grep -o 'notes/[0-9]*\\.txt' "$FACTORY_PROMPT" | head -n 1)
mkdir -p "$(dirname "$FACTORY_REVIEW_FILE")"
printf '```%s\\n{"verdict": "approve", "covered": ["%s"], "findings": []}\\n```\\n' \\
  "$token" "$path" > "$FACTORY_REVIEW_FILE"
'''

[merge]
push = true
"""


@dataclass(frozen=True, slots=True)
class Repo:
    """One repository with its tasks."""

    folder: Path
    name: str

    @property
    def checkout(self) -> Path:
        return self.folder / self.name

    def git(self, *words: str) -> str:
        author = ("-c", "user.name=me", "-c", "user.email=me@localhost")
        done = subprocess.run(["git", *author, "-C", self.checkout, *words], capture_output=True, check=True)
        return done.stdout.decode()

    def notes(self) -> list[str]:
        """What has landed on origin."""
        self.git("fetch", "--quiet", "origin")
        return self.git("ls-tree", "--name-only", "origin/main", "notes/").split()

    def commit(self, path: str, text: str) -> None:
        """A person's own change of the branch."""
        (self.checkout / path).write_text(text)
        self.git("commit", "--quiet", "--all", "--message", "Change it by hand")
        self.git("push", "--quiet", "origin", "main")


def make_repo(
    folder: Path,
    name: str,
    tasks: int,
    *,
    at_once: int = 2,
    sleep_s: float = 0,
    has_model: bool = False,
    asking: Sequence[int] = (),
    shared: Sequence[int] = (),
) -> Repo:
    """A repository with `tasks` tasks, each of one file; those in `shared` may all touch one more."""
    source = folder / f"{name}-source"
    (source / "tasks").mkdir(parents=True)
    (source / "notes").mkdir()
    (source / "notes/000.txt").write_text("a line\n")
    places = {
        "NAME": name,
        "TASKS": str(at_once),
        "SLEEP": str(sleep_s),
        "MODEL": 'model = "claude-sonnet-4-5"' if has_model else "",
        "CALL": CALL if has_model else "",
    }
    toml = CONFIG
    for key, value in places.items():
        toml = toml.replace(f"@{key}@", value)
    (source / "factory.toml").write_text(toml)
    for n in range(1, tasks + 1):
        files = f"notes/{n:03}.txt" + (", shared.txt" if n in shared else "")
        text = "Ask first.\n" if n in asking else "A file with one line.\n"
        front = f"---\nstatus: ready\nfiles: [{files}]\n---\n"
        (source / f"tasks/{n:03}-note.md").write_text(f"{front}# Write note {n}\n\n{text}")
    made = Repo(folder, name)
    seed_repository(source, made.checkout, folder / f"{name}.git")
    return made


@dataclass
class Factory:
    """One home with its workers; every command is a process of its own."""

    home: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    extra: dict[str, str] = field(default_factory=dict)
    """Further variables of what is started from now on."""

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "FACTORY_HOME": str(self.home), **self.extra}

    def engine(self, *words: str, code: int = 0) -> str:
        """`python -m engine …`; what it said."""
        command = [sys.executable, "-P", "-m", "engine", *words]
        done = subprocess.run(  # noqa: PLW1510 - the code is a part of what is expected
            command, env=self.environment, cwd=self.home.parent, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def status(self) -> list[dict[str, str]]:
        """`engine status --json`."""
        return [json.loads(line) for line in self.engine("status", "--json").splitlines()]

    def worker(self, *words: str) -> subprocess.Popen[bytes]:
        """A worker that is ready."""
        log = self.home.parent / f"worker-{len(self.workers)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "engine", "worker", *words],
                env=self.environment,
                cwd=self.home.parent,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.workers.append(process)
        until = time.monotonic() + 60
        while READY not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        return process

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """`kill -9`."""
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def state(self, task_id: str) -> TaskState | None:
        with suppress(FileNotFoundError):
            return TaskState.model_validate_json((self.home / "tasks" / task_id / "state.json").read_bytes())
        return None

    def events(self, task_id: str) -> list[AnyEvent]:
        path = self.home / "tasks" / task_id / "events.jsonl"
        return [EVENT.validate_json(line) for line in path.read_bytes().splitlines()]


@contextmanager
def clearing(factory: Factory, engine: Engine) -> Iterator[None]:
    """End the workers and the server, then take away whatever is left of the tasks."""
    try:
        yield
    finally:
        for worker in factory.workers:
            if worker.poll() is None:
                worker.terminate()
                worker.wait(30)
        factory.engine("down")
        for path in (factory.home / "tasks").glob("*/state.json"):
            state = TaskState.model_validate_json(path.read_bytes())
            labels = select_labels(state.run_id)
            for container in engine.containers.find(labels):
                engine.containers.remove(container.id)
            for name, _ in engine.volumes.find(labels):
                engine.volumes.remove(name)
