"""Where a board has its event RAM in its memory: byte b of record i at which address.

Without banks the records follow each other: ``addr + (5 i + b) * stride``. With five bank addresses
byte b of record i is at ``banks[b] + i * stride``; `stride` is 2 or 4 where 8-bit RAM is on a wider
bus.
"""

from __future__ import annotations

from dataclasses import dataclass

from kprof.errors import UsageError
from kprof.upload.image import RECORD_BYTES

MAX_BYTES = 1 << 28
CHUNK = 256


@dataclass(frozen=True)
class Layout:
    """The place of the records.

    Attributes
    ----------
    records
        How many there are.
    addr
        Address of the first byte, without banks.
    banks
        Five addresses: time 23-16, 15-8, 7-0, tag 15-8, 7-0; or none.
    stride
        From one byte to the next.
    """

    records: int = 16384
    addr: int = 0
    banks: tuple[int, ...] = ()
    stride: int = 1

    def __post_init__(self) -> None:
        if self.banks and len(self.banks) != RECORD_BYTES:
            raise UsageError(
                f"--banks names {len(self.banks)} addresses; expected 5: time 23-16, 15-8, 7-0, "
                "tag 15-8, 7-0"
            )
        if len(set(self.banks)) != len(self.banks):
            raise UsageError(
                f"--banks {','.join(f'{bank:#x}' for bank in self.banks)}: names an address twice; "
                "expected one for each of the five RAMs"
            )
        if self.stride < 1 or self.records < 1 or min((self.addr, *self.banks)) < 0:
            raise UsageError("--addr, --banks: expected 0 or more; --stride, --records: 1 or more")
        if self.records * RECORD_BYTES * self.stride > MAX_BYTES:
            raise UsageError(f"{self.records} records {self.stride} bytes apart are over 256 MB")

    def spans(self) -> list[tuple[int, int]]:
        """The parts of the memory (address, bytes) that hold the records, disjoint, in order."""
        if not self.banks:
            return [(self.addr, (self.records * RECORD_BYTES - 1) * self.stride + 1)]
        length = (self.records - 1) * self.stride + 1
        spans: list[tuple[int, int]] = []
        for start in sorted(self.banks):
            if spans and start <= sum(spans[-1]):
                spans[-1] = (spans[-1][0], max(sum(spans[-1]), start + length) - spans[-1][0])
            else:
                spans.append((start, length))
        return spans

    def extent(self) -> tuple[int, int]:
        """(address, bytes) from the first byte that is wanted to the last."""
        spans = self.spans()
        return spans[0][0], sum(spans[-1]) - spans[0][0]

    def part(self, first: int, count: int, number: int = 0) -> tuple[int, int]:
        """Where so many records are (address, bytes); with banks, in one of them, by its number.

        The banks are counted from the one that differs most from run to run: the time's low byte.
        """
        if self.banks:
            start = self.banks[(2, 4, 1, 3, 0)[number % RECORD_BYTES]]
            return start + first * self.stride, (count - 1) * self.stride + 1
        start = self.addr + RECORD_BYTES * first * self.stride
        return start, (RECORD_BYTES * count - 1) * self.stride + 1

    def records_in(self, length: int) -> int:
        """How many records a memory image of so many bytes, from address 0 on, holds."""
        return self._steps(length) // (1 if self.banks else RECORD_BYTES)

    def records_begun_in(self, length: int) -> int:
        """The same, with a last one of which a part is there."""
        return -(-self._steps(length) // (1 if self.banks else RECORD_BYTES))

    def _steps(self, length: int) -> int:
        """Bytes of the RAM, or of its last bank, in a memory image of so many bytes."""
        start = max(self.banks) if self.banks else self.addr
        return max(0, -(-(length - start) // self.stride))

    def parts(self) -> list[tuple[int, int, int]]:
        """(address, step, first byte of the image): one for each of the five bytes of a record."""
        if self.banks:
            return [(start, self.stride, byte) for byte, start in enumerate(self.banks)]
        step = RECORD_BYTES * self.stride
        return [(self.addr + byte * self.stride, step, byte) for byte in range(RECORD_BYTES)]


class Memory:
    """The parts of a board's memory that are wanted, as far as they have arrived.

    Parameters
    ----------
    layout
        Says which are wanted.

    Attributes
    ----------
    conflicts
        Times that bytes came again, and were others.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.conflicts = 0
        self._spans = [
            (start, bytearray(length), bytearray(length)) for start, length in layout.spans()
        ]

    def put(self, address: int, data: bytes) -> int:
        """Store bytes, what is not wanted left out; how many are wanted."""
        taken = 0
        for start, content, have in self._spans:
            first, last = max(address, start), min(address + len(data), start + len(content))
            if first < last:
                here, new = (
                    slice(first - start, last - start),
                    data[first - address : last - address],
                )
                self.conflicts += _differ(content[here], new, have[here])
                content[here] = new
                have[here] = b"\1" * (last - first)
                taken += last - first
        return taken

    def missing(self) -> list[tuple[int, int]]:
        """The runs (address, bytes) that have not arrived; bytes between strides do not count."""
        runs: list[tuple[int, int]] = []
        needed = self._needed()
        for (start, _, have), need in zip(self._spans, needed, strict=True):
            at = 0
            while at < len(have):
                at = have.find(0, at)
                if at < 0:
                    break
                end = have.find(1, at)
                end = len(have) if end < 0 else end
                if any(need[at:end]):
                    runs.append((start + at, end - at))
                at = end
        return runs

    def clear(self) -> None:
        """Everything is to be fetched again."""
        for _, _, have in self._spans:
            have[:] = bytes(len(have))
        self.conflicts = 0

    def get(self, address: int, count: int) -> bytes:
        """The bytes of a part of one span, zero where nothing has arrived."""
        for start, content, _ in self._spans:
            if start <= address and address + count <= start + len(content):
                return bytes(content[address - start : address - start + count])
        raise AssertionError(f"{address:#x} is in no span")

    def differs(self, other: Memory, address: int, count: int) -> bool:
        """A byte of this part of one span is held by both, and is not the same."""
        for (start, ours, have), (_, theirs, they_have) in zip(
            self._spans, other._spans, strict=True
        ):
            if start <= address and address + count <= start + len(ours):
                here = slice(address - start, address - start + count)
                both = bytes(a & b for a, b in zip(have[here], they_have[here], strict=True))
                return _differ(ours[here], theirs[here], both)
        raise AssertionError(f"{address:#x} is in no span")

    def contradicts(self, other: Memory) -> bool:
        """They hold another run's bytes somewhere, not just a damaged line: of `CHUNK` bytes that
        both hold, more than one in eight is another."""
        for (_, ours, have), (_, theirs, they_have) in zip(self._spans, other._spans, strict=True):
            for at in range(0, len(ours), CHUNK):
                here = slice(at, at + CHUNK)
                if ours[here] == theirs[here]:
                    continue
                parts = zip(ours[here], theirs[here], have[here], they_have[here], strict=True)
                both = [a != b for a, b, held, they_held in parts if held & they_held]
                if 8 * sum(both) > len(both):
                    return True
        return False

    def same(self, other: Memory) -> bool:
        """Both hold the same bytes."""
        return self._spans == other._spans

    def missing_any(self) -> bool:
        """Something has not arrived, bytes between strides included: quick to say."""
        return any(0 in have for _, _, have in self._spans)

    def agreeing(self, other: Memory) -> list[tuple[int, bytes]]:
        """The runs (address, bytes) that both hold, and hold the same."""
        runs: list[tuple[int, bytes]] = []
        for (start, ours, have), (_, theirs, they_have) in zip(
            self._spans, other._spans, strict=True
        ):
            same = bytes(
                a & b & (c == d) for a, b, c, d in zip(have, they_have, ours, theirs, strict=True)
            )
            at = same.find(1)
            while at >= 0:
                end = same.find(0, at)
                end = len(same) if end < 0 else end
                runs.append((start + at, bytes(ours[at:end])))
                at = same.find(1, end)
        return runs

    @property
    def held(self) -> int:
        """Bytes that have arrived."""
        return sum(sum(have) for _, _, have in self._spans)

    def records(self) -> tuple[bytes, bytearray]:
        """(the image, zero where nothing has arrived; 1 for each record that is complete)."""
        layout = self.layout
        image = bytearray(layout.records * RECORD_BYTES)
        complete = bytearray(b"\1" * layout.records)
        for address, step, byte in layout.parts():
            content, have = self._part(address, step)
            image[byte::RECORD_BYTES] = content
            complete = bytearray(a & b for a, b in zip(complete, have, strict=True))
        return bytes(image), complete

    def restore(self, first: int, records: bytes) -> None:
        """Put in whole records from `first`."""
        for address, step, byte in self.layout.parts():
            for at, value in enumerate(records[byte::RECORD_BYTES]):
                self.put(address + (first + at) * step, bytes((value,)))

    def _part(self, address: int, step: int) -> tuple[bytearray, bytearray]:
        for start, content, have in self._spans:
            if start <= address < start + len(content):
                part = slice(address - start, address - start + self.layout.records * step, step)
                return content[part], have[part]
        raise AssertionError(f"{address:#x} is in no span")

    def _needed(self) -> list[bytearray]:
        needed = [bytearray(len(content)) for _, content, _ in self._spans]
        for address, step, _ in self.layout.parts():
            for (start, content, _), need in zip(self._spans, needed, strict=True):
                if start <= address < start + len(content):
                    part = slice(
                        address - start, address - start + self.layout.records * step, step
                    )
                    need[part] = b"\1" * self.layout.records
        return needed


def _differ(ours: bytes | bytearray, theirs: bytes | bytearray, where: bytes | bytearray) -> bool:
    """They differ where `where` is 1."""
    return (
        ours != theirs
        and 1 in where
        and any(there and a != b for a, b, there in zip(ours, theirs, where, strict=True))
    )
