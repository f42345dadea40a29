"""Who is told of a stop, and how often; a real receiver on loopback."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from instrument.schema.events import Event, Notified
from instrument.schema.state import Stop, TaskState
from instrument.schema.vocabulary import Outcome, Purpose, Stage, StopReason
from loop.home import make_private
from loop.machine.resume import record_ruling
from loop.notify import TIMEOUT_S, TOLD_FILE, deliver, tell, tell_corrupt
from support.lives import new_state
from support.receiver import SECRET, Receiver, receiving
from support.repos import mode_of

TITLE = "demo-001 stopped: blocked"
ASKED = Stop(
    reason=StopReason.BLOCKED, stage=Stage.IMPLEMENT, outcome=Outcome.CODER_BLOCKED, details=("Which one?",)
)
OTHER = ASKED.model_copy(update={"details": ("Why?",)})


def stopped(stop: Stop = ASKED, **changes: object) -> TaskState:
    return new_state(stage=Stage.STOPPED, stop=stop, **changes)


HELD = """
import os, sys
from loop.notify import deliver
from loop.signals import Signals
signals = Signals()
signals.install()
signals.hold()
sys.exit(3 if deliver("title", "body", os.environ).failed else 0)
"""


class Person:
    """Runs a task that ends in some state, again and again."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.environment = environment
        self.said: list[str] = []
        self.record: list[tuple[type[Event], dict[str, object]]] = []

    def ends_in(self, state: TaskState, brief: str = "the brief") -> None:
        tell(
            self.folder,
            state,
            brief,
            self.environment,
            say=self.said.append,
            record=lambda kind, **fields: self.record.append((kind, fields)),
        )

    @property
    def told_file(self) -> Path:
        return self.folder / TOLD_FILE


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def person(tmp_path: Path, receiver: Receiver) -> Person:
    return Person(make_private(tmp_path / "task"), FACTORY_NOTIFY=receiver.url("a"))


def test_a_stop_is_told_with_its_reason_and_its_brief(person: Person, receiver: Receiver) -> None:
    person.ends_in(stopped(), "# Which one?\n\n  factory run tasks/001-x.md --ruling 'this one'\n")

    (message,) = receiver.messages
    assert message["title"] == TITLE
    assert "  factory run tasks/001-x.md --ruling 'this one'" in message["message"]
    assert person.record == [(Notified, {"ok": 1, "failed": 0})]
    assert person.said == []
    assert mode_of(person.told_file) == 0o600


def test_a_rerun_that_ends_in_the_same_stop_tells_nobody(person: Person, receiver: Receiver) -> None:
    person.ends_in(stopped())
    person.ends_in(stopped(seq=12), "another figure in the brief")

    assert receiver.titles == [TITLE]
    assert len(person.record) == 1


def test_a_stop_with_other_details_is_told_again(person: Person, receiver: Receiver) -> None:
    person.ends_in(stopped())
    person.ends_in(stopped(OTHER))

    assert receiver.titles == [TITLE, TITLE]


def test_the_same_question_after_an_answer_is_told_again(person: Person, receiver: Receiver) -> None:
    person.ends_in(stopped())
    ruled = record_ruling(stopped(), "this one")
    person.ends_in(stopped(rulings=ruled.rulings))

    assert receiver.titles == [TITLE, TITLE]


def test_a_stop_that_comes_back_after_the_task_went_on_is_told_again(
    person: Person, receiver: Receiver
) -> None:
    person.ends_in(stopped())
    person.ends_in(new_state(stage=Stage.DONE))
    assert not person.told_file.exists()
    person.ends_in(stopped())

    assert receiver.titles == [TITLE, TITLE]


def test_nobody_is_told_of_a_demo_or_of_what_they_parked_themselves(
    person: Person, receiver: Receiver
) -> None:
    person.ends_in(stopped(purpose=Purpose.DEMO))
    person.ends_in(stopped(ASKED.model_copy(update={"reason": StopReason.PARKED})))
    person.ends_in(new_state())

    assert receiver.messages == []


def test_without_a_service_nothing_is_kept(tmp_path: Path) -> None:
    person = Person(tmp_path, FACTORY_NOTIFY="  ")
    person.ends_in(stopped())

    assert list(tmp_path.iterdir()) == []
    assert person.record == []


