from pathlib import Path

import pytest

from instrument.schema.owner import Owner
from instrument.schema.vocabulary import Stage
from loop.errors import BusyError, Exit
from loop.ownership import check_owner, remove_owner, write_owner
from loop.session import open_session
from support.ends import START
from support.repos import Desk, mode_of

OWNER = Owner(driver="engine", command="engine export demo-007", since_utc=START)


def test_only_its_driver_passes_until_the_mark_is_gone(tmp_path: Path) -> None:
    check_owner(tmp_path, "demo-007", "")
    write_owner(tmp_path, OWNER)
    assert mode_of(tmp_path / "owner.json") == 0o600
    check_owner(tmp_path, "demo-007", "engine")
    said = "demo-007: the engine drives this task; to take it over:  engine export demo-007"
    for driver in ("", "another"):
        with pytest.raises(BusyError) as busy:
            check_owner(tmp_path, "demo-007", driver)
        assert str(busy.value) == said
    remove_owner(tmp_path)
    remove_owner(tmp_path)
    check_owner(tmp_path, "demo-007", "")


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"schema_version": 2}'])
def test_a_mark_that_cannot_be_read_is_somebodys(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "owner.json").write_bytes(data)
    for driver in ("", "engine"):
        with pytest.raises(BusyError, match="cannot be read; remove it") as busy:
            check_owner(tmp_path, "demo-007", driver)
        assert str(tmp_path / "owner.json") in str(busy.value)


def test_a_task_of_a_driver_is_not_run_by_hand(desk: Desk) -> None:
    desk.task_folder.mkdir(parents=True)
    write_owner(desk.task_folder, OWNER)
    with pytest.raises(BusyError, match="engine export demo-007") as busy:
        desk.run()
    assert busy.value.exit_code is Exit.BUSY
    assert not desk.jobs.created()
    world = desk.world()
    with open_session(
        desk.request(), jobs=world.jobs, environment=world.environment, now=world.now, driver="engine"
    ) as session:
        with pytest.raises(BusyError, match="engine export demo-007"):
            desk.run()
        remove_owner(session.folder)
    assert desk.run().result.stage in (Stage.DONE, Stage.STOPPED)
