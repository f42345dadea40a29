"""`rulings.md`: what was decided at a task's stops, for a person to read; the state decides.

Limits: writes that one file.
"""

from pathlib import Path

from instrument.schema.state import Ruling, TaskState
from loop.atomic import write_atomic

RULINGS_FILE = "rulings.md"


def save_rulings(folder: Path, state: TaskState) -> None:
    """Write every ruling with its stop and whoever gave it; nothing where there is none."""
    if state.rulings:
        text = "\n".join(f"## At {_about(ruling)}\n\n{ruling.text}\n" for ruling in state.rulings)
        write_atomic(folder / RULINGS_FILE, text.encode("utf-8", "replace"))


def _about(ruling: Ruling) -> str:
    about = f"{ruling.stop}, on {ruling.finding}" if ruling.finding else str(ruling.stop)
    if ruling.by is None:
        return about
    return f"{about}, by a model in your stead ({ruling.by.step}: {ruling.by.model or 'none named'})"
