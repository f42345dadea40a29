"""`PYTHONPATH=tests python -m tests.tools.histories`: records anew the lives that a test replays.

Limits: a real server in a temporary folder, activities that answer from stories; the test is
`tests/engine/test_histories.py`. When recording anew is right, `engine/workflow.py` says.
"""

import asyncio
import gzip
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from temporalio.client import Client, WorkflowHandle

from engine import messages as m
from engine.connect import Address, connect
from instrument.schema.vocabulary import EffectKind
from support.carried import Fakes, hand_over, state_of, working
from support.ends import START
from support.lives import coder
from support.temporal import OwnServer, until

FOLDER = Path(__file__).resolve().parents[1] / "engine" / "histories"


async def merge(client: Client, fakes: Fakes) -> WorkflowHandle:
    """A task that lands at the first go."""
    fakes.tell(state_of("merge-001"))
    handle = await hand_over(client, "merge-001")
    await handle.result()
    return handle


async def ruling(client: Client, fakes: Fakes) -> WorkflowHandle:
    """A stop, a look again, and a ruling that leads to the merge."""
    tale = fakes.tell(state_of("ruling-001"), implement=[coder(calls=())])
    handle = await hand_over(client, "ruling-001")
    await until(tale.stands)
    await handle.signal("event", args=["main_moved", "1"])
    await handle.signal("answer", m.Answer(id="1", rulings=("again",)))
    await handle.result()
    return handle


async def hold(client: Client, fakes: Fakes) -> WorkflowHandle:
    """A phase that goes, a hold and its release, then a cancel in the middle of a job."""
    tale = fakes.tell(state_of("hold-001"))
    fakes.held = {kind: asyncio.Event() for kind in (EffectKind.IMPLEMENT, EffectKind.REVIEW)}
    handle = await hand_over(client, "hold-001", phase="one")
    decision = m.Decision(who="ann", at_utc=START)
    await handle.signal("decide", decision)
    await until(lambda: has_reached(fakes, EffectKind.IMPLEMENT))
    await handle.signal("hold", decision)
    fakes.held[EffectKind.IMPLEMENT].set()
    await until(tale.has_left)
    # Longer than a wait has to be to be recorded.
    await asyncio.sleep(1.1)
    await handle.signal("release")
    await until(lambda: has_reached(fakes, EffectKind.REVIEW))
    await handle.signal("leave", "cancelled")
    await handle.result()
    return handle


async def has_reached(fakes: Fakes, kind: EffectKind) -> bool:
    return any(reached is kind for _, reached in fakes.reached)


RECORDED: dict[str, Callable[[Client, Fakes], Awaitable[WorkflowHandle]]] = {
    "merge": merge,
    "ruling": ruling,
    "hold": hold,
}


async def record(address: Address) -> None:
    """Live each of them, and write its history down."""
    client = await connect(address)
    FOLDER.mkdir(exist_ok=True)
    for name, live in RECORDED.items():
        fakes = Fakes(client)
        async with working(client, fakes):
            history = await (await live(client, fakes)).fetch_history()
        path = FOLDER / f"{name}.json.gz"
        # Whoever reads it need not know on which machine it was recorded.
        text = history.to_json().replace(client.identity, "recorder")
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
        sys.stdout.write(f"{path.name}: {len(history.events)} events, {path.stat().st_size} bytes\n")


def main() -> None:
    """Start a server, record, end it."""
    with tempfile.TemporaryDirectory(prefix="histories-") as folder:
        server = OwnServer(Path(folder))
        try:
            asyncio.run(record(server.ready()))
        finally:
            server.stop()
    sys.stdout.flush()
    # As in `engine/__main__.py`: the SDK aborts an interpreter that takes its time to end.
    os._exit(0)


if __name__ == "__main__":
    main()
