import tomllib

from loop.toml_lines import locate

TEXT = '''# run = "not here"
top = 1
[checks] # [not.here]
fast = [
  "a = 1",  # x = 2
  "[table]",
]
gate = ["g"]
[checks.unit]
run = """
run = 3
[checks.fake]
"""
"odd key" = { timeout_s = 3 }
[ checks . 'q.x' ]
env.A = \'\'\'
a = 1
\'\'\'
last = "\\"#["
end = 1
'''


def test_every_key_is_found_on_its_line() -> None:
    tomllib.loads(TEXT)
    lines = locate(TEXT)

    assert lines.of("top") == 2
    assert lines.of("checks") == 3
    assert lines.of("checks", "fast") == 4
    assert lines.of("checks", "gate") == 8
    assert lines.of("checks", "unit") == 9
    assert lines.of("checks", "unit", "run") == 10
    assert lines.of("checks", "unit", "odd key") == 14
    assert lines.of("checks", "q.x", "env", "A") == 16
    assert lines.of("checks", "q.x", "last") == 19
    assert lines.of("checks", "q.x", "end") == 20


def test_what_looks_like_a_key_inside_a_text_is_none() -> None:
    assert ("checks", "fake") not in locate(TEXT).found
    assert ("a",) not in locate(TEXT).found


def test_a_key_that_does_not_stand_is_blamed_on_the_nearest_table() -> None:
    assert locate(TEXT).of("checks", "unit", "odd key", "timeout_s") == 14
    assert locate(TEXT).of("checks", "unit", "nope") == 9
    assert locate(TEXT).of("nope") is None


def test_the_tables_of_an_array_are_told_apart_by_their_number() -> None:
    lines = locate("[a]\n[[a.b]]\nx = 1\n[[a.b]]\ny = 2\n[c]\nx = 3\n")
    assert (lines.of("a", "b"), lines.of("a", "b", 0), lines.of("a", "b", 1)) == (2, 2, 4)
    assert (lines.of("a", "b", 0, "x"), lines.of("a", "b", 1, "y"), lines.of("c", "x")) == (3, 5, 7)
    assert lines.of("a", "b", 1, "x") == 4
    assert lines.of("c", "x", 7) == 7
