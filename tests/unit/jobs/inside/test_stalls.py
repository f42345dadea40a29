import json
from pathlib import Path

from jobs.inside.calls import Calls
from jobs.inside.leftovers import Leftovers
from jobs.inside.order import ShellCalls, parse_order
from jobs.inside.output import Masker
from jobs.inside.places import Places
from jobs.inside.repeats import Repeats, Stall
from jobs.inside.report import NO_PROGRESS
from jobs.inside.stalls import Stalls, overhear, shown
from support.supervisor import SECRET, make_order

SHAPE = ShellCalls({}, "run")


def line(command: str) -> bytes:
    return json.dumps({"run": command}).encode() + b"\n"


def test_the_limit_is_passed_by_what_was_heard_and_stays_passed() -> None:
    stalls = Stalls(Calls(SHAPE), Repeats(1), lambda: False)
    limit = stalls.as_limit()
    assert limit() is None
    stalls.write(line("make")[:9])
    assert limit() is None
    stalls.write(line("make")[9:])
    assert limit() is None
    stalls.write(line("make"))
    assert stalls.found is None
    assert limit() == NO_PROGRESS
    stalls.write(line("ls"))
    stalls.close()
    assert limit() == NO_PROGRESS
    assert stalls.found == Stall("make", 2)


def test_it_listens_only_where_it_is_asked_to_and_can(tmp_path: Path) -> None:
    places = Places(str(tmp_path))
    (tmp_path / "repo").mkdir()
    calls = {"line": {}, "items": None, "item": {}, "command": "run"}
    for limit, shape, listens in [(3, calls, True), (0, calls, False), (3, None, False)]:
        document = make_order("a" * 40, run="true", same_command=limit)
        document["agent"]["shell_calls"] = shape
        order = parse_order(document)
        assert order.agent is not None
        assert (overhear(order, order.agent, places, Leftovers()) is not None) is listens


def test_a_command_is_shown_in_one_line_without_a_secret() -> None:
    masker = Masker([SECRET])
    assert shown(f"curl -H {SECRET}\n\tx \x1b[2J\ud800", masker) == "curl -H ***  x  [2J\\ud800"
    cut = shown("x" * 290 + SECRET, masker)
    assert cut == "x" * 290 + "***"
    assert len(shown("é" * 999, masker)) == 300
