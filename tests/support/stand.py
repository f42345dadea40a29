"""Runs the loop as a person does, as a process of its own on a copy of the example package.

Limits: below a temporary folder; the engine is the real one.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import yaml

from instrument.figures import Report
from instrument.ledger import read_ledger
from instrument.schema.events import EVENT, AnyEvent
from instrument.schema.ledger import LedgerSummary
from instrument.schema.state import TaskState
from instrument.schema.vocabulary import EffectKind
from jobs.engine import Engine
from jobs.engine.states import ContainerState
from jobs.pod import LEDGER_FOLDER, select_labels
from jobs.unpack import read_one
from loop.demo import STORY, TASK, TASK_ID, Stand, prepare

T = TypeVar("T")
PATIENCE_S = 180
RUN = "from loop.cli import main; main(['run', *__import__('sys').argv[1:]])"
REPORT = "from instrument.cli import main; main()"
LOOK_EVERY_S = 0.05
FIX = """\
python3 - <<'PY'
from pathlib import Path

path = Path("durations/text.py")
text = path.read_text()
start, end = text.index("    if rest == 0:"), text.index("    parts = []")
new = '''    if rest < _SECOND_US:
        rest = round(rest / _MILLISECOND_US) * _MILLISECOND_US
    if rest >= _SECOND_US:
        rest = round(rest / _SECOND_US) * _SECOND_US
    if rest == 0:
        return "0s"
    if rest < _SECOND_US:
        return f"{sign}{rest // _MILLISECOND_US}ms"
'''
path.write_text(text[:start] + new + text[end:])
PY
"""
APPROVE = """\
mkdir -p "$(dirname "$FACTORY_REVIEW_FILE")"
cat > "$FACTORY_REVIEW_FILE" <<'REVIEW'
```verdict {{token}}
{"verdict": "approve", "covered": ["durations/text.py"], "findings": []}
```
REVIEW
"""
USAGE = {"input": 10, "output": 100, "cache_read": 1000, "cache_write_5m": 500, "cache_write_1h": 0}


def short_story() -> dict[str, Any]:
    """One coder round whose second answer is streamed for about four seconds, one approving review."""
    slow = " ".join(f"I weigh what the value {n} would be written as." for n in range(12))
    return {
        "model": "claude-sonnet-4-5",
        "captures": {"token": "```verdict ([0-9a-f]{16})"},
        "aux_usage": {"input": 0, "output": 0},
        "rounds": [
            {
                "role": "coder",
                "round": 1,
                "turns": [
                    {"say": "I look first.", "run": "cat durations/text.py", "usage": USAGE},
                    {"say": slow, "run": FIX, "usage": USAGE, "event_delay_ms": 120},
                    {"finish": "It rounds once now.", "usage": USAGE},
                ],
            },
            {
                "role": "reviewer",
                "round": 1,
                "turns": [
                    {"say": "It is right.", "run": APPROVE, "usage": USAGE},
                    {"finish": "Approved.", "usage": USAGE},
                ],
            },
        ],
    }


def demo_story() -> dict[str, Any]:
    """The demo's own story."""
    loaded: dict[str, Any] = yaml.safe_load(STORY.read_text())
    return loaded


