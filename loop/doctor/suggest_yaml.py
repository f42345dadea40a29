"""YAML that nobody vouches for, as nodes with their lines.

Pure: no I/O. No object is built and no tag obeyed; an alias is a second way to one node, never a copy of it.
"""

from collections.abc import Iterator, Mapping

import yaml

MAX_DEPTH = 40
MAX_EVENTS = 20_000


def compose(text: str) -> yaml.Node | None:
    """The root node of the first document; none where the text is no YAML, or deep or long beyond reason."""
    try:
        depth = 0
        for n, event in enumerate(yaml.parse(text, Loader=yaml.BaseLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH or n > MAX_EVENTS:
                return None
        return yaml.compose(text, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, ValueError, OverflowError):
        # An escape such as "\UFFFFFFFF" reaches chr() unchecked.
        return None


def table(node: yaml.Node | None) -> Mapping[str, yaml.Node]:
    """A mapping's entries in their order; empty where it is none."""
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {str(key.value): value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def items(node: yaml.Node | None) -> list[yaml.Node]:
    """A list's items; a single scalar counts as a list of one."""
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    return [node] if isinstance(node, yaml.ScalarNode) else []


def word(node: yaml.Node | None) -> str:
    """A scalar's text; empty where it is none."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def lines(node: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """The lines of a shell script with their numbers in the file; ends that continue are joined."""
    if not isinstance(node, yaml.ScalarNode):
        return
    is_block = node.style == "|"
    begun, pending = 0, ""
    for n, line in enumerate(str(node.value).split("\n")):
        number = node.start_mark.line + (2 + n if is_block else 1)
        begun = begun if pending else number
        pending += line.strip()
        if pending.endswith("\\"):
            pending = pending[:-1].rstrip() + " "
        else:
            if pending and not pending.startswith("#"):
                yield begun, pending
            pending = ""
