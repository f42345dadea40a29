from instrument.schema.events import EVENT
from instrument.schema.job import AgentNames
from instrument.schema.ledger import Notice
from instrument.schema.state import Attempt, Climb, Resolver, Ruling, Stop, Tried
from instrument.schema.vocabulary import (
    EffectKind,
    LadderStep,
    NoticeKind,
    Outcome,
    Purpose,
    Role,
    RuntimeName,
    Severity,
    Stage,
    StopReason,
)
from jobs.pins import pinned_versions
from loop.machine.facts import (
    CancelledFacts,
    EngineFacts,
    JobFacts,
    ResolveFacts,
    ReviewFacts,
    SetupFacts,
)
from loop.record import cancelled_entries, entries_of
from support.ends import (
    START,
    agent_run,
    call,
    coder_end,
    command,
    commands_end,
    denied,
    end,
    finding,
    resolver_end,
    review_end,
)
from support.lives import new_state

KEY = "demo-001-x-1-00000000"


def events(entries):
    """The entries as they would reach the disk: every one must be a whole event."""
    stamp = {"n": 1, "at_utc": START, "task_id": "t", "run_id": "r", "purpose": Purpose.TASK}
    return [EVENT.validate_python(kind(**stamp, **fields)) for kind, fields in entries]


def moved(kind, facts, outcome=Outcome.DIFF_RETURNED, round_=2):
    before = new_state(stage=Stage.IMPLEMENT, attempt=Attempt(key=KEY, kind=kind, folder="jobs/0001-x-1"))
    after = before.model_copy(update={"seq": 8})
    return events(entries_of(before, outcome, facts, after, round_=round_))


def test_a_coders_end_gives_each_call_each_reason_of_denial_its_end_and_the_transition():
    ended = coder_end(
        KEY,
        calls=(call(1), call(2, settled=False, cost_microusd=7)),
        denials=(denied("path"), denied("budget"), denied("path")),
    )
    found = moved(EffectKind.IMPLEMENT, JobFacts(key=KEY, end=ended))
    assert [event.kind for event in found] == [
        "model_call",
        "model_call",
        "request_denied",
        "request_denied",
        "job_ended",
        "transition",
    ]
    assert [(e.call, e.cost_microusd, e.settled, e.role, e.round) for e in found[:2]] == [
        (1, 1000, True, Role.CODER, 2),
        (2, 7, False, Role.CODER, 2),
    ]
    assert [(e.reason, e.count) for e in found[2:4]] == [("budget", 1), ("path", 2)]
    job = found[4]
    assert (job.calls, job.cost_microusd, job.lower_bound, job.duration_ms) == (2, 1007, True, 60_000)
    assert (job.model_asked, job.version) == ("claude-sonnet-4-5", pinned_versions()[RuntimeName.CLAUDE])
    assert found[5].state_seq == 8


def test_a_jobs_end_names_who_worked_as_its_report_does():
    ended = coder_end(KEY)
    assert ended.report is not None
    names = AgentNames(
        runtime=RuntimeName.CODEX,
        version="0.171.0",
        model_asked="gpt-5.5",
        model_answered="gpt-5.5-2026-01-01",
    )
    told = ended.model_copy(update={"report": ended.report.model_copy(update={"agent": names})})
    job = moved(EffectKind.IMPLEMENT, JobFacts(key=KEY, end=told))[-2]
    assert (job.runtime, job.version, job.model_asked, job.model_answered) == (
        *("codex", "0.171.0"),
        *("gpt-5.5", "gpt-5.5-2026-01-01"),
    )


def test_what_the_proxy_noticed_is_an_event_of_its_job_with_its_figures():
    notice = Notice(
        at_utc=START,
        what=NoticeKind.CACHE_MISSED,
        n=4,
        spent_microusd=10,
        budget_microusd=1000,
        calls=3,
        input_tokens=30_000,
    )
    ended = coder_end(KEY, calls=(call(1).model_copy(update={"host": "a.example.org"}),))
    ended = ended.model_copy(update={"ledger": ended.ledger.model_copy(update={"notices": (notice,)})})
    asked, noticed = moved(EffectKind.IMPLEMENT, JobFacts(key=KEY, end=ended))[:2]
    assert asked.host == "a.example.org"
    assert (noticed.kind, noticed.key, noticed.role, noticed.round) == ("notice_raised", KEY, Role.CODER, 2)
    assert (noticed.what, noticed.call, noticed.calls) == (NoticeKind.CACHE_MISSED, 4, 3)
    assert (noticed.spent_microusd, noticed.budget_microusd, noticed.input_tokens) == (10, 1000, 30_000)


