"""The three ways in which git may run here: what it sees of the person's set-up.

Pure: no I/O; a profile turns an environment into another one.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONFIG_FILE = Path(__file__).with_name("sealed_gitconfig.txt")
COMMITTER = ("factory", "factory@localhost")

LOCAL_VARIABLES = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
"""Variables that point git at another repository than the one we name (git rev-parse --local-env-vars)."""

NETWORK_VARIABLES = frozenset(
    {
        "GIT_ASKPASS",
        "GIT_PROXY_COMMAND",
        "GIT_HTTP_PROXY_AUTHMETHOD",
        "GIT_SSH_VARIANT",
        "GIT_SSL_CAINFO",
        "GIT_SSL_CAPATH",
        "GIT_SSL_CERT",
        "GIT_SSL_KEY",
        "GIT_SSL_NO_VERIFY",
        "GIT_SSL_VERSION",
    }
)
"""How a person's environment reaches their remote; kept in the network profile only."""

ALWAYS = {
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_EDITOR": "false",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_PAGER": "cat",
}
HOOKS_OFF = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")
QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false")
LOCAL_ONLY = ("-c", "protocol.allow=never", "-c", "protocol.file.allow=always", "-c", "protocol.version=2")
"""Version 2, because only there a commit can be fetched by its id."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to run git: `flags` go before the command, the rest into its environment."""

    name: str
    flags: tuple[str, ...]
    seals: bool
    """Whether every `GIT_*` of the environment is dropped, but those in `kept`."""
    kept: frozenset[str] = frozenset()
    env: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    """Configuration given by environment: it may hold a token, and `ps` shows arguments to everyone."""

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """What git is started with, made of the process's own environment `base`."""
        env = {name: value for name, value in base.items() if self._keeps(name)}
        env.update(ALWAYS)
        env.update(self.env)
        if self.settings:
            env["GIT_CONFIG_COUNT"] = str(len(self.settings))
            for n, (key, value) in enumerate(self.settings):
                env[f"GIT_CONFIG_KEY_{n}"] = key
                env[f"GIT_CONFIG_VALUE_{n}"] = value
        return env

    def _keeps(self, name: str) -> bool:
        if not name.startswith("GIT_"):
            return name not in ("SSH_ASKPASS", "EDITOR", "VISUAL")
        return name in self.kept if self.seals else name not in LOCAL_VARIABLES


SEALED_ENV = (
    ("GIT_CONFIG_GLOBAL", str(CONFIG_FILE)),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_AUTHOR_NAME", COMMITTER[0]),
    ("GIT_AUTHOR_EMAIL", COMMITTER[1]),
    ("GIT_COMMITTER_NAME", COMMITTER[0]),
    ("GIT_COMMITTER_EMAIL", COMMITTER[1]),
)

SEALED = Profile("sealed", (*HOOKS_OFF, *QUIET, *LOCAL_ONLY), seals=True, env=SEALED_ENV)
"""Our repositories, and reading from the person's: nothing of their configuration, no program, no network."""

CHECKOUT = Profile("checkout", (*HOOKS_OFF, *QUIET), seals=False)
"""The person's working copy: their configuration and filters, hooks off."""


def network(settings: tuple[tuple[str, str], ...], env: tuple[tuple[str, str], ...]) -> Profile:
    """Fetch and push: sealed, plus the settings and variables that `loop.git.settings` picked."""
    return Profile(
        "network",
        (*HOOKS_OFF, *QUIET),
        seals=True,
        kept=NETWORK_VARIABLES,
        env=(*SEALED_ENV, ("GCM_INTERACTIVE", "never"), *env),
        settings=settings,
    )
