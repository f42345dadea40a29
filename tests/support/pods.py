"""Real pods for tests: a tiny repository, orders on it, and the state of what the engine holds.

Needs a Docker Engine and the project's images; writes below the folders that it is given.
"""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from instrument.schema.vocabulary import Purpose, Role, RuntimeName
from jobs.engine import Engine
from jobs.engine.states import ContainerState
from jobs.order import AgentWork, Identity, JobOrder, SetupOrder
from jobs.pod import select_labels
from jobs.runner import DockerJobs
from support.gitkit import Repo, make_repo
from support.orders import make_order


def shell(line: str, prompt: bytes = b"do it") -> AgentWork:
    """A shell line as the agent."""
    return AgentWork(RuntimeName.COMMAND, None, prompt, line=line)


def write_pack(repo: Repo, commit: str, target: Path) -> Path:
    """The commit with its history."""
    target.write_bytes(repo.git("pack-objects", "--revs", "--stdout", "-q", stdin=f"{commit}\n".encode()))
    return target


@dataclass
class World:
    """One test's run id, repository and orders."""

    engine: Engine
    jobs: DockerJobs
    folder: Path
    image: str
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))
    commit: str = ""
    pack: Path = Path()

    def __post_init__(self) -> None:
        repo = make_repo(self.folder / "repo")
        self.commit = repo.commit({"a.txt": b"one\n", "b.txt": b"two\n"})
        self.pack = write_pack(repo, self.commit, self.folder / "tree.pack")

    def identity(self, key: str) -> Identity:
        return Identity(self.run_id, f"demo-001-{key}", "demo-001", Purpose.DEMO)

    def order(self, key: str, **changes: Any) -> JobOrder:
        """An order on this repository; one with an agent is a coder's, else a check's."""
        values: dict[str, Any] = {
            "identity": self.identity(key),
            "role": Role.CODER if "agent" in changes else Role.CHECK,
            "image": self.image,
            "commit": self.commit,
            "pack": self.pack,
            "folder": self.folder / "jobs" / key,
        }
        return make_order(self.folder, **{**values, **changes})

    def setup_order(self, key: str, **changes: Any) -> SetupOrder:
        """An order of a set-up image, of nothing yet."""
        order = self.order(key)
        values: dict[str, Any] = {
            "identity": order.identity,
            "base_image": None,
            "dockerfile": None,
            "cached": (),
            "inputs_digest": self.run_id,
            "commit": self.commit,
            "pack": self.pack,
            "folder": order.folder,
            "limits": order.limits,
        }
        return SetupOrder(**{**values, **changes})

    def containers(self, key: str | None = None) -> dict[str, ContainerState]:
        """What the engine has of this run (and key): part to state."""
        labels = select_labels(self.run_id, None if key is None else f"demo-001-{key}")
        return {state.labels["factory.part"]: state for state in self.engine.containers.find(labels)}

    def left(self) -> int:
        """How many containers and volumes of this run there are."""
        labels = select_labels(self.run_id)
        return len(self.engine.containers.find(labels)) + len(self.engine.volumes.find(labels))
