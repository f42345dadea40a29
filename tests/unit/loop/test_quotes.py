import pytest

from loop.quotes import bare, quotes

LINE = "    return retry(count - 1)"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("return retry(count - 1)", LINE),
        ("a.py:3 says `return  retry(count-1)`, which loops for 0", LINE),
        ("the call `retry(count - 1)` loops", LINE),
        ("+    return retry(count - 1)", LINE),
        ("make unit printed:\nE   assert 1 == 2\nand more", "E       assert 1 == 2"),
        ("it has `x = 1` there", "x = 1"),
        ('it has "x = 1" there', "    x = 1"),
        ("- x = 1", "x = 1"),
        ("AssertionError: 1 != 2", "FAILED tests/a.py - AssertionError: 1 != 2"),
    ],
)
def test_a_line_is_quoted_however_it_was_wrapped(text: str, line: str) -> None:
    assert quotes(text, line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, LINE),
        ("", LINE),
        ("it loops forever", LINE),
        ("`return`", LINE),
        ("x = 1 is said in passing", "x = 1"),
        ("f(x)\n)\n", ")"),
        ("==========", "=================="),
        ("------------", "-- a line of text ------------ --"),
        ("anything", ""),
        ("1 passed", "1 passed in 0.12s"),
    ],
)
def test_chance_is_no_quotation(text: str | None, line: str) -> None:
    assert not quotes(text, line)


def test_bare_text_has_no_white_space() -> None:
    assert bare(" a\tb\n c ") == "abc"
    assert bare(None) == ""
