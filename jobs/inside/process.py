"""Starts things as the agent's user.

Limits: the only module that forks or starts a process; ends none of them.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Callable, Mapping, Sequence

from .places import User

UMASK = 0o022
_MESSAGE_BYTES = 4096
_STDERR = 2


class ChildError(Exception):
    """Work in a child of the agent's user failed; the text is one line."""


def is_dropped(user: User) -> bool:
    """Whether a child must give up its user first; false where we are that user already (tests)."""
    return user.uid != os.geteuid()


def start(
    argv: Sequence[str],
    user: User | None,
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own; as `user` without further groups, or as we are.

    Raises:
        OSError: The program cannot be executed.
    """
    drop = user is not None and is_dropped(user)
    return subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=dict(env),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        umask=UMASK,
        user=user.uid if drop and user else None,
        group=user.gid if drop and user else None,
        extra_groups=[] if drop else None,
    )


def do_as(user: User, work: Callable[[], None]) -> None:
    """Do `work` in a forked child of that user and wait for it.

    Root has neither CHOWN nor DAC_OVERRIDE here: whatever the agent shall own, or has made
    unwritable for others, is made and removed by such a child.

    Raises:
        ChildError: `work` raised, with its text.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _work_and_exit(user, work, writer)
    os.close(writer)
    message = b""
    while chunk := os.read(reader, _MESSAGE_BYTES):
        message += chunk
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        text = message.decode("utf-8", "replace").strip() or f"a child ended with status {status}"
        raise ChildError(" ".join(text.split()))


def fork_as(user: User, work: Callable[[], None], before: Callable[[], object] = int) -> int:
    """Fork a child of that user that does `work`, and give its id; the caller ends it and waits for it.

    The child does `before` as we are: what it loads there need not be readable for that user.
    """
    pid = os.fork()
    if pid == 0:
        # The parent's way of being woken is not the child's.
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _work_and_exit(user, work, _STDERR, before)
    return pid


def _work_and_exit(
    user: User, work: Callable[[], None], writer: int, before: Callable[[], object] = int
) -> None:
    code = 1
    try:
        before()
        if is_dropped(user):
            os.setgroups([])
            os.setresgid(user.gid, user.gid, user.gid)
            os.setresuid(user.uid, user.uid, user.uid)
        os.umask(UMASK)
        work()
        code = 0
    except BaseException as error:  # noqa: BLE001 - the outermost frame of the child: it must never return
        os.write(writer, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:_MESSAGE_BYTES])
    finally:
        os._exit(code)
