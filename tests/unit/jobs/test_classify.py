import pytest

from jobs.classify import DaemonAnswer, Meaning, classify, to_error
from jobs.errors import EngineRefusedError, EngineUnavailableError, NameTakenError, ObjectAbsentError

# Recorded from Docker 20.10.24 and 28; ids shortened.
RECORDED = [
    (404, "No such container: nope", Meaning.ABSENT),
    (404, "No such image: debian:nope", Meaning.ABSENT),
    (404, "Could not find the file /job/out in container 5f1", Meaning.ABSENT),
    (404, "get factory-x-sock: no such volume", Meaning.ABSENT),
    (
        409,
        'Conflict. The container name "/factory-a" is already in use by container "5f1".',
        Meaning.NAME_TAKEN,
    ),
    (409, "removal of container 5f1 is already in progress", Meaning.REMOVAL_RUNNING),
    (409, "container is marked for removal and cannot be started", Meaning.REMOVAL_RUNNING),
    (409, "Cannot kill container: 5f1: Container 5f1 is not running", Meaning.NOT_RUNNING),
    (409, "remove factory-x-sock: volume is in use - [5f1]", Meaning.IN_USE),
    (
        409,
        "conflict: unable to remove repository (must force) - container 5f is using its referenced image 0a",
        Meaning.IN_USE,
    ),
    (
        409,
        "conflict: unable to delete 0aa (cannot be forced) - image is being used by running container 5f1",
        Meaning.IN_USE,
    ),
    (304, "", Meaning.NOT_RUNNING),
    (500, "driver failed programming external connectivity", Meaning.REFUSED),
    (500, "error while removing network: unknown network is already in use", Meaning.REFUSED),
    (400, "OCI runtime create failed", Meaning.REFUSED),
    (500, "write /var/lib/docker/overlay2/5f1/link: no space left on device", Meaning.DISK_FULL),
    (
        500,
        "Error processing tar file(exit status 1): write /job/inside/job.py: no space left on device",
        Meaning.DISK_FULL,
    ),
]


@pytest.mark.parametrize(("status", "text", "meaning"), RECORDED)
def test_recorded_answers_have_their_meaning(status: int, text: str, meaning: Meaning) -> None:
    assert classify(DaemonAnswer(status, text)) is meaning


def test_no_answer_is_unreachable_and_a_late_one_is_slow() -> None:
    refused = "('Connection aborted.', ConnectionRefusedError(111, 'Connection refused'))"
    assert classify(DaemonAnswer(None, refused)) is Meaning.UNREACHABLE
    assert classify(DaemonAnswer(None, "Read timed out.", timed_out=True)) is Meaning.SLOW


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (DaemonAnswer(None, "x"), EngineUnavailableError),
        (DaemonAnswer(None, "x", timed_out=True), EngineUnavailableError),
        (DaemonAnswer(404, "No such container: x"), ObjectAbsentError),
        (DaemonAnswer(409, "is already in use by"), NameTakenError),
        (DaemonAnswer(409, "is not running"), EngineRefusedError),
        (DaemonAnswer(500, "no"), EngineRefusedError),
        (DaemonAnswer(500, "no space left on device"), EngineRefusedError),
    ],
)
def test_every_answer_becomes_one_of_our_errors(answer: DaemonAnswer, error: type[Exception]) -> None:
    assert type(to_error(answer, "do it")) is error


def test_an_unreachable_engine_is_told_in_the_systems_own_words() -> None:
    wrapped = "('Connection aborted.', FileNotFoundError(2, 'No such file or directory'))"
    assert "(No such file or directory)" in str(to_error(DaemonAnswer(None, wrapped), "connect"))
    pool = 'Max retries exceeded (Caused by X("[Errno 111] Connection refused"))'
    assert "(Connection refused)" in str(to_error(DaemonAnswer(None, pool), "connect"))


def test_an_error_is_one_line_of_bounded_length() -> None:
    text = str(to_error(DaemonAnswer(500, "a\nb " * 2000), "start x"))
    assert "\n" not in text
    assert len(text) < 600


def test_a_full_disk_is_told_in_one_sentence_that_says_what_to_do() -> None:
    error = to_error(DaemonAnswer(500, "write /x: no space left on device"), "create factory-a")
    assert str(error) == (
        "The disk of the Docker Engine is full (create factory-a): free some of it, then run again."
    )
