"""Model calls as a person's agents wrote them down, each counted once.

Pure: no I/O. `Any` is a foreign log's value, and ends here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from instrument.schema.usage import Usage
from instrument.schema.vocabulary import RuntimeName


@dataclass(frozen=True, slots=True)
class Call:
    """One answer of a provider."""

    key: str
    """The same in every log that repeats it."""
    program: RuntimeName
    at_utc: datetime
    folder: str
    """Where the agent was."""
    model: str | None
    usage: Usage
    has_extras: bool = False
    """Whether something was billed that tokens at their listed price do not tell."""


def once(calls: Iterable[Call]) -> list[Call]:
    """Each call once: at its earliest time, with its fullest usage.

    A log repeats a message for each of its parts, the first of them before its output was counted; a
    session that was forked repeats all that went before.
    """
    known: dict[str, Call] = {}
    for call in calls:
        old = known.get(call.key)
        if old is None:
            known[call.key] = call
            continue
        first = min(old, call, key=lambda each: each.at_utc)
        fullest = max(old, call, key=lambda each: each.usage.total_tokens)
        known[call.key] = replace(first, usage=fullest.usage, has_extras=old.has_extras or call.has_extras)
    return list(known.values())


def dig(value: Any, *names: str) -> Any:  # noqa: ANN401 - see the module
    """What stands below these names; none where a part of the way is absent."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def text(value: Any) -> str | None:  # noqa: ANN401 - see the module
    """A text that says something; none for anything else."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int:  # noqa: ANN401 - see the module
    """A number of tokens; 0 where none is told."""
    return value if type(value) is int and value > 0 else 0


def time_of(value: Any) -> datetime | None:  # noqa: ANN401 - see the module
    """A time with its zone, in UTC; none where it is none."""
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (TypeError, ValueError):
        return None


def count_of(number: int, name: str) -> str:
    """A number with its noun."""
    return f"{number} {name}{'' if number == 1 else 's'}"
