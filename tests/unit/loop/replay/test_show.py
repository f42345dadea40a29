import io

from loop.replay.record import Fate, Line
from loop.replay.show import bar, show_line, summary

TRAVELLED = Line(commit="1" * 40, fate=Fate.TRAVELLED)
STOPPED = Line(commit="2" * 40, fate=Fate.STOPPED, reason="nested_repo", paths=("a", "b", "c", "d"))
WRONG = Line(commit="3" * 40, fate=Fate.MISMATCH, reason="error", detail="the tree is x; see y")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_names_what_it_is_about() -> None:
    assert show_line(STOPPED) == "222222222222  stopped  nested_repo  a, b, c and 1 more"
    assert show_line(WRONG) == "333333333333  mismatch  error  the tree is x; see y"


def test_a_summary_counts_and_says_why() -> None:
    text = summary([TRAVELLED, TRAVELLED, STOPPED], 0.5, 3)

    assert text.splitlines() == [
        "2 of 3 commits travelled, 6.0 a second.",
        "1 stopped: nested_repo (it adds or moves a submodule).",
    ]


def test_a_mismatch_is_owned_up_to() -> None:
    assert "a bug of ours" in summary([WRONG], 1, 1)


def test_a_rerun_with_nothing_left_tells_no_speed() -> None:
    assert summary([TRAVELLED], 0.1, 0) == "1 of 1 commits travelled."


def test_without_a_terminal_no_control_code_is_written() -> None:
    stream = io.StringIO()
    with bar(stream, 3, 1) as step:
        step()
    assert stream.getvalue() == ""


def test_on_a_terminal_the_bar_counts() -> None:
    stream = Terminal()
    with bar(stream, 3, 1) as step:
        step()
    assert "2/3" in stream.getvalue()
