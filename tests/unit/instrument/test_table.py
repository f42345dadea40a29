from typing import Any

import pytest

from instrument.asked import Asked
from instrument.report import build_report, one_task
from instrument.rows import read_rows
from instrument.schema.vocabulary import Purpose, StopReason
from instrument.table import WIDTH, render, render_bill, show_ms

READY = "2026-03-01T10:00:00Z"
KEY_1 = "api-007-implement-1-aaaaaaaa"
KEY_2 = "api-007-check-1-bbbbbbbb"
KEY_3 = "api-007-review-1-cccccccc"


def text(home: Any, purpose: Purpose | None = Purpose.TASK) -> str:
    return render(build_report(read_rows(home.path), Asked(purpose=purpose)))


def write_merged_task(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(54_416, coder_rounds=1, review_rounds=1, effects={"job.gate": 1})
    folder.write_events(
        events.call(KEY_1, 1, 54_400, {"input_tokens": 12_304, "output_tokens": 550}),
        events.job(KEY_1, 54_400, 1),
        events.job(KEY_2, 0, 0, effect="job.check", role="check", runtime=None, duration_ms=2_040),
        events.call(KEY_3, 1, 16, {"cache_read_tokens": 50}, role="reviewer", model_answered="another-1"),
        events.differed(KEY_3, "model", "claude-sonnet-4-5", "another-1", role="reviewer"),
        events.differed(KEY_3, "version", "2.1.332", "2.1.331", role="reviewer"),
        events.job(KEY_3, 16, 1, effect="job.review", role="reviewer", version="2.1.331"),
    )


def test_a_merged_task_word_for_word(home: Any, events: Any) -> None:
    write_merged_task(home, events)

    assert text(home) == (
        "cost per accepted task  $0.054416\n"
        "total                   $0.054416\n"
        "planner                 not recorded\n"
        "accepted                1 of 1 (purpose: task)\n"
        "tokens                  input 12,304, cache read 50, write 5m 0, write 1h 0,\n"
        "                        output 550\n"
        "cache share             0 % of the input was read from a cache\n"
        "of the accepted         1 at the first attempt, 1 without a person\n"
        "accepted and kept       not known yet\n"
        "\n"
        "                               total      median         p90\n"
        "lead time                    12m 03s     12m 03s     12m 03s\n"
        "  before it began            12m 03s     12m 03s     12m 03s\n"
        "rounds                  1 of coders, 1 of reviewers\n"
        "run time of all jobs    1m 00s\n"
        "\n"
        "task, state                  lead coder reviews gates stops               cost\n"
        "api-007\n"
        "  merged                  12m 03s     1       1     1     0          $0.054416\n"
        "    tokens    input 12,304, cache read 50, write 5m 0, write 1h 0, output 550\n"
        "    coder     claude 2.1.332, asked claude-sonnet-4-5, answered\n"
        "              claude-sonnet-4-5-20250929\n"
        "    reviewer  claude 2.1.331 (!) not the pinned 2.1.332, asked\n"
        "              claude-sonnet-4-5, answered another-1 (!) not the model asked\n"
    )


def test_the_bill_word_for_word(home: Any, events: Any) -> None:
    write_merged_task(home, events)

    bill = render_bill(one_task(home.path, "api-007")).splitlines()

    assert bill[:6] == [
        "bill of api-007",
        "job                      round calls          tokens     time               cost",
        "  coder                      1     1          12,854   1m 01s            $0.0544",
        "  check                      1     -               -     2.0s                  -",
        "  reviewer                   1     1              50   1m 01s          $0.000016",
        "total                              2          12,904   1m 00s          $0.054416",
    ]


@pytest.mark.parametrize(
    ("effect", "name"),
    [("job.baseline", "baseline"), ("job.compare_tests", "compare"), ("job.check", "check")],
)
def test_the_bill_tells_check_jobs_apart(home: Any, events: Any, effect: str, name: str) -> None:
    folder = home.folder("api-007")
    folder.write_merged(0)
    folder.write_events(events.job(KEY_2, 0, 0, effect=effect, role="check"))

    assert render_bill(one_task(home.path, "api-007")).splitlines()[2].split()[0] == name


def test_the_bill_has_the_set_up_in_its_lines_and_once_in_its_total(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(0)
    folder.write_events(events.job(KEY_2, 0, 0, effect="job.setup", role="setup", duration_ms=5_000))

    assert render_bill(one_task(home.path, "api-007")).splitlines()[2:4] == [
        "  setup                      1     -               -     5.0s                  -",
        "total                              0               0   1m 05s            $0.0000",
    ]


def test_the_bill_names_what_the_record_lost(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(100)
    folder.write_events(events.call(KEY_1, 1, 60), events.job(KEY_1, 60, 1))

    bill = render_bill(one_task(home.path, "api-007"))

    # 100 of the state less 60 on record.
    assert "not on record                                                           $0.00004\n" in bill
    assert "total                              1             ≥ 0   1m 00s            $0.0001\n" in bill


def test_the_bill_of_a_restarted_task_tells_its_runs_apart(home: Any, events: Any) -> None:
    for name in ("api-007.old-1", "api-007"):
        folder = home.folder(name)
        folder.write_merged(60)
        folder.write_events(events.call(KEY_1, 1, 60), events.job(KEY_1, 60, 1, lost=True))

    bill = render_bill(one_task(home.path, "api-007")).splitlines()

    assert [line.split("  ")[1] for line in bill[2:4]] == ["old-1 coder (lost)", "coder (lost)"]
    assert bill[4].endswith("$0.00012")
    assert "    restarts  1, cost included" in bill


def test_a_job_that_was_lost_at_its_start_names_no_program_and_counts_as_cut_short(
    home: Any, events: Any
) -> None:
    folder = home.folder("api-007")
    folder.write_merged(0)
    unknown = {"runtime": None, "version": None, "model_asked": None, "model_answered": None}
    folder.write_events(
        events.job(KEY_2, 0, 0, role="reviewer", effect="job.review", lost=True, **unknown),
        events.job(KEY_1, 0, 0, **(unknown | {"runtime": "command"})),
    )

    shown = text(home)

    assert "    coder     command, no model\n" in shown
    assert "    reviewer" not in shown
    assert "jobs cut short          1 lost\n" in shown


def test_none_accepted_shows_na_and_a_lower_bound_its_mark(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    folder.write_state(
        stage="implement", spend={"microusd": 54_400, "lower_bound": True, "unmetered_jobs": 1}
    )
    folder.write_events(events.call(KEY_1, 1, 54_400))

    shown = text(home)

    assert "cost per accepted task  n/a\ntotal                   ≥ $0.0544\n" in shown
    assert "≥ lower bound: 1 part is unmetered; see the tasks marked so\n" in shown
    assert "    missing   the cost of one job is not fully known\n" in shown
    assert "    tokens    ≥ input 0," in shown


def test_nothing_found_says_where_else_to_look(home: Any) -> None:
    home.folder("api-007", "demo").write_merged(1)

    assert text(home) == (
        "No task of purpose task found.\n1 found, but of another purpose (--purpose all) or not asked for\n"
    )
    assert "accepted                1 of 1 (purpose: all)\n" in text(home, None)


def test_flaky_checks_persons_and_open_findings_word_for_word(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    finding = {"id": "F3", "severity": "note", "path": "src/a.py", "line": 4, "round": 1}
    folder.write_state(
        stage="done",
        done="already_satisfied",
        flaky=["unit", "full"],
        counters={"review_rounds": 1, "interventions": 3},
        grants={"review": 6, "gate": 0, "budget_microusd": 2_500_000, "budget_ms": 2_700_000},
        findings=[finding | {"text": "Up:\x1b[2A and\nthen " + "on " * 80}],
    )
    folder.write_events(events.job(KEY_1, 0, 0, model_asked=None, model_answered=None))

    shown = text(home)

    assert "accepted                0 of 1 (purpose: task)\n" in shown
    assert "\ndone, nothing to merge  1\n" in shown
    assert "\n  already_satisfied             -     0       1     0     0            $0.0000\n" in shown
    assert "    flaky     unit, full\n" in shown
    assert "    persons   3 interventions, caps set: review 6, gate 0, $2.5000, 45m 00s\n" in shown
    assert "    open      F3 note, src/a.py:4: Up: [2A and then on on" in shown
    assert "\x1b" not in shown
    assert shown.count(" on") < 70
    assert shown.endswith(" …\n")


def test_rulings_of_models_stand_beside_what_persons_did(home: Any) -> None:
    for name, model in (("api-007", "small-1"), ("api-008", "small-1"), ("api-009", None)):
        folder = home.folder(name)
        folder.write_merged(0, interventions=1)
        given = {"kind": "ruling_recorded", "stop": "blocked", "digest": "0" * 64}
        folder.write_events(given, given | {"by": "strong", "model": model})

    shown = text(home)

    assert "interventions           3 (3 ruling)\n" in shown
    assert "ruled by models         2 small-1, strong\n" in shown
    assert shown.count("    ruled by  small-1\n") == 2
    assert shown.count("    ruled by  strong\n") == 1


def test_who_held_a_task_and_who_released_it_are_shown_as_far_as_they_are_on_record(home: Any) -> None:
    hold = {"kind": "waited", "what": "hold", "duration_ms": 3_600_000, "who": "ann"}
    whose = {"decided_utc": READY, "released_by": "bob", "released_utc": "2026-03-01T11:02:00Z"}
    folder = home.folder("api-007")
    folder.write_merged(0)
    folder.write_events(hold, hold | whose, {"kind": "waited", "what": "slot", "duration_ms": 5_000})

    shown = text(home)

    # The first is of a version that knew no more.
    assert "    held      1h 00m at a hold: ann\n" in shown
    assert (
        "    held      1h 00m at a hold: ann 2026-03-01 10:00, released by bob 2026-03-01\n"
        "              11:02 UTC\n"
    ) in shown
    assert shown.count("    held ") == 2


def test_none_of_them_leaves_no_line(home: Any, events: Any) -> None:
    write_merged_task(home, events)

    for name in ("flaky", "persons", "held", "ruled by", "open", "nothing to merge"):
        assert name not in text(home)


@pytest.mark.parametrize("stop", list(StopReason))
def test_no_line_is_wider_than_a_terminal(home: Any, events: Any, stop: StopReason) -> None:
    folder = home.folder("r" * 100 + "-007")
    usage = {"input_tokens": 10**9, "output_tokens": 10**9}
    folder.write_state(
        stage="stopped",
        stop={"reason": stop, "stage": "check", "outcome": "check_failed"},
        spend={"microusd": 10**11 + 1, "lower_bound": True, "job_ms": 10**10},
        counters={
            "coder_rounds": 99_999,
            "review_rounds": 99_999,
            "interventions": 99_999,
            "effects": {"job.gate": 99_999},
        },
        flaky=["f" * 200],
        grants={"check": 10**9, "review": 10**9, "gate": 10**9, "budget_ms": 10**12},
        findings=[
            {"id": "F1", "severity": "must-fix", "path": "p" * 300, "text": "t" * 300, "round": 99_999}
        ],
    )
    model = "m" * 150
    folder.write_events(
        events.call(KEY_1, 99_999, 10**11, usage, model_asked=model, model_answered=model + "x"),
        events.job(KEY_1, 10**11, 99_999, round=99_999, lower_bound=True, lost=True),
        *(events.stopped(number, stop) for number in range(40)),
        {"kind": "invented"},
    )

    shown = text(home) + render_bill(one_task(home.path, "r" * 100 + "-007"))

    assert max(len(line) for line in shown.splitlines()) <= WIDTH
    assert stop in shown


@pytest.mark.parametrize(
    ("duration_ms", "shown"),
    [
        (0, "0.0s"),
        (999, "0.9s"),
        (59_999, "59.9s"),
        (60_000, "1m 00s"),
        (3_599_999, "59m 59s"),
        (3_600_000, "1h 00m"),
        (86_399_999, "23h 59m"),
        (86_400_000, "1d 00h"),
    ],
)
def test_durations_are_cut_not_rounded_up(duration_ms: int, shown: str) -> None:
    assert show_ms(duration_ms) == shown


def test_searches_that_were_paid_are_shown(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(20_001)
    usage = {"input_tokens": 1, "web_searches": 2}
    folder.write_events(events.call(KEY_1, 1, 20_001, usage), events.job(KEY_1, 20_001, 1))

    assert "output 0, web searches 2" in " ".join(text(home).split())


def test_what_was_noticed_is_named_with_the_number_of_its_jobs(home: Any, events: Any) -> None:
    folder = home.folder("api-007")
    folder.write_merged(0)
    folder.write_events(
        events.noticed(KEY_1, "budget_80"),
        events.noticed(KEY_1, "cache_missed", calls=3, input_tokens=30_000),
        events.noticed(KEY_2, "budget_80"),
    )

    shown = render(build_report(read_rows(home.path), Asked(purpose=None)))

    assert "    noticed   budget_80 in 2 jobs, cache_missed in 1 job\n" in shown
