"""Random trees for property tests: strategies, attributes for them, and a commit of exactly such a tree.

Limits: small trees, a few names; real git makes the commit.
"""

from hypothesis import strategies as st

from support.gitkit import Repo

State = dict[bytes, tuple[str, bytes]]
"""Path to mode and content, as git would hold it; a git link's content is the commit's id."""

# No folder whose name ends in a space: `git apply` cannot read git's own header for an empty file in one.
NAMES = st.sampled_from(
    [
        b"a",
        b"b",
        b"B",
        b"-x",
        b" sp",
        b"li\nne",
        b"bad\xff",
        b"*",
        b'q"',
        b"\xc3\xa9",
        b"back\\slash",
        b".gitkeep",
    ]
)
CONTENTS = st.one_of(
    st.sampled_from(
        [
            *(b"", b"one\n", b"one\ntwo\n", b"no end", b"\0nul\0", b"\xff\xfe", b"\xc3\xa9\n"),
            *(
                b"a\r\nb\r\n",
                b"a\r\nb\n",
                b"a\rb\r\n",
                b"$Id$\n",
                b"$Id: old $\r\n",
                "\ufeffé\n".encode("utf-16-le"),
            ),
        ]
    ),
    st.binary(max_size=200),
)
LINKS = st.sampled_from([b"a", b"..", b"/etc/passwd", b"nowhere\n", b"bad\xff"])
FILES = st.one_of(
    st.tuples(st.sampled_from(["100644", "100755"]), CONTENTS), st.tuples(st.just("120000"), LINKS)
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)


def without_clashes(state: State) -> State:
    """A path that is a folder of another one cannot be a file."""
    folders = {path[:end] for path in state for end in range(len(path)) if path[end : end + 1] == b"/"}
    return {path: file for path, file in state.items() if path not in folders}


TREES = st.dictionaries(PATHS, FILES, min_size=1, max_size=8).map(without_clashes)

FILTERED = {b"a", b"b"}
"""Files of these names have a filter under `WITH_FILTER`."""
WITH_FILTER = b"[ab] filter=lfs diff=lfs merge=lfs -text\n"
# None gives an encoding to attribute files: a checkout could not read them then.
AT_TOP = [
    *(b"", b"* binary\n", b"*.py diff=python\n* -text -diff\n", WITH_FILTER),
    *(b"* text=auto\n", b"* text=auto eol=crlf\n", b"* text\n[ab] ident\n", b"*\ttext eol=crlf ident\r\n"),
    *(b"* crlf\nb -crlf\n", b"* eol=lf\n[aB] ident crlf=input\n", b"/a/** text eol=crlf\n/b ident\n"),
    *(b"* text=auto\n[ab] working-tree-encoding=UTF-16\n", b"[ab] working-tree-encoding=ISO-8859-1\n"),
    *(b"[ab] text eol=crlf working-tree-encoding=UTF-16LE\n", b"[attr]odd text eol=crlf\n[aB] odd\n"),
]
BELOW = [
    *(b"* -text -ident !working-tree-encoding\n", b"[aB] text eol=crlf ident\n", b"* text=auto\n"),
    *(b"/a text\n*/b eol=crlf\n", b"b working-tree-encoding=UTF-16LE\n", b'".gitk\\145ep" ident\n** !eol\n'),
]


def with_attributes(state: State, top: bytes, below: list[tuple[int, bytes]]) -> State:
    """The same with attributes at the top, and in folders that the numbers pick."""
    folders = sorted({path.rpartition(b"/")[0] for path in state} - {b""})
    picked = {folders[n % len(folders)] + b"/": content for n, content in below} if folders else {}
    files = {folder + b".gitattributes": content for folder, content in {**picked, b"": top}.items()}
    return {**state, **{path: ("100644", content) for path, content in files.items()}}


ATTRIBUTED = st.builds(
    with_attributes,
    TREES,
    st.sampled_from(AT_TOP),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(BELOW)), max_size=2),
)
"""Trees with attributes of their own."""


def import_tree(repo: Repo, state: State, ref: str) -> str:
    """A commit of exactly this state, made without any file on disk."""
    lines = [f"commit refs/heads/{ref}\ncommitter T <t@example.org> 1700000000 +0000\ndata 0\n".encode()]
    for path, (mode, content) in state.items():
        quoted = b"".join(b"\\%03o" % byte for byte in path)
        if mode == "160000":
            lines.append(b'M 160000 %s "%s"\n' % (content, quoted))
        else:
            lines.append(b'M %s inline "%s"\ndata %d\n%s\n' % (mode.encode(), quoted, len(content), content))
    repo.git("fast-import", "--quiet", "--force", stdin=b"".join(lines))
    return repo.head(ref)
