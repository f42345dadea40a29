"""Quick decoders of JSON lines, made from the models of `instrument.schema`.

Pure: no I/O. A record may hold a million lines: checking each against its pydantic model takes three times
as long as parsing it, these decoders check as much in half of that time. Limits: they know the few kinds of
field that records use, and refuse a model with another one when they are made.
"""

import types
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin

import annotated_types
import msgspec
from pydantic import AwareDatetime, BaseModel

T = TypeVar("T")
TAG = "kind"
"""The field by which the models of one file are told apart."""


class DecodeError(ValueError):
    """The bytes are no JSON of any of the models."""


class Decoder(Generic[T]):
    """Decodes what one model, or one of several told apart by `kind`, describes.

    What it gives has the model's attributes and is none of its instances: see `model_of`.
    """

    def __init__(self, *models: type[BaseModel]) -> None:
        self._kinds: dict[type, type[BaseModel]] = {_struct_of(model): model for model in models}
        self._json = msgspec.json.Decoder(Union[tuple(self._kinds)])  # type: ignore[arg-type,unused-ignore] # noqa: UP007 - made of values

    def decode(self, line: bytes) -> T:
        """One object.

        Raises:
            DecodeError: It is no JSON, or does not fit.
        """
        try:
            return cast("T", self._json.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DecodeError(str(error)) from None

    def decode_lines(self, lines: bytes) -> list[T]:
        """One object a line.

        Raises:
            DecodeError: One of them does not fit.
        """
        try:
            return cast("list[T]", self._json.decode_lines(lines))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DecodeError(str(error)) from None

    def encode(self, decoded: T) -> bytes:
        """The line that it came from, or of the model that it is an instance of."""
        if isinstance(decoded, BaseModel):
            return decoded.model_dump_json().encode()
        return msgspec.json.encode(decoded)

    def model_of(self, decoded: T) -> T:
        """The same as an instance of its model; what is one already is given back."""
        kind = self._kinds.get(type(decoded))
        if kind is None:
            return decoded
        return cast("T", kind.model_validate_json(msgspec.json.encode(decoded)))

    def by_type(self, handlers: Mapping[type[BaseModel], Callable[..., None]]) -> dict[type, Any]:
        """Handlers by the type of what is decoded, for a loop over many lines."""
        return {_struct_of(model): handler for model, handler in handlers.items()}


@cache
def _struct_of(model: type[BaseModel]) -> type[msgspec.Struct]:
    """A struct with a model's fields, defaults and limits."""
    fields: list[Any] = []
    tag: str | None = None
    for name, field in model.model_fields.items():
        if name == TAG and get_origin(field.annotation) is Literal:
            tag = field.default
            continue
        kind = _type_of(field.annotation, tuple(field.metadata))
        if field.is_required():
            fields.append((name, kind))
        else:
            fields.append((name, kind, field.get_default(call_default_factory=True)))
    return msgspec.defstruct(
        model.__name__,
        fields,
        tag_field=TAG if tag else None,
        tag=tag,
        frozen=True,
        kw_only=True,
        forbid_unknown_fields=True,
        gc=False,
    )


def _type_of(kind: Any, limits: tuple[Any, ...] = ()) -> Any:  # noqa: ANN401 - types are values here
    """The same type for a struct.

    Raises:
        TypeError: There is none: the model is not for a record.
    """
    if kind is AwareDatetime:
        return Annotated[datetime, msgspec.Meta(tz=True)]
    origin = get_origin(kind)
    if origin is Annotated:
        inner, *more = get_args(kind)
        return _type_of(inner, (*limits, *more))
    if limits:
        return Annotated[_type_of(kind), *(_limit(limit) for limit in limits)]
    if origin in (Union, types.UnionType):
        return Union[tuple(_type_of(part) for part in get_args(kind))]  # noqa: UP007 - made of values
    if origin is tuple:
        return tuple[tuple(part if part is ... else _type_of(part) for part in get_args(kind))]  # type: ignore[misc]
    if origin is dict:
        key, value = get_args(kind)
        return dict[_type_of(key), _type_of(value)]  # type: ignore[misc]
    if origin is Literal or kind in (str, int, bool, type(None)):
        return kind
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _struct_of(kind)
    if isinstance(kind, type) and hasattr(kind, "__members__"):
        return kind
    raise TypeError(f"no record holds a field of {kind}")


def _limit(limit: Any) -> msgspec.Meta:  # noqa: ANN401 - as above
    """A model's limit on a number."""
    match limit:
        case annotated_types.Ge(ge=int(least)):
            return msgspec.Meta(ge=least)
        case annotated_types.Gt(gt=int(below)):
            return msgspec.Meta(gt=below)
        case _:
            raise TypeError(f"no record holds a field limited by {limit}")
