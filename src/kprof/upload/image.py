"""The event RAM as far as it has arrived: its bytes, and which records are there."""

from __future__ import annotations

import zlib
from collections.abc import Callable

RECORD_BYTES = 5
Sink = Callable[[int, bytes], None]


class Image:
    """The records 0 to `records` - 1 of an event RAM, filled in any order.

    Parameters
    ----------
    records
        How many there are to be fetched.
    sink
        Called with (offset in bytes, bytes) for each piece as it is put in.

    Attributes
    ----------
    data
        `records` * 5 bytes; zero where nothing has arrived.
    conflicts
        Times that a record arrived again with other bytes.
    """

    def __init__(self, records: int, sink: Sink | None = None) -> None:
        self.records = records
        self.data = bytearray(records * RECORD_BYTES)
        self.conflicts = 0
        self._have = bytearray(records)
        self._held = 0
        self._sink = sink

    @property
    def held(self) -> int:
        """Records that are there."""
        return self._held

    @property
    def complete(self) -> bool:
        """Nothing is missing."""
        return self._held == self.records

    def put(self, first: int, data: bytes) -> int:
        """Store whole records from `first`, what lies outside left out; how many are new."""
        last = min(first + len(data) // RECORD_BYTES, self.records)
        if first >= last:
            return 0
        data = data[: (last - first) * RECORD_BYTES]
        here = slice(first * RECORD_BYTES, last * RECORD_BYTES)
        before = self._have.count(1, first, last)
        if before and self._differs(first, last, data):
            self.conflicts += 1
        self.data[here] = data
        self._have[first:last] = b"\1" * (last - first)
        self._held += last - first - before
        if self._sink:
            try:
                self._sink(first * RECORD_BYTES, data)
            except Exception:
                self.forget(first, last - first)  # what could not be kept is not there
                raise
        return last - first - before

    def forget(self, first: int, count: int) -> None:
        """These records are to be fetched again."""
        last = min(first + count, self.records)
        self._held -= self._have.count(1, first, last)
        self._have[first:last] = bytes(max(0, last - first))

    def missing(self, join: int = 0) -> list[tuple[int, int]]:
        """The runs (first, count) that are missing; runs at most `join` records apart are one."""
        return _runs(self._have, 0, join)

    def present(self) -> list[tuple[int, int]]:
        """The runs (first, count) that are there."""
        return _runs(self._have, 1, 0)

    def crc(self, first: int, count: int) -> int:
        """CRC-32 of these records' bytes."""
        return zlib.crc32(self.data[first * RECORD_BYTES : (first + count) * RECORD_BYTES])

    def held_crc(self) -> int:
        """CRC-32 of the bytes of the records that are there, one after another."""
        crc = 0
        for first, count in self.present():
            here = slice(first * RECORD_BYTES, (first + count) * RECORD_BYTES)
            crc = zlib.crc32(self.data[here], crc)
        return crc

    def bitmap(self) -> str:
        """Which records are there, as hexadecimal: bit 7 of the first byte is record 0."""
        bits = "".join("1" if have else "0" for have in self._have)
        bits += "0" * (-len(bits) % 8)
        return int(bits or "0", 2).to_bytes(len(bits) // 8, "big").hex()

    def restore(self, data: bytes, bitmap: str) -> None:
        """Take over what an earlier upload held; a bitmap of another length is taken as empty."""
        try:
            packed = bytes.fromhex(bitmap)
        except ValueError:
            return
        if len(packed) != -(-self.records // 8):
            return
        bits = "".join(f"{byte:08b}" for byte in packed)
        for first, count in _runs(bytearray(int(bit) for bit in bits[: self.records]), 1, 0):
            self.put(first, data[first * RECORD_BYTES : (first + count) * RECORD_BYTES])

    def _differs(self, first: int, last: int, data: bytes) -> bool:
        for record in range(first, last):
            at = (record - first) * RECORD_BYTES
            if self._have[record] and (
                self.data[record * RECORD_BYTES : (record + 1) * RECORD_BYTES]
                != data[at : at + RECORD_BYTES]
            ):
                return True
        return False


def _runs(have: bytearray, value: int, join: int) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    wanted, other = bytes((value,)), bytes((1 - value,))
    at = have.find(wanted)
    while at >= 0:
        end = have.find(other, at)
        end = len(have) if end < 0 else end
        if runs and at - sum(runs[-1]) <= join:
            runs[-1] = (runs[-1][0], end - runs[-1][0])
        else:
            runs.append((at, end - at))
        at = have.find(wanted, end)
    return runs
