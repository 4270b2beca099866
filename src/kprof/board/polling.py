"""Waiting for a device without emulating every turn of the loop: only what is proved to be idle.

A program that polls a status register reads the same registers again and again. A turn of such a
loop changes nothing if, between two reads of one register by one instruction,

- all registers and flags of the CPU are the same bytes,
- the turn has written nothing to memory, or just what the turn before it had written,
- no device was touched but by reads without side effects, no event was stored, and no interrupt was
  taken,
- and no device register changes by itself before a known moment (`quiet_until`).

Then every further turn up to that moment, or up to the end of the slice, is the same turn, and the
clock is moved by a whole number of them: exact to the loop's turn. Everything else is emulated.

The proof needs every access of a turn traced. Those behind the second read of a wait are, if it can
be long enough to pay; later only turns that were found by Brent's cycle detection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kprof.board.cpu import Cpu

_WORTH_CLOCKS = 400
_TRACED_READS = 12
_MOST_READS = 1 << 12
_MOST_MISSES = 2


class Polling:
    """Watches the status reads of a board's devices.

    Parameters
    ----------
    cpu
        Whose clock is moved.
    quiet_until
        ``quiet_until(now)``: until when no device register changes by itself.
    selects
        The Profiler's: grows with every select that has an effect.

    Attributes
    ----------
    on
        Whether anything is skipped at all.
    """

    def __init__(self, cpu: Cpu, quiet_until: Callable[[int], int], selects: Sequence[int]) -> None:
        self.on = True
        self._cpu = cpu
        self._state = cpu.state
        self._quiet_until = quiet_until
        self._selects = selects
        self._selected = 0
        self._quiet = -1  # until when nothing changes by itself; -1: since something was touched
        self._dull = False  # it is too near to skip anything
        self._reads = self._renew_at = 0
        self._anchor = b""
        self._anchor_address = -1
        self._seen_at = 0
        self._tracing = False
        self._misses = 0
        self._before: list[tuple[int, int, int]] = []
        self._writes: list[tuple[int, int, int]] = []

    def touched(self) -> None:
        """A device, the Profiler, an interrupt or the world has changed something."""
        self._quiet = -1
        if self._tracing:
            self._trace(False)

    def polled(self, address: int) -> None:
        """A status register is about to be read, without side effect; may spend many clocks."""
        if not self.on:
            return
        now = self._cpu.now
        if now >= self._quiet or len(self._selects) != self._selected:
            self._begin(now)
        if self._dull:
            return
        self._reads += 1
        state = self._state.tobytes()
        if state == self._anchor and address == self._anchor_address:
            self._turn(now)
        elif self._reads > self._renew_at:
            self._anchor, self._anchor_address, self._seen_at = state, address, now
            self._writes = []
            more = 1 if self._reads < 4 else min(self._reads, _MOST_READS)
            self._renew_at = self._reads + more - 1
            if self._reads == 2:  # the first read can find what it waits for
                self._trace(True)
        elif self._tracing and self._reads > _TRACED_READS:
            self._trace(False)

    def _begin(self, now: int) -> None:
        """The first read of a wait."""
        self._selected = len(self._selects)
        self._quiet = self._quiet_until(now)
        self._dull = self._quiet - now < _WORTH_CLOCKS
        self._reads = self._renew_at = self._misses = 0
        self._anchor_address = -1
        self._before = []
        if self._tracing:
            self._trace(False)

    def _turn(self, now: int) -> None:
        """The CPU is at the anchor again, in the same state."""
        turn, self._seen_at = now - self._seen_at, now
        if turn <= 0:  # one instruction that reads twice
            return
        self._renew_at = self._reads + _MOST_READS
        if not self._tracing:
            if self._misses < _MOST_MISSES:
                self._before = []
                self._trace(True)
            return
        writes, self._writes = self._writes, []
        if writes and writes != self._before:
            self._before = writes
            self._misses += 1
            if self._misses > _MOST_MISSES:
                self._trace(False)
            return
        cpu = self._cpu
        turns = (min(self._quiet - now, cpu.slice_left) - 1) // turn
        if turns > 0:
            cpu.wait(turns * turn)
            self._seen_at = cpu.now
        self._misses = 0
        self._trace(False)

    def _trace(self, on: bool) -> None:
        self._tracing = on
        self._writes = []
        self._cpu.trace(self._traced if on else None)

    def _traced(self, mode: str, width: int, address: int, value: int) -> None:
        if mode == "W":
            self._writes.append((address, width, value))
