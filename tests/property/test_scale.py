from hypothesis import given
from hypothesis import strategies as st

from instrument.html.scale import Scale

SPANS = st.lists(
    st.tuples(st.integers(0, 10**6), st.integers(0, 10**5)).map(lambda pair: (pair[0], sum(pair))),
    min_size=1,
    max_size=30,
)


@given(SPANS, st.lists(st.integers(-10, 2 * 10**6), min_size=2))
def test_later_is_never_further_left_and_nothing_is_outside(
    spans: list[tuple[int, int]], times: list[int]
) -> None:
    scale = Scale(spans)
    places = [float(scale.at(time).removesuffix("%")) for time in sorted(times)]

    assert places == sorted(places)
    assert all(0 <= place <= 100 for place in places)
