"""Prepares and runs floor.sh: the demo's task by hand, out of what a run of the loop has kept.

Limits: the prompts and command lines are those of the loop's own jobs, and made before the clock starts.
"""

import json
import shlex
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from instrument.schema.vocabulary import Purpose, Role
from jobs.handover import sidecar_line
from jobs.order import Identity, JobOrder, Limits, ProxyOrder
from jobs.pod import SOCKET
from jobs.runtimes.protocol import SETTINGS
from loop.demo import STORY
from tests.bench.by_hand import docker

SCRIPT = Path(__file__).with_name("floor.sh")
LIMIT_S = 300.0
CLI_STARTS = 5
BUDGET_MICROUSD = 5_000_000
_WAIT = f"while [ ! -S {SOCKET} ]; do sleep 0.02; done\n"
_EXCLUDE = "echo .venv >>.git/info/exclude\n"
"""What the set-up has left in the image's own tree."""
_CAPTURE = "git add --all\ngit diff --cached --binary --full-index HEAD >/hand/out/diff.patch\n"
_CLOCK = "date +at:%s.%N"
_ROLES = {"coder": Role.CODER, "reviewer": Role.REVIEWER}


class FloorError(Exception):
    """The script failed, or did not do what the loop did."""


@dataclass(frozen=True, slots=True)
class Floor:
    """What every run of the script needs."""

    inputs: Path
    """A folder a job of the loop's run, in its order."""
    image: str
    sidecar: str

    def run(self, work: Path, checkout: Path, label: str) -> dict[str, float]:
        """Run it once in an empty folder; seconds by what they went to.

        Raises:
            FloorError: A command failed.
        """
        line = [str(SCRIPT), str(self.inputs), str(work), label, self.image, self.sidecar, str(checkout)]
        with _cleared(label):
            done = subprocess.run(line, capture_output=True, check=False, timeout=LIMIT_S)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace")[-800:]
            raise FloorError(f"the script ended with exit code {done.returncode}: {said}")
        inside_s = sum(inside_s_of(log.read_text(errors="replace")) for log in work.glob("*.log"))
        return {**parts_of((work / "marks").read_text()), "inside_s": inside_s}


def parts_of(marks: str) -> dict[str, float]:
    """Seconds by the first word of each mark, which stands at the end of what it names. Pure."""
    rows = [line.split() for line in marks.splitlines()]
    parts = dict.fromkeys(("agents_s", "commands_s", "git_s"), 0.0)
    for (before, *_), (at, what, *_) in pairwise(rows):
        parts[f"{what}_s"] += float(at) - float(before)
    return parts


def inside_s_of(log: str) -> float:
    """Seconds between the two times that a job's script printed. Pure."""
    first, last = (float(line[3:]) for line in log.splitlines() if line.startswith("at:"))
    return last - first


def cli_start_s() -> float:
    """What one start of the docker program costs, without a word to the engine."""
    taken = []
    for _ in range(CLI_STARTS):
        begun_s = time.perf_counter()
        subprocess.run(["docker", "--version"], capture_output=True, check=True)
        taken.append(time.perf_counter() - begun_s)
    return statistics.median(taken)


def prepare_floor(inputs: Path, run_folder: Path, *, image: str, sidecar: str) -> Floor:
    """Write a folder for each job of a finished run: what is laid into its container, and its provider."""
    for job in sorted((run_folder / "jobs").iterdir()):
        order = json.loads((job / "in" / "order.json").read_bytes())
        folder = inputs / job.name
        hand = folder / "root" / "hand"
        (hand / "out").mkdir(parents=True)
        _, name, round_ = job.name.split("-")
        if order["agent"] is None:
            (hand / "run.sh").write_text(_commands_script(order["commands"]))
            continue
        (hand / "prompt.md").write_bytes((job / "in" / "prompt.md").read_bytes())
        (hand / "run.sh").write_text(_agent_script(order["agent"], _ROLES[name]))
        settings = folder / "root" / SETTINGS.strip("/")
        for path, text in order["agent"]["files"].items():
            (settings / path).parent.mkdir(parents=True, exist_ok=True)
            (settings / path).write_text(text)
        (folder / "sidecar.json").write_bytes(_sidecar_line(folder, _ROLES[name], int(round_)))
    return Floor(inputs, image, sidecar)


def _commands_script(commands: Sequence[dict[str, Any]]) -> str:
    """All commands in turn, as a job of checks runs them; the exit code is 1 where one fails."""
    lines = [f"bash -c {shlex.quote(command['run'])} || code=1" for command in commands]
    return "\n".join([_CLOCK, "code=0", *lines, _CLOCK, "exit $code", ""])


def _agent_script(agent: dict[str, Any], role: Role) -> str:
    env = {
        "HOME": "/home/agent",
        "LANG": "C.UTF-8",
        "FACTORY_ROLE": role.value,
        "FACTORY_RESULT": "/hand/out/result.json",
        "FACTORY_REVIEW_FILE": "/hand/out/review.md",
        **agent["env"],
    }
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())
    run = f"{shlex.join(agent['argv'])} </hand/prompt.md >/hand/out/transcript.jsonl 2>/hand/out/stderr\n"
    return f"{_CLOCK}\n{exports}{_EXCLUDE}{_WAIT}{run}code=$?\n{_CAPTURE}{_CLOCK}\nexit $code\n"


def _sidecar_line(folder: Path, role: Role, round_: int) -> bytes:
    """What the sidecar is told: the loop's own line for this round of the story."""
    proxy = ProxyOrder(
        base_url="",
        secret="",
        budget_microusd=BUDGET_MICROUSD,
        story=STORY.read_bytes(),
        story_role=role,
        story_round=round_,
    )
    order = JobOrder(
        identity=Identity("floor", folder.name, "durations-001", Purpose.PROBE),
        role=role,
        image="",
        commit="",
        pack=folder,
        folder=folder,
        limits=Limits(deadline_s=LIMIT_S),
        proxy=proxy,
    )
    return sidecar_line(order)


@contextmanager
def _cleared(label: str) -> Iterator[None]:
    """Whatever a script that failed has left goes."""
    try:
        yield
    finally:
        mine = ("--quiet", "--filter", f"label={label}")
        if left := docker("ps", "--all", *mine).split():
            docker("rm", "--force", *left)
        if left := docker("volume", "ls", *mine).split():
            docker("volume", "rm", *left)