def test_commands_are_named_with_their_ends_and_never_with_their_output():
    ended = commands_end(KEY, command("unit", 1), command("lint", None, timed_out=True))
    found = moved(EffectKind.CHECK, JobFacts(key=KEY, end=ended), Outcome.CHECK_FAILED)
    assert [(e.name, e.exit_code, e.timed_out) for e in found[:2]] == [
        ("unit", 1, False),
        ("lint", None, True),
    ]
    assert found[2].role is Role.CHECK
    assert found[2].runtime is None


def test_a_review_is_numbers_and_a_must_fix_under_approve_counts_as_changes():
    findings = (finding(1, 2), finding(2, 2, Severity.NOTE), finding(3, 2, Severity.SHOULD_FIX))
    facts = ReviewFacts(key=KEY, end=review_end(KEY), findings=findings, dropped=4)
    review = moved(EffectKind.REVIEW, facts, Outcome.MUST_FIX_FOUND)[-2]
    assert (review.verdict, review.must_fix, review.should_fix, review.notes, review.dropped) == (
        *("changes", 1, 1, 1, 4),
    )
    facts = ReviewFacts(key=KEY, end=review_end(KEY), fault="no_block")
    assert moved(EffectKind.REVIEW, facts, Outcome.VERDICT_MISSING)[-2].verdict == "no_block"
    facts = ReviewFacts(key=KEY, end=review_end(KEY), findings=findings[1:])
    assert moved(EffectKind.REVIEW, facts, Outcome.REVIEW_APPROVED)[-2].verdict == "approve"


def test_a_reviewer_that_the_machine_lost_has_reviewed_nothing():
    ended = end(KEY, container={"lost": True}).model_copy(update={"report": None})
    facts = ReviewFacts(key=KEY, end=ended, fault="absent")
    kinds = [e.kind for e in moved(EffectKind.REVIEW, facts, Outcome.JOB_INTERRUPTED)]
    assert kinds == ["job_ended", "attempt_interrupted", "transition"]


def test_a_lost_job_is_an_interruption_whose_cost_is_still_told():
    ended = end(KEY, container={"lost": True}, calls=(call(),)).model_copy(update={"report": None})
    found = moved(EffectKind.IMPLEMENT, JobFacts(key=KEY, end=ended), Outcome.JOB_INTERRUPTED)
    assert [event.kind for event in found] == ["model_call", "job_ended", "attempt_interrupted", "transition"]
    assert found[1].lost
    assert found[1].ended is None
    assert found[2].interruptions == 1


def test_what_a_job_used_is_told_and_what_is_not_known_is_none():
    told = end(KEY, report={"peak_memory_bytes": 4096, "peak_pids": 12, "cpu_ms": 0})
    for ended, used in (
        (told, (4096, 12, 0)),
        (end(KEY), (None, None, None)),
        (told.model_copy(update={"report": None}), (None, None, None)),
    ):
        job = moved(EffectKind.IMPLEMENT, JobFacts(key=KEY, end=ended))[0]
        assert (job.peak_memory_bytes, job.peak_pids, job.cpu_ms) == used


def test_another_model_and_another_version_than_configured_are_events_of_their_own():
    agent = agent_run().model_copy(update={"version": "0.0.1"})
    calls = (call(1, model_answered="another-1"), call(2, model_answered="another-1"))
    found = moved(EffectKind.REVIEW, JobFacts(key=KEY, end=review_end(KEY, calls=calls, agent=agent)))
    told = [(e.what, e.asked, e.found, e.role, e.round) for e in found if e.kind == "agent_differed"]
    assert told == [
        ("model", "claude-sonnet-4-5", "another-1", Role.REVIEWER, 2),
        ("version", pinned_versions()[RuntimeName.CLAUDE], "0.0.1", Role.REVIEWER, 2),
    ]


def test_a_set_up_that_ran_has_an_end_that_cost_nothing():
    ran = commands_end(KEY, command("cached.1"), denials=(denied("egress"),))
    found = moved(
        EffectKind.SET_UP, SetupFacts(key=KEY, image="sha256:1", end=ran), Outcome.IMAGE_READY, round_=0
    )
    assert [event.kind for event in found] == ["request_denied", "job_ended", "transition"]
    job = found[1]
    assert (job.effect, job.role, job.cost_microusd, job.calls, job.lower_bound) == (
        *(EffectKind.SET_UP, Role.SETUP),
        *(0, 0, False),
    )
    assert job.duration_ms > 0
    found = moved(EffectKind.SET_UP, SetupFacts(key=KEY, image="sha256:1"), Outcome.IMAGE_READY, round_=0)
    assert [event.kind for event in found] == ["transition"]


