"""One alert a repo, where what a person wrote there holds its tasks up.

Limits: a file a fault below `<home>/alerts` remembers what was told, for as long as some task meets it; a
repo that breaks in another way, or again after it was mended, is another alert.
"""

import hashlib
import time

from engine import messages as m
from engine.place import Place
from engine.queues import MEND_AGAIN
from instrument.schema.vocabulary import Purpose
from loop.atomic import PRIVATE_FILE
from loop.home import make_private
from loop.leases import hold_briefly
from loop.notify import deliver

ALONE_S = 60
MENDED_S = 2 * MEND_AGAIN.total_seconds()
"""A fault that no task has met for so long is over."""


def alert(place: Place, told: m.Alert) -> None:
    """Tell of the fault, unless it was told for this repo and has not been mended since.

    Raises:
        BusyError: Another one is being told all the time; try again.
    """
    if told.order.purpose is not Purpose.TASK:
        return  # A canary's own command says what became of it.
    repo = told.order.repo
    digest = hashlib.sha256(told.fault.encode("utf-8", "replace")).hexdigest()
    folder = make_private(place.home / "alerts")
    # All tasks of the repo find the same fault at the same moment.
    with hold_briefly(folder / f"{repo}.lock", ALONE_S, f"an alert about {repo} is being told"):
        for old in folder.glob(f"{repo}-*.told"):
            if time.time() - old.stat().st_mtime > MENDED_S:
                old.unlink()
        file = folder / f"{repo}-{digest[:16]}.told"
        if file.exists():
            file.touch()
            return
        title = f"{repo}: its tasks wait until something is mended"
        text = f"{told.fault}\n\nMend it, then:  python -m engine event mended COMMIT --repo {repo}\n"
        delivery = deliver(title, text, place.environment)
        if delivery is None or not delivery.failed:
            file.touch(mode=PRIVATE_FILE)
