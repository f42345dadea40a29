"""Who of those that wait for a repo is asked first.

Pure: no I/O.
"""

from collections.abc import Iterable

from engine.messages import TurnAsk


def in_order(waiting: Iterable[TurnAsk]) -> tuple[TurnAsk, ...]:
    """Urgent ones first, then who asked first; a task's number decides between those that asked at once."""
    return tuple(sorted(waiting, key=lambda ask: (not ask.urgent, ask.asked_utc, ask.task_id)))
