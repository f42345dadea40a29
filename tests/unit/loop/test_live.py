import io
import os
import re
import subprocess
import sys

import pytest

from instrument.schema.ledger import LedgerSummary
from instrument.schema.state import Climb, Spend, Stop
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import LadderStep, Outcome, Stage, StopReason
from loop.live import LiveProgress
from loop.machine.effects import FindBase, Implement
from loop.progress import HEARTBEAT_S
from support.ends import call
from support.lives import CLAUDE, new_state

CODER = Implement(
    key="k",
    round=2,
    start="a" * 40,
    image="sha256:1",
    agent=CLAUDE,
    deadline_ms=1_800_000,
    budget_microusd=None,
)
STATE = new_state(stage=Stage.IMPLEMENT).model_copy(update={"spend": Spend(microusd=5000)})
STOPPED = STATE.model_copy(
    update={
        "stage": Stage.STOPPED,
        "stop": Stop(reason=StopReason.NO_CHANGE, stage=Stage.IMPLEMENT, outcome=Outcome.NOTHING_CHANGED),
    }
)
LEDGER = LedgerSummary(calls=(call(),))
STYLE = re.compile(r"\x1b\[[0-9;]*m")
SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"


class Screen:
    """What a person sees: lines, as the few codes that move the cursor leave them."""

    def __init__(self) -> None:
        self.lines = [""]
        self._row = 0

    def show(self, written: str) -> list[str]:
        for part in re.split(r"(\x1b\[\d*[AK]|\r|\n)", STYLE.sub("", written)):
            if part == "\n":
                self._row += 1
                self.lines += [""] * (self._row >= len(self.lines))
            elif part == "\r":
                pass
            elif part.endswith("A") and part.startswith("\x1b"):
                self._row -= int(part[2:-1] or 1)
            elif part.endswith("K") and part.startswith("\x1b"):
                self.lines[self._row] = ""
            else:
                self.lines[self._row] += part.replace(SHOW_CURSOR, "").replace(HIDE_CURSOR, "")
        return [line.rstrip() for line in self.lines if line.strip()]


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("TERM", "xterm")
    return io.StringIO()


def seen(stream: io.StringIO) -> list[str]:
    return Screen().show(stream.getvalue())


def test_it_shows_the_stages_the_job_its_cost_and_what_it_does(stream: io.StringIO):
    live = LiveProgress(stream)
    live.began(STATE, CODER, resumed=False)
    assert seen(stream)[-2:] == [
        "✓ ready  ▸ implement  check  review  rebase  gate  merge",
        "coder 2 …; $0.0050 in all",
    ]
    for elapsed_s in (2.0, 61.5):
        live.beats(elapsed_s, LEDGER, "make test")

    assert seen(stream) == [
        "implement  coder 2 …",
        "✓ ready  ▸ implement  check  review  rebase  gate  merge",
        "coder 2  1m 01s of 30m 00s, 1 call, 110 tokens, $0.0010; $0.0060 in all",
        "$ make test",
    ]
    live.close()


def test_what_is_only_held_for_a_call_is_in_no_sum(stream: io.StringIO):
    live = LiveProgress(stream)
    live.began(STATE, CODER, resumed=False)
    live.beats(2.0, LedgerSummary(calls=(call(settled=False, usage=Usage(), cost_microusd=55_265),)))
    assert seen(stream)[-1] == (
        "coder 2  2.0s of 30m 00s, 1 call, 0 tokens, $0.0000 (up to $0.055265); $0.0050 i"[:79] + "…"
    )
    live.close()


def test_lines_stay_above_and_the_view_goes_at_the_end(stream: io.StringIO):
    live = LiveProgress(stream)
    live.began(STATE, CODER, resumed=False)
    live.beats(2.0, LEDGER, "make test")
    live.note("a sentence")
    assert seen(stream)[:2] == ["implement  coder 2 …", "a sentence"]
    assert seen(stream)[-1] == "$ make test"

    live.ended(STATE, Outcome.NOTHING_CHANGED, STOPPED, None)

    assert [line.partition("  (")[0] for line in seen(stream)] == [
        "implement  coder 2 …",
        "a sentence",
        "implement  nothing_changed → stopped: no_change",
    ]
    live.note("the end")
    assert seen(stream)[-1] == "the end"


def test_the_cursor_is_given_back_however_it_ends(stream: io.StringIO):
    live = LiveProgress(stream)
    live.began(STATE, CODER, resumed=False)
    assert stream.getvalue().rfind(HIDE_CURSOR) > stream.getvalue().rfind(SHOW_CURSOR)
    live.close()
    live.close()
    assert stream.getvalue().rfind(SHOW_CURSOR) > stream.getvalue().rfind(HIDE_CURSOR)


def test_a_stop_that_a_model_looks_into_stands_before_the_stages(stream: io.StringIO):
    stop = Stop(reason=StopReason.BLOCKED, stage=Stage.IMPLEMENT, outcome=Outcome.CODER_BLOCKED)
    climb = Climb(stop=stop, step=LadderStep.SMALL)
    live = LiveProgress(stream)
    live.began(STATE.model_copy(update={"stage": Stage.RESOLVE, "climb": climb}), CODER, resumed=False)
    assert seen(stream)[-2].startswith("▸ small looks into blocked  ✓ ready  ▸ implement  check  review")


def test_the_next_effect_follows_on(stream: io.StringIO):
    live = LiveProgress(stream)
    live.began(STATE, CODER, resumed=False)
    after = STATE.model_copy(update={"stage": Stage.CHECK, "spend": Spend(microusd=6000, lower_bound=True)})
    live.ended(STATE, Outcome.DIFF_RETURNED, after, None)
    assert seen(stream)[-2:] == [
        "✓ ready  ✓ implement  ▸ check  review  rebase  gate  merge",
        "…; ≥ $0.0060 in all",
    ]
    live.began(after, FindBase(key="k"), resumed=False)
    assert seen(stream)[-1] == "find-base …; ≥ $0.0060 in all"
    live.close()


def test_no_line_is_said_only_to_show_that_it_lives(stream: io.StringIO):
    now = 0.0
    live = LiveProgress(stream, clock=lambda: now)
    live.began(STATE, CODER, resumed=False)
    now = HEARTBEAT_S + 1.0
    live.beats(now, LEDGER)

    assert len(seen(stream)) == 3
    live.close()


def test_what_an_agent_does_cannot_draw_on_the_terminal(stream: io.StringIO):
    live = LiveProgress(stream)
    live.began(STATE, CODER, resumed=False)
    live.beats(2.0, LEDGER, "[red]echo[/red] \x1b[2J\x07" + "x" * 200)

    assert "\x1b[2J" not in stream.getvalue()
    assert "\x07" not in stream.getvalue()
    assert seen(stream)[-1].startswith("$ [red]echo[/red]  [2J xxx")
    assert len(seen(stream)[-1]) == 80
    live.close()


CHOICE = "import sys; from loop.cli import _progress; sys.stdout.write(type(_progress()).__name__)"


@pytest.mark.parametrize(
    ("on_terminal", "term", "name"),
    [
        (True, "xterm", "LiveProgress"),
        (True, "dumb", "Progress"),
        (False, "xterm", "Progress"),
    ],
)
def test_it_is_for_a_terminal_only(*, on_terminal: bool, term: str, name: str):
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", CHOICE],
            stdout=subprocess.PIPE,
            stderr=theirs if on_terminal else subprocess.PIPE,
            env={**os.environ, "TERM": term, "FORCE_COLOR": "1"},
            check=True,
            text=True,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.stdout == name
