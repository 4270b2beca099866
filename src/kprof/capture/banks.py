"""The order of the five RAM banks, where nobody says it.

A record is five bytes, one from each 8-bit RAM: time 23-16, 15-8, 7-0, tag 15-8, 7-0, which are
banks 0 to 4. Images of the five RAMs come in any order, and as one file with the five images one
after another (planar). The order taken is the one of the 120 with the least

    mean log2(1 + dt mod 2^24) + H0(tag) - 2 paired - 8 leaves - 4 known

where dt is the interval between neighbours; H0 the tags' entropy in bits, corrected for the
sample's size (Miller and Madow); `paired` the part of the records whose tag's even or odd partner
occurs too; `leaves` the part that are an entry with its exit right behind it; `known` the part
whose tag is in the name file. Wrong orders of time bytes make intervals long, wrong orders of tag
bytes part entries from their exits. Of 600 made-up captures of 50 to 16384 records 544 are found
right, and all of those with 1000 records or more; without the correction and the leaves it is 438.

The score is a sum of one term for the three time banks (60 ways) and one for the two tag banks
(20 ways), and each is found once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from kprof.capture.records import RECORD_BYTES
from kprof.errors import UsageError
from kprof.names import NameFile

STANDARD = "01234"
_Way = tuple[int, ...]  # images in the order of the banks
_Columns = list[NDArray[np.int32]]  # five, shape (n,) each
_STANDARD_WAY: _Way = (0, 1, 2, 3, 4)
_SAMPLE = 16_384  # records looked at in bank images: a whole event RAM
_GLANCE = 2_048  # records looked at in every raw image, to see whether it is planar
_ENOUGH = 64  # records below which a guess is not worth making
_CLEAR = 1.5  # bits by which another order must be better before a raw image is taken as planar


@dataclass(frozen=True)
class BankOrder:
    """Which image is which bank.

    Attributes
    ----------
    order
        ``order[i]`` is the bank (0..4) that image i holds, as a string of five digits.
    score
        Bits; less is better.
    margin
        By how many bits the next different order is worse.
    """

    order: str
    score: float
    margin: float

    @property
    def images(self) -> tuple[int, ...]:
        """The image that holds bank 0, bank 1, ... bank 4."""
        return tuple(self.order.index(str(bank)) for bank in range(RECORD_BYTES))


def parse_record_order(text: str) -> tuple[str, bool | None]:
    """``01234``: byte i of a record (or image i) holds bank ``text[i]``; also ``planar:01234``.

    Returns the digits, and whether the file is planar (None where it does not say).

    Raises
    ------
    UsageError
        It is something else.
    """
    kind, colon, digits = text.rpartition(":")
    if sorted(digits) != list(STANDARD) or kind not in ("", "planar", "records"):
        raise UsageError(
            f"record order {text!r}; expected the digits 0 to 4 once each, such as 01234 (byte i "
            "holds bank digit i: time 23-16, 15-8, 7-0, tag 15-8, 7-0), or planar:01234"
        )
    return digits, (kind == "planar") if colon else None


def find_bank_order(
    images: Sequence[NDArray[np.uint8]], names: NameFile | None = None
) -> BankOrder:
    """The order of five images of one length, shape (n,) each, by the module's score."""
    rows = np.stack([np.asarray(image[:_SAMPLE]) for image in images], axis=1)
    return _best_order(_columns(rows), names)


def looks_planar(data: NDArray[np.uint8], names: NameFile | None = None) -> BankOrder | None:
    """The order of the five images in a planar file; None where it reads better as records.

    `data` has shape (5 n,).
    """
    count = len(data) // RECORD_BYTES
    if count < _ENOUGH:
        return None
    rows = data.reshape(count, RECORD_BYTES)
    columns = _columns(_glance(rows))
    time, paired = _time_bits(columns, _STANDARD_WAY[:3]), _paired(columns)
    if paired > 0.75 and time < 14:  # nearly every entry has its exit: these are records
        return None
    standard = time + _tag_bits(columns, _STANDARD_WAY[3:], _known_tags(names))
    planes = data.reshape(RECORD_BYTES, count)
    found = _best_order(_columns(_glance(planes.T)), names)
    return found if found.score + _CLEAR < standard else None


def _best_order(columns: _Columns, names: NameFile | None) -> BankOrder:
    known = _known_tags(names)
    time: dict[_Way, float] = {
        way: _time_bits(columns, way) for way in permutations(range(RECORD_BYTES), 3)
    }
    tags: dict[_Way, float] = {
        way: _tag_bits(columns, way, known) for way in permutations(range(RECORD_BYTES), 2)
    }
    # RUN zeroes the time: of orders that are equal but for a constant byte, the earlier start.
    starts = [float(column[0]) * 1e-6 if len(column) else 0.0 for column in columns]
    ways: Iterable[_Way] = permutations(range(RECORD_BYTES))
    scores = sorted((time[way[:3]] + tags[way[3:]] + starts[way[0]], way) for way in ways)
    best, way = scores[0]
    other = next((score for score, w in scores[1:] if not _same(columns, w, way)), best)
    order = "".join(str(way.index(image)) for image in range(RECORD_BYTES))
    return BankOrder(order, best, other - best)


def _glance(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Runs of neighbours from all over `rows`, shape (n, 5): at most 16 of 128."""
    if len(rows) <= _GLANCE:
        return rows
    starts = np.linspace(0, len(rows) - 128, _GLANCE // 128).astype(int)
    return np.concatenate([rows[start : start + 128] for start in starts])


def _columns(rows: NDArray[np.uint8]) -> _Columns:
    """Five columns, without the constant tail of a RAM that was never written so far."""
    differs = np.flatnonzero((rows != rows[-1:]).any(axis=1))
    end = int(differs[-1]) + 1 if len(differs) else len(rows)
    return [rows[:end, bank].astype(np.int32) for bank in range(RECORD_BYTES)]


def _paired(columns: _Columns) -> float:
    tags = np.bincount((columns[3] << 8) | columns[4], minlength=0x10000)
    return float(tags[np.roll(tags.reshape(-1, 2), 1, axis=1).ravel() > 0].sum() / tags.sum())


def _time_bits(columns: _Columns, way: _Way) -> float:
    ticks = (columns[way[0]] << 16) | (columns[way[1]] << 8) | columns[way[2]]
    if len(ticks) < 2:
        return 0.0
    return float(np.log2(1.0 + (np.diff(ticks) & 0xFFFFFF)).mean())


def _tag_bits(columns: _Columns, way: _Way, known: NDArray[np.int32] | None) -> float:
    tags = (columns[way[0]] << 8) | columns[way[1]]
    if not len(tags):
        return 0.0
    present, counts = np.unique(tags, return_counts=True)
    share = counts / len(tags)
    entropy = -float(share @ np.log2(share)) + (len(present) - 1) / (2 * len(tags) * np.log(2))
    leaves = float(((tags[1:] == tags[:-1] + 1) & (tags[:-1] & 1 == 0)).sum()) / len(tags)
    score = entropy - 8 * leaves - 2 * float(share[np.isin(present ^ 1, present)].sum())
    if known is not None:
        score -= 4 * float(share[np.isin(present, known)].sum())
    return float(score)


def _same(columns: _Columns, a: _Way, b: _Way) -> bool:
    return all(x == y or np.array_equal(columns[x], columns[y]) for x, y in zip(a, b, strict=True))


def _known_tags(names: NameFile | None) -> NDArray[np.int32] | None:
    return None if names is None else np.fromiter(names.by_tag, dtype=np.int32)
