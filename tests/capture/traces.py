"""Captures made for tests: events as a kernel's calls would make them."""

from __future__ import annotations

import random

import numpy as np

from kprof.capture import Capture, CaptureInfo


def calls(
    events: int,
    seed: int = 0,
    functions: int = 30,
    first_tag: int = 1024,
    inline: float = 0.05,
    pause: int = 400,
) -> tuple[list[int], list[int]]:
    """(ticks, tags) of nested calls with inline triggers; ticks are absolute."""
    choice = random.Random(seed)
    time, stack = choice.randrange(2000), []
    ticks, tags = [], []
    for _ in range(events):
        ticks.append(time)
        time += int(choice.expovariate(1 / choice.choice((5, 20, 80, pause)))) + 1
        if choice.random() < inline:
            tags.append(first_tag + 2 * (functions + choice.randrange(8)))
        elif stack and (len(stack) > 7 or choice.random() < 0.5):
            tags.append(stack.pop() + 1)
        else:
            stack.append(
                first_tag + 2 * min(choice.randrange(functions), choice.randrange(functions))
            )
            tags.append(stack[-1])
    return ticks, tags


def capture(events: int = 1000, seed: int = 0, info: CaptureInfo | None = None) -> Capture:
    """A capture of `calls`."""
    return Capture.from_events(*calls(events, seed), info=info)


def same_events(a: Capture, b: Capture) -> bool:
    """Do both hold the same ticks and tags?"""
    return np.array_equal(a.ticks(), b.ticks()) and np.array_equal(a.tags(), b.tags())
