"""Whole runs on real git that end in a stop, and who hears of it."""

from instrument.schema.events import Notified
from instrument.schema.vocabulary import Purpose
from loop.errors import Exit
from loop.notify import TOLD_FILE
from loop.store import STATE_FILE
from support.receiver import SECRET, receiving
from support.repos import Desk


def test_a_stop_is_told_once_and_forgotten_when_it_is_merged(desk: Desk) -> None:
    with receiving() as receiver:
        desk.environment["FACTORY_NOTIFY"] = receiver.url("a")
        stopped = desk.run()
        again = desk.run()

        assert stopped.result.exit_code == again.result.exit_code == Exit.STOPPED
        (message,) = receiver.messages
        assert message["title"] == "demo-007 stopped: ready_to_merge"
        assert "factory run tasks/007-retry.md" in message["message"]
        assert (desk.task_folder / TOLD_FILE).exists()

        assert desk.run(auto_merge=True).result.exit_code == Exit.DONE
        assert len(receiver.messages) == 1
        assert not (desk.task_folder / TOLD_FILE).exists()
    assert [(event.ok, event.failed) for event in desk.events if isinstance(event, Notified)] == [(1, 0)]


def test_a_service_that_refuses_changes_no_exit_code_and_is_tried_again(desk: Desk) -> None:
    with receiving() as receiver:
        receiver.status = 500
        desk.environment["FACTORY_NOTIFY"] = receiver.url("a")
        assert desk.run().result.exit_code == Exit.STOPPED
        assert "Not told of this stop: JSON; the next run tries again.\n" in desk.said.getvalue()

        receiver.status = 200
        assert desk.run().result.exit_code == Exit.STOPPED
        assert receiver.titles == ["demo-007 stopped: ready_to_merge"]
    assert [(event.ok, event.failed) for event in desk.events if isinstance(event, Notified)] == [
        (0, 1),
        (1, 0),
    ]
    kept = b"".join(path.read_bytes() for path in desk.home.rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert SECRET not in desk.said.getvalue()


def test_an_unreadable_state_is_told_by_a_run_and_not_by_a_dry_one(desk: Desk) -> None:
    desk.run()
    (desk.task_folder / STATE_FILE).write_text("{")
    with receiving() as receiver:
        desk.environment["FACTORY_NOTIFY"] = receiver.url("a")
        desk.run(dry_run=True)
        assert receiver.messages == []
        desk.run()
        desk.run()

        assert receiver.titles == ["demo-007 stopped: state_corrupt"]


def test_an_unreadable_state_of_a_demo_is_told_nobody(desk: Desk) -> None:
    desk.run()
    (desk.task_folder / STATE_FILE).write_text("{")
    with receiving() as receiver:
        desk.environment["FACTORY_NOTIFY"] = receiver.url("a")

        desk.run(purpose=Purpose.DEMO)

        assert receiver.messages == []
