"""Mutations of captures of every kind."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.capture.traces import capture
from tests.fuzzing import LONG, SHORT, survives, survives_as_file

from kprof.capture import CaptureInfo, open_banks, open_capture, write_capture
from kprof.capture.banks import looks_planar
from kprof.capture.container import decode_container
from kprof.capture.describe import capture_as_json, describe_capture, examine
from kprof.capture.layouts import layout_of, records_in_layout
from kprof.capture.model import Capture
from kprof.capture.sniff import is_container
from kprof.errors import CaptureError

RUNS = pytest.mark.parametrize(
    "count", [SHORT, pytest.param(LONG, marks=pytest.mark.long)], ids=["short", "long"]
)


def containers(folder: Path) -> list[bytes]:
    info = CaptureInfo(metadata={"board": "x", "n": [1, {"a": None}]}, names_sha256=b"d" * 32)
    wide = Capture.from_events([1, 1 << 30, 1 << 40], [2, 3, 4], CaptureInfo(unwrapped=True))
    whole = capture(60, info=info)
    seeds = []
    for made in (whole, Capture(info, whole.records[:20], whole.records[20:]), wide):
        write_capture(folder / "seed", made)
        seeds.append((folder / "seed").read_bytes())
    return seeds


def repair(data: bytes) -> bytes:
    """The same with the checksums of the header, the table and the chunks mended."""
    out = bytearray(data)
    if len(out) < 128:
        return data
    (header_bytes,) = struct.unpack_from("<I", out, 12)
    (data_bytes,) = struct.unpack_from("<Q", out, 56)
    chunk_log2 = out[112] & 63
    table = b""
    for start in range(0, min(data_bytes, len(out)), 1 << chunk_log2 if chunk_log2 > 8 else 256):
        end = min(data_bytes, start + (1 << chunk_log2))
        table += struct.pack("<I", zlib.crc32(out[header_bytes + start : header_bytes + end]))
    out[header_bytes + data_bytes : header_bytes + data_bytes + len(table)] = table
    struct.pack_into("<I", out, 116, zlib.crc32(table))
    length = struct.unpack_from("<I", out, 120)[0]
    crc = zlib.crc32(out[128 : 128 + length], zlib.crc32(out[:124]))
    struct.pack_into("<I", out, 124, crc)
    return bytes(out)


def look_at(read: Capture) -> None:
    facts = examine(read)
    describe_capture(read, facts)
    capture_as_json(read, facts)
    for part in records_in_layout(read, 4 - layout_of(read)):
        assert len(part)


def decode(data: bytes) -> None:
    array = np.frombuffer(data, dtype=np.uint8)
    if not is_container(array):
        raise CaptureError("no container")
    look_at(decode_container(array, "x"))


@RUNS
def test_any_container(tmp_path: Path, count: int) -> None:
    outcome = survives(decode, containers(tmp_path), count, repair)
    assert min(outcome.values()) > count // 50


def test_the_repair_repairs(tmp_path: Path) -> None:
    for seed in containers(tmp_path):
        assert repair(seed) == seed
        damaged = bytearray(seed)
        damaged[4100] ^= 1
        damaged[70] ^= 1
        mended = np.frombuffer(repair(bytes(damaged)), dtype=np.uint8)
        assert decode_container(mended, "x").info.warnings == ()


@RUNS
def test_any_raw_image(count: int) -> None:
    def read(data: bytes) -> None:
        array = np.frombuffer(data, dtype=np.uint8)
        if not len(array) or len(array) % 5:
            raise CaptureError("no raw image")
        looks_planar(array)
        look_at(Capture(CaptureInfo(), array.reshape(-1, 5)))

    small, large = capture(40).records.tobytes(), capture(70).records.tobytes()
    outcome = survives(read, [*[small, bytes(150), b"\xff" * 300] * 7, large], count)
    assert min(outcome.values()) > count // 50


def test_any_file_and_any_five(tmp_path: Path) -> None:
    seeds = [*containers(tmp_path), capture(100).records.tobytes(), b"", b"\x89K"]
    path = tmp_path / "x"

    def read(path: Path) -> None:
        open_banks([path] * 5, valid="all")
        look_at(open_capture(path, previous=path))

    survives_as_file(read, path, seeds, 300, repair)
