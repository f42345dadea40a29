"""A real headless Chromium, spoken to over its own pipe (the Chrome DevTools Protocol, one JSON a message).

Limits: one page; whatever the page asks the network for, says on its console or throws is kept.
"""

import base64
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from support.own_engine import leave_out

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")
"""`--no-sandbox`: as root there is none; the page is our own."""
SAID = {
    "Network.requestWillBeSent": lambda told: told["request"]["url"],
    "Log.entryAdded": lambda told: told["entry"]["text"],
    "Runtime.consoleAPICalled": lambda told: str(told["args"]),
    "Runtime.exceptionThrown": lambda told: told["exceptionDetails"]["text"],
}


class Browser:
    """One tab. Order of calls: `open`, then any of the others as often as one likes."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out = os.fdopen(to_browser, "wb", buffering=0)
        self._in = from_browser
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        """Addresses that the page was loaded from, or asked for."""
        self.complaints: list[str] = []
        """Errors, warnings and words on the console."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.ask(f"{domain}.enable")

    def open(self, page: Path) -> None:
        """Load a file and wait until all of it is there."""
        self.ask("Page.navigate", url=page.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def look(self, *, width: int, scheme: str = "light") -> None:
        """Show it so wide, in `light` or `dark`."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media="screen", features=features)

    def screenshot(self, out: Path) -> None:
        """Take a picture of the whole page, PNG."""
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        out.write_bytes(base64.b64decode(data))

    def print(self, out: Path) -> None:
        """Print it as PDF, on A4."""
        self.ask("Emulation.setEmulatedMedia", media="")
        size = {"paperWidth": 8.27, "paperHeight": 11.69}
        out.write_bytes(base64.b64decode(self.ask("Page.printToPDF", **size)["data"]))

    def value(self, expression: str) -> Any:
        """What JavaScript says of the page."""
        return self.ask("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def close(self) -> None:
        """Let go of the pipe."""
        self._out.close()
        os.close(self._in)

    def ask(self, method: str, **params: Any) -> Any:
        """Send a command and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        """The next message; what the page did is kept on the way."""
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 20)
            assert piece, "the browser is gone"
            self._rest += piece
        data, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(data)
        if tell := SAID.get(message.get("method", "")):
            kept = self.requests if message["method"].startswith("Network") else self.complaints
            kept.append(tell(message["params"]))
        return message


def find_chromium() -> str | None:
    """Where the browser is; in CI it is installed where Debian's packages can be had."""
    is_installable = os.environ.get("CI") and os.geteuid() == 0 and shutil.which("apt-get")
    if not any(map(shutil.which, NAMES)) and is_installable:
        for arguments in (["update"], ["install", "-y", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *arguments], check=False, capture_output=True)
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser with a profile of its own; all of it is gone afterwards."""
    program = find_chromium()
    if program is None:
        leave_out("no Chromium is installed: apt-get install chromium")
    to_read, to_write = (_above(fd) for fd in os.pipe())
    from_read, from_write = (_above(fd) for fd in os.pipe())
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        pipes = [(os.POSIX_SPAWN_DUP2, to_read, 3), (os.POSIX_SPAWN_DUP2, from_write, 4)]
        argv = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        pid = os.posix_spawn(program, argv, os.environ, file_actions=[*silent, *pipes], setpgroup=0)
        os.close(to_read)
        os.close(from_write)
        browser = Browser(to_write, from_read)
        try:
            yield browser
        finally:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            browser.close()


def _above(fd: int) -> int:
    """The same file under a number that is not one of those the browser is given."""
    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return high
