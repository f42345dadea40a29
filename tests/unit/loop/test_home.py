from pathlib import Path

import pytest

from instrument.schema.owner import OWNER_FILE
from loop.errors import UsageError
from loop.home import LOCK_FILE, make_home, mark_of, set_aside, task_folder
from support.repos import mode_of


def test_every_folder_of_the_record_is_private(tmp_path: Path):
    folder = task_folder(tmp_path / "a/home", "demo-001")
    assert folder == tmp_path / "a/home/tasks/demo-001"
    assert {mode_of(each) for each in (folder, folder.parent, folder.parent.parent)} == {0o700}
    assert task_folder(tmp_path / "a/home", "demo-001") == folder


def test_a_home_that_cannot_be_used_is_named_with_the_variable_that_moves_it(tmp_path: Path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(UsageError) as refused:
        make_home(file)
    assert str(refused.value) == (
        f"the run folder {file} cannot be used (not a folder that can be written to); "
        "set FACTORY_HOME to another folder"
    )
    with pytest.raises(UsageError, match=r"file/home cannot be used \(Not a directory\); set FACTORY_HOME"):
        make_home(file / "home")
    assert make_home(tmp_path / "home") == tmp_path / "home"
    assert mode_of(tmp_path / "home") == 0o700


def test_a_folder_set_aside_keeps_all_but_lock_and_owner_and_takes_the_next_free_number(tmp_path: Path):
    folder = task_folder(tmp_path, "demo-001")
    for n in (1, 2):
        (folder / LOCK_FILE).touch()
        (folder / OWNER_FILE).touch()
        (folder / "state.json").write_text(str(n))
        (folder / "jobs").mkdir()
        kept = set_aside(folder)
        assert kept.name == f"demo-001.old-{n}"
        assert sorted(p.name for p in kept.iterdir()) == ["jobs", "state.json"]
        assert sorted(p.name for p in folder.iterdir()) == [LOCK_FILE, OWNER_FILE]
        assert mode_of(kept) == 0o700


def test_the_mark_of_a_home_is_its_places_by_whatever_way_it_is_named(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "link").symlink_to(home)
    assert mark_of(tmp_path / "link") == mark_of(tmp_path / "home/../home") == mark_of(home)
    assert mark_of(home) != mark_of(tmp_path)
    assert len(mark_of(home)) == 12