def test_memory_is_named_whichever_source_saw_it():
    for changes in ({"container": {"oom_killed": True}}, {"report": {"oom_kills": 2}}):
        facts = JobFacts(key=KEY, end=end(KEY, **changes))
        assert moved(EffectKind.IMPLEMENT, facts, Outcome.MEMORY_EXHAUSTED)[0].oom


def test_what_began_nothing_is_a_transition_without_a_key():
    before = new_state(stage=Stage.IMPLEMENT)
    after = before.model_copy(update={"stage": Stage.STOPPED})
    (only,) = events(entries_of(before, Outcome.SPEND_EXHAUSTED, None, after, round_=0))
    assert (only.kind, only.key) == ("transition", "")


def test_facts_without_a_job_are_a_transition_alone():
    assert len(moved(EffectKind.IMPLEMENT, EngineFacts(key=KEY, detail="gone"), Outcome.ENGINE_FAILED)) == 1


def test_a_cancelled_job_tells_what_it_had_cost():
    ended = coder_end(KEY, agent=agent_run(finished=False))
    facts = CancelledFacts(key=KEY, end=ended, signal=2)
    kinds = [e.kind for e in events(cancelled_entries(facts, EffectKind.IMPLEMENT, 1))]
    assert kinds == ["model_call", "job_ended"]
    facts = CancelledFacts(key=KEY, end=None, signal=2)
    assert cancelled_entries(facts, EffectKind.MERGE, 0) == []


ASKED = Stop(reason=StopReason.BLOCKED, stage=Stage.IMPLEMENT, outcome=Outcome.CODER_BLOCKED)


def laddered(facts, outcome, before, after):
    """The events of a transition between two states."""
    attempt = Attempt(key=KEY, kind=EffectKind.RESOLVE, folder="jobs/0001-x-1")
    return events(
        entries_of(
            new_state(stage=Stage.RESOLVE, attempt=attempt, **before),
            outcome,
            facts,
            new_state(seq=8, **after),
            round_=1,
        )
    )


def test_a_stop_that_a_model_looks_into_is_a_step_and_no_stop():
    climb = Climb(stop=ASKED, step=LadderStep.SMALL)
    told = laddered(None, Outcome.CODER_BLOCKED, {}, {"stage": Stage.RESOLVE, "climb": climb})
    assert [event.kind for event in told] == ["transition", "ladder_step"]
    assert (told[0].to_stage, told[0].stop) == ("resolve", None)
    assert (told[1].state_seq, told[1].step, told[1].stop) == (8, "small", "blocked")
    assert laddered(None, Outcome.JOB_INTERRUPTED, {"climb": climb}, {"climb": climb})[1:] == []


def test_what_the_machine_looks_into_again_is_a_step():
    tried = (Tried(step=LadderStep.MACHINE, stop=StopReason.IMAGE_UNFIT),)
    (_, step) = laddered(None, Outcome.SETUP_FAILED, {}, {"tried": tried})
    assert (step.step, step.stop) == ("machine", "image_unfit")


def test_a_models_ruling_is_told_with_its_giver_and_not_its_text_after_what_its_job_cost():
    by = Resolver(step=LadderStep.STRONG, model="m-1")
    given = Ruling(stop=StopReason.BLOCKED, digest="d" * 64, text="SECRET", by=by)
    persons = Ruling(stop=StopReason.BLOCKED, digest="e" * 64, text="SECRET")
    facts = ResolveFacts(key=KEY, end=resolver_end(KEY), ruling="SECRET")
    before = {"rulings": (persons,), "climb": Climb(stop=ASKED, step=LadderStep.STRONG)}
    tried = (Tried(step=LadderStep.STRONG, stop=StopReason.BLOCKED, said="SECRET", ruled=True),)
    told = laddered(facts, Outcome.STOP_RULED, before, {"rulings": (persons, given), "tried": tried})
    assert [event.kind for event in told] == ["model_call", "job_ended", "transition", "ruling_recorded"]
    assert (told[1].role, told[1].effect) == ("resolver", "job.resolve")
    assert (told[3].by, told[3].model, told[3].digest) == ("strong", "m-1", "d" * 64)
    assert "SECRET" not in "".join(event.model_dump_json() for event in told)
