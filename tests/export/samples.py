"""Captures to export, and what the report says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from tests.analysis.kernel_sim import Kernel, name_text

from kprof.analysis import Summary, summarise
from kprof.analysis.stream import Stream
from kprof.capture.model import Capture, CaptureInfo
from kprof.names import NameFile, parse_names

AWKWARD = ["semi;colon", 'quo"te', "back\\slash", "</script><img>", "file.c:init", "Grüße", "a,b"]


class Sample(NamedTuple):
    """A capture with its names and its summary."""

    capture: Capture
    names: NameFile
    summary: Summary

    def stream(self) -> Stream:
        return Stream(self.capture, self.names)

    @property
    def net(self) -> dict[str, int]:
        """Net time by function, in ticks; idle and unattributed time too, where there is some."""
        ledger = self.summary.ledger
        found = {f.entry.name: f.net for f in self.summary.functions}
        found |= {"(idle)": ledger.idle, "(unattributed)": ledger.unattributed}
        return {name: net for name, net in found.items() if net}

    @property
    def elapsed(self) -> dict[str, int]:
        return {f.entry.name: f.elapsed for f in self.summary.functions if f.elapsed}

    @property
    def calls(self) -> dict[str, int]:
        return {f.entry.name: f.calls for f in self.summary.functions if f.calls}


def sample(
    ticks: Sequence[int], tags: Sequence[int], text: str, info: CaptureInfo | None = None
) -> Sample:
    capture = Capture.from_events(np.array(ticks, np.int64), np.array(tags, np.int64), info)
    names = parse_names(text)
    return Sample(capture, names, summarise(capture, names))


def kernel(style: str, seed: int = 3, steps: int = 1500, info: CaptureInfo | None = None) -> Sample:
    """A simulated kernel's capture: tasks, interrupts, recursion, longjmp, orphans, inlines."""
    run = Kernel(seed, style, fair=True, steps=steps)
    return sample(run.times, run.tags, name_text(style), info)


def plain(rounds: int = 30, info: CaptureInfo | None = None) -> Sample:
    """Calls in one context, all complete, over a wrap of the timer; names that ask for care."""
    text = "".join(f"{name}/{1024 + 2 * k}\n" for k, name in enumerate(AWKWARD)) + "MARK/2000=\n"
    ticks, tags, now = [0], [1024], (1 << 24) - 500
    ticks[0] = now - 5
    for turn in range(rounds):
        for tag in (
            1026,
            1028,
            1029,
            2000,
            1030,
            1027 + 4,
            1027,
            1032,
            1034,
            1036,
            1037,
            1035,
            1033,
        ):
            now += 1 + (tag * 7 + turn) % 22
            ticks.append(now)
            tags.append(tag)
    ticks.append(now + 9)
    tags.append(1025)
    return sample(ticks, tags, text, info)
