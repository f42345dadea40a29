import os
from pathlib import Path

from jobs.inside.leftovers import Leftovers
from jobs.inside.tree import find_stale


def test_only_what_is_neither_tracked_nor_left_is_stale(tmp_path: Path) -> None:
    for name in (".git/HEAD", "kept/a", "kept/old", "gone/deep/x", "gone/cache/y", "left/z", "file"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "link").symlink_to("left")
    repo = os.fsencode(tmp_path)
    left = Leftovers(frozenset({b"left", b"gone/cache"}))
    stale = [
        (os.path.relpath(path, repo), is_folder)
        for path, is_folder in find_stale(repo, frozenset({b"kept/a"}), left)
    ]
    assert sorted(stale) == [
        (b"file", False),
        (b"gone", True),
        (b"gone/deep", True),
        (b"gone/deep/x", False),
        (b"kept/old", False),
        (b"link", False),
    ]
    assert (
        stale.index((b"gone/deep/x", False))
        < stale.index((b"gone/deep", True))
        < stale.index((b"gone", True))
    )
