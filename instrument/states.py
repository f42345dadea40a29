"""Reads a task's `state.json`, whatever it holds."""

from pathlib import Path

from pydantic import ValidationError

from instrument.schema.state import TaskState


def read_state(folder: Path) -> tuple[TaskState | None, str]:
    """Read a task folder's state: the state and "", or none and a clause that says what is missing."""
    path = folder / "state.json"
    try:
        return TaskState.model_validate_json(path.read_bytes()), ""
    except FileNotFoundError:
        return None, "state.json is missing"
    except OSError as error:
        return None, f"state.json cannot be opened ({error.strerror})"
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return None, f"state.json is damaged ({f'{where}: ' if where else ''}{first['msg']})"
