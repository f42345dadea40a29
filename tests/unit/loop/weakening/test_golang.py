import pytest

from loop.test_guard import TestChange, find_weakened

BASE = """package retry

import "testing"

func TestTwice(t *testing.T) {
	if got := Retry(2); got != 2 {
		t.Errorf("got %d }", got)
	}
}

func (s *Suite) TestOnce() {
	s.Equal(1, Retry(1))
}

func ExampleRetry() {
	Retry(1)
	// Output: 1
}
"""


def weak(old: str, new: str) -> list[tuple[str | None, str]]:
    return [(w.name, w.how.value) for w in find_weakened([TestChange("retry/retry_test.go", old, new)])]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("\tif got", '\tt.Skip("x")\n\tif got', [("TestTwice", "skipped")]),
        ("\tif got", "\tif testing.Short() {\n\t\tt.SkipNow()\n\t}\n\tif got", [("TestTwice", "skipped")]),
        ('\t\tt.Errorf("got %d }", got)', "\t\t_ = got", [("TestTwice", "emptied")]),
        ('\t\tt.Errorf("got %d }", got)', "\t\t// t.Errorf()", [("TestTwice", "emptied")]),
        ('\t\tt.Errorf("got %d }", got)', "\t\tmustBe(t, 2, got)", []),
        ("func TestTwice", "func testTwice", [("TestTwice", "deleted")]),
        ("func TestTwice", "func Testtwice", [("TestTwice", "deleted")]),
        ("func ExampleRetry", "func exampleRetry", [("ExampleRetry", "deleted")]),
        (") TestOnce", ") Once", [("Suite.TestOnce", "deleted")]),
        ("package retry", "//go:build ignore\n\npackage retry", [(None, "skipped")]),
        ("package retry", "// about retry\npackage retry", []),
        (
            "func TestTwice",
            "/*\nfunc TestTwice",
            [(n, "deleted") for n in ("TestTwice", "Suite.TestOnce", "ExampleRetry")],
        ),
    ],
)
def test_each_way_to_weaken(old: str, new: str, found: list[tuple[str | None, str]]) -> None:
    assert old in BASE
    assert weak(BASE, BASE.replace(old, new)) == found


def test_a_skip_that_loses_its_condition() -> None:
    old = BASE.replace("\tif got", "\tif testing.Short() {\n\t\tt.Skip()\n\t}\n\tif got")

    assert weak(old, BASE.replace("\tif got", "\tt.Skip()\n\tif got")) == [("TestTwice", "skipped")]
    assert weak(old, old) == []


@pytest.mark.parametrize(
    "text", ["func TestA(", "func TestA(t *testing.T)", "func TestA(t *testing.T) {", "`", '"', "/*"]
)
def test_no_text_raises(text: str) -> None:
    weak(BASE, text)
    weak(text, BASE)
