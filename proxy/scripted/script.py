"""One role's round of a story as it is played: counts requests, and keeps a line about each.

Limits: writes only `requests.jsonl`.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from proxy.scripted.answers import answer_to
from proxy.scripted.form import Answer, Asked
from proxy.scripted.recording import RecordedAnswer
from proxy.scripted.story import Story


@dataclass(slots=True)
class Script:
    """What every connection answers from, with the count of requests."""

    story: Story
    role: str
    round: int
    requests: Path | None
    """File that gets one line a request; none: not kept."""
    _count: int = 0
    _given: Counter[int] = field(default_factory=Counter)
    """How often each told turn was given."""
    _played: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self) -> int:
        """The number of a request that begins, from 1."""
        with self._lock:
            self._count += 1
            return self._count

    def answer(self, asked: Asked, n: int) -> Answer:
        """The told answer to a request.

        Raises:
            StoryError: There is none.
        """
        with self._lock:
            answer = answer_to(self.story, self.role, self.round, asked, n, self._given)
            if answer.turn_index is not None:
                self._given[answer.turn_index] += 1
        return answer

    @property
    def recorded(self) -> tuple[RecordedAnswer, ...]:
        """The recorded answers of this role and round; empty where they are told."""
        return self.story.recorded_of(self.role, self.round)

    def play(self, method: str, path: str) -> tuple[int, RecordedAnswer] | None:
        """The next recorded answer to such a request, with its place; none where all are played."""
        with self._lock:
            for index, answer in enumerate(self.recorded):
                if index not in self._played and (answer.method, answer.path) == (method, path):
                    self._played.add(index)
                    return index, answer
        return None

    def note(self, n: int, line: dict[str, Any]) -> None:
        """Keep a request's line."""
        if self.requests is None:
            return
        row = {"n": n, "at_utc": datetime.now(UTC).isoformat(), **line}
        row |= {"role": self.role, "round": self.round}
        with self._lock, self.requests.open("ab") as file:
            file.write(orjson.dumps(row) + b"\n")
