import io

from instrument.schema.ledger import LedgerSummary
from instrument.schema.state import AgentChoice
from instrument.schema.vocabulary import RuntimeName
from loop.bakeoff.progress import BakeoffProgress, CellProgress, head_of, open_progress
from loop.machine.effects import Implement
from support.lives import new_state

EFFECT = Implement(
    key="k",
    round=2,
    start="a" * 40,
    image="i",
    agent=AgentChoice(runtime=RuntimeName.CLAUDE),
    deadline_ms=1,
    budget_microusd=None,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_terminal_a_cell_is_a_line_and_a_sign_of_life_a_minute() -> None:
    said, clock = io.StringIO(), Clock()
    progress = BakeoffProgress(said, clock=clock)
    progress.cell(head_of(4, 9, "demo-007 with codex", 1_250_000))
    cell = CellProgress(progress)
    cell.began(new_state(), EFFECT, resumed=False)
    for clock.now in (20.0, 61.0, 70.0):
        cell.beats(clock.now, LedgerSummary())
    cell.note("factory run demo-007")
    cell.close()
    progress.note("[4/9] demo-007 with codex: merged")
    assert said.getvalue().splitlines() == [
        "[4/9] demo-007 with codex; $1.2500 so far",
        "  coder 2  1m 01s",
        "[4/9] demo-007 with codex: merged",
    ]


def test_on_a_terminal_there_is_one_line_that_is_taken_away() -> None:
    said = io.StringIO()
    progress = BakeoffProgress(said, is_live=True)
    progress.cell("[1/2] demo-007 with claude")
    progress.began(new_state(), EFFECT, resumed=False)
    progress.beats(5, LedgerSummary())
    progress.close()
    progress.close()
    text = said.getvalue()
    assert "[1/2] demo-007 with claude  coder 2  5.0s" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor is hidden once and given back"


def test_where_nobody_looks_on_it_is_plain() -> None:
    progress = open_progress(io.StringIO(), {"TERM": "xterm"})
    progress.cell("a cell")
    progress.close()
