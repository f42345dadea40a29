"""The tables of `factory.toml` and of a story for the documentation: a key, what it takes, what it means.

Limits: reads nothing but the models and their own source, for the docstrings below the fields.
"""

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic.fields import FieldInfo

from instrument.schema.base import Frozen
from loop import config_words
from loop.config import PROTECTED
from loop.config_tables import FactoryToml
from proxy.scripted.story import Story

KINDS: dict[str, Any] = {
    "shell command": config_words.Line,
    "check's name": config_words.CheckName,
    "variable's name": config_words.Variable,
    "pattern": config_words.Glob,
    "path": config_words.RepoPath,
    "model id": config_words.Model,
    'size such as `"512m"`': config_words.Size,
    "branch": config_words.Branch,
    "remote": config_words.RemoteName,
    "image": config_words.ImageName,
    "pattern, ": config_words.Protection,
    "host": config_words.Host,
    "container runtime": config_words.ContainerRuntime,
    "`Name <mail>`": config_words.Author,
    "address": config_words.Url,
    "small letters, digits, `-`, `_`, `.`": config_words.Name,
}
"""What `config_words` declares, in words; the comma of a protection goes away when it is shown."""
PLAIN = {str: "text", bool: "`true` or `false`", int: "whole number", float: "number"}


@dataclass(slots=True)
class KeyTables:
    """One walk through a model: a table of keys for each model in it, each model once."""

    heading: Callable[[str, bool], str]
    """How the place of a table is written, from its dotted path and whether it may be there many times."""
    left_out: tuple[str, ...] = ()
    """Keys that a person does not write."""
    spread: str | None = None
    """The key whose named tables stand beside it, not below it; it is no key of the file."""
    has_root: bool = False
    """Whether the file's own keys are shown, too, and not its tables alone."""
    _places: dict[type[Frozen], str] = field(default_factory=dict)

    def of(self, model: type[Frozen], path: str = "", *, is_list: bool = False) -> list[str]:
        """The lines for a model and for those in it, which come behind it; empty for one shown before."""
        if model in self._places:
            return []
        self._places[model] = place = self.heading(path, is_list)
        own, below = [], []
        for name, info in model.model_fields.items():
            if name in self.left_out:
                continue
            inner = next(_models(info.annotation), None)
            if inner is None:
                own.append(self._row(model, name, info, _words(_hint(model, name))))
                continue
            own_name = "" if name == self.spread else name
            inner_path = _join(path, own_name, "NAME" if get_origin(info.annotation) is dict else "")
            below += self.of(inner, inner_path, is_list=_is_many(info.annotation))
            if (path or self.has_root) and own_name and not _is_empty_table(info):
                own.append(self._row(model, name, info, f"see {self._places[inner]}"))
        head = [f"### {place}", "", _sentence(model), ""] if path else []
        table = ["| key | takes | default | meaning |", "| --- | --- | --- | --- |", *own, ""] if own else []
        return [*head, *table, *below]

    def _row(self, model: type[Frozen], name: str, info: FieldInfo, takes: str) -> str:
        cells = [f"`{name}`", takes, _default(info), docs_of(model).get(name, "")]
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def docs_of(cls: type) -> dict[str, str]:
    """The docstrings below a class's own and inherited fields or members, each as one line."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if not each.__module__.startswith(("instrument.", "loop.", "proxy.")):
            continue
        (body,) = ast.parse(inspect.getsource(each)).body
        assert isinstance(body, ast.ClassDef)
        for one, below in zip(body.body, body.body[1:], strict=False):
            target = one.target if isinstance(one, ast.AnnAssign) else getattr(one, "targets", [None])[0]
            if isinstance(target, ast.Name) and isinstance(below, ast.Expr):
                assert isinstance(below.value, ast.Constant)
                found[target.id] = " ".join(str(below.value.value).split())
    return found


def _sentence(model: type[Frozen]) -> str:
    """The first line of the model's docstring, without the name of the table before it."""
    line = (model.__doc__ or "").partition("\n")[0]
    said = re.sub(r"^`[^`]+`: ", "", line)
    return said[:1].upper() + said[1:]


def _hint(model: type[Frozen], name: str) -> Any:
    return get_type_hints(model, include_extras=True)[name]


def _models(annotation: Any) -> Iterator[type[Frozen]]:
    """The models that an annotation names, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, Frozen):
        yield annotation
    for each in get_args(annotation):
        yield from _models(each)


def _is_many(annotation: Any) -> bool:
    kinds = (get_origin(annotation), *(get_origin(each) for each in get_args(annotation)))
    return tuple in kinds or any(_is_many(each) for each in get_args(annotation))


def _join(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _words(hint: Any) -> str:
    """What a value may be, in words."""
    if (kind := _kind(hint)) is not None:
        return kind
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _words(inner[0]) + _bounds(inner[1:])
    if origin in (UnionType, Union):
        (one,) = (each for each in inner if each is not NoneType)
        return _words(one)
    if origin is tuple:
        return f"list: {_words(inner[0])}"
    if origin is dict:
        return f"table: {_words(inner[0])} = {_words(inner[1])}"
    if origin is Literal:
        return _one_of(inner)
    if isinstance(hint, type) and issubclass(hint, Enum):
        values = [each.value for each in hint]
        return _one_of(values) if len(values) < 10 else "a stop's name"
    return PLAIN.get(hint, "anything")


def _kind(hint: Any) -> str | None:
    """The word for a type of `config_words`."""
    return next((word.rstrip(", ") for word, kind in KINDS.items() if kind == hint), None)


def _one_of(values: Any) -> str:
    *first, last = (f'`"{value}"`' for value in values)
    return f"{', '.join(first)} or {last}" if first else last


def _bounds(metadata: tuple[Any, ...]) -> str:
    """The limits of a number; the library keeps each as an object with one attribute."""
    inside = [each for info in metadata for each in getattr(info, "metadata", [info])]
    words = (("gt", "above"), ("ge", "from"), ("le", "to"))
    said = [
        f" {word} {getattr(each, name)}" for name, word in words for each in inside if hasattr(each, name)
    ]
    return "," + "".join(said) if said else ""


def _is_empty_table(info: FieldInfo) -> bool:
    """Whether this is a table of which nothing is set by itself: its own section says all."""
    return isinstance(info.default, Frozen) and not info.default.model_dump(exclude_defaults=True)


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    default = info.get_default(call_default_factory=True, validated_data={})
    if default is None or default in ((), {}):
        return "none"
    if isinstance(default, Frozen):
        default = default.model_dump(exclude_defaults=True)
    if isinstance(default, float) and default.is_integer():
        return f"`{int(default)}`"
    return f"`{json.dumps(default)}`"


def config_tables() -> str:
    """Every table of `factory.toml`, and what is protected everywhere."""

    def heading(path: str, is_list: bool) -> str:  # noqa: FBT001 - as `KeyTables` calls it
        return f"`[[{path}]]`" if is_list else f"`[{path}]`"

    protected = ", ".join(f"`{path}`" for path in PROTECTED)
    lines = KeyTables(heading, spread="commands").of(FactoryToml)
    return "\n".join(
        [*lines, f"Protected in every repository: {protected}; and the templates of `[prompts]`."]
    )


def story_tables() -> str:
    """Every table of a story that is told; a recorded one is not written by hand."""

    def heading(path: str, is_list: bool) -> str:  # noqa: FBT001 - as `KeyTables` calls it
        return f"each of `{path}`" if is_list else f"`{path}`"

    lines = KeyTables(heading, left_out=("recorded",), has_root=True).of(Story)
    return "\n".join(lines).rstrip()
