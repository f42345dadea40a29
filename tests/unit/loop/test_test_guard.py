import time

import pytest

from loop.test_guard import How, TestChange, Weakened, find_weakened, is_test_path, may_hold_tests

PY = "tests/test_a.py"
GO = "pkg/retry_test.go"
TWO = "def test_one():\n    assert f() == 1\n\ndef test_two():\n    assert f() == 2\n"


def weak(old: str | None, new: str | None, path: str = PY) -> list[tuple[str | None, str]]:
    return [(w.name, w.how.value) for w in find_weakened([TestChange(path, old, new)])]


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "src/pkg/test_x.py",
        "pkg/retry_test.py",
        "conftest.py",
        "tests/support/helper.py",
        "app/tests.py",
        "web/button.test.tsx",
        "web/button.spec.js",
        "web/__tests__/a.js",
        "src/__snapshots__/a.snap",
        "pkg/a_test.go",
        "crate/tests/api.rs",
        "src/test/java/ATest.java",
    ],
)
def test_these_belong_to_the_tests(path: str) -> None:
    assert is_test_path(path)


@pytest.mark.parametrize(
    "path", ["src/latest.py", "src/contest.py", "docs/testing.md", "src/lib.rs", "attests/a.py"]
)
def test_these_do_not(path: str) -> None:
    assert not is_test_path(path)


def test_declared_patterns_add_to_the_conventions() -> None:
    assert is_test_path("checks/a.lua", ["checks/**"])
    assert is_test_path("spec/a_spec.rb", ["/spec/", "!**/*.md"])
    assert not is_test_path("spec/README.md", ["/spec/**", "!**/*.md"])
    assert may_hold_tests("src/lib.rs")
    assert not may_hold_tests("src/lib.c")


def test_what_did_not_change_is_not_weakened() -> None:
    assert weak(TWO, TWO + "\ndef test_three():\n    pass\n") == []
    assert weak(None, "import pytest\npytest.skip()\n" + TWO) == []


def test_a_file_that_is_gone_is_one_finding() -> None:
    assert weak(TWO, None) == [(None, "deleted")]


def test_a_test_that_moves_is_not_deleted() -> None:
    moved = find_weakened(
        [
            TestChange(PY, TWO, "def test_two():\n    assert f() == 2\n"),
            TestChange("tests/test_b.py", None, TWO),
        ]
    )

    assert moved == ()


def test_one_new_test_makes_up_for_one_only() -> None:
    one = "def test_one():\n    assert f() == 1\n"
    found = find_weakened(
        [
            TestChange("test_a.py", one, ""),
            TestChange("test_b.py", one, None),
            TestChange("test_c.py", None, one),
        ]
    )

    assert found == (Weakened("test_b.py", "test_one", How.DELETED),)


def test_a_test_that_moves_into_a_class_is_not_deleted() -> None:
    one = "def test_one(self):\n        assert f()\n"

    assert weak(TWO, f"class TestF:\n    {one}    {one.replace('one', 'two')}") == []


def test_a_test_is_not_weakened_on_its_way() -> None:
    found = find_weakened(
        [
            TestChange("test_a.py", TWO, None),
            TestChange(
                "test_b.py", None, "import pytest\n@pytest.mark.skip\ndef test_one():\n    assert 1 == f()\n"
            ),
            TestChange("test_c.py", None, "def test_two():\n    pass\n"),
        ]
    )

    assert found == (
        Weakened("test_b.py", "test_one", How.SKIPPED),
        Weakened("test_c.py", "test_two", How.EMPTIED),
    )


def test_a_move_to_where_nothing_collects_it_is_a_deletion() -> None:
    found = find_weakened([TestChange("tests/test_a.py", TWO, None), TestChange("tests/old.py", None, TWO)])

    assert found == (Weakened("tests/test_a.py", None, How.DELETED),)


def test_a_move_into_a_file_that_is_skipped_counts() -> None:
    found = find_weakened(
        [
            TestChange("test_a.py", TWO, None),
            TestChange("test_b.py", None, "import pytest\npytestmark = pytest.mark.skip\n" + TWO),
        ]
    )

    assert [(w.path, w.name, w.how) for w in found] == [
        ("test_b.py", "test_one", How.SKIPPED),
        ("test_b.py", "test_two", How.SKIPPED),
    ]


def test_languages_do_not_make_up_for_each_other() -> None:
    found = find_weakened(
        [
            TestChange(GO, "package p\nfunc TestOne(t *testing.T) { t.Fatal() }\n", "package p\n"),
            TestChange("a.test.js", "", "test('TestOne', () => expect(1).toBe(1))"),
        ]
    )

    assert found == (Weakened(GO, "TestOne", How.DELETED),)


def test_of_other_languages_a_declared_file_that_is_gone_counts() -> None:
    changes = [TestChange("spec/a.rb", "it 'x'", None), TestChange("spec/b.rb", "it 'x'", "")]

    assert find_weakened(changes, ["spec/**"]) == (Weakened("spec/a.rb", None, How.DELETED),)
    assert find_weakened(changes) == ()


def test_declared_python_is_read_whatever_its_name() -> None:
    change = TestChange("checks/retry.py", TWO, "def test_one():\n    assert f()\n")

    assert find_weakened([change], ["checks/**"]) == (Weakened("checks/retry.py", "test_two", How.DELETED),)
    assert find_weakened([change]) == ()


def test_the_order_is_that_of_the_changes() -> None:
    go = "package p\nfunc TestOne(t *testing.T) { t.Fatal() }\n"
    changes = [
        TestChange("z.test.js", "test('a', f)", ""),
        TestChange("a_test.go", go, None),
        TestChange("test_b.py", TWO, ""),
    ]

    assert [w.path for w in find_weakened(changes)] == ["z.test.js", "a_test.go", "test_b.py", "test_b.py"]


def test_contents_stay_out_of_what_is_printed() -> None:
    assert "test_one" not in repr(TestChange(PY, TWO, None))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.test.js", "it("),
        ("a.test.js", "describe('a',()=>{"),
        ("a.test.js", "x=/["),
        ("a.rs", "#[test]fn a(){"),
        ("a.rs", "#["),
        ("a.rs", "mod a {"),
        ("a.rs", '#[test] r#"'),
        ("a_test.go", "func TestA(t){\n"),
        ("a_test.go", "func TestA(\n"),
        ("test_a.py", "def test_a(:\n"),
        ("test_a.py", "if a:\n "),
    ],
)
def test_a_hostile_text_takes_a_bounded_time(path: str, text: str) -> None:
    many = text * (100_000 // len(text))
    started = time.monotonic()

    find_weakened([TestChange(path, many, many + "\n")])

    assert time.monotonic() - started < 5
