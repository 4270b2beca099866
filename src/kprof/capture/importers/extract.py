"""From changes of lines to events: the one kernel of all importers.

The EPROM is selected when /CE falls; its address is the event's tag. The address is looked at
`settle` ticks later and again `confirm` ticks after that: it must be the same, wholly known, and
the EPROM still be selected; else the read is counted as unstable (or short) and is no event; so is
one that the end of the recording cuts short. The event's time is that of the falling edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kprof.capture.importers.reader import UNKNOWN_SHIFT, Block
from kprof.errors import CaptureError


@dataclass(frozen=True)
class Rules:
    """How to make events of reads.

    Attributes
    ----------
    lines
        The address line of each bit of a word; /CE is the bit after them.
    select_high
        The EPROM is selected while its channel is high.
    settle, confirm
        Ticks from the edge to the first look, and from there to the second.
    tag_bits, tag_shift
        The tag is ``address >> tag_shift``, of which the low `tag_bits` are kept.
    ignored
        Ranges of tags, ends included, that are no events.
    """

    lines: tuple[int, ...]
    settle: int
    confirm: int
    select_high: bool = False
    tag_bits: int = 16
    tag_shift: int = 0
    ignored: tuple[tuple[int, int], ...] = ()


@dataclass
class Counts:
    """What came of the reads so far: each is an event, unstable, too short, or ignored."""

    reads: int = 0
    events: int = 0
    unstable: int = 0
    short: int = 0
    ignored: int = 0
    ticks: int = 0
    first: int | None = field(default=None, repr=False)

    @property
    def lost(self) -> int:
        """Reads whose tag is not known."""
        return self.unstable + self.short


def find_events(
    blocks: Iterable[Block], rules: Rules, counts: Counts, source: str
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint16]]]:
    """The events in parts, as (times in ticks of the recording, tags); `counts` is kept up to date.

    Raises
    ------
    CaptureError
        Time runs backwards.
    """
    times, words = np.empty(0, np.int64), np.empty(0, np.uint64)
    for block_times, block_words in blocks:
        if not len(block_times):
            continue
        last = int(times[-1]) if len(times) else int(block_times[0])
        if int(block_times[0]) < last or (np.diff(block_times) < 0).any():
            raise CaptureError(f"{source}: time runs backwards after {last} ticks")
        times, words = np.concatenate([times, block_times]), np.concatenate([words, block_words])
        settled = int(times[-1]) - rules.settle - rules.confirm
        found, keep = _events(times, words, rules, counts, settled)
        yield found
        times, words = times[keep:], words[keep:]
    if len(times):
        counts.ticks = int(times[-1])
        cut = len(_falls(words, rules))  # the recording ends before their second look
        counts.short += cut
        counts.reads += cut


def _falls(words: NDArray[np.uint64], rules: Rules) -> NDArray[np.intp]:
    """The indices where the EPROM becomes selected; never the first."""
    selected = _selected(words, rules)
    return np.flatnonzero(selected[1:] & ~selected[:-1]) + 1


def _selected(words: NDArray[np.uint64], rules: Rules) -> NDArray[np.bool_]:
    bit = np.uint64(len(rules.lines))
    level = (words >> bit) & np.uint64(1)
    known = (words >> (bit + np.uint64(UNKNOWN_SHIFT))) & np.uint64(1) == 0
    selected: NDArray[np.bool_] = (level == np.uint64(rules.select_high)) & known
    return selected


def _events(
    times: NDArray[np.int64],
    words: NDArray[np.uint64],
    rules: Rules,
    counts: Counts,
    settled: int,
) -> tuple[tuple[NDArray[np.int64], NDArray[np.uint16]], int]:
    """The events whose second look lies before the last change, and from where on to look again."""
    falls = _falls(words, rules)
    selected = _selected(words, rules)
    rises = np.flatnonzero(~selected)
    done = falls[times[falls] < settled]
    keep = int(falls[len(done)]) - 1 if len(done) < len(falls) else len(times) - 1
    start = times[done]
    first = np.searchsorted(times, start + rules.settle, "right") - 1
    second = np.searchsorted(times, start + rules.settle + rules.confirm, "right") - 1
    after = np.searchsorted(rises, done)
    ends = np.append(times[rises], np.iinfo(np.int64).max)[after]
    short = ends <= start + rules.settle + rules.confirm
    address_mask = np.uint64((1 << len(rules.lines)) - 1)
    unknown = (words[first] | words[second]) >> np.uint64(UNKNOWN_SHIFT) & address_mask != 0
    differ = (words[first] ^ words[second]) & address_mask != 0
    unstable = ~short & (unknown | differ)
    good = ~short & ~unstable
    tags = _tags(words[second[good]], rules)
    wanted = np.ones(len(tags), dtype=bool)
    for low, high in rules.ignored:
        wanted &= (tags < low) | (tags > high)
    counts.reads += len(done)
    counts.short += int(short.sum())
    counts.unstable += int(unstable.sum())
    counts.ignored += int((~wanted).sum())
    counts.events += int(wanted.sum())
    return (start[good][wanted], tags[wanted]), keep


def _tags(words: NDArray[np.uint64], rules: Rules) -> NDArray[np.uint16]:
    address = np.zeros(len(words), dtype=np.uint64)
    for bit, line in enumerate(rules.lines):
        address |= ((words >> np.uint64(bit)) & np.uint64(1)) << np.uint64(line)
    mask = np.uint64((1 << rules.tag_bits) - 1)
    tags: NDArray[np.uint16] = ((address >> np.uint64(rules.tag_shift)) & mask).astype(np.uint16)
    return tags
