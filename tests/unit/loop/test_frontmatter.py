import pytest

from loop.frontmatter import Field, read_front_matter
from loop.problems import Problems


def read(text: str | bytes) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(Problems) as caught:
        read_front_matter(data, "t.md")
    return [str(problem) for problem in caught.value.problems]


def test_every_scalar_is_a_text_with_its_line() -> None:
    matter = read_front_matter(b"---\nn: 010\non: yes\nlist:\n- 1.50\n- ~\nt: {x: null}\n---\nBody\n", "t.md")

    assert matter.fields["n"] == Field("010", 2)
    assert matter.fields["on"] == Field("yes", 3)
    assert matter.fields["list"] == Field((Field("1.50", 5), Field("~", 6)), 4)
    assert matter.fields["t"] == Field({"x": Field("null", 7)}, 7)
    assert matter.body == "Body\n"


def test_an_empty_front_matter_has_no_fields() -> None:
    assert read_front_matter(b"---\n# only a comment\n---\n", "t.md").fields == {}


def test_a_line_is_counted_as_editors_do() -> None:
    text = "---\na: '\u2028'\nb: [\n---\n"

    assert read(text)[0].startswith("t.md:")
    assert read("---\n# \u2028 \u0085\nx: 1\nx: 2\n---\n") == [
        't.md:4: "x" stands here again; it was first given in line 3'
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "t.md:1: there is no front matter; line 1 must be ---"),
        (b"# T\n", "t.md:1: there is no front matter; line 1 must be ---"),
        (b"---\na: 1\n", "t.md:1: the front matter is never closed; end it with a line ---"),
        (
            b"\xef\xbb\xbf---\n---\n",
            "t.md:1: the file begins with a byte order mark; save it as UTF-8 without",
        ),
        (b"---\na: 1\n---\n\xff", "t.md:4: the file is not UTF-8; save it as UTF-8"),
        (b"---\r\na: 1\r\n---\r\n", "t.md:1: the file has Windows line ends (CR LF); save it with LF alone"),
        (b"---\na: 1\nb:\t2\n---\n", "t.md:3: the front matter holds a tab; use spaces"),
        (b"---\na: 1\nb: 1\na: 2\n---\n", 't.md:4: "a" stands here again; it was first given in line 2'),
        (b"---\na: 1\n b: [\n---\n", "t.md:3: the YAML is broken: mapping values are not allowed here"),
        (b"---\n- a\n---\n", "t.md:2: the front matter must be lines of the form key: value"),
        (b"---\n? [a]\n: b\n---\n", "t.md:2: a key must be a plain word"),
        (
            b"---\na: &x [*x]\n---\n",
            "t.md:2: anchors and aliases (& and *) are not used here; quote the value",
        ),
        (b"---\na: !!int 3\n---\n", "t.md:2: tags (!) are not used here; quote the value"),
        (b"---\na: 1\nb: " + b"[" * 9000 + b"\n---\n", "t.md:3: the front matter is nested too deep"),
        (b"---\na: x\0y\n---\n", "t.md:2: the front matter holds a control character"),
        (b'---\na: "x\\ny"\n---\n', "t.md:2: a value must be one line of printable text"),
        (b'---\na: "\\uD800"\n---\n', "t.md:2: a value must be one line of printable text"),
        (b'---\na: "\\UFFFFFFFF"\n---\n', "t.md:2: the YAML holds an escape that is no character"),
    ],
)
def test_each_fault_is_one_sentence_with_its_line(text: bytes, said: str) -> None:
    assert read(text) == [said]
