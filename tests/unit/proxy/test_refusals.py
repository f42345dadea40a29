import re

import pytest

from proxy import refusals
from proxy.refusals import Refusal

AGAIN = re.compile(
    r"\d|rate.?limit|too many requests|overloaded|server error|try again|timed? ?out", re.IGNORECASE
)
"""Words and figures at which opencode asks again, whatever the status is: read from its program, 1.18.33."""


@pytest.mark.parametrize("refusal", [refusals.out_of_budget(), refusals.past_deadline()])
def test_a_final_refusal_says_nothing_that_makes_a_program_try_again(refusal: Refusal) -> None:
    assert refusal.is_final
    assert not AGAIN.search(refusal.message)
