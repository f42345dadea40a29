import io
import tarfile
from pathlib import Path

import pytest

from jobs.unpack import read_one, unpack


def make_tar(*entries: tuple[str, bytes | None, bytes]) -> io.BytesIO:
    """Entries of name, content (none for a folder), type; a link's content is its target."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for name, data, kind in entries:
            entry = tarfile.TarInfo(name)
            entry.type = kind
            entry.mode = 0o4777
            if kind == tarfile.REGTYPE and data is not None:
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
                continue
            entry.linkname = (data or b"").decode()
            tar.addfile(entry)
    target.seek(0)
    return target


def caps(name: str) -> int | None:
    return {"job.json": 10, "commands/1-unit.txt": 10}.get(name)


REG, DIR, SYM, LNK, FIFO = (
    tarfile.REGTYPE,
    tarfile.DIRTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.FIFOTYPE,
)


def test_known_files_are_kept_private(tmp_path: Path) -> None:
    target = tmp_path / "out"
    kept = unpack(
        make_tar(("out", None, DIR), ("out/job.json", b"{}", REG), ("out/commands/1-unit.txt", b"ok", REG)),
        target,
        caps,
    )
    assert kept.names == ("job.json", "commands/1-unit.txt")
    assert kept.faults == ()
    assert (target / "job.json").stat().st_mode & 0o7777 == 0o600
    assert (target / "commands").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (("out/job.json", b"/etc/passwd", SYM), "is no regular file"),
        (("out/job.json", b"out/other", LNK), "is no regular file"),
        (("out/job.json", None, FIFO), "is no regular file"),
        (("out/job.json", b"x" * 11, REG), "has 11 bytes, more than the 10 allowed"),
        (("out/../../escaped", b"x", REG), "is no file that a job hands back"),
        (("/etc/passwd", b"x", REG), "is no file that a job hands back"),
        (("out/commands/../job.json", b"x", REG), "is no file that a job hands back"),
        (("out/extra.txt", b"x", REG), "is no file that a job hands back"),
    ],
)
def test_hostile_entries_are_named_and_nothing_of_them_is_written(
    tmp_path: Path, entry: tuple[str, bytes | None, bytes], fault: str
) -> None:
    kept = unpack(make_tar(entry), tmp_path / "a" / "out", caps)
    assert kept.names == ()
    assert fault in kept.faults[0]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "out"]


def test_a_name_that_comes_twice_is_a_fault(tmp_path: Path) -> None:
    kept = unpack(make_tar(("out/job.json", b"1", REG), ("out/job.json", b"2", REG)), tmp_path / "o", caps)
    assert (tmp_path / "o" / "job.json").read_bytes() == b"1"
    assert "twice" in kept.faults[0]


def test_a_torn_archive_is_a_fault(tmp_path: Path) -> None:
    whole = make_tar(("out/job.json", b"{}", REG), ("out/commands/1-unit.txt", b"12345", REG)).getvalue()
    kept = unpack(io.BytesIO(whole[:1600]), tmp_path / "o", caps)
    assert any("cannot be read" in fault for fault in kept.faults)
    assert unpack(io.BytesIO(b"no tar at all" * 100), tmp_path / "p", caps).faults


def test_a_second_collection_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    unpack(make_tar(("out/commands/1-unit.txt", b"1", REG)), tmp_path / "o", caps)
    unpack(make_tar(("out/job.json", b"2", REG)), tmp_path / "o", caps)
    assert sorted(path.name for path in (tmp_path / "o").rglob("*")) == ["job.json"]


def test_too_many_entries_end_the_reading(tmp_path: Path) -> None:
    entries = [(f"out/x{n}", b"", REG) for n in range(6000)]
    kept = unpack(make_tar(*entries), tmp_path / "o", caps)
    assert len(kept.faults) == 10


def test_one_file_is_read_whole_or_not_at_all() -> None:
    assert read_one(make_tar(("ledger.jsonl", b"row\n", REG))) == b"row\n"
    assert read_one(make_tar(("ledger.jsonl", b"/etc/passwd", SYM))) == b""
    assert read_one(io.BytesIO(b"torn" * 200)) == b""
