import pytest

from loop.test_guard import TestChange, find_weakened

BASE = """import { f } from './f'
describe('f', () => {
  it('adds', () => {
    expect(f(1)).toBe(2)
  })
  test("takes a name, with a comma", async () => {
    await expect(f('it(')).rejects.toThrow(/["'(]/)
  })
})
"""
ADDS, COMMA = "f > adds", "f > takes a name, with a comma"


def weak(old: str, new: str, path: str = "src/f.test.ts") -> list[tuple[str | None, str]]:
    return [(w.name, w.how.value) for w in find_weakened([TestChange(path, old, new)])]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("it('adds'", "it.skip('adds'", [(ADDS, "skipped")]),
        ("it('adds'", "xit('adds'", [(ADDS, "skipped")]),
        ("test(", "test.todo(", [(COMMA, "skipped")]),
        ("test(", "test.concurrent.skip(", [(COMMA, "skipped")]),
        ("test(", "test.skipIf(true)(", [(COMMA, "skipped")]),
        ("test(", "test.fails(", [(COMMA, "skipped")]),
        ("it('adds', ", "it('adds', { skip: true }, ", [(ADDS, "skipped")]),
        ("it('adds', ", "it('adds', { timeout: 10 }, ", []),
        ("describe(", "describe.skip(", [(ADDS, "skipped"), (COMMA, "skipped")]),
        ("describe(", "xdescribe(", [(ADDS, "skipped"), (COMMA, "skipped")]),
        ("it('adds'", "it.only('adds'", [(None, "skipped")]),
        ("it('adds'", "fit('adds'", [(None, "skipped")]),
        ("describe(", "describe.only(", [(None, "skipped")]),
        ("    expect(f(1)).toBe(2)", "    ctx.skip()\n    expect(f(1)).toBe(2)", [(ADDS, "skipped")]),
        ("    expect(f(1)).toBe(2)", "    f(1)", [(ADDS, "emptied")]),
        ("    expect(f(1)).toBe(2)", "    // expect(f(1)).toBe(2)", [(ADDS, "emptied")]),
        ("it('adds'", "it('sums'", [(ADDS, "deleted")]),
        ("it('adds'", "unit('adds'", [(ADDS, "deleted")]),
        ("describe('f'", "describe('g'", []),
        ("describe(", "describe.concurrent(", []),
        ("it('adds', ()", "it('adds', async ()", []),
    ],
)
def test_each_way_to_weaken(old: str, new: str, found: list[tuple[str | None, str]]) -> None:
    assert old in BASE
    assert weak(BASE, BASE.replace(old, new)) == found


def test_a_test_in_a_comment_is_gone() -> None:
    assert weak(BASE, BASE.replace("  it('adds'", "  /* it('adds'").replace("  test(", "*/  test(")) == [
        (ADDS, "deleted")
    ]


def test_tables_of_tests_are_known_by_their_name() -> None:
    each = "test.each([[1, 2], [3, 4]])('adds %i', (a, b) => { expect(f(a)).toBe(b) })\n"
    template = "it.each`\n a | b\n ${1} | ${2}\n`('sums $a', ({ a }) => { expect(f(a)).toBe(1) })\n"

    assert weak(each + template, each) == [("sums $a", "deleted")]
    assert weak(each, each.replace("[[1, 2], [3, 4]]", "[]")) == [("adds %i", "skipped")]
    assert weak(each, each.replace("test.each", "test.skip.each")) == [("adds %i", "skipped")]


def test_names_that_repeat_are_counted() -> None:
    one = "test('a', () => { expect(1).toBe(1) })\n"

    assert weak(one * 3, one * 2) == [("a #3", "deleted")]


def test_methods_and_steps_are_no_tests() -> None:
    assert weak("const ok = /x/.test('abc')\nemitter.it('x', f)\ntest.beforeEach(() => {})\n", "") == []


def test_division_and_regular_expressions_do_not_confuse_it() -> None:
    odd = "const a = b / c / d\nconst r = /[/'\"]+(/\nconst s = `it('x', ${f('`')})`\n" + BASE

    assert weak(odd, odd.replace("it('adds'", "it.skip('adds'")) == [(ADDS, "skipped")]


@pytest.mark.parametrize(
    "text", ["it(", "it.each(", "test.each`", "describe('a', () => {", "it(,)", "'", "`", "/*", "((((("]
)
def test_no_text_raises(text: str) -> None:
    weak(BASE, text)
    weak(text, BASE)
    weak(text * 2000, text)
