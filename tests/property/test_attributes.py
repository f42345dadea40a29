"""The one file that stands above every tree says of a path what the commit's own files say."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.inside.attributes import PLAIN, flatten
from support.gitkit import Repo, make_repo

ASKED = ("text", "crlf", "eol", "ident", "working-tree-encoding")
FOLDERS = [b"", b"d", b"d/e", b"d/e/f", b"g", b"s[p *", b"s[p */d", b"li\nne\\", b'"q']
NAMES = [b"a", b"a.x", b"b", b"A.x", b".a", b"sp ace", b"br[k", b"#c", b"!n"]
PATHS = [folder + b"/" + name if folder else name for folder in FOLDERS for name in NAMES]
PATTERNS = st.sampled_from(
    [
        *(b"*", b"a", b"*.x", b"a*", b"?", b"[ab]*", b"[!a].x", b"**", b"\\a", b"a\\", b"br[k", b"br\\[k"),
        *(b"/a", b"/*.x", b"d/a", b"d/*", b"d/**", b"**/a", b"*/a", b"e/*.x", b"/d/e/**/b", b"d/"),
        *(b'"a"', b'"sp ace"', b'"\\163p\\040*"', b'"a', b'"b\\q"', b"#c", b"\\#c", b"!n", b"\\!n"),
        *(b"[attr]mm", b"[attr]binary"),
    ]
)
STATES = st.sampled_from(
    [
        *(b"text", b"-text", b"!text", b"text=auto", b"eol=crlf", b"eol=lf", b"-eol", b"ident", b"-ident"),
        *(b"crlf", b"-crlf", b"crlf=input", b"working-tree-encoding=UTF-16", b"!working-tree-encoding"),
        *(b"mm", b"-mm", b"nn", b"binary", b"-binary", b"diff", b"bad/name", b"-!x"),
    ]
)
LINES = st.builds(
    lambda before, pattern, states, end: before + b" ".join([pattern, *states]) + end,
    st.sampled_from([b"", b"", b" ", b"#", b"\xef\xbb\xbf"]),
    PATTERNS,
    st.lists(STATES, max_size=3),
    st.sampled_from([b"\n", b"\n", b" \r\n", b""]),
)
FILES = st.dictionaries(
    st.sampled_from(FOLDERS).map(lambda folder: folder + b"/.gitattributes" if folder else b".gitattributes"),
    st.lists(LINES, max_size=4).map(b"".join),
    max_size=4,
)
MACROS = (b"text", b"ident", b"crlf", b"binary", b"mm", b"nn")
HOSTILE = b"* mm nn binary text\n" + b"".join(b"[attr]%s eol=crlf -crlf\n" % name for name in MACROS)


def said(repo: Repo) -> dict[tuple[bytes, bytes], bytes]:
    """Path and attribute to value."""
    out = repo.git("check-attr", "-z", "--stdin", *ASKED, stdin=b"\0".join(PATHS))
    fields = out.split(b"\0")[:-1]
    return {
        (path, name): value
        for path, name, value in zip(fields[0::3], fields[1::3], fields[2::3], strict=True)
    }


def written(folder: Path, files: Mapping[bytes, bytes]) -> Repo:
    """A repository with nothing but these files in its work tree."""
    repo = make_repo(folder)
    repo.write({os.fsdecode(path): content for path, content in files.items()})
    return repo


@settings(max_examples=100, deadline=None)
@given(files=FILES, hostile=st.sampled_from([b"", HOSTILE]))
def test_the_flat_file_says_what_the_files_of_the_commit_say(
    files: dict[bytes, bytes], hostile: bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        expected = said(written(Path(folder, "base"), files))
        flat = flatten(files)
        if flat == PLAIN:
            assert set(expected.values()) <= {b"unspecified", b"unset"}
            return
        agents = written(Path(folder, "agents"), {b".gitattributes": hostile, b".git/info/attributes": flat})
        assert said(agents) == expected
