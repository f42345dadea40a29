import pytest

from loop.bakeoff.chance import least_pairs, share_range, sign_p


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [(3, 3, 0.438, 1.0), (0, 3, 0.0, 0.562), (5, 10, 0.237, 0.763), (90, 100, 0.826, 0.945)],
)
def test_a_share_has_wilsons_range(hits: int, count: int, low: float, high: float) -> None:
    assert share_range(hits, count) == pytest.approx((low, high), abs=0.001)


def test_without_a_sample_a_share_may_be_anything() -> None:
    assert share_range(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (3, 3, 1.0), (8, 2, 0.109)],
)
def test_the_sign_test_is_two_sided_and_exact(wins: int, losses: int, p: float) -> None:
    assert sign_p(wins, losses) == pytest.approx(p, abs=0.001)
    assert sign_p(losses, wins) == sign_p(wins, losses)


def test_with_fewer_pairs_than_named_even_all_on_one_side_prove_nothing() -> None:
    for alpha in (0.05, 0.05 / 3, 0.05 / 10):
        least = least_pairs(alpha)
        assert sign_p(least, 0) <= alpha < sign_p(least - 1, 0)
    assert least_pairs(0.05) == 6
