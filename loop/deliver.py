"""Hands one message to the services of `FACTORY_NOTIFY` and `FACTORY_NOTIFY_FILE`, through Apprise.

Limits: a program of its own, since Apprise is slow to import, leaves hung threads behind and may log an
address, which holds secrets. Reads an order on standard input, answers on standard output.
"""

import hashlib
import json
import os
import signal
import sys
from typing import Any

import apprise

URLS = "FACTORY_NOTIFY"
"""Apprise URLs, separated by white space."""
FILE = "FACTORY_NOTIFY_FILE"
"""Path of an Apprise configuration, text or YAML."""


def main() -> None:
    """Deliver, say what came of it, and leave without waiting for a service that hangs."""
    # Ctrl-C ends this at once; an exception would wait for threads that hang.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    order = json.load(sys.stdin)
    # A brief is longer than some services take at once; `?overflow=` of a URL decides otherwise.
    apprise.NotifyBase.overflow_mode = apprise.OverflowMode.SPLIT
    known, unusable = _services()
    wanted = apprise.Apprise()
    for service in known:
        if _name(service.url(privacy=True), service.url_id()) not in order["skip"]:
            wanted.add(service)
    answer: dict[str, Any] = {"told": [], "failed": unusable}
    if len(wanted):
        result = wanted.notify(
            title=order["title"],
            body=order["body"],
            body_format=apprise.NotifyFormat.TEXT,
            timeout=order["timeout_s"],
        )
        answer["told"] = [_name(each.url, each.url_id) for each in result if each]
        # A service that stood in for another has made good what that one failed at.
        if not result:
            answer["failed"] += [str(each.name) for each in result if not each] or ["all"]
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)


def _services() -> tuple[list[Any], list[str]]:
    """All that are configured, and a word for each that Apprise cannot use."""
    found, unusable = apprise.Apprise(), []
    for number, url in enumerate(os.environ.get(URLS, "").split(), start=1):
        if not found.add(url):
            unusable.append(f"URL {number} of {URLS}")
    path = os.environ.get(FILE)
    if path:
        before = len(found)
        found.add(apprise.AppriseConfig(paths=path))
        if len(found) == before:
            unusable.append(FILE)
    return list(found.find()), unusable


def _name(url: str, url_id: str | None) -> str:
    """Stands for a service in the record; its address is only partly masked, so a hash it is."""
    return hashlib.sha256(f"{url_id} {url}".encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
