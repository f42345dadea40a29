from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop.bakeoff.plan import order_cells

SIZES = st.integers(1, 5)


@given(st.text("0123456789abcdef", min_size=8, max_size=8), SIZES, SIZES, SIZES)
def test_every_task_meets_every_variant_as_often_as_asked(
    name: str, subjects: int, variants: int, repeats: int
) -> None:
    cells = order_cells(name, subjects, variants, repeats)
    met = Counter((cell.subject, cell.variant) for cell in cells)
    assert met == Counter({(s, v): repeats for s in range(subjects) for v in range(variants)})
    assert [cell.n for cell in cells] == list(range(1, len(cells) + 1))
    # All variants of a task in a repeat stand together: no time of day is one variant's.
    for start in range(0, len(cells), variants):
        block = cells[start : start + variants]
        assert len({(cell.subject, cell.repeat) for cell in block}) == 1
        assert {cell.variant for cell in block} == set(range(variants))


def test_the_order_is_drawn_from_the_id_alone() -> None:
    assert order_cells("0a0b0c0d", 4, 3, 2) == order_cells("0a0b0c0d", 4, 3, 2)
    firsts = Counter(order_cells(f"{n:08x}", 1, 2, 1)[0].variant for n in range(200))
    assert firsts[0] == pytest.approx(100, abs=40)
