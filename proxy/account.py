"""A job's money: what is spent, what running calls hold, and who waits until some of it is free.

Pure: no I/O. Amounts are micro-dollars.
"""

from collections.abc import Iterator
from enum import Enum, auto


class Standing(Enum):
    """Whether a call may start."""

    ADMITTED = auto()
    WAITING = auto()
    """It fits, but not beside what is in flight."""
    REFUSED = auto()
    """Nothing is left."""


Turns = dict[int, Standing]
"""Calls that waited and do no longer, in the order in which they came."""


class Account:
    """Order of calls: `enter` once a request, `charge` for each call that it became, `leave` at its end.

    Alone a request may start with anything that is left: its estimate is generous, and a refusal would
    end the agent for good. Beside others it starts only if all their inputs and its own fit. So the budget
    is passed by what the calls of one moment write, or by one call that ran alone.
    """

    def __init__(self, budget_microusd: int) -> None:
        self.budget_microusd = budget_microusd
        self.spent_microusd = 0
        self._held: dict[int, int] = {}
        self._waiting: dict[int, int] = {}

    @property
    def committed_microusd(self) -> int:
        """What is spent, with the inputs that requests in flight cost at most."""
        return self.spent_microusd + sum(self._held.values())

    def enter(self, n: int, input_microusd: int) -> Standing:
        """Let a request start, or have it wait behind those that came before it, or turn it away."""
        standing = self._judge(input_microusd)
        if standing is Standing.ADMITTED and self._waiting:
            standing = Standing.WAITING
        if standing is Standing.ADMITTED:
            self._held[n] = input_microusd
        elif standing is Standing.WAITING:
            self._waiting[n] = input_microusd
        return standing

    def charge(self, cost_microusd: int) -> None:
        """Add what a call cost; what its request holds stays held until it leaves."""
        self.spent_microusd += cost_microusd

    def leave(self, n: int) -> Turns:
        """Give up a place, waiting or admitted; nothing changes where there is none."""
        self._waiting.pop(n, None)
        self._held.pop(n, None)
        return dict(self._take_turns()) if self._waiting else {}

    def _judge(self, input_microusd: int) -> Standing:
        if self.spent_microusd >= self.budget_microusd:
            return Standing.REFUSED
        fits = self.committed_microusd + input_microusd <= self.budget_microusd
        return Standing.ADMITTED if fits or not self._held else Standing.WAITING

    def _take_turns(self) -> Iterator[tuple[int, Standing]]:
        """Judge those that wait again, until one has to wait on: nobody overtakes it."""
        while self._waiting:
            n, input_microusd = next(iter(self._waiting.items()))
            standing = self._judge(input_microusd)
            if standing is Standing.WAITING:
                return
            del self._waiting[n]
            if standing is Standing.ADMITTED:
                self._held[n] = input_microusd
            yield n, standing
