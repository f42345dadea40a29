"""Where everything lies inside a job's container.

Pure: no I/O.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class User:
    """The unprivileged user that everything foreign runs as."""

    uid: int = 10001
    gid: int = 10001


@dataclass(frozen=True)
class Places:
    """Every path of the contract with the host; `root` is another folder only in tests."""

    root: str = "/"
    user: User = User()

    def _at(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)

    @property
    def repo(self) -> str:
        """The tree under work, owned by the agent's user."""
        return self._at("repo")

    @property
    def home(self) -> str:
        """HOME of the agent's user."""
        return self._at("home", "agent")

    @property
    def settings(self) -> str:
        """Where the agent program finds what the order gives it to read, made anew for each job."""
        return self._at("home", "agent", ".factory")

    @property
    def job(self) -> str:
        """Root's, 0700: the agent can neither read nor write below it."""
        return self._at("job")

    @property
    def order(self) -> str:
        """What the host asks for."""
        return self._at("job", "order.json")

    @property
    def prompt_in(self) -> str:
        """The prompt as the host put it."""
        return self._at("job", "in", "prompt.md")

    @property
    def inputs(self) -> str:
        """What the host put in: pack and prompt."""
        return self._at("job", "in")

    @property
    def out(self) -> str:
        """The only folder that the host collects."""
        return self._at("job", "out")

    @property
    def doing(self) -> str:
        """What the agent does now, for a person who looks on."""
        return self._at("job", "doing")

    @property
    def git(self) -> str:
        """The capture's git directory, which the agent never sees."""
        return self._at("job", "git")

    @property
    def agent_git(self) -> str:
        """The agent's own repository; nothing that it holds is believed after the agent ran."""
        return self._at("repo", ".git")

    @property
    def factory(self) -> str:
        """Root's, readable by the agent."""
        return self._at("factory")

    @property
    def prompt(self) -> str:
        """The copy of the prompt that the agent reads."""
        return self._at("factory", "prompt.md")

    @property
    def hand(self) -> str:
        """The agent's folder for what it hands back."""
        return self._at("factory", "hand")

    @property
    def result(self) -> str:
        """Where a coder may write its structured result."""
        return self._at("factory", "hand", "result.json")

    @property
    def leftovers(self) -> str:
        """The NUL-separated list of what set-up left outside the commit."""
        return self._at("factory", "leftovers")

    @property
    def docker_socket(self) -> str:
        """Of the job's own Docker daemon, where every client looks for one."""
        return self._at("run", "docker.sock")

    @property
    def docker_pid(self) -> str:
        """Where that daemon keeps its number."""
        return self._at("run", "docker.pid")

    @property
    def docker_state(self) -> str:
        """What that daemon knows while it runs."""
        return self._at("run", "docker")

    @property
    def docker_data(self) -> str:
        """Its images and containers: a volume of the job's, and the one place that sysbox supports."""
        return self._at("var", "lib", "docker")

    @property
    def writable(self) -> tuple[str, ...]:
        """The folders in which the agent's user can fill the disk."""
        return (self.repo, self.home, self.hand, self._at("tmp"), self._at("var", "tmp"), self.docker_data)