@dataclass
class Loop:
    """One task in a checkout of its own; `start` may be called again after the process ended."""

    checkout: Path
    origin: Path
    home: Path
    task: str
    task_id: str
    words: tuple[str, ...]
    """Further arguments of `factory run`."""
    patience_s: float = PATIENCE_S
    outputs: list[str] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None

    @property
    def folder(self) -> Path:
        return self.home / "tasks" / self.task_id

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"FACTORY_HOME": str(self.home)}

    def start(self) -> "subprocess.Popen[str]":
        """`factory run`, from the person's working copy."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, self.task, "--auto-merge", "--json", *self.words],
            cwd=self.checkout,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return self.process

    def finish(self) -> int:
        """Wait for the process, return its exit code."""
        assert self.process is not None
        try:
            out, _ = self.process.communicate(timeout=self.patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.outputs.append(out)
        return self.process.returncode

    def run(self) -> dict[str, Any]:
        """Start, wait, expect the merge; return what `--json` printed last."""
        self.start()
        code = self.finish()
        assert code == 0, self.outputs[-1]
        last: dict[str, Any] = json.loads(self.outputs[-1].splitlines()[-1])
        return last

    @property
    def state(self) -> TaskState:
        return TaskState.model_validate_json((self.folder / "state.json").read_bytes())

    @property
    def events(self) -> list[AnyEvent]:
        return [
            EVENT.validate_json(line) for line in (self.folder / "events.jsonl").read_bytes().splitlines()
        ]

    def of_kind(self, kind: str) -> list[Any]:
        """The events of one kind, oldest first."""
        return [event for event in self.events if event.kind == kind]

    def ledgers(self) -> Mapping[str, LedgerSummary]:
        """By job folder; read from the kept files and not from the state."""
        paths = sorted(self.folder.glob("jobs/*/ledger.jsonl"))
        return {path.parent.name: read_ledger(path.read_bytes()) for path in paths}

    def requests(self) -> list[dict[str, Any]]:
        """What the provider itself noted, all jobs in order."""
        paths = sorted(self.folder.glob("jobs/*/requests.jsonl"))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def report(self) -> Report:
        """`instrument report --json`, of every purpose."""
        done = subprocess.run(
            [sys.executable, "-c", REPORT, "report", "--purpose", "all", "--json"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return Report.model_validate_json(done.stdout)

    def origin_git(self, *words: str) -> str:
        """What git says of the bare origin."""
        done = subprocess.run(
            ["git", "-C", str(self.origin), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def pod(self, engine: Engine, kind: EffectKind) -> dict[str, ContainerState]:
        """The containers of the attempt under way, by part, if it is of this kind; else empty."""
        if not (self.folder / "state.json").exists():
            return {}
        state = self.state
        if state.attempt is None or state.attempt.kind is not kind:
            return {}
        found = engine.containers.find(select_labels(state.run_id, state.attempt.key))
        return {each.labels["factory.part"]: each for each in found}

    def left(self, engine: Engine, run_id: str | None = None) -> list[str]:
        """Names of the containers and volumes of this run, or another, that are on the engine."""
        labels = select_labels(run_id or self.state.run_id)
        names = [each.name for each in engine.containers.find(labels)]
        return names + [name for name, _ in engine.volumes.find(labels)]

    def wait_for_half_an_answer(self, engine: Engine) -> str:
        """Wait until the coder's second answer is on its way; return the sidecar's id."""

        def look() -> str | None:
            sidecar = self.pod(engine, EffectKind.IMPLEMENT).get("proxy")
            archive = sidecar and engine.containers.get(
                sidecar.id, f"{LEDGER_FOLDER}/ledger.jsonl", max_bytes=2**20
            )
            if not sidecar or not archive:
                return None
            with archive:
                calls = read_ledger(read_one(archive)).calls
            is_half = len(calls) == 2 and not calls[1].settled
            return sidecar.id if is_half else None

        found = wait_for(look, "the coder's second call")
        time.sleep(0.5)  # an eighth of what the answer takes
        return found


@contextmanager
def open_demo(folder: Path, engine: Engine, story: Mapping[str, Any]) -> Iterator[Loop]:
    """The example package's task with a story that answers; nothing of the run is left at the end."""
    stand = Stand(folder / "stand")
    prepare(stand)
    path = folder / "story.yaml"
    path.write_text(yaml.safe_dump(dict(story)))
    words = ("--purpose", "demo", "--story", str(path))
    loop = Loop(stand.checkout, stand.origin, stand.home, TASK, TASK_ID, words)
    with clearing(loop, engine):
        yield loop


@contextmanager
def clearing(loop: Loop, engine: Engine) -> Iterator[None]:
    """End the loop's process and take its pods away, whatever happened in the block."""
    try:
        yield
    finally:
        if loop.process is not None and loop.process.poll() is None:
            loop.process.kill()
            loop.process.communicate()
        if (loop.folder / "state.json").exists():
            remove_all_of(engine, loop.state.run_id)


def remove_all_of(engine: Engine, run_id: str) -> None:
    """Take away what a failed test left."""
    for container in engine.containers.find(select_labels(run_id)):
        engine.containers.remove(container.id)
    for name, _ in engine.volumes.find(select_labels(run_id)):
        engine.volumes.remove(name)


def wait_for(look: Callable[[], T | None], what: str, within_s: float = 60) -> T:
    """Look again and again until there is something."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(LOOK_EVERY_S)
    raise AssertionError(f"{what} did not come within {within_s} s")
