"""Write a commit with its whole history into one pack file.

Limits: the target is replaced at once or not at all; it may be called again after a crash.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

from loop.git.process import run_git
from loop.git.profiles import SEALED

PACK_TIMEOUT_S = 900
PART = ".pack-"


def write_pack(git_dir: Path, commit: str, target: Path, *, without: str | None = None) -> Path:
    """Make `target` (0600) hold everything that `commit` reaches; a pack that is there is kept.

    Its index lies beside it. The caller names the target after the commits, so that one name never
    stands for two histories.

    Args:
        git_dir: The repository.
        commit: Its id.
        target: A name that ends with `.pack`.
        without: A commit whose history is left out; the rest may then be nothing.
    """
    if target.is_file() and target.stat().st_size > 0:
        return target
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_old_parts(target.parent)
    with tempfile.TemporaryDirectory(prefix=PART, dir=target.parent) as folder:
        run_git(
            [
                "pack-objects",
                "--revs",
                "--quiet",
                "--delta-base-offset",
                "--threads=0",
                str(Path(folder) / "part"),
            ],
            profile=SEALED,
            git_dir=git_dir,
            stdin=(f"{commit}\n" + (f"^{without}\n" if without else "")).encode(),
            timeout_s=PACK_TIMEOUT_S,
        )
        (pack,) = Path(folder).glob("part-*.pack")
        index = pack.with_suffix(".idx")
        index.chmod(0o600)
        index.replace(target.with_suffix(".idx"))
        pack.chmod(0o600)
        with pack.open("rb") as stream:
            os.fsync(stream.fileno())
        pack.replace(target)
    return target


def _remove_old_parts(folder: Path) -> None:
    """Remove what a killed call left, once no living call can still be writing it."""
    for part in folder.glob(f"{PART}*"):
        if time.time() - part.stat().st_mtime > 2 * PACK_TIMEOUT_S:
            shutil.rmtree(part, ignore_errors=True)
