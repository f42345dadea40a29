"""A request that was let in, and a call that it became.

Limits: values only; the future of a turn belongs to the desk.
"""

import asyncio
from dataclasses import dataclass

from proxy.account import Standing
from proxy.ask import Ask
from proxy.rates import Price


@dataclass(frozen=True, slots=True, eq=False)
class Admission:
    """A request that may become calls, now or when its turn comes; its `Desk.release` is owed."""

    n: int
    """Its place in the account; calls have a count of their own."""
    ask: Ask
    price: Price
    path: str
    user_agent: str
    turn: asyncio.Future[Standing] | None
    """Done when its turn has come; none where it need not wait."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request on its way to one provider: its start is in the ledger, its end is owed."""

    n: int
    ask: Ask
    price: Price
    reserved_microusd: int
    started_s: float
