from pathlib import Path

from jobs.inside.calls import Calls
from jobs.inside.doing import EVERY_S, Doing
from jobs.inside.order import ShellCalls
from jobs.inside.output import Masker

SHAPE = ShellCalls(line={"type": "run"}, items=None, item={}, command="line")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def begun(path: Path) -> tuple[Doing, Clock]:
    clock = Clock()
    return Doing(str(path), Calls(SHAPE), Masker(["s3cret"]), clock), clock


def call(line: str) -> bytes:
    return b'{"type":"run","line":"%s"}\n' % line.encode()


def test_the_last_shell_line_is_written_once_a_second_at_most(tmp_path: Path) -> None:
    file = tmp_path / "doing"
    doing, clock = begun(file)
    ask = doing.as_limit()
    assert ask() is None
    assert not file.exists()

    doing.write(call("ls") + call("make test"))
    assert ask() is None
    assert file.read_text() == "make test"

    doing.write(call("ls"))
    clock.now = EVERY_S - 0.1
    ask()
    assert file.read_text() == "make test"
    clock.now = EVERY_S
    ask()
    assert file.read_text() == "ls"
    assert [path.name for path in tmp_path.iterdir()] == ["doing"]


def test_it_holds_no_secret_and_is_one_short_line(tmp_path: Path) -> None:
    file = tmp_path / "doing"
    doing, _ = begun(file)
    doing.write(call("echo s3cret\\u001b[2J\\n" + "x" * 1000))
    doing.as_limit()()

    text = file.read_text()
    assert text.startswith("echo *** [2J xxx")
    assert len(text) == 300


def test_a_file_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    doing, _ = begun(tmp_path / "absent" / "doing")
    doing.write(call("ls"))

    assert doing.as_limit()() is None
