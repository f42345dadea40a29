"""A life for every stop reason that a machine can come to, and the acts of a person that lead on from it."""

from instrument.schema.job import AgentResult, BigPath
from instrument.schema.state import Caps
from instrument.schema.vocabulary import Ended
from loop.machine.facts import CandidateProblem, EngineFacts, MergeFacts, RebaseFacts, SetupFacts
from support.ends import agent_run, denied, failed_call, tree
from support.lives import RED, base_facts, coder, commands, lost, must_fix, problem, reviewer, terms


def coders(times=1, **changes):
    return {"implement": [coder(**changes)] * times}


def candidate(kind):
    return {"commit_candidate": [problem(kind, "x")]}


NO_REPAIRS = {"terms": terms(caps=Caps(check=0, gate=0, review=1, main_moved=0, interruptions=0))}
BIG = tree(oversized=True, biggest=(BigPath(path="a", size_bytes=1),))

LIVES = {
    "ready_to_merge": ({}, {"authorised": False}),
    "baseline_red": ({"baseline": [RED] * 2}, {}),
    "baseline_green": ({"baseline": [commands(), RED]}, {"terms": terms(turns_green=("unit",))}),
    "no_change": (coders(report={"tree": tree("b")}), {}),
    "out_of_scope": (candidate(CandidateProblem.OUT_OF_SCOPE), {}),
    "protected_path": (candidate(CandidateProblem.PROTECTED), {}),
    "nested_repo": (candidate(CandidateProblem.NESTED), {}),
    "uncapturable": (coders(report={"tree": tree(unencodable=("x",))}), {}),
    "patch_too_large": (coders(report={"tree": BIG}), {}),
    "patch_integrity": (candidate(CandidateProblem.UNPROVEN), {}),
    "bad_job_output": (coders(report={"error": "no space"}), {}),
    "checks_exhausted": ({"check": [RED] * 2}, NO_REPAIRS),
    "review_exhausted": ({"review": [must_fix]}, NO_REPAIRS),
    "review_unreadable": (
        {"review": [reviewer(fault="no_block")] * 2},
        {},
    ),
    "gate_exhausted": ({"gate": [RED] * 2}, NO_REPAIRS),
    "merge_conflict": (
        {"rebase": [lambda _, e: RebaseFacts(key=e.key, onto="8" * 40, conflicts=("x",))]},
        {},
    ),
    "main_moving": ({"merge": [lambda _, e: MergeFacts(key=e.key, result="moved")]}, NO_REPAIRS),
    "push_rejected": ({"merge": [lambda _, e: MergeFacts(key=e.key, result="refused", details=("x",))]}, {}),
    "spend_budget": (coders(denials=(denied("budget"),)), {}),
    "time_budget": ({}, {"terms": terms(budget_ms=90_000)}),
    "unknown_price": ({"find_base": [lambda s, e: base_facts(s, e, unpriced=("m",))]}, {}),
    "provider_rate_limited": (coders(calls=(failed_call(429),)), {}),
    "provider_auth": (coders(calls=(failed_call(401),)), {}),
    "provider_unavailable": (coders(calls=(failed_call(500),)), {}),
    "agent_failed": (coders(calls=()), {}),
    "agent_no_first_call": (coders(2, report={"ended": Ended.NO_FIRST_CALL}, calls=()), {}),
    "job_timeout": (coders(report={"ended": Ended.DEADLINE}), {}),
    "memory_limit": (coders(container={"oom_killed": True}), {}),
    "interrupted_too_often": ({"implement": [lost]}, NO_REPAIRS),
    "runner_unavailable": ({"merge": [lambda _, e: EngineFacts(key=e.key, detail="x")]}, {}),
    "image_unfit": ({"set_up": [lambda _, e: SetupFacts(key=e.key, image=None, detail="x")]}, {}),
    "blocked": (coders(result=AgentResult(outcome="blocked", question="which?")), {}),
    "tests_weakened": (candidate(CandidateProblem.WEAKENED), {}),
    "secret_found": (candidate(CandidateProblem.SECRET), {}),
    "submodule_changed": (candidate(CandidateProblem.SUBMODULE), {}),
    "unsupported_filter": (candidate(CandidateProblem.FILTER), {}),
    "no_progress": (coders(report={"ended": Ended.NO_PROGRESS}), {}),
    "pids_limit": (coders(report={"pids_refused": 1}, agent=agent_run(finished=False)), {}),
    "disk_full": (coders(report={"ended": Ended.DISK}), {}),
    "parked": (coders(report={"tree": tree("b")}), {}),
}

WAYS = {
    "ready_to_merge": "ruling edit auto_merge",
    "baseline_red": "rerun edit",
    "baseline_green": "rerun edit",
    "no_change": "ruling edit",
    "out_of_scope": "ruling edit allow",
    "protected_path": "ruling edit allow",
    "nested_repo": "ruling edit",
    "uncapturable": "ruling edit",
    "patch_too_large": "ruling edit",
    "patch_integrity": "ruling edit",
    "bad_job_output": "ruling edit",
    "checks_exhausted": "ruling edit grant:check",
    "review_exhausted": "ruling edit grant:review",
    "review_unreadable": "ruling edit",
    "gate_exhausted": "ruling edit grant:gate",
    "merge_conflict": "ruling edit",
    "main_moving": "rerun edit grant:main_moved",
    "push_rejected": "rerun edit",
    "spend_budget": "edit grant:usd",
    "time_budget": "edit grant:minutes",
    "unknown_price": "rerun edit",
    "provider_rate_limited": "rerun edit",
    "provider_auth": "rerun edit",
    "provider_unavailable": "rerun edit",
    "agent_failed": "ruling edit",
    "agent_no_first_call": "rerun edit",
    "job_timeout": "ruling edit",
    "memory_limit": "ruling edit",
    "interrupted_too_often": "rerun edit grant:interruptions",
    "runner_unavailable": "rerun edit",
    "image_unfit": "rerun edit",
    "blocked": "ruling edit",
    "tests_weakened": "ruling edit",
    "secret_found": "ruling edit allow",
    "submodule_changed": "ruling edit",
    "unsupported_filter": "ruling edit",
    "no_progress": "ruling edit",
    "pids_limit": "ruling edit",
    "disk_full": "ruling edit",
    "parked": "ruling edit",
}
"""Written by hand: what docs/stops.md says is held against this, not read from it."""
