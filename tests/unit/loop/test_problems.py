from loop.problems import Problem, Problems, show, suggest


def test_a_problem_is_file_line_and_sentence() -> None:
    assert str(Problem("a.md", 3, "x is wrong")) == "a.md:3: x is wrong"
    assert str(Problem("a.md", None, "x is wrong")) == "a.md: x is wrong"


def test_problems_stand_in_order_of_line_one_a_line() -> None:
    error = Problems([Problem("a", 9, "late"), Problem("a", None, "whole"), Problem("a", 2, "early")])

    assert str(error).splitlines() == ["a: whole", "a:2: early", "a:9: late"]


def test_a_shown_value_stays_one_short_line() -> None:
    shown = show("x\nfactory.toml:1: forged\x1b[2J" + "y" * 500)

    assert shown.startswith('"x\\nfactory.toml:1: forged\\x1b[2J')
    assert len(shown) < 80
    assert shown.isprintable()


def test_the_nearest_name_is_suggested_else_all() -> None:
    assert suggest("unti", ["unit", "full"]) == '; did you mean "unit"?'
    assert suggest("zzz", ["unit", "full"]) == "; known: full, unit"
    assert suggest("zzz", []) == "; there are none"
