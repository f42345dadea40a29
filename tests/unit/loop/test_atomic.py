import os
import signal
import sys
from pathlib import Path

import pytest

from loop.atomic import write_atomic
from support.repos import mode_of


def test_the_new_content_is_whole_and_private(tmp_path: Path):
    path = tmp_path / "state.json"
    write_atomic(path, b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert mode_of(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_content(tmp_path: Path):
    path = tmp_path / "state.json"
    write_atomic(path, b"old")
    (tmp_path / ".state.json.new").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"


def killed_at(step: int, path: Path) -> bool:
    """Whether a writer that dies at this system call was there to die; the call is not made."""
    child = os.fork()
    if child == 0:
        seen = [0]

        def count(event: str, _: object) -> None:
            if event in ("open", "os.rename"):
                seen[0] += 1
                if seen[0] == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        write_atomic(path, b"new" * 100_000)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_case_20_a_writer_killed_at_any_point_leaves_the_old_or_the_new(tmp_path: Path):
    path, new = tmp_path / "state.json", b"new" * 100_000
    write_atomic(path, b"old")
    found = []
    while killed_at(len(found) + 1, path):
        found.append({b"old": "old", new: "new"}.get(path.read_bytes(), "neither"))
    assert found == ["old"] * (len(found) - 1) + ["new"], "the last step is the sync of the folder"
    assert len(found) >= 3, "the temporary file, the rename, the folder"
