import os
from pathlib import Path
from typing import Any

import pytest

from instrument.rows import read_rows

OLD = 1_772_000_000


def age(folder: Path) -> None:
    """Make a folder's files old enough for the index."""
    for path in (*folder.iterdir(), folder):
        os.utime(path, (OLD, OLD))


@pytest.fixture
def indexed(home: Any, events: Any) -> Any:
    for number in (1, 2):
        folder = home.folder(f"api-00{number}")
        folder.write_merged(number)
        folder.write_events(events.call("k", 1, number))
        age(folder.path)
    assert costs(home) == [1, 2]
    return home


def index_of(home: Any) -> Path:
    return Path(home.path, "index", "rows.jsonl")


def costs(home: Any) -> list[int | None]:
    return [row.cost_microusd for row in read_rows(home.path)]


def spoil(home: Any) -> None:
    """Change every cost in the index: whoever reads it now can be told from who reads the files."""
    index = index_of(home)
    index.write_bytes(index.read_bytes().replace(b'"cost_microusd":1', b'"cost_microusd":100'))


def test_what_has_not_changed_is_read_from_the_index(indexed: Any) -> None:
    spoil(indexed)

    assert costs(indexed) == [100, 2]


@pytest.mark.parametrize("how", ["deleted", "damaged", "of another version", "cut"])
def test_an_index_that_cannot_be_used_is_made_anew(indexed: Any, how: str) -> None:
    spoil(indexed)
    index = index_of(indexed)
    head, _, rest = index.read_bytes().partition(b"\n")
    match how:
        case "deleted":
            index.unlink()
        case "damaged":
            index.write_bytes(head + b"\n" + rest.replace(b'"row"', b'"raw"'))
        case "of another version":
            index.write_bytes(head[:-1] + b"x\n" + rest)
        case _:
            index.write_bytes(head + b"\n" + rest[:-20])

    assert costs(indexed) == [1, 2]
    assert costs(indexed) == [1, 2]
    spoil(indexed)
    assert costs(indexed) == [100, 2]


def test_a_record_that_grew_and_a_state_that_was_replaced_are_read(indexed: Any) -> None:
    spoil(indexed)
    folder = indexed.path / "tasks" / "api-001"
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b"{}\n")
    assert costs(indexed) == [1, 2]

    age(folder)
    assert costs(indexed) == [1, 2]
    new = folder / "state.json.new"
    new.write_bytes((folder / "state.json").read_bytes().replace(b'"microusd": 1', b'"microusd": 7'))
    new.rename(folder / "state.json")
    assert costs(indexed) == [7, 2]


def test_a_task_of_a_moment_ago_is_not_kept(home: Any) -> None:
    folder = home.folder("api-001")
    folder.write_merged(1)
    folder.write_events()
    list(read_rows(home.path))

    assert b"api-001" not in index_of(home).read_bytes()


def test_a_task_that_is_gone_leaves_the_index(indexed: Any) -> None:
    for path in (folder := indexed.path / "tasks" / "api-002").iterdir():
        path.unlink()
    folder.rmdir()

    assert costs(indexed) == [1]
    assert b"api-002" not in index_of(indexed).read_bytes()


def test_a_run_folder_that_cannot_be_written_is_read_all_the_same(indexed: Any) -> None:
    index_of(indexed).unlink()
    index_of(indexed).parent.rmdir()
    index_of(indexed).parent.write_text("in the way")

    assert costs(indexed) == [1, 2]
