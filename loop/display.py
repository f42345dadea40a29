"""A view that stays at a terminal's last lines while other lines scroll by above it.

Limits: for a terminal; is drawn when it is told, by no thread of its own.
"""

from typing import TextIO

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text


class Display:
    """Order of calls: `show` and `say` as often as needed, `close` at the end; all may be called again."""

    def __init__(self, stream: TextIO) -> None:
        # The caller has looked: variables such as FORCE_COLOR have no say in it.
        self.console = Console(file=stream, force_terminal=True, soft_wrap=False)
        self._live: Live | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the view is there."""
        return self._live is not None

    def show(self, view: RenderableType) -> None:
        """Put this in the place of what was shown before."""
        if self._live is None:
            self._live = Live(
                console=self.console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
        self._live.update(view, refresh=True)

    def say(self, text: str) -> None:
        """Print lines above the view."""
        self.console.print(Text(text), soft_wrap=True)

    def close(self) -> None:
        """Take the view away and give the cursor back."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def one_line(text: str, style: str = "") -> Text:
    """One line, cut at the terminal's width."""
    return Text(text, style, no_wrap=True, overflow="ellipsis")
