import pytest

from instrument.html.bars import part_stack, percent, plain_stack, scale_of
from instrument.parts import Part


@pytest.mark.parametrize(
    ("lengths", "scale"),
    [
        ([], 0),
        ([0, 0], 0),
        ([7], 7),
        # The 9th of ten is 9; 10 is less than twice of it.
        (range(1, 11), 10),
        ([*range(1, 10), 500], 18),
        # Nine of ten have none at all.
        ([0] * 9 + [500], 500),
    ],
)
def test_few_that_are_far_longer_do_not_flatten_the_others(lengths: list[int], scale: int) -> None:
    assert scale_of(lengths) == scale


def test_parts_stand_one_after_the_other_and_say_their_lengths() -> None:
    stack = part_stack({Part.PERSON: 5_000, Part.WORKING: 15_000}, 40_000)

    assert [(bar.kind, bar.x, bar.width) for bar in stack.bars] == [
        ("working", "0%", "37.5%"),
        ("person", "37.5%", "12.5%"),
    ]
    assert stack.text == "working 15.0s, waiting: a person 5.0s"
    assert not stack.is_cut


def test_what_is_longer_than_the_room_is_cut_and_says_so_with_its_whole_length() -> None:
    stack = part_stack({Part.WORKING: 15_000, Part.CHECKING: 60_000, Part.PERSON: 5_000}, 20_000)

    assert [(bar.x, bar.width) for bar in stack.bars] == [("0%", "75%"), ("75%", "25%")]
    assert stack.is_cut
    assert stack.text == "working 15.0s, checking 1m 00s, waiting: a person 5.0s"
    assert plain_stack(30, 20, "cost", "$3").bars[0].width == "100%"


def test_what_is_not_known_has_no_bar() -> None:
    assert plain_stack(None, 20, "cost", "?").bars == ()
    assert percent(0, 0) == "0%"
