"""`state.json` on disk: the only writer, and the only reader that decides.

Limits: the caller holds the task's lock.
"""

import json
from pathlib import Path

from pydantic import ValidationError

from instrument.schema.state import TaskState
from loop.atomic import write_atomic
from loop.errors import UsageError

STATE_FILE = "state.json"
EVENTS_FILE = "events.jsonl"


class StateCorruptError(Exception):
    """`state.json` is damaged, or gone while its record stands; nothing was changed."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} {why}")
        self.path = path


def load_state(folder: Path) -> TaskState | None:
    """Read the task's state; none where the task never began.

    Raises:
        StateCorruptError: The file is empty, torn or foreign, or absent beside a record.
        UsageError: It is of a machine version that is not held here.
    """
    path = folder / STATE_FILE
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        events = folder / EVENTS_FILE
        if events.exists() and events.stat().st_size:
            raise StateCorruptError(path, "is gone, while events.jsonl stands beside it") from None
        return None
    try:
        return TaskState.model_validate_json(data)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        if versions := [fault["input"] for fault in faults if fault["loc"] == ("machine_version",)]:
            raise UsageError(
                f"{path} is of machine version {versions[0]}, which is not held here; "
                "run the version that began the task, or begin again with --restart"
            ) from error
        first = faults[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise StateCorruptError(path, f"cannot be read: {where}: {first['msg']}") from error


def save_state(folder: Path, state: TaskState) -> None:
    """Write the state whole and make it durable before returning."""
    write_atomic(folder / STATE_FILE, dump_state(state))


def dump_state(state: TaskState) -> bytes:
    """The state as JSON bytes; a lone surrogate of an agent's text becomes `?`, never a failure."""
    return json.dumps(state.model_dump(mode="json"), ensure_ascii=False, indent=1).encode("utf-8", "replace")
