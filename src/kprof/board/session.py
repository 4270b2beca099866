"""A session at the board: boot, record until the RAM is full, then serve the upload.

The steps are those of a person at the bench: let the kernel boot, turn the switch to RUN, watch the
LED, turn it to READ, type the upload command on the console. All times are the board's; the host
takes as long as it takes.

By default RUN comes when the kernel is idle for the first time after `Plan.start_s`; a kernel that
is never idle gets it 1 s (of the board's time) later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kprof.board.audit import CallAudit
from kprof.board.board import Board
from kprof.board.moments import DAY_S, Moment
from kprof.board.profiler import CAPACITY, CLOCK_HZ, MOST_CAPACITY, Switch
from kprof.board.pty import Pty
from kprof.board.tcp_line import TcpLine
from kprof.capture.model import Capture, CaptureInfo
from kprof.capture.records import RECORD_BYTES
from kprof.errors import BoardError, UsageError

UPLOAD_COMMAND = b"u\r"
_STEPS_A_SECOND = 50
_WRAP_TICKS = 1 << 24
_FAREWELL_S = 0.25  # for what the kernel prints when the host has gone
_SILENCE_S = 2.0  # behind an upload, on the board: it is over


@dataclass(frozen=True)
class Plan:
    """What to record.

    Attributes
    ----------
    start_s
        When the switch is turned to RUN, in seconds after the reset, at the next idle moment.
    events
        Stop after so many events, from 1; more than 16384 take a Profiler with a larger RAM.
    seconds
        Stop after so many seconds of recording, however few events there are.
    run_at
        When the switch is turned to RUN instead.
    until
        When it is turned off, if not by then.
    wait_s
        Give up if `run_at` has not come so many seconds after the reset.

    Raises
    ------
    UsageError
        A figure is out of its range: no time is longer than a day.
    """

    start_s: float = 0.1
    events: int = CAPACITY
    seconds: float = 60.0
    run_at: Moment | None = None
    until: Moment | None = None
    wait_s: float = 600.0

    def __post_init__(self) -> None:
        if not 1 <= self.events <= MOST_CAPACITY:
            raise UsageError(f"{self.events} events; expected 1 to {MOST_CAPACITY}")
        if not 0 <= self.start_s <= DAY_S:
            raise UsageError(f"a start after {self.start_s:g} s; expected 0 to {DAY_S}")
        if not 0 < self.seconds <= DAY_S:
            raise UsageError(f"a recording of {self.seconds:g} s; expected more than 0, to {DAY_S}")
        if not 0 < self.wait_s <= DAY_S:
            raise UsageError(f"a wait of {self.wait_s:g} s; expected more than 0, to {DAY_S}")


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
    recorded
        The switch was turned to RUN at least once.
    interrupted
        Set it, from anywhere, and the session ends with `KeyboardInterrupt` within a step.
    audit
        The kernel's own call counts for the recording.
    """

    def __init__(
        self,
        board: Board,
        *,
        line: Pty | TcpLine | None = None,
        console: Callable[[bytes], None] | None = None,
        progress: Callable[[Session], None] | None = None,
    ) -> None:
        self.board = board
        self._step = board.hz // _STEPS_A_SECOND
        self.recorded_s = 0.0
        self.recorded = self.interrupted = False
        self.audit: CallAudit | None = None
        self._line = line
        self._console = console
        self._serving = self._heard = False
        self._progress = progress
        self._began = 0
        self._clocks = 0
        self._host_s = 0.0

    def connect(self, line: Pty | TcpLine) -> None:
        """Connect the upload line."""
        self._line = line

    @property
    def mhz(self) -> float:
        """Millions of the board's clocks that one second of the host has emulated so far."""
        return self._clocks / self._host_s / 1e6 if self._host_s else 0.0

    def record(self, plan: Plan, *, audit: bool = True) -> bool:
        """Boot, record, leave the switch at READ; whether `plan.events` were reached.

        What a host sends on the upload line meanwhile is dropped. However it ends, what is stored
        is in the Profiler.

        Parameters
        ----------
        audit
            Run on to the next idle moment behind the recording, for `CallAudit`.

        Raises
        ------
        GuestError
            The kernel crashed.
        BoardError
            The moment for RUN did not come.
        KeyboardInterrupt
            `interrupted` was set.
        """
        board = self.board
        try:
            self._begin(plan, audit)
            self._record(plan)
            if audit and self.audit is not None:
                if not board.profiler.full:
                    board.profiler.turn(Switch.OFF, board.now)
                self._run(board.now + board.hz, to_idle=True)
                self.audit.finish()
        finally:
            self.recorded_s = self.recorded_s or (board.now - self._began) / self.board.hz
            board.profiler.stop_noting()
            board.profiler.turn(Switch.READ, board.now)
        return board.profiler.count >= plan.events

    def _begin(self, plan: Plan, audit: bool) -> None:
        """Run to the moment for RUN, and turn the switch."""
        board, moment = self.board, plan.run_at
        self.recorded_s = 0.0

        def to_run() -> None:
            if audit:
                self.audit = CallAudit(board)
            board.record(plan.events, noting=audit)
            self._began = board.now
            self.recorded = True

        if moment is None:
            self._run(round(plan.start_s * self.board.hz))
            self._run(board.now + board.hz, to_idle=True)
        elif not self._came(moment, to_run, round(plan.wait_s * self.board.hz)):
            raise BoardError(
                f"the moment for RUN, {_said(moment)}, has not come within {plan.wait_s:g} s of "
                "the board's time: nothing is recorded"
            )
        if board.profiler.switch is not Switch.RUN:
            to_run()

    def _record(self, plan: Plan) -> None:
        """Run until the recording is over."""
        board = self.board
        profiler, end = board.profiler, self._began + round(plan.seconds * self.board.hz)

        def off() -> None:
            profiler.turn(Switch.OFF, board.now)

        if plan.until is not None:
            if plan.until.kind == "idle":
                self._run(board.now + 1)
            self._came(plan.until, off, end)
        else:
            self._run(end)
        self.recorded_s = (board.now - self._began) / self.board.hz

    def _came(self, moment: Moment, action: Callable[[], None], limit: int) -> bool:
        """Run to the moment and do the action there; whether it came before clock `limit`.

        In a recording that reaches its events first it does not come.
        """
        board = self.board
        if moment.kind in ("pc", "write"):
            done: list[bool] = []

            def then() -> None:
                done.append(True)
                action()

            forget = board.at(moment, then)
            try:
                self._run(limit)
            finally:
                forget()
            return bool(done)
        if moment.kind == "idle":
            self._run(limit, to_idle=True)
            return board.idle
        self._run(min(limit, round(moment.seconds * self.board.hz)))
        return moment.seconds * self.board.hz <= limit

    def serve(
        self,
        stopped: Callable[[], bool] = lambda: False,
        *,
        command: bytes = UPLOAD_COMMAND,
        timeout_s: float | None = None,
    ) -> bool:
        """Serve the upload line until the host has said goodbye, or `stopped`.

        While no byte moves the board runs no faster than a real one.

        Parameters
        ----------
        command
            Typed on the console first, to start the agent.
        timeout_s
            Return after so many seconds in which no byte moves; None: wait for ever.

        Returns
        -------
        bool
            Whether the host did.
        """
        board, line = self.board, self._line
        self._serving = True
        if board.console is not None:
            board.console.feed(command, board.now)
        served, spoke_at = False, board.now
        moved_at = time.monotonic()
        while not stopped():
            began, moved = time.monotonic(), self._run(board.now + self._step)
            if moved:
                moved_at, spoke_at = began, board.now
            serving = board.serving
            if serving is None:  # a board without a port for it: the host has spoken, and is silent
                serving = moved or board.now < spoke_at + _SILENCE_S * board.hz
                served |= self._heard and not serving
            if serving:
                served |= board.serving is not None
            elif served:
                self._run(board.now + round(_FAREWELL_S * board.hz))
                return True
            now = time.monotonic()
            if timeout_s is not None and now > moved_at + timeout_s:
                return False
            rest = 1 / _STEPS_A_SECOND - (now - began)
            if line is not None and not moved and rest > 0:
                line.wait(rest)
        return False

    def capture(self, source: str = "<board>") -> Capture:
        """The event RAM as a capture, taken directly: what a right upload brings.

        Where the Profiler's counter wrapped between two events, which an upload cannot tell, the
        capture has unwrapped times instead.
        """
        profiler = self.board.profiler
        large = profiler.capacity > CAPACITY
        counter = "the Profiler's address counter"
        info = CaptureInfo(
            source=source,
            full=profiler.full,
            stale_tail=not profiler.full,
            valid_from=f"{counter} (an event RAM of {profiler.capacity})" if large else counter,
            metadata={
                "board": self.board.description.name,
                **({"event_ram": profiler.capacity} if large else {}),
            },
        )
        if self.longest_gap_s:
            info = replace(info, unwrapped=True, stale_tail=False)
            return Capture.from_events(profiler.times(), profiler.tags(), info)
        records = np.frombuffer(profiler.image(), dtype=np.uint8).reshape(-1, RECORD_BYTES)
        return Capture(info, records[: profiler.count], records[profiler.count :])

    @property
    def longest_gap_s(self) -> float:
        """Seconds of the longest time between two events that wraps the counter; 0: none does."""
        times = self.board.profiler.times()
        longest = int(np.diff(times, prepend=times[:1]).max(initial=0))
        return longest / CLOCK_HZ if longest >= _WRAP_TICKS else 0.0

    def _run(self, until: int, *, to_idle: bool = False) -> bool:
        """Run on; whether a byte moved on the upload line or is on its way."""
        board, moved = self.board, False
        while board.now < until:
            if self.interrupted:
                raise KeyboardInterrupt
            began_s, began = time.perf_counter(), board.now
            try:
                board.run(min(until, board.now + self._step), to_idle=to_idle)
            finally:
                moved |= self._flush()
                self._host_s += time.perf_counter() - began_s
                self._clocks += board.now - began
            if self._progress is not None:
                self._progress(self)
            if (to_idle and board.idle) or board.reached:
                break
        return moved

    def _flush(self) -> bool:
        """Move bytes between the DUART and the world; whether there were any."""
        console, upload = self.board.console, self.board.upload
        if console is not None:
            if console.sent and self._console is not None:
                self._console(bytes(console.sent))
            console.sent.clear()
        if upload is None:
            return False
        sent, arrived = bytes(upload.sent), b""
        upload.sent.clear()
        if self._line is not None:
            arrived = self._line.exchange(sent)
            if self._serving:  # a host that asks too early would be part of the profile
                upload.feed(arrived, self.board.now)
                self._heard |= bool(arrived)
        waits = console is not None and not console.line_idle
        return bool(sent or arrived) or waits or not upload.line_idle


def _said(moment: Moment) -> str:
    if moment.kind == "time":
        return f"{moment.seconds:g} s"
    return f"{moment.kind}={moment.place}" if moment.place else moment.kind
