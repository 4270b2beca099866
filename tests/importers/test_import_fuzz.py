"""Mutations of recordings of every format."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest
from tests.fuzzing import LONG, SHORT, survives_as_file
from tests.importers.recordings import (
    noise,
    reads,
    write_csv,
    write_saleae,
    write_sr,
    write_vcd,
)

from kprof.capture.importers import run
from kprof.capture.importers.channels import find_wiring
from kprof.capture.importers.extract import Counts, Rules, find_events

RUNS = pytest.mark.parametrize(
    "count", [SHORT, pytest.param(LONG, marks=pytest.mark.long)], ids=["short", "long"]
)


def read(path: Path, mapping: str | None = None) -> None:
    """Everything that an import does, but writing the capture."""
    reader = run.open_recording([path], run.ImportOptions())
    if mapping is None and path.stat().st_size % 4:  # all lines every fourth time: it takes longer
        mapping = "A1=addr[1],CE=CE" if "addr[1]" in reader.recording.channels else "A1=A1,CE=CE"
    wiring = find_wiring(reader.recording.channels, mapping, str(path))
    rules = Rules(tuple(line for line, _ in wiring.address), 1, 1, wiring.select_high)
    for times, tags in find_events(reader.blocks(wiring.wanted), rules, Counts(), str(path)):
        assert len(times) == len(tags)


def seeds(folder: Path, kind: str) -> list[bytes]:
    path, steady, wild = folder / "seed", reads(3)[0], noise(40, 1)
    made = []
    for words in (steady, wild):
        if kind == "sr":
            write_sr(path, words)
            made.append(path.read_bytes())
            write_sr(path, words, cut=(4, 50), method=zipfile.ZIP_STORED)
        elif kind == "vcd":
            write_vcd(path, words)
            made.append(path.read_bytes())
            write_vcd(path, words, bus=True, rate=False)
        elif kind == "csv":
            for style in ("sigrok", "sigrok-dedup", "dsview", "saleae", "saleae-1"):
                write_csv(path, words, style)
                made.append(path.read_bytes())
        made.append(path.read_bytes())
    return made


def mend_zip(data: bytes) -> bytes:
    """A sound archive of what is left of the metadata and the samples."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("version", "2")
        at = max(data.find(b"[global]"), 0)
        end = data.find(b"PK", at)
        archive.writestr("metadata", data[at:end])
        archive.writestr("logic-1-1", data[end:])
    return out.getvalue()


@RUNS
@pytest.mark.parametrize("kind", ["sr", "vcd", "csv"])
def test_any_recording(tmp_path: Path, kind: str, count: int) -> None:
    repair = mend_zip if kind == "sr" else None
    outcome = survives_as_file(read, tmp_path / "x", seeds(tmp_path, kind), count, repair)
    assert min(outcome.values()) > count // 100


@RUNS
def test_any_saleae_export(tmp_path: Path, count: int) -> None:
    made = []
    for version in (0, 1):
        for words in (reads(3)[0], noise(60, 2)):
            made += [path.read_bytes() for path in write_saleae(tmp_path, words, version)[::5]]
    chunk = struct.pack("<IdddQ", 1, 1e7, 2.0, 3.0, 1) + struct.pack("<d", 2.5)
    made.append(made[-1][:16] + struct.pack("<Q", 2) + 2 * chunk)

    def both(path: Path) -> None:
        read(path, "A0=x,CE=x")

    outcome = survives_as_file(both, tmp_path / "x", made, count)
    assert min(outcome.values()) > count // 100