def test_only_the_service_that_failed_is_tried_again(person: Person, receiver: Receiver) -> None:
    with receiving() as second:
        second.status = 500
        person.environment["FACTORY_NOTIFY"] += f"\n{second.url('b')}"
        person.ends_in(stopped())
        second.status = 200
        person.ends_in(stopped())
        person.ends_in(stopped())

        assert receiver.titles == [TITLE]
        assert second.titles == [TITLE]
    assert [fields for _, fields in person.record] == [{"ok": 1, "failed": 1}, {"ok": 1, "failed": 0}]
    assert person.said == ["Not told of this stop: JSON; the next run tries again."]


def test_an_unusable_address_is_named_by_its_place(person: Person, receiver: Receiver) -> None:
    person.environment["FACTORY_NOTIFY"] += f" nonsense://{SECRET}"
    person.ends_in(stopped())

    assert receiver.titles == [TITLE]
    assert person.said == ["Not told of this stop: URL 2 of FACTORY_NOTIFY; the next run tries again."]


def test_a_configuration_file_of_apprise_serves_too(
    person: Person, receiver: Receiver, tmp_path: Path
) -> None:
    config = tmp_path / "apprise.yml"
    config.write_text(f"urls:\n  - {receiver.url('from-a-file')}\n")
    person.environment["FACTORY_NOTIFY_FILE"] = str(config)
    person.ends_in(stopped())

    assert receiver.titles == [TITLE, TITLE]


def test_a_missing_configuration_file_is_said(person: Person, receiver: Receiver, tmp_path: Path) -> None:
    person.environment["FACTORY_NOTIFY_FILE"] = str(tmp_path / "absent.yml")
    person.ends_in(stopped())

    assert receiver.titles == [TITLE]
    assert person.said == ["Not told of this stop: FACTORY_NOTIFY_FILE; the next run tries again."]


def test_no_secret_of_an_address_is_kept_or_said(person: Person, capfd: pytest.CaptureFixture[str]) -> None:
    person.environment["FACTORY_NOTIFY"] += f" json://u:{SECRET}@127.0.0.1:1/{SECRET} bad://{SECRET}"
    person.ends_in(stopped())

    kept = "".join(path.read_text() for path in person.folder.iterdir())
    captured = capfd.readouterr()
    assert len(person.said) == 1
    assert SECRET not in kept + str(person.said) + str(person.record) + captured.out + captured.err
    assert "127.0.0.1" not in kept + str(person.said) + str(person.record)


def test_a_damaged_file_of_what_was_told_tells_once_more(person: Person, receiver: Receiver) -> None:
    person.told_file.write_text("{")
    person.ends_in(stopped())
    person.ends_in(stopped())

    assert receiver.titles == [TITLE]


def test_a_file_that_cannot_be_written_ends_no_run(person: Person, receiver: Receiver) -> None:
    person.folder = person.folder / "absent"
    person.ends_in(stopped())

    assert receiver.titles == [TITLE]
    assert len(person.said) == 1
    assert person.record == [(Notified, {"ok": 1, "failed": 0})]


def test_an_unreadable_state_is_told_once(person: Person, receiver: Receiver) -> None:
    for _ in range(2):
        tell_corrupt(person.folder, "demo-001", "# stopped", person.environment, say=person.said.append)

    assert receiver.titles == ["demo-001 stopped: state_corrupt"]


@pytest.mark.slow
def test_a_service_that_hangs_costs_ten_seconds_at_most(receiver: Receiver) -> None:
    with receiving() as second:
        receiver.is_hanging = True
        addresses = f"{receiver.url('a?rto=600')} {second.url('b')}"
        began_s = time.monotonic()
        delivery = deliver("title", "body", {"FACTORY_NOTIFY": addresses})

        assert time.monotonic() - began_s < TIMEOUT_S + 1
        assert second.titles == ["title"]
    assert delivery is not None
    assert (len(delivery.told), delivery.failed) == (1, ("JSON",))


def test_ctrl_c_does_not_wait_for_a_service_that_hangs(receiver: Receiver) -> None:
    receiver.is_hanging = True
    environment = dict(os.environ, FACTORY_NOTIFY=receiver.url("a?rto=600"))
    with subprocess.Popen([sys.executable, "-c", HELD], env=environment, start_new_session=True) as process:
        assert receiver.is_asked.wait(20)
        began_s = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)

        assert process.wait(20) == 3
        assert time.monotonic() - began_s < 4


def test_nothing_of_the_current_folder_is_run(
    person: Person, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "apprise.py").write_text("raise SystemExit('planted')\n")
    monkeypatch.chdir(tmp_path)
    person.ends_in(stopped())

    assert receiver.titles == [TITLE]


def test_the_loop_does_not_import_what_is_slow_to_import() -> None:
    words = "import sys, loop.cli; sys.exit('apprise' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", words], env=dict(os.environ), check=False).returncode == 0
