"""The scripted provider as a program: one JSON line on standard input, one line on standard output.

Limits: that line is its port, or what is wrong. Ends when its standard input closes. Exit codes:
0 ended, 2 the line, the story or an argument is wrong. `record` as the first argument makes it `recorder.py`
instead.
"""

import argparse
import sys
import threading
from pathlib import Path

from pydantic import ValidationError

from instrument.schema.base import Frozen
from proxy.scripted import recorder
from proxy.scripted.script import Script
from proxy.scripted.server import Server
from proxy.scripted.story import StoryError, load_story


class Order(Frozen):
    """What the sidecar says to its provider."""

    story: str
    role: str
    round: int
    requests: str | None = None
    """Path of `requests.jsonl`; none: not kept."""


def main() -> int:
    """Serve until standard input closes."""
    if sys.argv[1:2] == ["record"]:
        return recorder.main(sys.argv[2:])
    _read_arguments()
    try:
        order = Order.model_validate_json(sys.stdin.buffer.readline())
        story = load_story(order.story)
    except ValidationError:
        return _complain("The scripted provider's line is wrong: it needs story, role, round and requests.")
    except StoryError as error:
        return _complain(str(error))
    requests = Path(order.requests) if order.requests else None
    server = Server(Script(story, order.role, order.round, requests))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _say(str(server.server_port))
    # The other end is the sidecar's: it closes when that dies, however it dies.
    sys.stdin.buffer.read()
    return 0


def _read_arguments() -> None:
    """Print the help where it is asked for; what else stands there is an error. Either ends the program."""
    parser = argparse.ArgumentParser(
        prog="python -m proxy.scripted",
        usage="%(prog)s record --to URL OUT | %(prog)s < LINE",
        description="Answers as a provider does, from a story: a sidecar starts it and writes it one JSON "
        "line with story, role, round and requests. To try a story: `factory run TASK --story FILE`.",
        epilog="record: stand before a real provider and write its answers down as a story; "
        "`%(prog)s record --help` says how.",
    )
    parser.parse_args()


def _complain(sentence: str) -> int:
    """Say what is wrong in one line."""
    _say(sentence)
    return 2


def _say(line: str) -> None:
    """Write a line that the other end waits for."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
