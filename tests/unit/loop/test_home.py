from pathlib import Path

from loop.home import LOCK_FILE, set_aside, task_folder
from support.repos import mode_of


def test_every_folder_of_the_record_is_private(tmp_path: Path):
    folder = task_folder(tmp_path / "a/home", "demo-001")
    assert folder == tmp_path / "a/home/tasks/demo-001"
    assert {mode_of(each) for each in (folder, folder.parent, folder.parent.parent)} == {0o700}
    assert task_folder(tmp_path / "a/home", "demo-001") == folder


def test_a_folder_set_aside_keeps_all_but_the_lock_and_takes_the_next_free_number(tmp_path: Path):
    folder = task_folder(tmp_path, "demo-001")
    for n in (1, 2):
        (folder / LOCK_FILE).touch()
        (folder / "state.json").write_text(str(n))
        (folder / "jobs").mkdir()
        kept = set_aside(folder)
        assert kept.name == f"demo-001.old-{n}"
        assert sorted(p.name for p in kept.iterdir()) == ["jobs", "state.json"]
        assert [p.name for p in folder.iterdir()] == [LOCK_FILE]
        assert mode_of(kept) == 0o700
