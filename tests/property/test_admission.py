"""Any interleaving of parallel requests: the budget, the order in which they start, and no deadlock."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.account import Account, Standing, Turns

CALM = settings(deadline=None, max_examples=150)  # a noisy machine is no fault of the code
BUDGET = 1000
REQUESTS = st.lists(
    # What the input is held at, how many per cent of that it costs, and what its output costs.
    st.tuples(st.integers(0, 1200), st.integers(0, 100), st.integers(0, 400)),
    min_size=3,
    max_size=12,
)
MOVES = st.lists(
    st.tuples(st.sampled_from(("arrive", "arrive", "end", "give_up")), st.integers(0, 11)), max_size=60
)


@dataclass
class Counter:
    """Plays requests against an account and keeps its own books."""

    requests: list[tuple[int, int, int]]
    account: Account = field(default_factory=lambda: Account(BUDGET))
    arrived: int = 0
    running: dict[int, int] = field(default_factory=dict)
    """Number to what it will cost."""
    waiting: list[int] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    most_beyond: int = 0
    """By how much the requests that ran when the last one started may pass the budget."""

    def move(self, kind: str, index: int) -> None:
        if kind == "arrive" and self.arrived < len(self.requests):
            self.arrived += 1
            self._stand(self.arrived, self.account.enter(self.arrived, self.requests[self.arrived - 1][0]))
        elif kind == "end" and self.running:
            self.end(sorted(self.running)[index % len(self.running)])
        elif kind == "give_up" and self.waiting:
            self._turn(self.account.leave(self.waiting.pop(index % len(self.waiting))))

    def end(self, n: int) -> None:
        self.account.charge(self.running.pop(n))
        self._turn(self.account.leave(n))

    def _turn(self, turns: Turns) -> None:
        for n, standing in turns.items():
            assert self.waiting.pop(0) == n
            self._stand(n, standing)

    def _stand(self, n: int, standing: Standing) -> None:
        if standing is Standing.REFUSED:
            assert self.account.spent_microusd >= BUDGET
            self.refused.append(n)
        elif standing is Standing.WAITING:
            assert self.running
            self.waiting.append(n)
        else:
            assert self.account.spent_microusd < BUDGET
            assert not [other for other in self.waiting if other < n]
            self._start(n)

    def played(self, moves: list[tuple[str, int]]) -> "Counter":
        """This one, after the moves."""
        for kind, index in moves:
            self.move(kind, index)
        return self

    def _start(self, n: int) -> None:
        held, percent, written = self.requests[n - 1]
        self.running[n] = held * percent // 100 + written
        beyond = sum(self.requests[other - 1][2] for other in self.running)
        self.most_beyond = self.running[n] if len(self.running) == 1 else beyond


@CALM
@given(requests=REQUESTS, moves=MOVES)
def test_the_budget_is_passed_by_what_one_moment_writes_or_by_one_call_alone(
    requests: list[tuple[int, int, int]], moves: list[tuple[str, int]]
) -> None:
    counter = Counter(requests).played(moves)
    while counter.running:
        counter.end(min(counter.running))
    assert counter.account.spent_microusd <= BUDGET + counter.most_beyond


@CALM
@given(requests=REQUESTS, moves=MOVES)
def test_whoever_waits_starts_or_is_refused_once_those_before_it_have_ended(
    requests: list[tuple[int, int, int]], moves: list[tuple[str, int]]
) -> None:
    counter = Counter(requests).played(moves)
    while counter.running:
        counter.end(max(counter.running))
    assert not counter.waiting
    assert counter.account.committed_microusd == counter.account.spent_microusd
