"""Event RAMs for tests: like those of a run, and arbitrary ones."""

from __future__ import annotations

import random


def run_ram(records: int, seed: int = 1) -> bytes:
    """Records of nested calls with the intervals of a busy kernel."""
    rng = random.Random(seed)
    time, out, open_tags = rng.randrange(1 << 24), bytearray(), []
    for _ in range(records):
        time += rng.choice([2, 3, 5, 9, 12, 20, 31, 47, 96, 130])
        if open_tags and rng.random() < 0.5:
            tag = open_tags.pop() + 1
        else:
            tag = 1024 + 2 * rng.randrange(60)
            open_tags.append(tag)
        out += (time & 0xFFFFFF).to_bytes(3, "big") + tag.to_bytes(2, "big")
    return bytes(out)


def random_ram(records: int, seed: int = 1) -> bytes:
    """Any bytes."""
    return random.Random(seed).randbytes(records * 5)
