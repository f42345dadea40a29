"""What a coder must leave for the review, and when a provider says that it can be asked again."""

from datetime import timedelta
from pathlib import Path

import pytest

from instrument.schema.vocabulary import EffectKind, Ended, Stage
from support.ends import START, agent_run, call
from support.lives import Life, base_facts, coder, must_fix, new_state, reviewer, terms

LIMITED = {"status": 429, "cost_microusd": 0, "retry_after_s": 60, "duration_ms": 500}
RESET = START + timedelta(seconds=60.5)


def test_a_coder_leaves_the_reserve_alone_and_a_reviewer_may_spend_it(tmp_path: Path):
    state = new_state(terms=terms(budget_microusd=3000, reserve_microusd=1000))
    life = Life(tmp_path, state, review=[must_fix]).run()
    assert (life.ending, life.state.stop.stage) == ("spend_budget", Stage.IMPLEMENT)
    assert [effect.budget_microusd for effect in life.begun(EffectKind.IMPLEMENT)] == [2000]
    assert [effect.budget_microusd for effect in life.begun(EffectKind.REVIEW)] == [2000]
    assert not life.grant("usd", 3000)
    assert life.grant("usd", 3001)
    assert life.begun(EffectKind.IMPLEMENT)[1].budget_microusd == 1
    assert life.begun(EffectKind.REVIEW)[1].budget_microusd == 1


def test_a_review_goes_on_in_what_the_coder_left(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(budget_microusd=2000, reserve_microusd=1000))).run()
    assert life.ending == "merged"
    assert life.begun(EffectKind.REVIEW)[0].budget_microusd == 1000


def test_a_budget_within_the_reserve_is_a_stop_before_any_coder(tmp_path: Path):
    life = Life(tmp_path, new_state(terms=terms(budget_microusd=900, reserve_microusd=1000))).run()
    assert life.ending == "spend_budget"
    assert life.state.spend.microusd == 0


def test_a_review_that_stopped_for_money_needs_no_reserve_to_go_on(tmp_path: Path):
    state = new_state(terms=terms(budget_microusd=1000, reserve_microusd=500))
    life = Life(tmp_path, state, implement=[coder(calls=(call(cost_microusd=1500),))]).run()
    assert (life.ending, life.state.stop.stage) == ("spend_budget", Stage.REVIEW)
    assert life.grant("usd", 1600)
    assert life.ending == "merged"


def test_minutes_that_only_cover_the_reserve_do_not_begin_a_coder(tmp_path: Path):
    state = new_state(terms=terms(budget_ms=240_000, reserve_ms=60_000))
    life = Life(tmp_path, state, review=[must_fix]).run()
    assert (life.ending, life.state.stop.stage) == ("time_budget", Stage.IMPLEMENT)
    assert not life.grant("minutes", 240_000 + 60_000)
    assert life.grant("minutes", 240_000 + 61_000)
    assert life.begun(EffectKind.IMPLEMENT)[1].deadline_ms == 1000


@pytest.mark.parametrize("stage", ["implement", "review"])
@pytest.mark.parametrize(
    ("status", "reason"), [(429, "provider_rate_limited"), (529, "provider_unavailable")]
)
def test_a_reset_time_that_the_provider_names_is_kept(tmp_path: Path, stage, status, reason):
    changes = {"calls": (call(**LIMITED | {"status": status}),)}
    move = coder(**changes) if stage == "implement" else reviewer(fault="absent", **changes)
    life = Life(tmp_path, **{stage: [move]}).run()
    assert life.ending == reason
    assert life.state.stop.retry_at_utc == RESET
    assert life.state.counters.coder_rounds == (0 if stage == "implement" else 1)


def test_a_provider_that_names_no_time_has_none(tmp_path: Path):
    silent = call(**LIMITED | {"retry_after_s": None})
    life = Life(tmp_path, implement=[coder(calls=(silent,))]).run()
    assert (life.ending, life.state.stop.retry_at_utc) == ("provider_rate_limited", None)


def test_a_provider_that_the_preflight_finds_limited_has_none(tmp_path: Path):
    life = Life(tmp_path, find_base=[lambda s, e: base_facts(s, e, provider="limited")]).run()
    assert (life.ending, life.state.stop.retry_at_utc) == ("provider_rate_limited", None)


def test_a_stop_for_another_reason_waits_for_no_provider(tmp_path: Path):
    late = coder(calls=(call(**LIMITED),), report={"ended": Ended.DEADLINE}, agent=agent_run(finished=False))
    life = Life(tmp_path, implement=[late]).run()
    assert (life.ending, life.state.stop.retry_at_utc) == ("job_timeout", None)


def test_a_last_call_that_came_right_has_no_time(tmp_path: Path):
    asks = coder(calls=(call(**LIMITED), call(2)), agent=agent_run(finished=False), report={"tree": None})
    life = Life(tmp_path, implement=[asks]).run()
    assert (life.ending, life.state.stop.retry_at_utc) == ("bad_job_output", None)
