import io

from instrument.schema.ledger import LedgerSummary, Notice
from instrument.schema.state import Spend, Stop
from instrument.schema.usage import Usage
from instrument.schema.vocabulary import NoticeKind, Outcome, Stage, StopReason
from loop.machine.effects import FindBase, Implement
from loop.machine.facts import JobFacts
from loop.progress import Progress
from support.ends import START, call, coder_end
from support.lives import CLAUDE, new_state

CODER = Implement(
    key="k",
    round=2,
    start="a" * 40,
    image="sha256:1",
    agent=CLAUDE,
    deadline_ms=1000,
    budget_microusd=None,
)
STATE = new_state(stage=Stage.IMPLEMENT)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def made() -> tuple[Progress, io.StringIO, Clock]:
    stream, clock = io.StringIO(), Clock()
    return Progress(stream, clock=clock), stream, clock


def test_a_job_has_a_line_at_its_beginning_and_one_with_its_bill_at_its_end():
    progress, stream, clock = made()
    progress.began(STATE, CODER, resumed=False)
    clock.now = 61.26
    after = STATE.model_copy(update={"spend": Spend(microusd=3000, lower_bound=True)})
    facts = JobFacts(key="k", end=coder_end("k", calls=(call(),)))
    progress.ended(STATE, Outcome.DIFF_RETURNED, after, facts)
    assert stream.getvalue().splitlines() == [
        "implement  coder 2 …",
        "implement  diff_returned  (61.3 s, 1 call, 110 tokens, $0.0010, ≥ $0.0030 in all)",
    ]


def test_git_is_too_quick_for_a_line_unless_it_was_found_under_way():
    progress, stream, _ = made()
    progress.began(STATE, FindBase(key="k"), resumed=False)
    assert stream.getvalue() == ""
    progress.began(STATE, FindBase(key="k"), resumed=True)
    assert stream.getvalue() == "implement  find-base … (found under way: going on with it)\n"


def test_a_stop_is_named_where_it_leads():
    progress, stream, _ = made()
    stop = Stop(reason=StopReason.NO_CHANGE, stage=Stage.IMPLEMENT, outcome=Outcome.NOTHING_CHANGED)
    progress.began(STATE, CODER, resumed=False)
    after = STATE.model_copy(update={"stage": Stage.STOPPED, "stop": stop})
    progress.ended(STATE, Outcome.NOTHING_CHANGED, after, None)
    assert stream.getvalue().splitlines()[1] == "implement  nothing_changed → stopped: no_change  (0.0 s)"


def test_a_long_job_is_heard_of_every_fifteen_seconds():
    progress, stream, clock = made()
    progress.began(STATE, CODER, resumed=False)
    for clock.now in range(1, 32, 2):
        progress.beats(clock.now, LedgerSummary(calls=(call(),)))
    beats = stream.getvalue().splitlines()[1:]
    assert [line.split(" … ")[1] for line in beats] == [
        "15 s, 1 call, 110 tokens, $0.0010",
        "31 s, 1 call, 110 tokens, $0.0010",
    ]


def test_a_call_under_way_is_held_and_not_spent_until_the_job_has_ended():
    progress, stream, clock = made()
    progress.began(STATE, CODER, resumed=False)
    ledger = LedgerSummary(calls=(call(), call(2, settled=False, cost_microusd=613_770, usage=Usage())))
    clock.now = 20
    progress.beats(20, ledger)
    end = coder_end("k").model_copy(update={"ledger": ledger})
    progress.ended(STATE, Outcome.DIFF_RETURNED, STATE, JobFacts(key="k", end=end))
    beat, last = stream.getvalue().splitlines()[1:]
    assert beat.endswith("20 s, 2 calls, 110 tokens, $0.0010 (up to $0.61477)")
    assert "2 calls, 110 tokens, $0.61477, " in last


def notice(what: NoticeKind, **figures) -> Notice:
    return Notice(at_utc=START, what=what, n=3, spent_microusd=810_000, budget_microusd=1_000_000, **figures)


def test_what_the_proxy_noticed_is_said_at_once_and_once_a_job():
    progress, stream, clock = made()
    progress.began(STATE, CODER, resumed=False)
    spent = notice(NoticeKind.BUDGET_80)
    denied = notice(NoticeKind.AUTH_REFUSED, calls=2)
    missed = notice(NoticeKind.CACHE_MISSED, calls=3, input_tokens=30_000)
    for clock.now in (2, 4):
        progress.beats(clock.now, LedgerSummary(notices=(spent,)))
    end = coder_end("k")
    ledger = end.ledger.model_copy(update={"notices": (spent, denied, missed)})
    progress.ended(
        STATE, Outcome.DIFF_RETURNED, STATE, JobFacts(key="k", end=end.model_copy(update={"ledger": ledger}))
    )
    assert stream.getvalue().splitlines()[1:-1] == [
        "           coder 2: $0.8100 of the job's $1.0000 are spent",
        "           coder 2: the provider refused the key 2 times in a row",
        "           coder 2: 3 calls in a row read nothing from the provider's cache: 30000 input tokens",
    ]
    progress.began(STATE, CODER, resumed=False)
    progress.beats(5, LedgerSummary(notices=(spent,)))
    assert stream.getvalue().count("are spent") == 2
