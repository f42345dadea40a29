"""Follows a task's events as they are written.

Reads only; a record that is set aside or begun again is followed from its new beginning.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from instrument.lines import EVENT_LINES, readable
from instrument.schema.events import AnyEvent, Transition

POLL_S = 0.3


def last_events(file: Path, count: int) -> list[AnyEvent]:
    """The last events that are there."""
    return list(deque(_read(file, 0)[0], maxlen=count))


def follow(file: Path, count: int, sleep: Callable[[float], None] = time.sleep) -> Iterator[AnyEvent]:
    """The last events and then each as it comes, until the task is done."""
    place, has_ended = 0, False
    shown = False
    while not has_ended:
        events, place = _read(file, place)
        for event in events if shown else deque(events, maxlen=count):
            yield event
            has_ended = isinstance(event, Transition) and event.done is not None
        shown = True
        if not has_ended:
            sleep(POLL_S)


def _read(file: Path, place: int) -> tuple[list[AnyEvent], int]:
    """Whole lines from a place on, and the place behind them; a line that cannot be read is left out."""
    try:
        with file.open("rb") as opened:
            if opened.seek(0, 2) < place:
                place = 0
            opened.seek(place)
            data = opened.read()
    except OSError:
        return [], place
    whole = data[: data.rfind(b"\n") + 1]
    events = map(EVENT_LINES.model_of, readable(whole.splitlines()))
    return list(events), place + len(whole)
