"""A job's money: what is spent, what running calls hold, and whether another may start.

Pure: no I/O.
"""


class Account:
    """Order of calls: `has_room`, then `hold` and `settle` once a call; amounts are micro-dollars."""

    def __init__(self, budget_microusd: int) -> None:
        self.budget_microusd = budget_microusd
        self.spent_microusd = 0
        self._held: dict[int, int] = {}

    @property
    def committed_microusd(self) -> int:
        """What is spent, with the inputs that calls in flight have surely cost by now."""
        return self.spent_microusd + sum(self._held.values())

    def has_room(self) -> bool:
        """Whether one more call may start: nothing may, once the committed sum reaches the budget."""
        return self.committed_microusd < self.budget_microusd

    def hold(self, n: int, input_microusd: int) -> None:
        """Keep a call's input aside, so that parallel calls cannot pass the budget together."""
        self._held[n] = input_microusd

    def settle(self, n: int, cost_microusd: int) -> None:
        """Replace a held amount by what the call cost.

        Raises:
            KeyError: The call is not running: a second settlement would charge it twice.
        """
        del self._held[n]
        self.spent_microusd += cost_microusd
