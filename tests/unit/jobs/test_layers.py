from datetime import UTC, datetime

from jobs.engine.states import ImageState
from jobs.layers import Shelf, is_below, is_ours
from jobs.pod import OURS


def image(name: str, layers: str, size: int, *, tag: str | None = None, hour: int = 0) -> ImageState:
    """One image; each letter of `layers` is a layer."""
    labels = {} if tag and not tag.startswith("factory-loop/") else {OURS: "1"}
    created = datetime(2026, 11, 1, hour, tzinfo=UTC)
    return ImageState(name, (tag,) if tag else (), labels, created, size, tuple(layers))


DEBIAN = image("debian", "a", 100, tag="debian:12")
JOB = image("job", "abc", 160, tag="factory-loop/job:1")
SET_UP = image("setup", "abcd", 190, tag="factory-loop/setup:1")
OTHER = image("other", "abce", 200, tag="factory-loop/setup:2")
PERSONS = image("persons", "abcz", 500, tag="mine:1")


def test_a_shared_layer_counts_once_and_a_base_of_others_not_at_all() -> None:
    shelf = Shelf((DEBIAN, JOB, SET_UP, OTHER, PERSONS), ())
    assert shelf.total_bytes((DEBIAN, JOB, SET_UP, OTHER, PERSONS)) == 60 + 30 + 40
    assert shelf.total_bytes((JOB, SET_UP)) == 60 + 30
    assert shelf.total_bytes((SET_UP,)) == 60 + 30
    assert [shelf.own_bytes(each) for each in (JOB, SET_UP, OTHER)] == [0, 30, 40]


def test_a_hidden_step_shows_what_two_images_share() -> None:
    step = image("step", "ab", 150)
    first, second = (
        image("1", "abx", 170, tag="factory-loop/python:1"),
        image("2", "aby", 180, tag="factory-loop/python:2"),
    )
    assert Shelf((DEBIAN, first, second), (step,)).total_bytes((first, second)) == 50 + 20 + 30


def test_images_of_the_same_layers_take_the_room_of_one() -> None:
    again = image("again", "abcd", 190, hour=1)
    shelf = Shelf((JOB, SET_UP, again), ())
    assert shelf.total_bytes((JOB, SET_UP, again)) == 190
    assert [shelf.own_bytes(each) for each in (SET_UP, again)] == [0, 0]
    assert is_below(SET_UP, again)
    assert not is_below(again, SET_UP)


def test_an_image_is_ours_by_its_label_and_every_name() -> None:
    assert is_ours(JOB)
    assert is_ours(image("x", "a", 1))
    assert not is_ours(DEBIAN)
    assert not is_ours(ImageState("y", ("factory-loop/job:1", "mine:2"), {OURS: "1"}))
