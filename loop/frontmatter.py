"""The YAML front matter of a Markdown file, every scalar a string with its line.

Pure: no I/O.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from loop.problems import Problem, Problems, show

FENCE = "---"
MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Field:
    """One value as written: a text, a list or a table, with the line it begins on."""

    value: "str | tuple[Field, ...] | Mapping[str, Field]"
    line: int


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A file cut in two."""

    fields: Mapping[str, Field]
    """In the order written; the line of each is its key's."""
    lines: tuple[str, ...]
    """Every line of the file, for whoever must see one as written."""
    text: str
    """The whole file."""
    body: str
    """Everything after the closing `---`."""


def read_front_matter(data: bytes, path: str) -> FrontMatter:
    """Split a file and read its front matter.

    Raises:
        Problems: The bytes are no such file, or the YAML is broken or uses what is not needed here.
    """
    text = _decoded(data, path)
    lines = text.split("\n")
    end = _closing_line(lines, path)
    head = "\n".join(lines[1:end]) + "\n"
    if "\t" in head:
        line = 2 + head[: head.index("\t")].count("\n")
        raise Problems([Problem(path, line, "the front matter holds a tab; use spaces")])
    fields = _Reader(path, head).fields()
    return FrontMatter(fields, tuple(lines), text, "\n".join(lines[end + 1 :]))


def _decoded(data: bytes, path: str) -> str:
    """Return the text, or raise the one sentence about its encoding or line ends."""
    if data.startswith(b"\xef\xbb\xbf"):
        raise Problems([Problem(path, 1, "the file begins with a byte order mark; save it as UTF-8 without")])
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise Problems([Problem(path, line, "the file is not UTF-8; save it as UTF-8")]) from None
    if "\r" in text:
        line = 1 + text[: text.index("\r")].count("\n")
        sentence = "the file has Windows line ends (CR LF); save it with LF alone"
        raise Problems([Problem(path, line, sentence)])
    return text


def _closing_line(lines: list[str], path: str) -> int:
    """Return the index of the closing `---`."""
    if lines[0].rstrip() != FENCE:
        raise Problems([Problem(path, 1, "there is no front matter; line 1 must be ---")])
    for index, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            return index
    raise Problems([Problem(path, 1, "the front matter is never closed; end it with a line ---")])


class _Reader:
    """Reads one front matter; holds what is needed to blame a line."""

    def __init__(self, path: str, head: str) -> None:
        self._path = path
        self._head = head

    def fields(self) -> Mapping[str, Field]:
        try:
            self._refuse_cleverness(yaml.parse(self._head, Loader=yaml.BaseLoader))
            node = yaml.compose(self._head, Loader=yaml.BaseLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise self._at(mark.index if mark else 0, f"the YAML is broken: {error.problem}") from None
        except yaml.reader.ReaderError as error:
            raise self._at(int(error.position), "the front matter holds a control character") from None
        except (ValueError, OverflowError):
            # PyYAML gives an escape such as "\UFFFFFFFF" to chr() unchecked.
            raise self._at(0, "the YAML holds an escape that is no character") from None
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            raise self._at(node.start_mark.index, "the front matter must be lines of the form key: value")
        return self._table(node)

    def _refuse_cleverness(self, events: "Iterator[yaml.Event]") -> None:
        """Stop before composing where a short text can stand for a huge or endless one.

        Aliases multiply, and nesting exhausts the composer's stack.
        """
        depth = 0
        for event in events:
            index = event.start_mark.index if event.start_mark else 0
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise self._at(index, "anchors and aliases (& and *) are not used here; quote the value")
            if getattr(event, "tag", None):
                raise self._at(index, "tags (!) are not used here; quote the value")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                raise self._at(index, "the front matter is nested too deep")

    def _table(self, node: yaml.MappingNode) -> Mapping[str, Field]:
        table: dict[str, Field] = {}
        for key, value in node.value:
            line = self._line(key.start_mark.index)
            if not isinstance(key, yaml.ScalarNode):
                raise Problems([Problem(self._path, line, "a key must be a plain word")])
            name = self._scalar(key)
            if name in table:
                first = table[name].line
                sentence = f"{show(name)} stands here again; it was first given in line {first}"
                raise Problems([Problem(self._path, line, sentence)])
            table[name] = Field(self._value(value), line)
        return table

    def _value(self, node: yaml.Node) -> "str | tuple[Field, ...] | Mapping[str, Field]":
        if isinstance(node, yaml.MappingNode):
            return self._table(node)
        if isinstance(node, yaml.SequenceNode):
            return tuple(Field(self._value(n), self._line(n.start_mark.index)) for n in node.value)
        return self._scalar(node)

    def _scalar(self, node: yaml.Node) -> str:
        value = str(node.value)
        if not value.isprintable():
            # A line break, a NUL or half of a surrogate pair can reach neither git nor a prompt.
            raise self._at(node.start_mark.index, "a value must be one line of printable text")
        return value

    def _line(self, index: int) -> int:
        # Not the mark's own line: YAML also counts U+2028 and U+0085, editors do not.
        return 2 + self._head.count("\n", 0, index)

    def _at(self, index: int, sentence: str) -> Problems:
        return Problems([Problem(self._path, self._line(index), sentence)])
