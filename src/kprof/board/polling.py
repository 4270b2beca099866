"""Waiting for a device without emulating every turn of the loop: only what is proved to be idle.

A program that polls a status register reads the same registers again and again. A turn of such a
loop changes nothing if, between two reads of one register by one instruction,

- all registers and flags of the CPU are the same bytes,
- the turn has written the same values to the same memory as the turn before it,
- no device was touched but by reads without side effects, no event was stored, and no interrupt was
  taken,
- and no device register changes by itself before a known moment (`quiet_until`).

Then every further turn up to that moment, or up to the end of the slice, is the same turn, and the
clock is moved by a whole number of them: exact to the loop's turn. Everything else is emulated.

The proof costs two turns with every access traced, so it is tried only where it can pay. A loop
whose state repeats after several turns is found by Brent's cycle detection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kprof.board.cpu import Cpu

_WORTH_TURNS = 6
_MOST_READS = 1 << 12


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
        self._anchor = b""
        self._anchor_address = -1
        self._reads = self._renew_at = 0
        self._phase = 0
        self._seen_at = 0
        self._quiet = 0
        self._before: list[tuple[int, int, int]] = []
        self._writes: list[tuple[int, int, int]] = []

    def touched(self) -> None:
        """A device, the Profiler, an interrupt or the world has changed something."""
        self._anchor_address = -1
        self._reads = self._renew_at = 0
        if self._phase:
            self._stop()

    def polled(self, address: int) -> None:
        """A status register is about to be read, without side effect; may spend many clocks."""
        if not self.on:
            return
        if len(self._selects) != self._selected:
            self._selected = len(self._selects)
            self.touched()
        self._reads += 1
        if address == self._anchor_address and self._anchor == self._state:
            self._turn()
        elif self._phase:
            if self._reads > self._renew_at:
                self.touched()
        elif self._reads > self._renew_at:
            self._anchor = self._state.tobytes()
            self._anchor_address = address
            self._renew_at = min(2 * self._reads, self._reads + _MOST_READS)
            self._seen_at = self._cpu.now

    def _turn(self) -> None:
        """The CPU is at the anchor again, in the same state."""
        cpu = self._cpu
        now = cpu.now
        turn, self._seen_at = now - self._seen_at, now
        if turn <= 0:  # one instruction that reads twice
            return
        self._renew_at = self._reads + _MOST_READS
        if self._phase == 0:
            self._quiet = self._quiet_until(now)
            if min(self._quiet - now, cpu.slice_left) > _WORTH_TURNS * turn:
                self._phase = 1
                self._writes = []
                cpu.trace(self._traced)
        elif self._phase == 1:
            self._before, self._writes = self._writes, []
            self._phase = 2
        else:
            same = self._before == self._writes and now < self._quiet
            self._stop()
            if not same:
                self._anchor_address = -1  # look for another state, later
                return
            turns = (min(self._quiet - now, cpu.slice_left) - 1) // turn
            cpu.wait(max(turns, 0) * turn)
            self._seen_at = cpu.now

    def _traced(self, mode: str, width: int, address: int, value: int) -> None:
        if mode == "W":
            self._writes.append((address, width, value))

    def _stop(self) -> None:
        self._phase = 0
        self._cpu.trace(None)
