"""Runs git on a directory of ours, with nothing of the image, of HOME or of the tree's `.git` in it.

Limits: the only module that runs git; every call ends at the given moment at the latest.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from dataclasses import dataclass
from typing import Iterator

from .attributes import PLAIN
from .places import User
from .process import start

# Root runs git: PATH of the image may begin with a folder that the agent can write.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CHUNK_BYTES = 1 << 16
_MESSAGE_BYTES = 600

CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = false
\tfileMode = true
\tsymlinks = true
\tignoreCase = false
\tprecomposeUnicode = false
\tautocrlf = false
\tsafecrlf = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tfsync = none
\tfsyncObjectFiles = false
\tlooseCompression = 1
\tpreloadIndex = false
\tuntrackedCache = false
\tfsmonitor = false
[gc]
\tauto = 0
[protocol]
\tallow = never
[submodule]
\trecurse = false
"""

AGENT_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tbare = false
\tfileMode = true
\tlogAllRefUpdates = true
[user]
\tname = agent
\temail = agent@localhost
[gc]
\tauto = 0
"""


class GitError(Exception):
    """A git command failed or did not end in time; the text is one line."""

    def __init__(self, text: str, code: int | None = None) -> None:
        super().__init__(text)
        self.code = code
        """Its exit code; none where it did not end or cannot be run."""


def make_directory(path: str, config: str, head: str) -> None:
    """Make an empty git directory by hand: `git init` would copy templates of the image.

    `head` is the whole content of HEAD. Until other attributes are written, every file is bytes.
    """
    for folder in ("", "objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
        os.makedirs(os.path.join(path, folder), mode=0o755, exist_ok=True)
    for name, text in (("config", config), ("HEAD", head)):
        with open(os.path.join(path, name), "w", encoding="utf-8") as file:
            file.write(text)
    write_attributes(path, PLAIN)


def write_attributes(path: str, rules: bytes) -> None:
    """Put these attributes above every `.gitattributes` that git finds in the tree."""
    with open(_attributes_of(path), "wb") as file:
        file.write(rules)


def _attributes_of(path: str) -> str:
    return os.path.join(path, "info", "attributes")


@dataclass(frozen=True)
class Git:
    """git on one directory and one work tree, neither of them ever discovered."""

    git_dir: str
    work_tree: str
    until: float
    """Moment of `time.monotonic()` at which a command that still runs is ended."""
    user: User | None = None
    """Whom it runs as; none: as we are."""

    @property
    def converts(self) -> bool:
        """Whether a file's bytes may differ from those of its blob."""
        with open(_attributes_of(self.git_dir), "rb") as file:
            return file.read() != PLAIN

    def environment(self) -> dict[str, str]:
        """Everything that git sees of the environment."""
        return {
            "PATH": _PATH,
            "LC_ALL": "C",
            "HOME": "/nonexistent",
            "XDG_CONFIG_HOME": "/nonexistent",
            "GIT_DIR": self.git_dir,
            "GIT_WORK_TREE": self.work_tree,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_PAGER": "cat",
        }

    def run(self, *args: str, stdin: int | None = None, ok: tuple[int, ...] = (0,)) -> bytes:
        """Run to its end and give its standard output.

        Raises:
            GitError: Its exit code is not in `ok`, or its time was over.
        """
        return b"".join(self.stream(*args, stdin=stdin, ok=ok))

    def feed(self, *args: str, records: list[bytes], ok: tuple[int, ...] = (0,)) -> bytes:
        """Run with these records, each ended by NUL, on its standard input."""
        file = os.memfd_create("records")
        try:
            with os.fdopen(os.dup(file), "wb") as writer:
                writer.writelines(record + b"\0" for record in records)
            os.lseek(file, 0, os.SEEK_SET)
            return self.run(*args, stdin=file, ok=ok)
        finally:
            os.close(file)

    def records(self, *args: str, stdin: int | None = None) -> Iterator[bytes]:
        """Run and give the NUL-ended records of its output as they come."""
        rest = b""
        for chunk in self.stream(*args, stdin=stdin):
            *whole, rest = (rest + chunk).split(b"\0")
            yield from whole

    def stream(self, *args: str, stdin: int | None = None, ok: tuple[int, ...] = (0,)) -> Iterator[bytes]:
        """Run and give its standard output in pieces; a caller that stops early ends the command."""
        messages = os.memfd_create("stderr")
        try:
            with open(os.devnull, "rb") as nothing:
                child = start(
                    ["git", *args],
                    self.user,
                    cwd=self.work_tree,
                    env=self.environment(),
                    stdin=nothing.fileno() if stdin is None else stdin,
                    stdout=subprocess.PIPE,
                    stderr=messages,
                )
            try:
                yield from self._read(child, args)
                code = child.wait(timeout=max(self.until - time.monotonic(), 1))
            except subprocess.TimeoutExpired:
                raise self._late(args) from None
            finally:
                child.kill()
                child.wait()
                if child.stdout:
                    child.stdout.close()
            if code not in ok:
                raise GitError(f"git {args[0]} ended with {code}: {_last_words(messages)}", code)
        except OSError as error:
            raise GitError(f"git {args[0]} cannot be run: {error}") from error
        finally:
            os.close(messages)

    def _read(self, child: subprocess.Popen[bytes], args: tuple[str, ...]) -> Iterator[bytes]:
        assert child.stdout is not None
        output = child.stdout.fileno()
        while True:
            # Not a plain read: git blocks for ever where the agent left a FIFO named `.gitignore`.
            ready, _, _ = select.select([output], [], [], max(self.until - time.monotonic(), 0))
            if not ready:
                raise self._late(args)
            chunk = os.read(output, _CHUNK_BYTES)
            if not chunk:
                return
            yield chunk

    def _late(self, args: tuple[str, ...]) -> GitError:
        return GitError(f"git {args[0]} did not end in time")


def _last_words(messages: int) -> str:
    size = os.lseek(messages, 0, os.SEEK_END)
    text = os.pread(messages, _MESSAGE_BYTES, max(0, size - _MESSAGE_BYTES)).decode("utf-8", "replace")
    return " ".join(text.split()) or "it said nothing"
