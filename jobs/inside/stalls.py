"""Overhears an agent, and says when it runs in circles.

Limits: sees only the output of a program whose shell calls the order describes; ends nothing.
"""

from __future__ import annotations

from typing import Optional

from .calls import Calls
from .leftovers import Leftovers
from .order import Agent, Order
from .output import Masker
from .places import Places
from .repeats import Look, Repeats, Stall
from .report import NO_PROGRESS
from .treelook import TreeLook, watched_paths
from .watch import Limit

SHOWN_CHARACTERS = 300


class Stalls:
    """A sink beside the transcript, and the limit that is asked about it; `found` says what passed it."""

    def __init__(self, calls: Calls, repeats: Repeats, look: Look) -> None:
        self._calls = calls
        self._repeats = repeats
        self._look = look
        self._waiting: list[str] = []
        self.found: Optional[Stall] = None

    def write(self, data: bytes) -> None:
        """Take the next piece; nothing is counted before the limit is asked."""
        self._waiting += self._calls.feed(data)

    def close(self) -> None:
        """A last line without an end is no call: the program would go on after one."""

    def as_limit(self) -> Limit:
        """To be asked often; looks at the tree only where a command came again."""
        return self._ask

    def _ask(self) -> str | None:
        commands, self._waiting = self._waiting, []
        if commands and self.found is None:
            self.found = self._repeats.note(commands, self._look)
        return NO_PROGRESS if self.found else None


def overhear(order: Order, agent: Agent, places: Places, left: Leftovers) -> Stalls | None:
    """None where the limit is off or the program does not tell its calls; begin before the agent does."""
    if not order.same_command or agent.shell_calls is None:
        return None
    look = TreeLook(places.repo, watched_paths(places, left))
    return Stalls(
        Calls(agent.shell_calls), Repeats(order.same_command, order.gate_commands), look.has_changed
    )


def shown(command: str, masker: Masker) -> str:
    """A command as the report has it: one line, without a secret, 300 characters at most."""
    text = masker.all(command.encode("utf-8", "backslashreplace")).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else " " for c in text[:SHOWN_CHARACTERS])
