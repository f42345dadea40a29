from typing import Any

import pytest

from instrument.schema.job import BigPath
from instrument.schema.vocabulary import Stage, StopReason
from loop.machine.guards import (
    first_match,
    patch_oversized,
    repository_nested,
    tree_uncapturable,
)
from loop.machine.table import TABLE
from loop.replay.reasons import ERROR, SENTENCES, OnlyHere, stop_of
from support.ends import coder_end, tree
from support.lives import new_state

BIG = (BigPath(path="big", size_bytes=9),)


@pytest.mark.parametrize(
    "fields",
    [
        {"nested_repos": ("sub",), "oversized": True, "biggest": BIG},
        {"oversized": True, "biggest": BIG, "unreadable": ("x",)},
        {"unreadable": ("x",)},
        {"unencodable": ("x",)},
        {},
    ],
)
def test_a_captured_tree_is_stopped_for_the_reason_that_a_run_gives(fields: dict[str, Any]) -> None:
    captured = tree(**fields)
    end = coder_end("k")
    assert end.report is not None
    end = end.model_copy(update={"report": end.report.model_copy(update={"tree": captured})})
    outcome = first_match((repository_nested, patch_oversized, tree_uncapturable), new_state(), end)
    wanted = None if outcome is None else TABLE[Stage.IMPLEMENT, outcome].stop

    stop = stop_of(captured)

    assert (None if stop is None else stop[0]) == wanted
    assert stop is None or stop[1]


def test_every_reason_has_its_sentence() -> None:
    ours = {*OnlyHere, ERROR}
    assert ours < set(SENTENCES)
    assert set(SENTENCES) - ours <= set(StopReason)
