from collections.abc import Callable, Iterable

import pytest

from jobs.inside.repeats import MOST_COMMANDS, Repeats, Stall


class Tree:
    """What a look answers, none for one too soon; the asks are counted."""

    def __init__(self, *, answer: bool | None = False) -> None:
        self.answer = answer
        self.asked = 0

    def look(self) -> bool | None:
        self.asked += 1
        return self.answer


def run(counts: Repeats, commands: Iterable[str], look: Callable[[], bool | None]) -> list[Stall | None]:
    return [counts.note([command], look) for command in commands]


def test_a_command_may_come_as_often_as_the_limit_and_not_once_more() -> None:
    tree = Tree()
    ends = run(Repeats(3), ["a"] * 4, tree.look)
    assert ends == [None, None, None, Stall("a", 4)]
    assert tree.asked == 3


def test_commands_in_turn_are_no_progress_either() -> None:
    ends = run(Repeats(3), ["a", "b"] * 4, Tree().look)
    assert ends[:6] == [None] * 6
    assert ends[6] == Stall("a", 4)


def test_different_commands_never_stall_and_never_ask_for_a_look() -> None:
    tree = Tree()
    assert not any(run(Repeats(1), map(str, range(50)), tree.look))
    assert tree.asked == 0


def test_a_change_begins_every_count_again() -> None:
    counts, tree = Repeats(2), Tree()
    assert not any(run(counts, ["a", "b", "a", "b"], tree.look))
    tree.answer = True
    assert not any(run(counts, ["a"], tree.look))
    tree.answer = False
    assert run(counts, ["b", "b", "a", "b"], tree.look) == [None, None, None, Stall("b", 3)]


def test_a_tree_that_always_changes_never_stalls() -> None:
    assert not any(run(Repeats(2), ["a"] * 50, Tree(answer=True).look))


def test_nothing_ends_without_a_look() -> None:
    counts, tree = Repeats(2), Tree(answer=None)
    assert not any(run(counts, ["a"] * 50, tree.look))
    tree.answer = False
    assert run(counts, ["a"], tree.look) == [Stall("a", 3)]


def test_what_comes_in_one_moment_counts_once() -> None:
    counts = Repeats(2)
    assert counts.note(["a"] * 50, Tree().look) is None
    assert counts.note(["b", "a"], Tree().look) is None
    assert counts.note(["b", "a"], Tree().look) == Stall("a", 3)


@pytest.mark.parametrize(
    "command",
    [
        "make check",
        "cd /repo && make check 2>&1 | tail -n 40",
        "make check>log; cat log",
        "timeout 60 make check ; echo $?",
        "(make check)",
        'bash -c "make check"',
        "X=1 make check # again",
        "set -e\nmake check\nls",
    ],
)
def test_a_run_of_the_gate_counts_whatever_is_around_it(command: str) -> None:
    counts = Repeats(1, ["make check ", "other"])
    assert counts.note(["make check || true"], Tree().look) is None
    assert counts.note([command], Tree().look) == Stall("make check", 2)


@pytest.mark.parametrize("command", ["make check ONLY=x", "make checks", "remake check", "make  lint", ""])
def test_a_part_of_the_gate_is_a_command_of_its_own(command: str) -> None:
    counts = Repeats(1, ["make check", ""])
    counts.note(["make check"], Tree().look)
    assert counts.note([command], Tree().look) is None
    assert counts.note(["make check"], Tree().look) == Stall("make check", 2)


def test_a_gate_line_is_no_pattern() -> None:
    counts = Repeats(1, ["t.st [a-z]+ (x)"])
    assert not any(run(counts, ["test b (x)", "t.st [a-z]+ (x)"], Tree().look))
    assert run(counts, ["true; t.st [a-z]+ (x)"], Tree().look) == [Stall("t.st [a-z]+ (x)", 2)]


def test_every_line_of_the_gate_counts_alone() -> None:
    counts = Repeats(1, ["lint", "test"])
    assert not any(run(counts, ["lint && test"], Tree().look))
    assert run(counts, ["test | tail"], Tree().look) == [Stall("test", 2)]


def test_memory_is_bounded() -> None:
    counts = Repeats(2)
    run(counts, [f"{n}\ud800" for n in range(MOST_COMMANDS + 5)], Tree().look)
    assert len(counts._counts) == 5
