"""Start one git process and wait for its end, with a deadline and a cap on what it prints.

The only place that starts git.
"""

import contextlib
import os
import re
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from loop.git.errors import GitCommandError, GitMissingError, GitOutputError, GitTimeoutError
from loop.git.profiles import SEALED, Profile

MIB = 1024 * 1024
MAX_OUT_BYTES = 256 * MIB
MAX_ERR_BYTES = 64 * 1024
CHUNK_BYTES = 64 * 1024
GRACE_S = 5
NEEDED = (2, 38)
"""`git merge-tree --write-tree` came with it."""
CREDENTIALS = re.compile(r"(https?://)[^/\s@]+@")


@dataclass(frozen=True, slots=True)
class GitEnd:
    """How git ended: exit code, standard output, and the end of standard error for a person."""

    code: int
    out: bytes
    err: str


def run_git(  # noqa: PLR0913 - all but the first are choices by name
    args: Sequence[str],
    *,
    profile: Profile,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    timeout_s: float = 120,
    check: bool = True,
    max_out_bytes: int = MAX_OUT_BYTES,
) -> GitEnd:
    """Run `git *args`; with `check`, any exit code but 0 raises.

    Raises:
        GitMissingError: There is no git on PATH.
        GitCommandError: It failed, or `cwd` does not exist.
        GitTimeoutError: It did not end in time; its whole process group is gone.
        GitOutputError: It printed more than `max_out_bytes`; the same.
    """
    where = () if git_dir is None else (f"--git-dir={git_dir}",)
    command = ["git", *profile.flags, *where, *args]
    environment = {**profile.environment(os.environ), **(env or {})}
    with tempfile.TemporaryFile() as feed, tempfile.TemporaryFile() as errors:
        feed.write(stdin)
        feed.seek(0)
        process = _start(command, args[0], cwd, environment, feed, errors)
        try:
            out = _read_all(process, args[0], time.monotonic() + timeout_s, timeout_s, max_out_bytes)
        finally:
            _end(process)
        end = GitEnd(process.returncode, out, _read_text(errors))
    if check and end.code != 0:
        raise GitCommandError(args[0], end.code, end.err)
    return end


def require_git() -> None:
    """See that git is there and new enough.

    Raises:
        GitMissingError: It is not; the text says which version to install.
    """
    needed = ".".join(map(str, NEEDED))
    text = run_git(["version"], profile=SEALED).out.decode("utf-8", "replace")
    found = re.search(r"(\d+)\.(\d+)[.\w]*", text)
    if found is None or (int(found[1]), int(found[2])) < NEEDED:
        raise GitMissingError(found[0] if found else "of an unknown version", needed)


def _start(
    command: list[str],
    name: str,
    cwd: Path | None,
    env: dict[str, str],
    feed: IO[bytes],
    errors: IO[bytes],
) -> subprocess.Popen[bytes]:
    """Start it in a session of its own: no terminal for a prompt, and its helpers end with it."""
    try:
        return subprocess.Popen(
            command,
            stdin=feed,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        if shutil.which("git") is None:
            raise GitMissingError(None, ".".join(map(str, NEEDED))) from error
        raise GitCommandError(name, 128, f"the folder {cwd} does not exist") from error


def _read_all(
    process: subprocess.Popen[bytes], name: str, deadline: float, timeout_s: float, limit_bytes: int
) -> bytes:
    stream = process.stdout
    assert stream is not None
    out = bytearray()
    with stream, selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0, deadline - time.monotonic())):
                raise GitTimeoutError(name, timeout_s)
            chunk = os.read(stream.fileno(), CHUNK_BYTES)
            if not chunk:
                break
            out += chunk
            if len(out) > limit_bytes:
                raise GitOutputError(name, limit_bytes)
    try:
        process.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise GitTimeoutError(name, timeout_s) from error
    return bytes(out)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it if it still runs: TERM first, so that git removes its own lock files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)


def _read_text(errors: IO[bytes]) -> str:
    size_bytes = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size_bytes - MAX_ERR_BYTES))
    return CREDENTIALS.sub(r"\1***@", errors.read().decode("utf-8", "backslashreplace"))
