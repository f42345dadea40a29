import pytest

from loop.test_guard import TestChange, find_weakened

BASE = """pub fn retry(n: u32) -> u32 { n }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice() {
        assert_eq!(retry(2), 2, "}");
    }

    #[tokio::test(flavor = "multi_thread")]
    #[should_panic(expected = "a ] b")]
    async fn once() {
        retry(r#"1"}"#.parse().unwrap());
    }

    fn helper<'a>(x: &'a str) -> &'a str { x }
}
"""


def weak(old: str, new: str, path: str = "src/retry.rs") -> list[tuple[str | None, str]]:
    return [(w.name, w.how.value) for w in find_weakened([TestChange(path, old, new)])]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("    #[test]\n", "    #[test]\n    #[ignore]\n", [("tests::twice", "skipped")]),
        ("    #[test]\n", '    #[ignore = "slow"]\n    #[test]\n', [("tests::twice", "skipped")]),
        ("    #[test]\n", "    #[test]\n    #[cfg_attr(all(), ignore)]\n", [("tests::twice", "skipped")]),
        ("    #[test]\n", "    #[test]\n    #[cfg(any())]\n", [("tests::twice", "skipped")]),
        ("    #[test]\n", "    #[allow(dead_code)]\n    #[test]\n", []),
        ("    #[test]\n", "", [("tests::twice", "deleted")]),
        ("    #[test]\n", "    // #[test]\n", [("tests::twice", "deleted")]),
        ("fn twice", "fn two_times", [("tests::twice", "deleted")]),
        ('assert_eq!(retry(2), 2, "}");', "retry(2);", [("tests::twice", "emptied")]),
        ('assert_eq!(retry(2), 2, "}");', "assert!(retry(2) == 2);", []),
        (
            "#[cfg(test)]\n",
            '#[cfg(all(test, feature = "never"))]\n',
            [("tests::twice", "skipped"), ("tests::once", "skipped")],
        ),
        ("mod tests", "mod checks", []),
    ],
)
def test_each_way_to_weaken(old: str, new: str, found: list[tuple[str | None, str]]) -> None:
    assert old in BASE
    assert weak(BASE, BASE.replace(old, new)) == found


def test_taking_the_tests_out_of_the_code_is_a_deletion_of_each() -> None:
    code = BASE[: BASE.index("#[cfg")]

    assert weak(BASE, code) == [("tests::twice", "deleted"), ("tests::once", "deleted")]


def test_tests_may_move_to_a_folder_of_their_own() -> None:
    code, tests = BASE[: BASE.index("#[cfg")], BASE[BASE.index("    #[test]") : BASE.rindex("}")]

    assert find_weakened([TestChange("src/a.rs", BASE, code), TestChange("tests/a.rs", None, tests)]) == ()


@pytest.mark.parametrize(
    "text", ["#[test]", "#[test", "#[test] fn a(", "mod a {", 'r#"', "'", "/*", "#[" * 3000]
)
def test_no_text_raises(text: str) -> None:
    weak(BASE, text)
    weak(text, BASE)
