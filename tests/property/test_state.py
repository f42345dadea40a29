"""`state.json`: whatever text an agent, a person or a path brings, what was saved can be read again."""

import string
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instrument.schema.job import Decision
from instrument.schema.state import CheckFailure, Climb, Finding, Resolver, Ruling, Stop, TaskState, Tried
from instrument.schema.vocabulary import (
    EffectKind,
    Escalation,
    LadderStep,
    Outcome,
    Severity,
    Stage,
    StopReason,
)
from loop.errors import RunError
from loop.machine.keys import prompt_inputs, stop_inputs
from loop.store import STATE_FILE, StateCorruptError, dump_state, load_state, save_state
from support.ends import command
from support.lives import ladder, new_state, terms

CALM = settings(deadline=None, max_examples=40)  # a noisy machine is no fault of the code
ODD = st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Co"])
ANY = st.text(ODD | st.characters(codec=None, exclude_categories=[]), max_size=12)
WHOLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@st.composite
def states(draw: st.DrawFn, text: st.SearchStrategy[str]) -> TaskState:
    """A state with text of others in every place that holds some."""
    number = st.integers(0, 2**63)
    one = st.builds
    findings = one(
        Finding,
        id=st.just("F1"),
        severity=st.sampled_from(Severity),
        path=text,
        line=st.none() | number,
        quote=text,
        text=text,
        evidence=text,
        round=number,
        closed=st.booleans(),
    )
    failures = one(
        lambda name, folder: CheckFailure(gate=False, folder=folder, command=command(name)), text, text
    )
    stops = one(
        Stop,
        reason=st.sampled_from(StopReason),
        stage=st.sampled_from(Stage),
        outcome=st.sampled_from(Outcome),
        details=st.lists(text, max_size=3).map(tuple),
    )
    state = new_state(
        summary=draw(text),
        task_path=draw(text),
        could_not_verify=tuple(draw(st.lists(text, max_size=2))),
        findings=tuple(draw(st.lists(findings, max_size=2))),
        failures=tuple(draw(st.lists(failures, max_size=2))),
        decisions=tuple(draw(st.lists(one(Decision, choice=text, why=text, undo=text), max_size=2))),
        rulings=tuple(
            draw(
                st.lists(
                    one(
                        Ruling,
                        stop=st.sampled_from(StopReason),
                        digest=text,
                        text=text,
                        by=st.none() | one(Resolver, step=st.sampled_from(LadderStep), model=text),
                    ),
                    max_size=2,
                )
            )
        ),
        tried=tuple(
            draw(
                st.lists(
                    one(
                        Tried,
                        step=st.sampled_from(LadderStep),
                        stop=st.sampled_from(StopReason),
                        said=text,
                        ruled=st.booleans(),
                    ),
                    max_size=2,
                )
            )
        ),
        climb=draw(st.none() | one(Climb, stop=stops, step=st.sampled_from(LadderStep))),
        terms=terms(ladder=draw(st.none() | st.just(ladder(escalate_if=tuple(Escalation))))),
        stop=draw(st.none() | stops),
        stage=draw(st.sampled_from(Stage)),
        seq=draw(number),
    )
    effects = draw(st.dictionaries(st.sampled_from(EffectKind), number, max_size=3))
    return state.model_copy(update={"counters": state.counters.model_copy(update={"effects": effects})})


def loaded(data: bytes) -> TaskState | None:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / STATE_FILE).write_bytes(data)
        return load_state(Path(name))


@CALM
@given(states(WHOLE))
def test_what_is_saved_is_read_back_the_same(state: TaskState) -> None:
    assert loaded(dump_state(state)) == state


@CALM
@given(states(ANY))
def test_a_lone_surrogate_costs_its_own_character_and_nothing_else(state: TaskState) -> None:
    read = loaded(dump_state(state))
    assert read is not None
    assert read == loaded(dump_state(read)), "once read, it stays the same"
    assert read.summary == state.summary.encode("utf-8", "replace").decode()
    assert read.counters == state.counters
    assert len(prompt_inputs(state)) == 64
    assert stop_inputs(state).isascii()


@CALM
@given(states(ANY), st.data())
def test_a_torn_state_is_called_corrupt_and_never_half_believed(
    state: TaskState, data: st.DataObject
) -> None:
    whole = dump_state(state)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(StateCorruptError):
        loaded(whole[:cut])


@CALM
@given(st.binary(max_size=80) | st.text(string.printable + '{}[]:,"', max_size=40).map(str.encode))
def test_a_file_of_anything_is_one_sentence(data: bytes) -> None:
    with pytest.raises((StateCorruptError, RunError)) as caught:
        loaded(data)
    assert "\n" not in str(caught.value)


def test_saving_twice_leaves_one_file_that_only_we_can_read(tmp_path: Path) -> None:
    save_state(tmp_path, new_state())
    save_state(tmp_path, new_state(seq=2))
    assert [path.name for path in tmp_path.iterdir()] == [STATE_FILE]
    assert (tmp_path / STATE_FILE).stat().st_mode & 0o777 == 0o600
    assert load_state(tmp_path) == new_state(seq=2)
