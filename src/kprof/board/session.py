"""A session at the board: boot, record until the RAM is full, then serve the upload.

The steps are those of a person at the bench: let the kernel boot, turn the switch to RUN, watch the
LED, turn it to READ, type the upload command on the console. All times are the board's; the host
takes as long as it takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from kprof.board.audit import CallAudit
from kprof.board.md20 import HZ, MD20
from kprof.board.profiler import CAPACITY, Switch
from kprof.board.pty import Pty
from kprof.capture.model import Capture, CaptureInfo
from kprof.errors import UsageError

UPLOAD_COMMAND = b"u\r"
AGENT_OUTPUT = 0x80
_STEP = HZ // 50
_SETTLE = HZ
_FAREWELL = HZ // 4  # for what the kernel prints when the host has gone
_WAIT_S = 0.05
_DAY_S = 86_400


@dataclass(frozen=True)
class Plan:
    """What to record.

    Attributes
    ----------
    start_s
        When the switch is turned to RUN, in seconds after the reset, at the next idle moment.
    events
        Stop after so many events, 1..16384.
    seconds
        Stop after so many seconds of recording, however few events there are.

    Raises
    ------
    UsageError
        A figure is out of its range: no time is longer than a day.
    """

    start_s: float = 0.1
    events: int = CAPACITY
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not 1 <= self.events <= CAPACITY:
            raise UsageError(f"{self.events} events; expected 1 to {CAPACITY}")
        if not 0 <= self.start_s <= _DAY_S:
            raise UsageError(f"a start after {self.start_s:g} s; expected 0 to {_DAY_S}")
        if not 0 < self.seconds <= _DAY_S:
            raise UsageError(
                f"a recording of {self.seconds:g} s; expected more than 0, to {_DAY_S}"
            )


class Session:
    """One board, its console and its upload line.

    Parameters
    ----------
    board
        The board, just powered up.
    line
        What the upload line is connected to; None: nothing.
    console
        Takes what the kernel prints.
    progress
        Called now and then with the session.

    Attributes
    ----------
    recorded_s
        Seconds, on the board, between the switch to RUN and the end of the recording.
    audit
        The kernel's own call counts for the recording.
    """

    def __init__(
        self,
        board: MD20,
        *,
        line: Pty | None = None,
        console: Callable[[bytes], None] | None = None,
        progress: Callable[[Session], None] | None = None,
    ) -> None:
        self.board = board
        self.recorded_s = 0.0
        self.audit: CallAudit | None = None
        self._line = line
        self._console = console
        self._serving = False
        self._progress = progress
        self._began = 0
        self._clocks = 0
        self._host_s = 0.0

    def connect(self, line: Pty) -> None:
        """Connect the upload line."""
        self._line = line

    @property
    def mhz(self) -> float:
        """Millions of the board's clocks that one second of the host has emulated so far."""
        return self._clocks / self._host_s / 1e6 if self._host_s else 0.0

    @property
    def uploading(self) -> bool:
        """The kernel says, with its output port, that the agent is serving."""
        return bool(self.board.duart.output & AGENT_OUTPUT)

    def record(self, plan: Plan) -> bool:
        """Boot, record, leave the switch at READ; whether `plan.events` were reached.

        What a host sends on the upload line meanwhile is dropped.

        Raises
        ------
        BoardError
            The kernel crashed.
        """
        board = self.board
        start = round(plan.start_s * HZ)
        self._run(start)
        self._run(board.now + _SETTLE, to_idle=True)
        self.audit = CallAudit(board)
        board.record(plan.events)
        self._began = board.now
        end = board.now + round(plan.seconds * HZ)
        while board.profiler.count < plan.events and board.now < end:
            self._run(min(end, board.now + _STEP))
        self.recorded_s = (board.now - self._began) / HZ
        if not board.profiler.full:
            board.profiler.turn(Switch.OFF, board.now)
        self._run(board.now + _SETTLE, to_idle=True)
        board.stop_log()
        self.audit.finish()
        board.profiler.turn(Switch.READ, board.now)
        return board.profiler.count >= plan.events

    def serve(
        self, stopped: Callable[[], bool] = lambda: False, *, command: bytes = UPLOAD_COMMAND
    ) -> bool:
        """Serve the upload line until the host has said goodbye, or `stopped`.

        Parameters
        ----------
        command
            Typed on the console first, to start the agent.

        Returns
        -------
        bool
            Whether the host did.
        """
        board = self.board
        self._serving = True
        board.duart.a.feed(command, board.now)
        served = False
        while not stopped():
            self._run(board.now + _STEP)
            if self.uploading:
                served = True
            elif served:
                self._run(board.now + _FAREWELL)
                return True
        return False

    def capture(self, source: str = "<board>") -> Capture:
        """The event RAM as a capture, taken directly: what a right upload brings."""
        import numpy as np

        from kprof.capture.records import RECORD_BYTES

        profiler = self.board.profiler
        info = CaptureInfo(
            source=source,
            full=profiler.full,
            stale_tail=not profiler.full,
            valid_from="the Profiler's address counter",
            metadata={"board": "MD20"},
        )
        records = np.frombuffer(profiler.image(), dtype=np.uint8).reshape(-1, RECORD_BYTES)
        return Capture(info, records[: profiler.count], records[profiler.count :])

    def _run(self, until: int, *, to_idle: bool = False) -> None:
        began_s, began = time.perf_counter(), self.board.now
        while self.board.now < until:
            self.board.run(min(until, self.board.now + _STEP), to_idle=to_idle)
            self._flush()
            if (to_idle and self.board.idle) or self.board.reached:
                break
        self._host_s += time.perf_counter() - began_s
        self._clocks += self.board.now - began
        if self._progress is not None:
            self._progress(self)

    def _flush(self) -> None:
        """Move bytes between the DUART and the world."""
        duart = self.board.duart
        if duart.a.sent and self._console is not None:
            self._console(bytes(duart.a.sent))
        duart.a.sent.clear()
        sent = bytes(duart.b.sent)
        duart.b.sent.clear()
        if self._line is not None:
            arrived = self._line.exchange(sent)
            if self._serving:  # a host that asks too early would be part of the profile
                duart.b.feed(arrived, self.board.now)
