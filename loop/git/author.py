"""Who a commit of ours is by, and when.

Pure: no I/O.
"""

import re
from datetime import datetime

from loop.git.errors import AuthorError

AUTHOR = re.compile(r"\s*([^<>\x00-\x1f]*[^<>\x00-\x1f\s])\s*<([^<>\s\x00-\x1f]+)>\s*")


def commit_env(author: str, when_utc: datetime) -> dict[str, str]:
    """The variables that fix author and both dates, so that the same work gives the same commit id.

    Args:
        author: `Name <mail>`.
        when_utc: Aware; whole seconds count.

    Raises:
        AuthorError: `author` is written otherwise.
    """
    match = AUTHOR.fullmatch(author)
    if match is None:
        raise AuthorError(author)
    when = f"{int(when_utc.timestamp())} +0000"
    return {
        "GIT_AUTHOR_NAME": match[1],
        "GIT_AUTHOR_EMAIL": match[2],
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
    }


def message_bytes(message: str) -> bytes:
    """A commit message as git takes it: no NUL, no lone surrogate, one newline at its end."""
    return message.replace("\0", "").strip().encode("utf-8", "replace") + b"\n"
