"""Whole runs: what a person reverts after a merge is told in the report."""

import json
from typing import Any

from instrument.asked import Asked
from instrument.report import build_report
from instrument.reverts import reverts_file
from instrument.rows import read_rows
from support.repos import TASK_ID, TASK_TEXT, Desk, edited, mode_of

NEXT = "tasks/008-next.md"
NEXT_TEXT = edited(TASK_TEXT, "src/**", "other/**")


def kept(desk: Desk) -> dict[str, bool | None]:
    return {row.task_id: row.kept for row in build_report(read_rows(desk.home), Asked()).rows}


def lines(desk: Desk) -> list[Any]:
    return [json.loads(line) for line in reverts_file(desk.home, "demo").read_bytes().splitlines()]


def take_back(desk: Desk, commit: str) -> None:
    desk.person.git("revert", "--no-edit", commit)
    desk.person.git("push", "--quiet", "origin", "main")


def test_a_merge_that_a_person_reverts_is_not_kept_from_the_next_run_on(desk: Desk):
    landed = desk.run(auto_merge=True).result.commit
    assert landed is not None
    assert kept(desk) == {TASK_ID: True}
    assert lines(desk) == []
    take_back(desk, landed)
    desk.commit({NEXT: NEXT_TEXT})

    desk.run(task=NEXT)

    assert [(line["commit"], line["reverts"]) for line in lines(desk)] == [
        (desk.person.head("HEAD^"), landed)
    ]
    assert kept(desk)[TASK_ID] is False
    assert mode_of(reverts_file(desk.home, "demo")) == 0o600

    take_back(desk, desk.person.head("HEAD^"))
    desk.run(task=NEXT)
    desk.commit({"README": "later\n"})
    desk.run(task=NEXT, rulings=("Look again.",))
    assert kept(desk)[TASK_ID] is True, "the revert itself was reverted"
    assert len(lines(desk)) == 2


def test_a_file_that_is_gone_is_made_again_from_the_whole_history(desk: Desk):
    landed = desk.run(auto_merge=True).result.commit
    assert landed is not None
    take_back(desk, landed)
    desk.commit({NEXT: NEXT_TEXT})
    desk.run(task=NEXT)
    reverts_file(desk.home, "demo").unlink()
    assert kept(desk)[TASK_ID] is None

    desk.commit({"tasks/009-more.md": NEXT_TEXT})
    desk.run(task="tasks/009-more.md")

    assert kept(desk)[TASK_ID] is False


def test_a_file_that_cannot_be_written_hinders_nobody(desk: Desk):
    reverts_file(desk.home, "demo").mkdir(parents=True)

    assert desk.ends(auto_merge=True) == "merged"
    assert kept(desk) == {TASK_ID: None}
