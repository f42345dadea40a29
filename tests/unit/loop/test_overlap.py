import pytest

from loop.overlap import find_overlap, overlaps

TRACKED = ("README.md", "src/a.py", "src/retry/r.py", "docs/README.md", "web/x.ts", "dist/app.js")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (["src/**"], ["src/a.py"]),
        (["src/retry/**"], ["src/**"]),
        (["src/"], ["src/new/**"]),
        (["/src/x*.py"], ["src/x1.py"]),
        (["*.py"], ["docs/**"]),
        (["**/x.py"], ["web/**"]),
        (["README.md"], ["docs/**"]),
        (["README.md"], ["docs/README.md"]),
        (["new.md"], ["docs/new.md"]),
        (["src/a.py"], ["src/a.py"]),
        (["Src/b/**"], ["src/B/c"]),
        ([r"\#x/**"], ["#x/y"]),
        ([r"a\*b/c"], [r"a\*b/*"]),
        (["src/gen/**"], ["src/**", "!src/gen/**"]),
        (["!src/a.py", "src/**"], ["src/a.py"]),
        (["web/**", "docs/**"], ["x/**", "web/x.ts"]),
    ],
)
def test_what_may_meet_waits_either_way(a: list[str], b: list[str]) -> None:
    assert overlaps(a, b, TRACKED)
    assert overlaps(b, a, TRACKED)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (["src/retry/**"], ["src/parse/**"]),
        (["src/a.py"], ["src/b.py"]),
        (["a.txt"], ["b.txt"]),
        (["/README.md"], ["docs/**", "web/*.ts"]),
        (["docs/"], ["src/"]),
        ([r"a\*b/c"], ["ax*/c"]),
        (["!src/**"], ["src/**"]),
        (["src/x*.py"], ["src/y*.py"]),
    ],
)
def test_what_cannot_meet_runs_side_by_side(a: list[str], b: list[str]) -> None:
    assert not overlaps(a, b, TRACKED)
    assert not overlaps(b, a, TRACKED)


def test_only_the_tracked_file_shows_it() -> None:
    a, b = ["src/*.py"], ["**/a.py"]
    assert find_overlap(["x/*/a.py"], ["y/**", "a.py"], ()) is None
    assert find_overlap(["x/*/a.py"], ["y/**", "a.py"], ["x/1/a.py"]) == "x/1/a.py"
    assert find_overlap(a, b, TRACKED) == "src/a.py"


@pytest.mark.parametrize(
    ("patterns", "generated"),
    [
        (["dist/**"], ["dist/**"]),
        (["dist/app.js"], ["dist/"]),
        (["dist/*.js"], ["dist/*"]),
        (["package-lock.json"], ["package-lock.json"]),
        (["src/x.pb.go"], ["*.pb.go"]),
        (["*.pb.go"], ["*.pb.go"]),
    ],
)
def test_generated_paths_are_nobodys(patterns: list[str], generated: list[str]) -> None:
    assert overlaps(patterns, patterns, TRACKED)
    assert not overlaps(patterns, patterns, TRACKED, generated=generated)


@pytest.mark.parametrize("generated", [["[a-z]*.py"], ["src/*.py"], ["src/**", "!src/a.py"], ["srcgen/**"]])
def test_generated_patterns_that_leave_something_out_cover_no_folder(generated: list[str]) -> None:
    assert overlaps(["src/**"], ["src/b.txt", "src/sub/**"], TRACKED, generated=generated)


def test_the_place_is_named_for_a_person() -> None:
    assert find_overlap(["src/new/**"], ["src/"], ()) == "src/new/** and src/"
    assert find_overlap(["x/**"], ["x/**"], ()) == "x/**"
    assert find_overlap(["a\udcff"], ["a\udcff"], ["a\udcff"]) == r'"a\xff"'
