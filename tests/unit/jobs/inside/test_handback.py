import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.inside.handback import take
from jobs.inside.output import Masker


def in_folder(hand: Path, outside: Path) -> Path:
    (hand / "a").mkdir()
    (outside / "r.md").write_text("theirs")
    return hand / "a" / "r.md"


def write(hand: Path, outside: Path) -> None:
    in_folder(hand, outside).write_text("fine token-1234")


def write_big(hand: Path, outside: Path) -> None:
    in_folder(hand, outside).write_bytes(bytes(101))


def write_full(hand: Path, outside: Path) -> None:
    in_folder(hand, outside).write_bytes(b"x" * 100)


def make_fifo(hand: Path, outside: Path) -> None:
    os.mkfifo(in_folder(hand, outside))


def make_folder(hand: Path, outside: Path) -> None:
    in_folder(hand, outside).mkdir()


def link(hand: Path, outside: Path) -> None:
    in_folder(hand, outside).symlink_to(outside / "r.md")


def link_hard(hand: Path, outside: Path) -> None:
    in_folder(hand, outside).hardlink_to(outside / "r.md")


def link_folder(hand: Path, outside: Path) -> None:
    in_folder(hand, outside).parent.rmdir()
    (hand / "a").symlink_to(outside)


def make_file_of_folder(hand: Path, outside: Path) -> None:
    in_folder(hand, outside).parent.rmdir()
    (hand / "a").write_text("x")


def nothing(_hand: Path, _outside: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("make", "state"),
    [
        (write, "kept"),
        (write_full, "kept"),
        (write_big, "too_large"),
        (make_fifo, "not_regular"),
        (make_folder, "not_regular"),
        (link, "not_regular"),
        (link_hard, "not_regular"),
        (link_folder, "not_regular"),
        (make_file_of_folder, "not_regular"),
        (nothing, "absent"),
    ],
)
def test_only_a_small_regular_file_is_taken(
    tmp_path: Path, make: Callable[[Path, Path], None], state: str
) -> None:
    for name in ("hand", "outside", "out"):
        (tmp_path / name).mkdir()
    make(tmp_path / "hand", tmp_path / "outside")
    target = tmp_path / "out" / "review.md"
    assert take(str(tmp_path / "hand"), "a/r.md", str(target), 100, Masker(["token-1234"])) == state
    assert target.exists() == (state == "kept")
    if make is write:
        assert target.read_text() == "fine ***"
