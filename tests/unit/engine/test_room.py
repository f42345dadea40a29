from pathlib import Path
from typing import cast

import pytest

from engine.doings import Abandoned
from engine.room import Room
from instrument.schema.vocabulary import EffectKind
from loop.config import parse_config
from loop.machine.effects import Effect, FindBase, SetUp
from loop.session import Session
from loop.shell.context import Context
from loop.slots import Host

SESSION = Session(
    cast("Context", None), "demo-001", "tasks/001-a.md", "demo", parse_config(b"[repo]\nname = 'demo'\n")
)
MINE = SetUp(key="mine", base="b" * 40)


def leave() -> None:
    raise Abandoned


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(Host(tmp_path, 1))


def begins(room: Room, effect: Effect, *, resumed: bool = False) -> bool:
    """Whether a job of it gets in without a wait, and another one has no room meanwhile."""
    try:
        with room.slot(SESSION, effect, resumed=resumed, look=leave):
            return not room.has_room()
    except Abandoned:
        return False


def test_a_slot_that_is_kept_is_nobody_elses(room: Room) -> None:
    assert room.has_room()
    assert room.keep("mine", 0)
    assert not room.has_room()
    assert not room.keep("another", 0)


def test_the_same_job_is_kept_a_slot_once(room: Room) -> None:
    assert room.keep("mine", 0)
    assert room.keep("mine", 0)
    room.give_back("mine")
    assert room.has_room()


def test_what_was_never_kept_can_be_given_back(room: Room) -> None:
    room.give_back("mine")
    assert room.has_room()


def test_a_job_begins_in_the_slot_that_was_kept_and_frees_it(room: Room) -> None:
    room.keep("mine", 0)
    assert begins(room, MINE)
    assert room.has_room()


def test_a_job_that_was_kept_none_takes_a_free_one_or_waits(room: Room) -> None:
    assert begins(room, MINE)
    room.keep("another", 0)
    assert not begins(room, MINE)


def test_a_job_that_had_begun_never_waits_but_for_a_set_up_which_begins_anew(room: Room) -> None:
    room.keep("another", 0)
    begun = FindBase(key="mine")
    assert begun.kind is not EffectKind.SET_UP
    assert begins(room, begun, resumed=True)
    assert not begins(room, begun)
    assert not begins(room, MINE, resumed=True)


def test_rooms_of_one_home_share_its_slots(tmp_path: Path) -> None:
    first, second = Room(Host(tmp_path, 1)), Room(Host(tmp_path, 1))
    assert first.keep("mine", 0)
    assert not second.has_room()
    assert Room(Host(tmp_path, 1, "another")).has_room()
