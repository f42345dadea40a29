"""`events.jsonl`: however it was damaged, it opens, and what stood whole is still there."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from instrument.schema.events import EVENT, AttemptStarted, CheckEnded, RunStarted, TornTail
from instrument.schema.vocabulary import EffectKind, Purpose
from loop.journal import Journal
from loop.store import EVENTS_FILE
from support.ends import START

CALM = settings(deadline=None, max_examples=40)  # a noisy machine is no fault of the code


@contextmanager
def folder_with(data: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / EVENTS_FILE).write_bytes(data)
        yield Path(name)


def opened(folder: Path) -> Journal:
    return Journal(folder, task_id="t-001", run_id="0123abcd", purpose=Purpose.TASK, now=lambda: START)


def told(folder: Path, rounds: int = 3) -> None:
    """What a loop tells of a few attempts; told again after a crash, in the same words."""
    journal = opened(folder)
    journal.append(RunStarted, pid=1, host="h", version="1")
    for n in range(rounds):
        key = f"t-001-check-{n}-00000000"
        journal.append(AttemptStarted, key=key, effect=EffectKind.CHECK, round=n)
        journal.append(
            CheckEnded,
            key=key,
            name="unit",
            exit_code=0,
            timed_out=False,
            duration_ms=1,
        )
    journal.close()


def record(rounds: int = 3) -> bytes:
    with folder_with(b"") as folder:
        told(folder, rounds)
        return (folder / EVENTS_FILE).read_bytes()


RECORD = record()


def lines_of(folder: Path) -> list[bytes]:
    data = (folder / EVENTS_FILE).read_bytes()
    assert data.endswith(b"\n") or not data
    return data.split(b"\n")[:-1]


def identities(lines: list[bytes]) -> list[str]:
    events = [orjson.loads(line) for line in lines]
    return [f"{e['kind']} {e['key']}" for e in events if "key" in e]


def everything(folder: Path) -> bytes:
    """All bytes that are kept, those set aside too."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@CALM
@given(st.integers(0, len(RECORD)))
def test_a_record_cut_at_any_byte_is_mended_and_loses_nothing_that_stood_whole(cut: int) -> None:
    with folder_with(RECORD[:cut]) as folder:
        whole, _, torn = RECORD[:cut].rpartition(b"\n")
        opened(folder).close()
        lines = lines_of(folder)
        kept = whole.split(b"\n") if whole else []
        assert lines[: len(kept)] == kept
        assert (folder / "events.torn-1.jsonl").exists() is bool(torn)
        for tail in [EVENT.validate_json(line) for line in lines[len(kept) :]]:
            assert isinstance(tail, TornTail)
            assert tail.size_bytes == len(torn)
            assert (folder / tail.path).read_bytes() == torn


@CALM
@given(st.integers(0, len(RECORD)))
def test_a_loop_that_tells_again_after_a_crash_tells_everything_exactly_once(cut: int) -> None:
    with folder_with(RECORD[:cut]) as folder:
        told(folder)
        lines = lines_of(folder)
        numbers = [EVENT.validate_json(line).n for line in lines]
        assert numbers == list(range(1, len(lines) + 1))
        assert sorted(identities(lines)) == sorted(identities(RECORD.split(b"\n")[:-1]))


@CALM
@given(st.binary(max_size=60), st.integers(0, len(RECORD)), st.integers(0, 40))
def test_garbage_anywhere_never_raises_and_no_byte_is_thrown_away(junk: bytes, at: int, over: int) -> None:
    damaged = RECORD[:at] + junk + RECORD[at + over :]
    with folder_with(damaged) as folder:
        told(folder)
        for line in lines_of(folder):
            EVENT.validate_json(line)
        kept = everything(folder)
        assert all(piece in kept for piece in damaged.split(b"\n"))


@CALM
@given(st.binary(max_size=200))
def test_a_file_of_anything_opens(data: bytes) -> None:
    with folder_with(data) as folder:
        for _ in range(2):
            told(folder, 1)
        assert [EVENT.validate_json(line).n for line in lines_of(folder)] == list(
            range(1, len(lines_of(folder)) + 1)
        )


def test_a_number_that_no_reader_could_count_on_from_is_damage(tmp_path: Path) -> None:
    line = orjson.loads(RECORD.split(b"\n")[0])
    huge = orjson.dumps(line | {"n": 0}).replace(b'"n":0', b'"n":' + b"9" * 60)
    (tmp_path / EVENTS_FILE).write_bytes(huge + b"\n")
    told(tmp_path)
    assert [path.name for path in tmp_path.glob("events.damaged-*")] == ["events.damaged-1.jsonl"]
    assert EVENT.validate_json(lines_of(tmp_path)[0]).n == 1
