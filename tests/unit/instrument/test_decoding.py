import json
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from instrument.decoding import DecodeError, Decoder
from instrument.figures import Row
from instrument.schema.base import Frozen
from instrument.schema.events import EVENT, EVENTS, AnyEvent
from instrument.schema.state import TaskState
from support.sample import line_of

DECODER: Decoder[AnyEvent] = Decoder(*EVENTS)


def same(decoded: Any, model: Any) -> bool:
    if isinstance(model, BaseModel):
        return all(same(getattr(decoded, name), value) for name, value in model if name != "kind")
    return bool(decoded == model)


@pytest.mark.parametrize("model", EVENTS, ids=lambda model: model.__name__)
def test_every_kind_of_line_is_read_as_its_model_reads_it(model: type[BaseModel]) -> None:
    line = json.dumps(line_of(model)).encode()

    decoded = DECODER.decode(line)

    assert same(decoded, EVENT.validate_json(line))
    assert DECODER.model_of(decoded) == EVENT.validate_json(line)
    assert DECODER.decode_lines(line + b"\n" + line) == [decoded, decoded]


BAD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.just(0.5),
    st.text("aé\0 ", max_size=3),
    st.just([]),
    st.just({}),
)


@given(st.sampled_from(EVENTS), st.data())
def test_whatever_a_model_refuses_is_refused_and_nothing_else(
    model: type[BaseModel], data: st.DataObject
) -> None:
    line = line_of(model)
    match data.draw(st.sampled_from(["change", "remove", "add"])):
        case "change":
            name, value = data.draw(st.sampled_from(sorted(line))), data.draw(BAD)
            # Python's `True == 1` lets pydantic take it for the version.
            assume((name, value) != ("schema_version", True))
            line[name] = value
        case "remove":
            del line[data.draw(st.sampled_from(sorted(line)))]
        case _:
            line["other"] = 1
    text = json.dumps(line).encode()

    assert accepts(DECODER.decode, DecodeError, text) == accepts(EVENT.validate_json, ValidationError, text)


def accepts(read: Any, refusal: type[Exception], text: bytes) -> bool:
    try:
        read(text)
    except refusal:
        return False
    return True


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b"\xff", b'{"kind": "of tomorrow"}'])
def test_what_is_no_line_is_a_decode_error(line: bytes) -> None:
    with pytest.raises(DecodeError):
        DECODER.decode(line)


def test_a_model_with_a_field_that_no_record_holds_is_refused_when_it_is_made() -> None:
    class Odd(Frozen):
        value: float

    with pytest.raises(TypeError, match="no record holds a field of <class 'float'>"):
        Decoder(Odd)


def test_states_and_rows_can_be_decoded_too() -> None:
    assert get_args(get_args(AnyEvent)[0]) == EVENTS
    assert Decoder(TaskState)
    assert Decoder(Row)
