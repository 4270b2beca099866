"""Recordings for tests: samples of 16 address lines and /CE, written in every format.

Bit i of a word is address line i, bit 16 is /CE. The writers here share nothing with the readers.
"""

from __future__ import annotations

import itertools
import random
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

CE = 1 << 16
RATE = 10_000_000  # a sample is 100 ns
NAMES = [f"A{line}" for line in range(16)] + ["CE"]


def reads(events: int, seed: int = 0) -> tuple[list[int], list[tuple[int, int]]]:
    """(words, events as (sample, tag)): steady reads, each selected for 4 samples or more."""
    choice = random.Random(seed)
    words, found = [CE] * 10, []
    for _ in range(events):
        tag = choice.randrange(65_536)
        words += [CE | choice.randrange(65_536)] * choice.randrange(3) + [CE | tag]
        found.append((len(words), tag))
        words += [tag] * choice.randrange(4, 9) + [CE | tag] * choice.randrange(1, 30)
    return words, found


def noise(length: int, seed: int) -> list[int]:
    """Words as no board makes them: short selects, addresses that change in the middle."""
    choice = random.Random(seed)
    words: list[int] = []
    word = choice.randrange(1 << 17)
    while len(words) < length:
        words += [word] * choice.choice((1, 1, 2, 3, 9))
        if choice.random() < 0.7:
            word ^= CE
        if choice.random() < 0.5:
            word ^= 1 << choice.randrange(16)
    return words[:length]


def reference(words: Sequence[int], settle: int, end: int | None = None) -> dict[str, object]:
    """What an importer has to find, looked for one sample at a time."""
    end = len(words) if end is None else end
    found: dict[str, object] = {"unstable": 0, "short": 0}
    events = []
    for sample in range(1, len(words)):
        if not words[sample - 1] & CE or words[sample] & CE:
            continue
        second = sample + settle + 1
        if second >= end or any(word & CE for word in words[sample : second + 1]):
            found["short"] += 1  # type: ignore[operator]
        elif words[second - 1] != words[second]:
            found["unstable"] += 1  # type: ignore[operator]
        else:
            events.append((sample, words[second]))
    return {**found, "events": events}


def write_sr(
    path: Path,
    words: Sequence[int],
    names: Sequence[str] = NAMES,
    cut: Sequence[int] = (),
    method: int = zipfile.ZIP_DEFLATED,
) -> None:
    """A sigrok session; `cut` are offsets in bytes where the samples are split into parts."""
    data = b"".join(struct.pack("<I", word)[:3] for word in words)
    places = [0, *cut, len(data)]
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("version", "2")
        probes = "".join(f"probe{n}={name}\n" for n, name in enumerate(names, 1))
        archive.writestr(
            "metadata",
            "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\n"
            f"total probes={len(names)}\nsamplerate={RATE // 10**6} MHz\ntotal analog=0\n"
            f"{probes}unitsize=3\n",
        )
        for number, (start, end) in enumerate(itertools.pairwise(places), 1):
            archive.writestr(f"logic-1-{number}", data[start:end])


def write_vcd(
    path: Path,
    words: Sequence[int],
    names: Sequence[str] = NAMES,
    rate: bool = True,
    bus: bool = False,
    timescale: str = "1 ns",
) -> None:
    """A value change dump with every identifier from ``!`` on, ``#`` and ``$`` among them."""
    step = {"1 ns": 100, "100 ps": 1000, "1 ps": 100_000, "100 ns": 1}[timescale]
    ids = [chr(33 + line) for line in range(17)]
    out = ["$date today $end", f"$timescale {timescale} $end", "$scope module top $end"]
    if rate:
        out.append("$comment\n  Acquisition with 17/17 channels at 10 MHz\n$end")
    if bus:
        out += ["$var wire 16 # addr [15:0] $end", "$var reg 1 b1 CE $end"]
    else:
        out += [f"$var wire 1 {i} {n} $end" for i, n in zip(ids, names, strict=True)]
    out += ["$var real 64 r! volts $end", "$upscope $end", "$enddefinitions $end", "$dumpvars"]
    out.append("r1.5 r!")
    before = None
    for sample, word in enumerate(words):
        if word == before:
            continue
        if sample:
            out.append(f"#{sample * step}")
        if bus:
            if before is None or (word ^ before) & 0xFFFF:
                out.append(f"b{word & 0xFFFF:b} #")
            if before is None or (word ^ before) & CE:
                out.append(f"{word >> 16}b1")
        else:
            changed = 0x1FFFF if before is None else word ^ before
            bits = [line for line in range(17) if changed >> line & 1]
            out.append(" ".join(f"{word >> line & 1}{ids[line]}" for line in bits))
        if sample == 0:
            out.append("$end")
        before = word
    out.append(f"#{len(words) * step}\n")
    path.write_text("\n".join(out))


def write_csv(path: Path, words: Sequence[int], style: str, names: Sequence[str] = NAMES) -> None:
    """``sigrok``, ``sigrok-time``, ``sigrok-dedup``, ``dsview``, ``saleae`` or ``saleae-1``."""
    rows = [[str(word >> line & 1) for line in range(17)] for word in words]
    changed = [s for s in range(len(words)) if s == 0 or words[s] != words[s - 1]]
    if style.startswith("sigrok"):
        out = [
            "; CSV generated by libsigrok 0.5.2",
            f"; Channels (17/17): {', '.join(names)}",
            "; Samplerate: 10 MHz",
        ]
        kept = changed if style == "sigrok-dedup" else range(len(words))
        timed = style != "sigrok"
        out.append(("nanoseconds," if timed else "") + ",".join(["logic"] * 17))
        out += [f"{(s + 1) * 100}," * timed + ",".join(rows[s]) for s in kept]
    elif style == "dsview":
        out = ["; CSV, generated by DSView on today", "; Channels (17/17)"]
        out += ["; Sample rate: 10 MHz", "; Sample count: 1 M"]
        out.append("Time(s)," + ",".join(f" {name}" for name in names))
        out += [f"{s / RATE:0.15g}," + ",".join(rows[s]) for s in changed]
    elif style == "saleae":
        out = ["Time [s]," + ",".join(names)]
        out += [f"{s / RATE - 0.001:.9f}," + ",".join(rows[s]) for s in changed]
    else:
        out = ["Time[s], " + ", ".join(names)]
        out += [f"{s / RATE:.15f}, " + ", ".join(rows[s]) for s in changed]
    newline = "\r\n" if style.startswith("saleae") else "\n"
    path.write_bytes((newline.join(out) + newline).encode())


def write_saleae(folder: Path, words: Sequence[int], version: int = 0) -> list[Path]:
    """One file a channel, ``digital_0.bin`` to ``digital_16.bin``."""
    paths = []
    for line in range(17):
        levels = [word >> line & 1 for word in words]
        times = [s / RATE for s in range(1, len(words)) if levels[s] != levels[s - 1]]
        data = b"<SALEAE>" + struct.pack("<ii", version, 0)
        if version == 1:
            data += struct.pack("<Q", 1) + struct.pack("<Id", levels[0], RATE)
        else:
            data += struct.pack("<I", levels[0])
        data += struct.pack("<ddQ", 0.0, len(words) / RATE, len(times))
        paths.append(folder / f"digital_{line}.bin")
        paths[-1].write_bytes(data + struct.pack(f"<{len(times)}d", *times))
    return paths
