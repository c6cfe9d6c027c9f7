"""The progress of a crawl on a console: a live table, or plain lines.

The crawl passes a snapshot about once a second; this decides how much of it is shown. If output
fails (a closed terminal), showing ends, not the crawl.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.live import Live

from headgate.features.crawl.view.progress import MOST_ROWS, ProgressLines, progress_table
from headgate.model.snapshot import Snapshot

__all__ = ["ProgressView"]

_LINE_SECONDS = 5.0
_ROWS_BESIDE = 6
"""Rows of the terminal for heading, total, omitted sites and the prompt."""


class ProgressView:
    """Between `start` and `stop`, snapshots are shown; outside, `show` does nothing."""

    def __init__(self, console: Console, *, every_seconds: float = _LINE_SECONDS) -> None:
        self._console = console
        self._lines = ProgressLines(every_seconds)
        self._live: Live | None = None
        self._shown: Snapshot | None = None
        self._showing = False

    def start(self) -> None:
        self._showing = True
        if self._console.is_terminal:
            # Redirecting stdout would send a command's results to stderr.
            self._live = Live(
                console=self._console,
                auto_refresh=False,
                redirect_stdout=False,
                vertical_overflow="crop",
            )
            self._attempt(self._live.start)

    def show(self, snapshot: Snapshot) -> None:
        if self._showing:
            self._shown = snapshot
            self._attempt(lambda: self._draw(snapshot))

    def stop(self) -> None:
        """Leave the last state on the screen."""
        if self._showing:
            self._attempt(self._finish)
        self._showing = False
        self._live = None

    def _draw(self, snapshot: Snapshot) -> None:
        if self._live is not None:
            rows = min(MOST_ROWS, max(self._console.height - _ROWS_BESIDE, 1))
            table = progress_table(snapshot, rows, self._console.width)
            self._live.update(table, refresh=True)
            return
        lines = "\n".join(self._lines.lines(snapshot))
        if lines:
            self._console.print(lines, soft_wrap=True)

    def _finish(self) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._shown is not None:
            for line in self._lines.last(self._shown):
                self._console.print(line, soft_wrap=True)

    def _attempt(self, act: Callable[[], None]) -> None:
        try:
            act()
        except (OSError, ValueError, UnicodeError):
            self._showing = False
