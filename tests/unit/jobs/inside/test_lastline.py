from jobs.inside.lastline import LastLine
from jobs.inside.report import HUNG_AT_END


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def watched(*shapes: dict[str, str]) -> tuple[LastLine, Clock]:
    clock = Clock()
    return LastLine(shapes or ({"type": "result"},), grace_s=5, clock=clock), clock


def test_a_program_that_stays_after_its_last_line_hangs() -> None:
    last, clock = watched()
    ask = last.as_limit()
    last.write(b'{"type":"assistant"}\n{"type":"res')
    clock.now = 100
    assert ask() is None
    last.write(b'ult"}\n')
    clock.now = 104.9
    assert ask() is None
    clock.now = 105
    assert ask() == HUNG_AT_END


def test_a_line_after_it_shows_that_it_was_not_the_last() -> None:
    last, clock = watched({"type": "step", "part.reason": "stop"})
    last.write(b'{"type":"step","part":{"reason":"stop"}}\n{"type":"text"}\n')
    clock.now = 100
    assert last.as_limit()() is None
    last.write(b'{"type":"step","part":{"reason":"tool"}}\n')
    clock.now = 200
    assert last.as_limit()() is None


def test_what_is_no_json_is_no_last_line() -> None:
    last, clock = watched()
    last.write(b'type result\n[1]\n{"type":["result"]}\n\xff\n' + b"[" * 100_000 + b"\n")
    clock.now = 100
    assert last.as_limit()() is None


def test_a_program_whose_last_line_is_not_known_is_waited_for() -> None:
    last = LastLine((), grace_s=0)
    last.write(b'{"type":"result"}\n')
    assert last.as_limit()() is None
