from pathlib import Path

import pytest

from loop.errors import BusyError
from loop.replay.place import RUN_ID_FILE, open_place


def test_what_a_killed_replay_left_goes_before_the_next_one_begins(tmp_path: Path) -> None:
    reaped: list[str] = []
    environment = {"FACTORY_HOME": str(tmp_path)}
    with open_place(environment, "r", restart=False, reap=reaped.append) as first:
        assert reaped == []
    with open_place(environment, "r", restart=False, reap=reaped.append) as second:
        assert reaped == [first.run_id, first.run_id]
        assert second.run_id != first.run_id
        assert (second.folder / RUN_ID_FILE).read_text() == second.run_id


def test_a_second_replay_of_one_range_is_sent_away(tmp_path: Path) -> None:
    environment = {"FACTORY_HOME": str(tmp_path)}
    with (
        open_place(environment, "r", restart=False, reap=lambda _: None),
        pytest.raises(BusyError, match="wait for it"),
        open_place(environment, "r", restart=False, reap=lambda _: None),
    ):
        pass


def test_restart_forgets_and_clear_keeps_the_record_with_the_evidence(tmp_path: Path) -> None:
    environment = {"FACTORY_HOME": str(tmp_path)}
    with open_place(environment, "r", restart=False, reap=lambda _: None) as place:
        for name in ("progress.jsonl", "feed.pack", "mismatch-1.patch"):
            (place.folder / name).touch()
        (place.folder / "store-0.git").mkdir()
        place.clear()
        kept = {entry.name for entry in place.folder.iterdir()}
        assert kept == {"progress.jsonl", "mismatch-1.patch", RUN_ID_FILE}
    with open_place(environment, "r", restart=True, reap=lambda _: None) as place:
        assert {entry.name for entry in place.folder.iterdir()} == {RUN_ID_FILE}
