"""Value change dumps (VCD, IEEE 1364): what sigrok, simulators and many analysers write.

The body is a stream of tokens: ``#417`` a time, ``0!`` a bit and the identifier it belongs to,
``b0101 !`` a vector and, as a token of its own, its identifier, ``$dumpvars`` and its like. Any
printable characters make an identifier: after ``b0 `` the token ``#1`` is an identifier, no time.
The tokens of a part of the file are found, told apart and decoded all at once with numpy.

A vector counts as the channels ``name[0]`` (its last bit), ``name[1]``, ... Values x and z are not
known. What sigrok says in its comment (``at 24 MHz``) gives the sample rate, and times become
numbers of samples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kprof.capture.importers.reader import (
    MAX_TICKS,
    UNKNOWN_SHIFT,
    Block,
    Recording,
    changes_only,
    chosen_rate,
)
from kprof.errors import CaptureError

_PART = 1 << 20
_MAX_HEADER = 16 << 20
_TAIL = 1 << 16
_UNITS = {"s": 0, "ms": 3, "us": 6, "ns": 9, "ps": 12, "fs": 15}
_TIMESCALE = re.compile(rb"\$timescale\s+(1|10|100)\s*([munpf]?s)\s+\$end")
_VAR = re.compile(rb"\$var\s+\S+\s+([0-9]{1,6})\s+(\S{1,64})\s+(.*?)\s*\$end", re.DOTALL)
_RATE = re.compile(rb"\bat\s+([0-9.]{1,20}\s*[kMG]?Hz)")
_COMMENT = re.compile(rb"\$comment\b.*?\$end\b", re.DOTALL)
_MARK = re.compile(rb"#[0-9]{1,18}")
_NANO = 10**9


@dataclass(frozen=True)
class _Bit:
    """Where a channel's value stands: the identifier, and the bit of its vector (0 is the last)."""

    identifier: bytes
    bit: int
    size: int


class VcdReader:
    """A value change dump."""

    def __init__(self, path: Path, samplerate: str | None = None) -> None:
        self._path = path
        with path.open("rb") as stream:
            header, self._body = _header(stream, str(path))
            ending = _ending(stream, self._body)
        self._end, self._end_time = ending.whole, ending.time
        warnings = ending.warnings(str(path))
        self._bits: list[_Bit] = []
        names: list[str] = []
        for size, identifier, reference in _VAR.findall(_COMMENT.sub(b" ", header)):
            bits, text = int(size), b"".join(reference.split()).decode("utf-8", "replace")
            if bits == 1:
                names.append(text)
                self._bits.append(_Bit(identifier, 0, 1))
            elif bits <= 64:
                base = text.split("[")[0] or text
                names += [f"{base}[{bit}]" for bit in range(bits)]
                self._bits += [_Bit(identifier, bit, bits) for bit in range(bits)]
        if len(names) > 4096:
            raise CaptureError(f"{path}: has {len(names)} channels; expected at most 4096")
        scale = _TIMESCALE.search(header)
        if scale is None:
            raise CaptureError(f"{path}: has no $timescale; expected one such as 1 ns")
        self._tick = Fraction(int(scale[1]), 10 ** _UNITS[scale[2].decode()])
        stated = _RATE.search(header)
        rate, overridden = chosen_rate(samplerate, stated and stated[1].decode(), str(path))
        # Times become samples, or ticks of at least 1 ns, so that they fit in a capture.
        self._clock = rate or min(1 / self._tick, Fraction(_NANO))
        self.recording = Recording(
            "value change dump",
            tuple(names),
            self._clock,
            1 if rate else None,
            overridden + warnings,
        )

    def blocks(self, wanted: Sequence[int]) -> Iterator[Block]:
        """See `kprof.capture.importers.reader.Reader`."""
        decoder = _Decoder([self._bits[channel] for channel in wanted], str(self._path))
        before: int | None = None
        with self._path.open("rb") as stream:
            stream.seek(self._body)
            for tokens in _token_parts(stream, self._end, str(self._path)):
                times, words = changes_only(*decoder.decode(tokens), before)
                if len(words):
                    before = int(words[-1])
                    yield self._ticks(times), words
        if before is not None:
            end = max(decoder.time, self._end_time)
            yield self._ticks(np.array([end], np.int64)), np.array([before], np.uint64)

    def _ticks(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        factor = self._tick * self._clock
        if factor == 1:
            return times
        if len(times) and int(times.max()) > MAX_TICKS // (4 * factor.numerator):
            far: NDArray[np.int64] = np.rint(times * float(factor)).astype(np.int64)
            return far
        scaled: NDArray[np.int64] = (2 * times * factor.numerator + factor.denominator) // (
            2 * factor.denominator
        )
        return scaled


