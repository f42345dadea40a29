"""A person's desk: a small real repository with a task and a bare origin, a home, and a fake engine.

Limits: below a temporary folder only.
"""

import io
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from instrument.schema.events import EVENT, AnyEvent
from instrument.schema.state import TaskState
from loop.progress import Progress
from loop.request import RunRequest
from loop.run import Ending, World, run
from loop.signals import Signals
from loop.store import load_state
from support.ends import START
from support.fake_jobs import WORKED_ON, FakeJobs, Script
from support.gitkit import Repo, make_repo

TASK = "tasks/007-retry.md"
TASK_ID = "demo-007"
TASK_TEXT = """---
status: ready
files: [src/**]
---
# Retry with the delay that the server names

Wait for it.
"""
TOML = """[repo]
name = "demo"
[checks]
fast = ["unit"]
gate = ["full"]
[checks.unit]
run = "run unit"
[checks.full]
run = "run full"
[agent]
model = "claude-sonnet-4-5"
[job]
env = ["JOB_SECRET"]
[merge]
push = true
"""
BASE_FILES = {TASK: TASK_TEXT.encode(), "factory.toml": TOML.encode(), WORKED_ON: b"old\n", "README": b"me\n"}
JOB_SECRET = "MARK-job-secret-value"


def alone(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """A person with an empty configuration of their own."""
    patch.setenv("GIT_CONFIG_GLOBAL", str(folder / "gitconfig"))
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    # The secrets detector compiles its rules for seconds, unless it finds them in the cache.
    patch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
    patch.setenv("HOME", str(folder))
    (folder / "gitconfig").write_text("")


def make_desk(folder: Path) -> None:
    """Everything at one base commit, pushed; the home is not made yet."""
    make_repo(folder / "origin.git", "--bare")
    person = make_repo(folder / "person")
    person.commit(BASE_FILES, "base")
    person.git("remote", "add", "origin", "../origin.git")
    person.git("push", "--quiet", "origin", "main")


def copy_desk(template: Path, folder: Path, script: Script | None = None) -> "Desk":
    """A desk of its own in `folder`: a copy costs a tenth of making one."""
    for name in ("origin.git", "person", "home", "engine"):
        if (template / name).exists():
            shutil.copytree(template / name, folder / name, symlinks=True)
    return Desk(folder, FakeJobs(folder / "engine", script))


@dataclass
class Desk:
    """What a person has before them."""

    folder: Path
    jobs: FakeJobs
    environment: dict[str, str] = field(default_factory=dict)
    said: io.StringIO = field(default_factory=io.StringIO)

    def __post_init__(self) -> None:
        self.environment |= {"FACTORY_HOME": str(self.home), "JOB_SECRET": JOB_SECRET}

    @property
    def person(self) -> Repo:
        return Repo(self.folder / "person")

    @property
    def origin(self) -> Repo:
        return Repo(self.folder / "origin.git")

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def task_folder(self) -> Path:
        return self.home / "tasks" / TASK_ID

    @property
    def script(self) -> Script:
        return self.jobs.script

    def world(self, **changes: Any) -> World:
        """What a run takes from outside, with a clock that stands still: same work, same commit ids."""
        fields: dict[str, Any] = {
            "jobs": self.jobs,
            "environment": self.environment,
            "signals": Signals(),
            "progress": Progress(self.said),
            "now": lambda: START,
        }
        return World(**(fields | changes))

    def request(self, **changes: Any) -> RunRequest:
        fields: dict[str, Any] = {"task": TASK, "repo": self.folder / "person", "story": b"scripted"}
        return RunRequest(**(fields | changes))

    def run(self, world: World | None = None, **changes: Any) -> Ending:
        """The command, typed once; it ends as `factory run` does."""
        return run(self.request(**changes), world or self.world())

    def ends(self, **changes: Any) -> str:
        """The same; only the reason of its stop or end."""
        result = self.run(**changes).result
        return str(result.stop_reason or result.done_reason)

    @property
    def state(self) -> TaskState:
        state = load_state(self.task_folder)
        assert state is not None
        return state

    @property
    def events(self) -> list[AnyEvent]:
        lines = (self.task_folder / "events.jsonl").read_bytes().splitlines()
        return [EVENT.validate_json(line) for line in lines]

    def outcomes(self) -> str:
        """What happened, as one line."""
        return " ".join(str(event.outcome) for event in self.events if event.kind == "transition")

    def prompts(self, role: str = "*") -> list[str]:
        """The prompts on disk, in order of job."""
        found = sorted(self.task_folder.glob(f"jobs/*-{role}-*/in/prompt.md"))
        return [path.read_text() for path in found]

    def commit(self, files: Mapping[str, bytes | str | None], message: str = "a change") -> str:
        """The person commits on main and pushes."""
        commit = self.person.commit({n: _bytes(c) for n, c in files.items()}, message)
        self.person.git("push", "--quiet", "origin", "main")
        return commit

    def other_commit(self, files: Mapping[str, bytes | str | None]) -> str:
        """Somebody else commits on the origin's main; the person's checkout knows nothing of it."""
        other = Repo(self.folder / "other")
        if not other.root.exists():
            make_repo(other.root)
            other.git("remote", "add", "origin", "../origin.git")
        other.git("fetch", "--quiet", "origin", "main")
        other.git("reset", "--quiet", "--hard", "FETCH_HEAD")
        commit = other.commit({n: _bytes(c) for n, c in files.items()}, "somebody else's")
        other.git("push", "--quiet", "origin", "HEAD:main")
        return commit


def _bytes(content: bytes | str | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content


def edited(text: str, old: str, new: str) -> str:
    """A text with one part replaced; the part must be there."""
    assert old in text, old
    return text.replace(old, new)


def tree_of_folder(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with its content, to see that nothing was changed."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def mode_of(path: Path) -> int:
    """The permission bits."""
    return os.lstat(path).st_mode & 0o777
