import pytest

from loop.globs import compile_globs, fault_of, fault_of_protection


@pytest.mark.parametrize("pattern", ["src/**", "*.py", "/Makefile", "docs/", "!docs/old/**", r"\#odd", "a b"])
def test_a_gitignore_pattern_is_accepted(pattern: str) -> None:
    assert fault_of(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("./src", "without ./ or .."),
        ("../x", "without ./ or .."),
        ("a/../b", "without ./ or .."),
        ("#x", "is a comment"),
        ("/", "write ** for every path"),
        ("***", "write ** for every path"),
        ("[b-a]", "is no gitignore pattern"),
        ("[[:x:]]", "is no gitignore pattern"),
        ("a\\", "is no gitignore pattern"),
        ("!", "is no gitignore pattern"),
        ("a\nb", "one line of printable text"),
        ("  ", "one line of printable text"),
    ],
)
def test_what_cannot_match_as_meant_is_refused(pattern: str, said: str) -> None:
    fault = fault_of(pattern)

    assert fault is not None
    assert said in fault


def test_a_pattern_that_breaks_only_when_folded_is_refused_for_protection() -> None:
    assert fault_of("[Z-a]") is None
    assert fault_of_protection("[Z-a]") is not None


def test_the_last_pattern_decides() -> None:
    globs = compile_globs(["src/**", "!src/gen/**"])

    assert globs.match_file("src/a.py")
    assert not globs.match_file("src/gen/a.py")