def _header(stream: BinaryIO, source: str) -> tuple[bytes, int]:
    """The text up to ``$enddefinitions $end``, and where the body begins."""
    data = b""
    while len(data) <= _MAX_HEADER:
        part = stream.read(1 << 16)
        data += part
        end = re.search(rb"\$enddefinitions\s+\$end", data)
        if end:
            return data[: end.start()], end.end()
        if not part:
            break
    raise CaptureError(f"{source}: its $enddefinitions is missing (is it cut off?)")


@dataclass(frozen=True)
class _Ending:
    """How the file ends; there is no end mark, but every line ends with a line feed.

    Attributes
    ----------
    whole
        Where its last whole token ends.
    time
        The time that the token after that begins with; 0: it is none. It is no later than the time
        that stood there.
    last
        The last whole time, as it stands there.
    cut
        Its last line does not end.
    """

    whole: int
    time: int
    last: str
    cut: bool

    def warnings(self, source: str) -> tuple[str, ...]:
        """That it is cut off."""
        if not self.cut:
            return ()
        last = f"; the last time in it is {self.last}" if self.last else ""
        return (
            f"{source}: seems to be cut off (copy or record it again): its last line has no line "
            f"feed{last}",
        )


def _ending(stream: BinaryIO, body: int) -> _Ending:
    size = stream.seek(0, 2)
    stream.seek(max(body, size - _TAIL))
    tail = stream.read()
    if not tail or tail.endswith((b"\n", b"\r")):
        return _Ending(size, 0, "", False)
    tokens = re.findall(rb"[^\x00-\x20]+", tail)
    part = tokens.pop() if tail[-1] > 32 and len(tokens) > 1 else b""
    follows_vector = bool(tokens) and tokens[-1][:1] in (b"b", b"B", b"r", b"R")
    time = int(part[1:]) if _MARK.fullmatch(part) and not follows_vector else 0
    last = next((token.decode() for token in reversed(tokens) if _MARK.fullmatch(token)), "")
    return _Ending(size - len(part), time, last, True)


def _token_parts(stream: BinaryIO, end: int, source: str) -> Iterator[bytes]:
    """The body up to `end` in parts that each end before a line with a time, else before a line."""
    left = b""
    while data := stream.read(min(_PART, end - stream.tell())):
        text = left + data
        cut = max(text.rfind(b"\n#"), 0) or text.rfind(b"\n") + 1
        if cut == 0 and len(text) > 2 * _PART:
            raise CaptureError(
                f"{source}: has a line of over {len(text)} bytes (is it a VCD file?)"
            )
        left = text[cut:]
        if cut:
            yield text[:cut]
    if left:
        yield left


