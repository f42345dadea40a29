"""One alert a repo, where what a person wrote there holds its tasks up.

Limits: a file a repo below `<home>/alerts` remembers what was told; a repo that breaks in another way is
another alert.
"""

import hashlib

from engine import messages as m
from engine.place import Place
from loop.atomic import write_atomic
from loop.home import make_private
from loop.leases import hold_briefly
from loop.notify import deliver

ALONE_S = 60


def alert(place: Place, told: m.Alert) -> None:
    """Tell of the fault, unless it was told for this repo already.

    Raises:
        BusyError: Another one is being told all the time; try again.
    """
    repo = told.order.repo
    digest = hashlib.sha256(told.fault.encode("utf-8", "replace")).hexdigest()
    folder = make_private(place.home / "alerts")
    # All tasks of the repo find the same fault at the same moment.
    with hold_briefly(folder / f"{repo}.lock", ALONE_S, f"an alert about {repo} is being told"):
        file = folder / f"{repo}.sha256"
        if file.exists() and file.read_text() == digest:
            return
        title = f"{repo}: its tasks wait until something is mended"
        text = f"{told.fault}\n\nMend it, then:  python -m engine event mended COMMIT --repo {repo}\n"
        delivery = deliver(title, text, place.environment)
        if delivery is None or not delivery.failed:
            write_atomic(file, digest.encode())
