import pytest

from jobs.inside.work import safe_name, split_code


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("unit", "unit"),
        ("a b/../c", "a-b-c"),
        ("../../x", "x"),
        ("ü", "command"),
        ("", "command"),
        ("a" * 99, "a" * 60),
    ],
)
def test_a_commands_name_becomes_a_files_name(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_a_return_code_is_a_code_or_a_signal() -> None:
    assert split_code(0) == (0, None)
    assert split_code(3) == (3, None)
    assert split_code(-9) == (None, 9)