class _Decoder:
    """Decodes the body part by part; holds the time and the levels reached so far."""

    def __init__(self, bits: list[_Bit], source: str) -> None:
        long = [bit.identifier for bit in bits if len(bit.identifier) > 8]
        if long:
            raise CaptureError(f"{source}: identifier {long[0]!r} is long; expected up to 8 bytes")
        self.time = 0
        self._bits, self._source = bits, source
        self._codes = [int.from_bytes(bit.identifier, "little") for bit in bits]
        self._levels = [2] * len(bits)

    def decode(self, text: bytes) -> Block:
        """The levels after each time in `text`, repetitions included."""
        if b"$comment" in text:
            text = _COMMENT.sub(lambda match: b" " * len(match[0]), text)
        data = np.frombuffer(text, np.uint8)
        edges = np.diff((data > 32).astype(np.int8), prepend=0, append=0)
        starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        first = _KINDS[data[starts]]
        vectors = _every_other(first == _VECTOR)
        named = np.zeros(len(starts), dtype=bool)  # identifiers of vectors
        named[1:] = vectors[:-1]
        marks = (first == _TIME) & ~named
        bits = (first <= _UNKNOWN) & ~named
        self._refuse(text, starts, ends, ~(marks | bits | vectors | named | (first == _KEYWORD)))
        row = np.cumsum(marks)
        times = np.concatenate([[self.time], self._times(data, starts[marks], ends[marks])])
        codes = _codes(data, starts[bits] + 1, ends[bits])
        bit_rows, bit_levels = row[bits], first[bits]
        busses = self._busses(text, starts, ends, np.flatnonzero(vectors))
        words = np.zeros(len(times), dtype=np.uint64)
        for place, (bit, code) in enumerate(zip(self._bits, self._codes, strict=True)):
            if bit.size == 1:
                mine = codes == np.uint64(code)
                rows, levels = bit_rows[mine], bit_levels[mine]
            else:
                at, values = busses.get(bit.identifier, ([], []))
                rows = row[at] if at else np.empty(0, np.int64)
                levels = np.array([_vector_bit(value, bit.bit) for value in values], np.uint8)
            words |= self._filled(place, rows, levels, len(times))
        self.time = int(times[-1])
        return times, words

    def _filled(
        self, place: int, rows: NDArray[np.int64], levels: NDArray[np.uint8], count: int
    ) -> NDArray[np.uint64]:
        """The level of one line in every row: the last change in it, or the one before it."""
        last = np.full(count, -1, dtype=np.int64)
        last[rows] = np.arange(len(rows))
        last = np.maximum.accumulate(last)
        level = np.append(levels, np.uint8(self._levels[place]))[last].astype(np.uint64)
        self._levels[place] = int(level[-1])
        known = level & np.uint64(1)
        unknown = level >> np.uint64(1)
        words: NDArray[np.uint64] = known << np.uint64(place)
        words |= unknown << np.uint64(place + UNKNOWN_SHIFT)
        return words

    def _times(
        self, data: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        lengths = ends - starts - 1
        if len(lengths) and (lengths.max() > 18 or lengths.min() < 1):
            worst = int(starts[np.argmax((lengths > 18) | (lengths < 1))])
            shown = data[worst : worst + 30].tobytes()
            raise CaptureError(f"{self._source}: {shown!r} is not a time; expected # and a number")
        times = np.zeros(len(starts), dtype=np.int64)
        for place in range(int(lengths.max(initial=0))):
            here = lengths > place
            digits = data[starts[here] + 1 + place].astype(np.int64) - 48
            if ((digits < 0) | (digits > 9)).any():
                raise CaptureError(f"{self._source}: a time holds something that is not a digit")
            times[here] = times[here] * 10 + digits
        return times

    def _busses(
        self,
        text: bytes,
        starts: NDArray[np.intp],
        ends: NDArray[np.intp],
        vectors: NDArray[np.intp],
    ) -> dict[bytes, tuple[list[int], list[bytes]]]:
        """The values of the wanted vectors: by identifier, (token numbers, values)."""
        wanted = {bit.identifier for bit in self._bits if bit.size > 1}
        found: dict[bytes, tuple[list[int], list[bytes]]] = {name: ([], []) for name in wanted}
        if not wanted:
            return found
        for token in vectors[vectors < len(starts) - 1].tolist():
            name = text[starts[token + 1] : ends[token + 1]]
            if name in wanted:
                found[name][0].append(token)
                found[name][1].append(
                    text[starts[token] + 1 : min(ends[token], starts[token] + 66)]
                )
        return found

    def _refuse(
        self,
        text: bytes,
        starts: NDArray[np.intp],
        ends: NDArray[np.intp],
        wrong: NDArray[np.bool_],
    ) -> None:
        if wrong.any():
            token = int(np.argmax(wrong))
            shown = text[starts[token] : min(ends[token], starts[token] + 30)]
            raise CaptureError(
                f"{self._source}: {shown!r} is not a value change (is it a VCD file?)"
            )


_UNKNOWN, _VECTOR, _TIME, _KEYWORD, _OTHER = 2, 3, 4, 5, 6
_KINDS = np.full(256, _OTHER, dtype=np.uint8)
"""By a token's first character: its level (0, 1, 2 = not known), or what else it is."""
for _text, _kind in (
    (b"0lL", 0),
    (b"1hH", 1),
    (b"xXzZuUwW-", _UNKNOWN),
    (b"bBrR", _VECTOR),
    (b"#", _TIME),
    (b"$", _KEYWORD),
):
    _KINDS[list(_text)] = _kind


def _every_other(marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The first, third, ... of each run: what follows a vector is its identifier."""
    index = np.arange(len(marked))
    run = np.maximum.accumulate(np.where(marked, -1, index)) if len(marked) else index
    chosen: NDArray[np.bool_] = marked & ((index - run) % 2 == 1)
    return chosen


def _codes(
    data: NDArray[np.uint8], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> NDArray[np.uint64]:
    """Identifiers of up to 8 bytes as numbers; 0 for longer ones and none."""
    lengths = ends - starts
    codes = np.zeros(len(starts), dtype=np.uint64)
    for place in range(min(8, int(lengths.max(initial=0)))):
        here = lengths > place
        codes[here] |= data[starts[here] + place].astype(np.uint64) << np.uint64(8 * place)
    codes[lengths > 8] = 0
    return codes


def _vector_bit(value: bytes, bit: int) -> int:
    """The level of a vector's bit (0 is the last); it is extended as the standard says."""
    char = value[-1 - bit] if bit < len(value) else (value[0] if value else 0)
    if bit >= len(value) and char in b"1hH":
        return 0
    level = int(_KINDS[char])
    return level if level <= _UNKNOWN else _UNKNOWN
