import json
from pathlib import Path

import pytest

from instrument.schema.state import Ruling
from instrument.schema.vocabulary import StopReason
from loop.errors import Exit, UsageError
from loop.store import StateCorruptError, load_state, save_state
from support.lives import new_state
from support.repos import mode_of, tree_of_folder

STATE = new_state()


def test_a_state_comes_back_as_it_was(tmp_path: Path):
    save_state(tmp_path, STATE)
    assert load_state(tmp_path) == STATE
    assert mode_of(tmp_path / "state.json") == 0o600


def test_a_task_that_never_began_has_no_state(tmp_path: Path):
    assert load_state(tmp_path) is None
    (tmp_path / "events.jsonl").touch()
    assert load_state(tmp_path) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cannot be read: the whole: Invalid JSON"),
        (b'{"schema_version": 1, "run_id": "01', "cannot be read: the whole: Invalid JSON"),
        (b"\xff\xfe", "cannot be read: the whole: Invalid JSON"),
        (b"[" * 100_000, "cannot be read: the whole: Invalid JSON"),
        (b"{}", "cannot be read: run_id: Field required"),
        (b"null", "cannot be read: the whole: Input should be an object"),
        (None, "is gone, while events.jsonl stands beside it"),
    ],
    ids=["empty", "half", "no text", "deep", "bare", "null", "absent"],
)
def test_case_20_a_damaged_or_missing_state_is_named_and_nothing_is_changed(tmp_path: Path, data, why):
    (tmp_path / "events.jsonl").write_bytes(b'{"kind": "run_started"}\n')
    if data is not None:
        (tmp_path / "state.json").write_bytes(data)
    before = tree_of_folder(tmp_path)
    with pytest.raises(StateCorruptError) as error:
        load_state(tmp_path)
    assert why in str(error.value)
    assert tree_of_folder(tmp_path) == before


def test_case_20_a_lone_surrogate_of_an_agents_text_is_written_safely(tmp_path: Path):
    ruling = Ruling(stop=StopReason.NO_CHANGE, digest="0", text="é")
    save_state(tmp_path, STATE.model_copy(update={"summary": "half \udcff of one", "rulings": (ruling,)}))
    loaded = load_state(tmp_path)
    assert loaded is not None
    assert loaded.summary == "half ? of one"
    assert loaded.rulings == (ruling,)


def test_a_machine_version_that_is_not_held_is_the_persons_to_solve(tmp_path: Path):
    save_state(tmp_path, STATE)
    path = tmp_path / "state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"machine_version": 7}))
    with pytest.raises(UsageError, match=r"is of machine version 7, .* --restart$") as error:
        load_state(tmp_path)
    assert error.value.exit_code is Exit.USAGE
