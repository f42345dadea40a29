"""What a model says about `factory.toml`, turned into sentences for a person.

Pure: no I/O.
"""

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import get_args

from pydantic_core import ErrorDetails

from instrument.schema.base import Frozen
from instrument.schema.prices import OwnCliff, OwnPrice
from loop import config_tables as tables
from loop.problems import Problem, show, suggest
from loop.provider_tables import AnthropicWay, OpenaiWay
from loop.toml_lines import TomlLines

_KINDS = {
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "tuple_type": 'must be a list, such as ["one", "two"]',
    "model_type": "must be a table",
    "dict_type": "must be a table",
    "missing": "is missing",
}
_BOUNDS = {
    "greater_than": ("must be above", "gt"),
    "greater_than_equal": ("must be at least", "ge"),
    "less_than_equal": ("must be at most", "le"),
    "string_too_long": ("must be shorter; characters allowed:", "max_length"),
}
_GATHERED = ("checks", "commands")
_PRICES = "prices"
"""A table of `[provider.NAME]` that holds a table a model."""
_SUBTABLES = ("agent.command", "ladder.caps", "ladder.reasons", "provider.anthropic", "provider.openai")


def problem_of(error: ErrorDetails, path: str, lines: TomlLines) -> Problem:
    """Give one validation error as a sentence with its line."""
    written = _as_written(error["loc"])
    keys = tuple(part for part in written if isinstance(part, str))
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return Problem(path, lines.of(*written), _unknown(keys))
    if kind == "value_error":
        sentence = str(context["error"])
    elif kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        sentence = f"{words} {context[bound]:g}"
    elif kind in {"enum", "literal_error"}:
        sentence = f"must be one of {str(context['expected']).replace(chr(39), '')}"
    else:
        sentence = _KINDS.get(kind, f"cannot be used: {error['msg']}")
    return Problem(path, lines.of(*written), f"{_name(written)} {sentence}")


def _as_written(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Undo the gathering of check tables, and drop the mark that the error is about a key."""
    if loc[:2] == _GATHERED:
        loc = (loc[0], *loc[2:])
    return tuple(part for part in loc if part != "[key]")


def _name(written: tuple[int | str, ...]) -> str:
    """Name a place as a reader looks for it: `[limits] memory`, `[setup] always, item 2`."""
    keys = [part if part.isprintable() else show(part) for part in written if isinstance(part, str)]
    items = [f", item {part + 1}" for part in written if isinstance(part, int)]
    depth = 2 if keys[:1] == ["checks"] and len(keys) > 2 else 1  # noqa: PLR2004 - [checks.NAME] key
    if ".".join(keys[:2]) in _SUBTABLES and len(keys) > 2:  # noqa: PLR2004 - [agent.command] key
        depth = 2
    if _is_of_prices(keys):
        depth = 4
    elif _is_of_fallback(keys):
        depth = 3
    table, rest = keys[:depth], keys[depth:]
    return f"[{'.'.join(table)}]{' ' if rest else ''}{'.'.join(rest)}{''.join(items)}"


def _unknown(keys: tuple[str, ...]) -> str:
    known = _known(keys[:-1])
    where = f" in [{'.'.join(keys[:-1])}]" if len(keys) > 1 else ""
    return f"unknown key {show(keys[-1])}{where}{suggest(keys[-1], known)}"


def _known(table: tuple[str, ...]) -> Mapping[str, object]:
    """Return the keys that a table may have."""
    if table[:1] == ("checks",):
        return tables.CheckTable.model_fields
    if _is_of_prices(table):
        return (OwnCliff if table[-1] == "above" else OwnPrice).model_fields
    if _is_of_fallback((*table, "")):
        ways: dict[str, type[Frozen]] = {"anthropic": AnthropicWay, "openai": OpenaiWay}
        return ways[table[1]].model_fields
    model: type[Frozen] = tables.FactoryToml
    for key in table:
        annotation = model.model_fields[key].annotation
        # A table that may be absent is a union with none.
        (inner,) = (each for each in (get_args(annotation) or (annotation,)) if each is not NoneType)
        assert isinstance(inner, type)
        assert issubclass(inner, Frozen)
        model = inner
    return model.model_fields


def _is_of_prices(keys: Sequence[str]) -> bool:
    """Whether this lies in `[provider.NAME.prices]`."""
    return list(keys[:1]) == ["provider"] and list(keys[2:3]) == [_PRICES]


def _is_of_fallback(keys: Sequence[str]) -> bool:
    """Whether this lies in one of `[[provider.NAME.fallback]]`."""
    return list(keys[:1]) == ["provider"] and list(keys[2:3]) == ["fallback"] and len(keys) > 3  # noqa: PLR2004 - a key in it
