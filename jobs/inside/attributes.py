"""Turns the `.gitattributes` files of a commit into one file that outweighs every file of a tree.

Git 2.43 can be told whose attributes hold; older ones read the work tree's, which are the agent's. A git
directory's own `info/attributes` goes before those, so the commit's rules are written there.

Limits: a line that is beyond 2 KB with its folder before it is passed by, as git passes by long lines.
Pure: no I/O.
"""

from __future__ import annotations

import re
from typing import Iterator, Mapping

PLAIN = b"* -text -ident !filter !working-tree-encoding !diff\n"
"""Every file byte by byte, whatever a tree's own files say."""
UNFILTERED = b"* !filter\n"
"""A tree's own files hold; what they call filters does not run."""

# Unset once more in the end: no program runs, and a diff is a text wherever it can be.
_FIRST = b"* !text !crlf !eol !ident !working-tree-encoding\n"
_LAST = b"* !filter !diff\n"
_CONVERTING = frozenset({b"text", b"crlf", b"eol", b"ident", b"working-tree-encoding"})
_BINARY = b"[attr]binary -diff -merge -text\n"

_MACRO = b"[attr]"
_NAME = re.compile(rb"[A-Za-z0-9_.][-A-Za-z0-9_.]*")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"')
_ESCAPE = re.compile(rb'\\([abfnrtv"\\]|[0-3][0-7]{2})')
_LETTERS = dict(zip(b'abfnrtv"\\', b'\a\b\f\n\r\t\v"\\'))  # noqa: B905 - no `strict` on Python 3.9
_BLANKS = re.compile(rb"[ \t\r]+")
_TO_QUOTE = re.compile(rb'[\x00-\x20"\\\x7f]')


def flatten(files: Mapping[bytes, bytes]) -> bytes:
    """The content of `info/attributes` under which git reads this commit's rules and no others.

    Args:
        files: Path in the tree to content, of every `.gitattributes` of the commit.
    """
    # The last line that matches decides, so that the deepest folder goes last.
    ordered = sorted(files, key=lambda path: path.count(b"/"))
    lines = [line for path in ordered for line in _lines(path.rpartition(b"/")[0], files[path])]
    states = [state for _, states in lines for state in states]
    if not any(state.partition(b"=")[0] in _CONVERTING for state in states):
        return PLAIN
    rules = b"".join(b"%s %s\n" % (pattern, b" ".join(states)) for pattern, states in lines)
    return _guards(states) + _FIRST + rules + _LAST


def _guards(states: list[bytes]) -> bytes:
    """A meaning of our own for each name: the tree's could make a macro of it, `[attr]text eol=crlf`.

    Of two definitions the later one holds, so that the commit's own macros stay what they are.
    """
    names = sorted({state for state in states if _NAME.fullmatch(state)} - {b"binary"})
    return b"".join(_MACRO + name + b"\n" for name in names) + _BINARY


def _lines(folder: bytes, content: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """Pattern, as it is written at the top, and states of every line that can match a file."""
    if content.startswith(b"\xef\xbb\xbf"):
        content = content[3:]
    for line in content.split(b"\n"):
        pattern, states = _parse(line.partition(b"\0")[0])
        if not states:
            continue
        if not folder:
            yield _quoted(pattern), states
        elif not pattern.startswith((_MACRO, b"!")) and not pattern.endswith(b"/"):
            yield _quoted(_below(folder, pattern)), states


def _parse(line: bytes) -> tuple[bytes, list[bytes]]:
    """Pattern without its quotes, and states; none of an empty line or a comment."""
    line = line.strip(b" \t\r")
    if line.startswith(b"#"):
        return b"", []
    quoted = _QUOTED.match(line)
    if quoted:
        states = _BLANKS.split(line[quoted.end() :])
        return _ESCAPE.sub(_unescape, quoted[1]), [state for state in states if state]
    pattern, *states = _BLANKS.split(line)
    return pattern, states


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) if len(code) > 1 else _LETTERS[code[0]]])


def _below(folder: bytes, pattern: bytes) -> bytes:
    """What a folder's pattern is at the top; without a slash it holds for every depth below the folder."""
    inner = pattern[1:] if pattern.startswith(b"/") else pattern if b"/" in pattern else b"**/" + pattern
    return re.sub(rb"([*?[\\])", rb"\\\1", folder) + b"/" + inner


def _quoted(pattern: bytes) -> bytes:
    escaped = _TO_QUOTE.sub(lambda match: b"\\%03o" % match[0][0], pattern)
    return pattern if escaped == pattern and not pattern.startswith(b"#") else b'"%s"' % escaped
