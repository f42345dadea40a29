"""The data path's own form of a usage."""

import pytest

from instrument.schema.usage import Usage
from proxy.buckets import Buckets

TOKENS = Buckets(1, 20, 300, 4000, 50_000, 600, 7)


def test_a_row_has_the_fields_of_the_ledgers_usage_in_their_order() -> None:
    assert list(Buckets().row()) == list(Usage.model_fields)
    assert Usage.model_validate(TOKENS.row()).model_dump() == TOKENS.row()


def test_totals_are_the_ledgers() -> None:
    usage = Usage(**TOKENS.row())
    assert TOKENS.total_tokens == usage.total_tokens == 54_321
    assert TOKENS.input_total_tokens == 4321


def test_two_are_added_bucket_by_bucket() -> None:
    both = TOKENS + Buckets(output_tokens=1)
    assert both.row() == (Usage(**TOKENS.row()) + Usage(output_tokens=1)).model_dump()
    assert both == TOKENS.with_output(50_001)
    assert hash(both) == hash(TOKENS.with_output(50_001))


@pytest.mark.parametrize("name", Usage.model_fields)
def test_those_that_differ_in_one_bucket_are_not_equal(name: str) -> None:
    assert Buckets(**{**TOKENS.row(), name: 9}) != TOKENS
