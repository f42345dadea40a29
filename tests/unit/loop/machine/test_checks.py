import pytest

from instrument.schema.vocabulary import Outcome
from loop.machine.checks import (
    commands_of,
    compared_lines,
    failed_of,
    flaky_names,
    judge_baseline,
    judge_check,
    judge_gate,
    merge_runs,
    names_again,
)
from support.ends import command, commands_end, end
from support.lives import new_state, terms

SET_UP = command("always.1", 1)
LINT, UNIT, DOCS = command("lint"), command("unit", 1), command("docs", None, timed_out=True)


def turning(*names, first_run=()):
    return new_state(terms=terms(turns_green=names), first_run=first_run)


def names(commands):
    return [each.name for each in commands]


def test_nothing_is_known_of_the_commands_of_a_job_without_a_report():
    assert commands_of(end("k").model_copy(update={"report": None})) == ()


def test_a_set_up_that_failed_is_a_failed_command_whether_it_was_listed_or_not():
    for listed in ((SET_UP,), (command("lint"),)):
        made = commands_end("k", *listed, report={"setup_failed": "always.1"})
        assert names(failed_of(commands_of(made))) == ["always.1"]


def test_a_second_run_replaces_what_it_ran_and_nothing_else():
    merged = merge_runs((LINT, UNIT, DOCS), (command("unit"), command("docs", 2)))
    assert [(each.name, each.has_passed) for each in merged] == [
        ("lint", True),
        ("unit", True),
        ("docs", False),
    ]
    assert merge_runs((), (UNIT,)) == (UNIT,)


def test_a_check_that_the_second_run_did_not_come_to_is_as_it_was():
    assert names(failed_of(merge_runs((UNIT, DOCS), (command("unit"),)))) == ["docs"]


def test_a_set_up_that_fails_the_second_time_leaves_the_first_failures_and_its_own():
    assert names(failed_of(merge_runs((LINT, UNIT), (SET_UP,)))) == ["unit", "always.1"]


def test_after_a_set_up_that_failed_the_second_run_stands_alone():
    assert merge_runs((SET_UP,), (LINT, command("unit"))) == (LINT, command("unit"))


@pytest.mark.parametrize(
    ("first", "again"),
    [((), ()), ((LINT, UNIT, DOCS), ("unit", "docs")), ((SET_UP,), ()), ((SET_UP, UNIT), ())],
)
def test_only_what_failed_is_run_again_and_all_of_it_after_a_failed_set_up(first, again):
    assert names_again(first) == again


def test_what_must_fail_is_not_run_again():
    assert names_again((LINT, UNIT, DOCS), but=("unit",)) == ("docs",)


def test_flaky_is_what_failed_and_then_passed():
    first = (LINT, UNIT, DOCS)
    assert flaky_names(first, merge_runs(first, (command("unit"), DOCS))) == ("unit",)
    assert flaky_names((), (LINT,)) == ()


@pytest.mark.parametrize(
    ("red", "first", "second"),
    [
        ((), Outcome.BASELINE_ALREADY_GREEN, None),
        (("unit",), Outcome.BASELINE_PASSED, None),
        (("lint",), Outcome.BASELINE_DOUBTED, Outcome.BASELINE_FAILED),
        (("unit", "lint"), Outcome.BASELINE_DOUBTED, Outcome.BASELINE_FAILED),
    ],
)
def test_a_baseline_is_held_against_what_the_task_turns_green(red, first, second):
    ends = tuple(command(name, 1 if name in red else 0) for name in ("lint", "unit"))
    assert judge_baseline(turning("unit"), commands_end("k", *ends)) is first
    if second is not None:
        again = commands_end("k", command("lint", 1))
        assert judge_baseline(turning("unit", first_run=ends), again) is second


def test_a_task_that_turns_nothing_green_has_a_baseline_that_passes():
    assert judge_baseline(new_state(), commands_end("k")) is Outcome.BASELINE_PASSED


@pytest.mark.parametrize("judging", [judge_check, judge_gate])
def test_nothing_is_doubted_twice(judging):
    red = commands_end("k", UNIT)
    assert judging(new_state(), red) in (Outcome.CHECK_DOUBTED, Outcome.GATE_DOUBTED)
    assert judging(new_state(first_run=(UNIT,)), red) in (Outcome.CHECK_FAILED, Outcome.GATE_FAILED)


def test_the_check_that_turns_green_is_doubted_while_working_and_not_at_the_gate():
    red = commands_end("k", LINT, UNIT)
    assert judge_check(turning("unit"), red) is Outcome.CHECK_DOUBTED
    assert judge_gate(turning("unit"), red) is Outcome.GATE_FAILED
    assert judge_gate(turning("other"), red) is Outcome.GATE_DOUBTED


def test_what_fails_with_the_bases_tests_is_a_fact_for_the_reviewer():
    assert compared_lines(commands_end("k", LINT, UNIT, DOCS)) == (
        "unit fails (exit code 1) with the base's test files",
        "docs fails (timed out) with the base's test files",
    )
    assert compared_lines(commands_end("k", LINT)) == ("every check passes with the base's test files, too",)
    broken = commands_end("k", SET_UP, report={"setup_failed": "always.1"})
    assert compared_lines(broken) == ("always.1 fails (exit code 1) with the base's test files",)
