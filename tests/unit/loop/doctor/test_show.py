import json

from loop.doctor.checks import Result
from loop.doctor.finding import failed, note, ok, skipped
from loop.doctor.show import as_json, plain_line, summary

RESULTS = [
    Result("git", ok("2.39.5"), 7),
    Result("hooks", note("pre-commit", "put it into [checks]"), 8),
    Result("key", failed("KEY is not set", "set it"), 9),
    Result("remote", skipped("[merge] push is off"), 10),
]


def test_lines_are_aligned_and_say_what_to_do():
    assert [plain_line(result, 6) for result in RESULTS] == [
        "ok       git     2.39.5",
        "note     hooks   pre-commit; put it into [checks]",
        "failed   key     KEY is not set; set it",
        "skipped  remote  [merge] push is off",
    ]


def test_an_object_a_line_holds_all_of_it():
    line = as_json(RESULTS[2])
    assert "\n" not in line
    assert json.loads(line) == {
        "name": "key",
        "state": "failed",
        "found": "KEY is not set",
        "mend": "set it",
        "duration_ms": 9,
    }


def test_the_last_line_counts():
    assert summary(RESULTS) == "4 checks: 1 ok, 1 note, 1 failed, 1 skipped."
    assert summary(RESULTS[:1]) == "1 checks: 1 ok."


def test_what_a_server_said_moves_no_cursor():
    line = plain_line(Result("remote", failed("it said \x1b[2J\r\n:", "ask"), 1), 6)
    assert line == "failed   remote  it said  [2J  :; ask"
