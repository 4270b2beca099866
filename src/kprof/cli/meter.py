"""How far a verb is, on stderr: a bar on a terminal (rich), a line each tenth elsewhere.

What is done within a second shows nothing; a terminal is drawn on ten times a second at most.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from kprof.names import display_name

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

QUIET_S = 1.0
EVERY_S = 0.1


class Meter:
    """Shows the progress of one verb; as a context it clears its line at the end.

    Parameters
    ----------
    stream
        Where to; stderr by default.
    clock
        Seconds, from any start.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream, self._clock = stream or sys.stderr, clock
        self._tty = self._stream.isatty()
        self._start = clock()
        self._shown_at = float("-inf")
        self._tenth: tuple[str, int] = ("", 0)
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def show(self, what: str, done: int, total: int | None = None, note: str = "") -> None:
        """Show that `done` of `total` is reached; without a total there is no bar, only the note.

        Parameters
        ----------
        what
            One word for what is being done.
        note
            What else there is to say: a rate, a time.
        """
        now = self._clock()
        if now < self._start + QUIET_S:
            return
        if self._tty:
            finished = done == total and self._tenth != (what, 10)
            if now - self._shown_at >= EVERY_S or finished:
                self._shown_at = now
                self._tenth = (what, 10 * done // total if total else 0)
                self._draw(what, done, total, note)
        elif total and (what, 10 * done // total) != self._tenth and done:
            self._tenth = (what, 10 * done // total)
            self._stream.write(f"{what} {100 * done // total}% {note}".rstrip() + "\n")
            self._stream.flush()

    def count(self, what: str, events: int) -> None:
        """Show that `events` have been passed, of a number that is not known, and their rate."""
        rate = events / max(self._clock() - self._start, EVERY_S)
        self.show(what, events, None, f"{events:,} events, {rate:,.0f} a second")

    def say(self, sentence: str) -> None:
        """Print a sentence that stays, whenever it comes."""
        self.end()
        self._stream.write(f"kprof: {display_name(sentence)}\n")
        self._stream.flush()

    def end(self) -> None:
        """Clear what is drawn."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None

    def _draw(self, what: str, done: int, total: int | None, note: str) -> None:
        if self._bar is None:
            self._bar = _bar(self._stream)
        progress, task = self._bar
        share = f"{100 * done // total}% " if total else ""
        progress.update(task, description=what, completed=done, total=total, note=share + note)
        progress.refresh()


def _bar(stream: TextIO) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[note]}", markup=False),
        console=Console(file=stream),
        auto_refresh=False,
        transient=True,
    )
    progress.start()
    return progress, progress.add_task("", total=None, note="")
