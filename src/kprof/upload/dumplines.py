"""Text dumps of memory, as monitors print them: S-records, Intel hex, hexadecimal dumps.

A parser takes the text as it comes and gives (address, bytes) for each sound line. What is no line
of the format (prompts, echoes) is passed over; a line that begins as one and is damaged is counted.

- S-records, Intel hex: every line has its sum. Intel hex gives 16 bits of an address, and the rest
  in lines of their own: where an address goes back without such a line, one may have been lost, and
  nothing counts until the next.
- Hexadecimal dumps: ``address, bytes or words, perhaps characters``. The address may be ``seg:off``
  (DEBUG), or ``<symbol+offset>`` may follow it, and the words may have ``0x`` (gdb's ``x``). A line
  ``*`` stands for lines like the one before it up to the next address (``hexdump -C``, ``od``).
  There is no sum; lines that do not continue in the width of the others are left out, and the
  caller compares two dumps.
- Raw bytes are no text; only their number says whether they are what is wanted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

Piece = tuple[int, bytes]
MAX_LINE = 4096
_SREC = re.compile(rb"S([0-9])([0-9A-Fa-f]{6,})")
_IHEX = re.compile(rb":([0-9A-Fa-f]{10,})")
_HEX_LINE = re.compile(
    rb"^\W*(?:0[xX]([0-9A-Fa-f]{1,16})|([0-9A-Fa-f]{4,16}))(?:\s*<[^>]*>)?[:>|\s-]+"
    rb"(?=(?:0[xX])?[0-9A-Fa-f]{2})"
)
_SEGMENTED = re.compile(rb"^\W*([0-9A-Fa-f]{4}):([0-9A-Fa-f]{4})\s+(?=[0-9A-Fa-f]{2}(?:[\s-]|$))")
_LAST = re.compile(rb"\s*(?:0[xX])?([0-9A-Fa-f]{4,16})\s*")  # the end's address, of hexdump and od
_WORDS = re.compile(rb"(?:0[xX])?([0-9A-Fa-f]+)([\s-]{0,2})")
_ADDRESS_BYTES = {0: 2, 1: 2, 2: 3, 3: 4, 5: 2, 6: 3, 7: 4, 8: 3, 9: 2}


class Parser(Protocol):
    """Takes a dump apart.

    Attributes
    ----------
    bad
        Lines that were damaged.
    ended
        The format's own end was seen.
    reached
        What holds the last byte that is wanted was seen, though its piece comes at the end only.
    waiting
        Bytes that have come and are not yet given.
    counted
        Only their number tells the wanted bytes from others.
    word
        Bytes of a word of the dump, as far as that is known.
    surplus
        Where they are counted: how many more came than are wanted; negative: how many fewer.
    """

    bad: int
    ended: bool
    reached: bool
    waiting: int
    counted: bool
    surplus: int
    word: int

    def begin(self, address: int, count: int) -> None:
        """A dump of so many bytes from this address follows."""

    def feed(self, data: bytes) -> Iterator[Piece]:
        """The pieces in what came next."""

    def finish(self) -> Iterator[Piece]:
        """The pieces in what is left; a new dump may follow."""


class _Lines:
    """Splits text into lines, of any of the line ends."""

    def __init__(self) -> None:
        self.bad = self.waiting = self.surplus = 0
        self.word = 1
        self.ended = self.reached = self.counted = False
        self._rest = b""
        self._end = 0

    def begin(self, address: int, count: int) -> None:
        """See `Parser`."""
        self._end, self.reached = address + count, False

    def feed(self, data: bytes) -> Iterator[Piece]:
        """See `Parser`."""
        *lines, rest = re.split(rb"[\r\n\0]+", self._rest + data)
        self._rest = rest[-MAX_LINE:]
        for line in lines:
            yield from self._line(line)

    def finish(self) -> Iterator[Piece]:
        """See `Parser`."""
        line, self._rest, self.ended = self._rest, b"", False
        yield from self._line(line)

    def _line(self, line: bytes) -> Iterator[Piece]:
        raise NotImplementedError


class SRecords(_Lines):
    """Motorola S-records: S0 header, S1 to S3 data, S5 and S6 counts, S7 to S9 end."""

    def _line(self, line: bytes) -> Iterator[Piece]:
        found = _SREC.search(line)
        if not found:
            return
        kind, digits = int(found[1]), found[2]
        count = int(digits[:2], 16)
        width = _ADDRESS_BYTES.get(kind, 256)
        if len(digits) != 2 * (count + 1) or count < width + 1:
            self.bad += 1
            return
        record = bytes.fromhex(digits.decode())
        if sum(record) & 0xFF != 0xFF:
            self.bad += 1
        elif kind in (1, 2, 3):
            yield int.from_bytes(record[1 : 1 + width], "big"), record[1 + width : -1]
        elif kind in (7, 8, 9):
            self.ended = True


class IntelHex(_Lines):
    """Intel hex: 00 data, 01 end, 02 and 04 the upper part of the addresses that follow."""

    def __init__(self) -> None:
        super().__init__()
        self._begin()

    def finish(self) -> Iterator[Piece]:
        """See `Parser`."""
        yield from super().finish()
        self._begin()

    def _begin(self) -> None:
        self._base = 0
        self._lowest = 0
        self._trusted = True

    def _line(self, line: bytes) -> Iterator[Piece]:
        found = _IHEX.search(line)
        if not found:
            return
        digits = found[1]
        count = int(digits[:2], 16)
        size = count + 5
        if len(digits) != 2 * size:
            self.bad += 1
            return
        record = bytes.fromhex(digits.decode())
        if sum(record) & 0xFF:
            self.bad += 1
            return
        address, kind, data = int.from_bytes(record[1:3], "big"), record[3], record[4:-1]
        if kind == 0:
            if address < self._lowest:
                self._trusted = False
            if not self._trusted:
                self.bad += 1
                return
            self._lowest = address
            yield self._base + address, data
        elif kind == 1:
            self.ended = True
        elif kind in (2, 4) and count == 2:
            self._base = int.from_bytes(data, "big") << (16 if kind == 4 else 4)
            self._lowest, self._trusted = 0, True


class HexDump(_Lines):
    """Hexadecimal dumps of bytes, words or longs.

    Parameters
    ----------
    little
        Words stand as a little-endian machine reads them.
    """

    def __init__(self, *, little: bool = False) -> None:
        super().__init__()
        self._little = little
        self._lines: list[Piece] = []
        self._repeated = False  # a `*` came: the line before it stands for others

    def finish(self) -> Iterator[Piece]:
        """See `Parser`; all pieces come here, when the width of the lines is known."""
        yield from super().finish()
        steps = Counter(
            later[0] - line[0]
            for line, later in zip(self._lines, self._lines[1:], strict=False)
            if 0 < later[0] - line[0] <= 256
        )
        width = steps.most_common(1)[0][0] if steps else 256
        lines, self._lines, self.waiting, self._repeated = self._lines, [], 0, False
        for at, (address, data) in enumerate(lines):
            last = at + 1 == len(lines) or lines[at + 1][0] != address + width
            if len(data) >= width:
                yield address, data[:width]
            elif last:
                yield address, data
            else:
                self.bad += 1

    def _line(self, line: bytes) -> Iterator[Piece]:
        segmented = _SEGMENTED.match(line)
        found = segmented or _HEX_LINE.match(line)
        if line.strip() == b"*":
            self._repeated = bool(self._lines)
        elif segmented:
            address = (int(segmented[1], 16) << 4) + int(segmented[2], 16)
            self._take(address, line[segmented.end() :])
        elif found:
            self._take(int(found[1] or found[2], 16), line[found.end() :])
        elif self._repeated and (last := _LAST.fullmatch(line)):
            self._repeat(int(last[1], 16))
        yield from ()

    def _take(self, address: int, text: bytes) -> None:
        """A line of the dump."""
        data = self._data(text)
        if not data:
            self.bad += 1
            return
        self._repeat(address)
        self._add(address, data)

    def _repeat(self, until: int) -> None:
        """The lines that a `*` stands for, where whole ones fit up to this address."""
        if not self._repeated:
            return
        self._repeated = False
        before, data = self._lines[-1]
        gap = min(until, self._end) - before - len(data)
        if gap > 0 and (until - before) % len(data) == 0:
            for address in range(before + len(data), before + len(data) + gap, len(data)):
                self._add(address, data)

    def _add(self, address: int, data: bytes) -> None:
        self._lines.append((address, data))
        self.waiting += len(data)
        self.reached = self.reached or address < self._end <= address + len(data)

    def _data(self, text: bytes) -> bytes:
        out, digits, at = bytearray(), 0, 0
        while found := _WORDS.match(text, at):
            word, gap = found[1], found[2]
            if not digits:
                digits = len(word)
            if len(word) != digits or digits not in (2, 4, 8, 16) or len(out) >= 256:
                break
            if not gap and found.end() != len(text):
                break
            self.word = digits // 2
            value = bytes.fromhex(word.decode())
            out += value[::-1] if self._little else value
            at = found.end()
            if text[at : at + 1].isspace():  # three blanks: the characters follow
                break
        return bytes(out)


class RawBytes:
    """Bytes as they are: all at once, if exactly as many come as are wanted.

    One that is lost, or that an echo or a prompt adds, would shift the others.

    Attributes
    ----------
    longest
        Everything that came since a dump began; of several dumps, the longest.
    """

    def __init__(self) -> None:
        self.bad = self.waiting = self.surplus = 0
        self.word = 1
        self.ended = self.reached = False
        self.counted = True
        self.longest = self._came = bytearray()
        self._first = self._count = 0

    def begin(self, address: int, count: int) -> None:
        """See `Parser`."""
        self._first, self._count = address, count
        self.waiting, self.reached, self._came = 0, False, bytearray()

    def feed(self, data: bytes) -> Iterator[Piece]:
        """See `Parser`."""
        self._came += data
        self.longest = max(self.longest, self._came, key=len)
        self.waiting = len(self._came)
        self.surplus = len(self._came) - self._count
        self.reached = self.surplus >= 0
        yield from ()

    def finish(self) -> Iterator[Piece]:
        """See `Parser`."""
        self.waiting, self.surplus = 0, len(self._came) - self._count
        if not self.surplus:
            yield self._first, bytes(self._came)
