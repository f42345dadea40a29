import pytest

from loop.test_guard import TestChange, find_weakened

IMPORTS = "import pytest, sys, unittest\n"
BASE = f"{IMPORTS}\ndef test_one():\n    assert f() == 1\n"
CLASS = (
    f"{IMPORTS}\nclass TestF(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n"
)


def weak(old: str, new: str, path: str = "tests/test_a.py") -> list[tuple[str | None, str]]:
    return [(w.name, w.how.value) for w in find_weakened([TestChange(path, old, new)])]


def under(decorator: str, text: str = BASE) -> str:
    return text.replace("def test_one", f"{decorator}\ndef test_one")


@pytest.mark.parametrize(
    "decorator",
    [
        "@pytest.mark.skip",
        "@pytest.mark.skip(reason='x')",
        "@pytest.mark.skipif(True, reason='x')",
        "@pytest.mark.skipif(condition=sys.platform == 'x', reason='y')",
        "@pytest.mark.xfail",
        "@pytest.mark.xfail(raises=ValueError)",
        "@unittest.skip('x')",
        "@unittest.skipUnless(f, 'x')",
        "@unittest.expectedFailure",
        "@pytest.mark.parametrize('n', [])",
    ],
)
def test_a_decorator_that_skips(decorator: str) -> None:
    assert weak(BASE, under(decorator)) == [("test_one", "skipped")]
    assert weak(under(decorator), BASE) == []
    assert weak(under(decorator), under(decorator)) == []


@pytest.mark.parametrize(
    "decorator", ["@pytest.mark.slow", "@pytest.fixture", "@pytest.mark.parametrize('n', [1])"]
)
def test_a_decorator_that_does_not(decorator: str) -> None:
    assert weak(BASE, under(decorator)) == []


def test_a_condition_that_changes_counts_and_a_reason_does_not() -> None:
    old = under("@pytest.mark.skipif(sys.platform == 'win32', reason='a')")

    assert weak(old, under("@pytest.mark.skipif(sys.platform == 'win32', reason='b')")) == []
    assert weak(old, under("@pytest.mark.skipif(True, reason='a')")) == [("test_one", "skipped")]
    assert weak(under("@pytest.mark.skip"), under("@pytest.mark.skip('why')\n@pytest.mark.skipif(f)")) == []


@pytest.mark.parametrize(
    "line",
    [
        "pytest.skip('x')",
        "pytest.xfail()",
        "raise unittest.SkipTest",
        "pytest.importorskip('x')",
        "x = pytest.importorskip('x')",
    ],
)
def test_a_call_that_skips(line: str) -> None:
    new = BASE.replace("    assert", f"    {line}\n    assert")

    assert weak(BASE, new)[0] == ("test_one", "skipped")


def test_a_skip_that_loses_its_condition() -> None:
    old = BASE.replace("    assert", "    if sys.platform == 'x':\n        pytest.skip()\n    assert")

    assert weak(old, BASE.replace("    assert", "    pytest.skip()\n    assert")) == [("test_one", "skipped")]
    assert weak(old, old.replace("'x'", "'linux'")) == [("test_one", "skipped")]
    assert weak(old, old + "\n") == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("pytestmark = pytest.mark.skip", None),
        ("pytestmark = [pytest.mark.slow, pytest.mark.skipif(True)]", None),
        ("pytest.skip('x', allow_module_level=True)", None),
        ("np = pytest.importorskip('numpy')", None),
        ("if sys.platform:\n    pytest.skip('x', allow_module_level=True)", None),
        ("raise unittest.SkipTest('x')", None),
        ("__test__ = False", None),
        ("def setUpModule():\n    raise unittest.SkipTest()", None),
        ("@pytest.fixture(autouse=True)\ndef off():\n    pytest.skip()", None),
    ],
)
def test_a_whole_file_that_is_skipped(line: str, name: None) -> None:
    assert weak(BASE, BASE.replace(IMPORTS, f"{IMPORTS}{line}\n")) == [(name, "skipped")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("class TestF", "@unittest.skip('x')\nclass TestF"),
        ("    def test_a", "    __test__ = False\n    def test_a"),
        ("    def test_a", "    pytestmark = pytest.mark.skip()\n    def test_a"),
        ("    def test_a", "    def setUp(self):\n        self.skipTest('x')\n\n    def test_a"),
        ("        self", "        self.skipTest('x')\n        self"),
    ],
)
def test_a_class_that_is_skipped(old: str, new: str) -> None:
    assert weak(CLASS, CLASS.replace(old, new)) == [("TestF::test_a", "skipped")]


def test_a_test_that_runs_only_under_a_new_condition() -> None:
    body = "\n".join(f"    {line}" for line in BASE.removeprefix(IMPORTS).split("\n"))

    assert weak(BASE, f"{IMPORTS}if False:\n{body}\n") == [("test_one", "skipped")]


@pytest.mark.parametrize("name", ["check_one", "_test_one", "tst_one"])
def test_a_test_renamed_away(name: str) -> None:
    assert weak(BASE, BASE.replace("test_one", name)) == [("test_one", "deleted")]


def test_a_class_renamed_so_that_nothing_collects_it() -> None:
    old = "class TestF:\n    def test_a(self):\n        assert f()\n"

    assert weak(old, old.replace("TestF", "F")) == [("TestF::test_a", "deleted")]


@pytest.mark.parametrize(
    "body", ["pass", "f()", "assert True", "return\n    assert f() == 1", "raise SystemExit\n    assert f()"]
)
def test_a_test_that_looks_at_nothing_any_more(body: str) -> None:
    assert weak(BASE, BASE.replace("assert f() == 1", body)) == [("test_one", "emptied")]


@pytest.mark.parametrize(
    "body",
    [
        "assert f() == 2",
        "with pytest.raises(ValueError):\n        f()",
        "check_f(1)",
        "mock.assert_called_once()",
        "for n in (1, 2):\n        assert f(n)",
    ],
)
def test_a_test_that_looks_in_another_way(body: str) -> None:
    assert weak(BASE, BASE.replace("assert f() == 1", body)) == []


def test_a_helper_of_the_file_that_asserts_counts() -> None:
    assert (
        weak(BASE, BASE.replace("assert f() == 1", "same(1)") + "\ndef same(n):\n    assert f() == n\n") == []
    )


def test_a_second_definition_replaces_the_first() -> None:
    assert weak(BASE, BASE + "\ndef test_one():\n    pass\n") == [("test_one", "emptied")]


def test_a_comment_is_no_test() -> None:
    assert weak(BASE, "".join(f"# {line}\n" for line in BASE.split("\n"))) == [("test_one", "deleted")]


def test_what_does_not_parse_is_read_by_its_lines() -> None:
    broken = BASE + "\ndef test_two(:\n    assert f(\n"

    assert weak(broken, BASE) == [("test_two", "deleted")]
    assert weak(BASE, f"{IMPORTS}def (\n") == [("test_one", "deleted")]
    assert weak(broken, under("@pytest.mark.skip(", broken)) == [("test_one", "skipped")]
    assert weak(CLASS, CLASS.replace("        self", "        self.skipTest(\n        self")) == [
        ("TestF::test_a", "skipped")
    ]
    assert weak(broken, broken) == []


@pytest.mark.parametrize(
    "text", ["(" * 5000, "-" * 100_000 + "1", "\0", "x = '\\d'\n" + BASE, "a." * 20_000 + "b"]
)
def test_no_text_raises(text: str) -> None:
    weak(text, BASE)
    weak(BASE, text)
