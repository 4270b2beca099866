"""The capture file: every field, every rule for readers, damage."""

from __future__ import annotations

import contextlib
import json
import struct
import zlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.capture.traces import capture, same_events

from kprof.capture import Capture, CaptureInfo, capture_writer, open_capture, write_capture
from kprof.capture.header import CHUNK_LOG2, UNKNOWN
from kprof.errors import CaptureError, FileAccessError

FULL = CaptureInfo(
    clock_hz=Fraction(10_000_000, 3),
    time_bits=20,
    tag_bits=12,
    full=True,
    lost=7,
    some_lost=True,
    count_guessed=True,
    holes=True,
    started_ns=1_700_000_000_123_456_789,
    names_sha256=bytes(range(32)),
    valid_from="the device's address counter",
    metadata={"board": "MD20", "baud": 115200, "note": "caf\u00e9"},
)


def patched(data: bytes, offset: int, fmt: str, value: object, mend: bool = True) -> bytes:
    """The file with one field of its header changed, and the header's checksum mended."""
    out = bytearray(data)
    struct.pack_into(fmt, out, offset, value)
    if mend:
        (length,) = struct.unpack_from("<I", out, 120)
        crc = zlib.crc32(out[128 : 128 + length], zlib.crc32(out[:124]))
        struct.pack_into("<I", out, 124, crc)
    return bytes(out)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "dump.kpd"
    write_capture(target, capture())
    return target


def test_the_bytes_are_those_of_the_specification(tmp_path: Path) -> None:
    path = tmp_path / "x.kpd"
    two = Capture.from_events([0x123456, 0x123457], [0x789A, 0x789B], replace(FULL, time_bits=24))
    write_capture(path, two)
    data = path.read_bytes()
    assert data[:8] == bytes.fromhex("89 4B 50 44 0D 0A 1A 0A")
    assert struct.unpack_from("<HHI", data, 8) == (1, 0, 4096)
    assert struct.unpack_from("<HHBBH", data, 16) == (1, 5, 24, 16 - 4, 1 | 2 | 4 | 32)
    assert struct.unpack_from("<QII", data, 24) == (10_000_000, 3, 0)
    assert struct.unpack_from("<QQQ", data, 40) == (2, 2, 10)
    assert struct.unpack_from("<QQ", data, 64) == (7, 1_700_000_000_123_456_789)
    assert data[80:112] == bytes(range(32))
    log2, table_crc, length, crc = struct.unpack_from("<IIII", data, 112)
    assert log2 == 24
    assert crc == zlib.crc32(data[:124] + data[128 : 128 + length])
    metadata = json.loads(data[128 : 128 + length].decode("ascii"))
    assert metadata == {**FULL.metadata, "valid_from": FULL.valid_from}
    assert not any(data[128 + length : 4096])
    assert data[4096:4106] == bytes.fromhex("123456789a 123457789b")
    assert data[4106:] == struct.pack("<I", zlib.crc32(data[4096:4106]))
    assert table_crc == zlib.crc32(data[4106:])


def test_what_is_known_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "x.kpd"
    write_capture(path, capture(info=FULL))
    info = open_capture(path).info
    assert info == replace(
        FULL,
        source=str(path),
        form="capture file, KPD 1.0, layout 1: 5 bytes a record",
        metadata={**FULL.metadata, "valid_from": FULL.valid_from},
    )


def test_what_is_not_known_comes_back_as_not_known(path: Path) -> None:
    info = open_capture(path).info
    assert (info.lost, info.started_ns, info.names_sha256) == (None, 0, None)
    assert info.warnings == ()


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 2**24 - 1), st.integers(0, 65535)), max_size=50))
def test_events_come_back(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("kpd") / "x.kpd"
    made = Capture.from_events([t for t, _ in events], [g for _, g in events])
    write_capture(path, made)
    read = open_capture(path)
    assert same_events(read, made)
    assert read.events == len(events)


def test_layout_3_holds_unwrapped_time(tmp_path: Path) -> None:
    path = tmp_path / "x.kpd"
    ticks = [0, 5, 1 << 24, (1 << 48) - 1]
    made = Capture.from_events(ticks, [1, 2, 3, 65535], CaptureInfo(unwrapped=True, time_bits=48))
    write_capture(path, made)
    read = open_capture(path)
    assert read.records.dtype == np.dtype("<u8")
    assert read.ticks().tolist() == ticks
    assert read.info.unwrapped
    assert read.info.time_bits == 48


def test_the_ram_past_the_valid_records_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.kpd"
    whole = capture(100)
    made = Capture(whole.info, whole.records[:60], whole.records[60:])
    write_capture(path, made)
    read = open_capture(path)
    assert (read.events, read.info.stale_tail) == (60, True)
    assert np.array_equal(read.stale, whole.records[60:])


def test_large_metadata_make_a_larger_header(tmp_path: Path) -> None:
    path = tmp_path / "x.kpd"
    write_capture(path, capture(10, info=CaptureInfo(metadata={"note": "n" * 10_000})))
    assert struct.unpack_from("<I", path.read_bytes(), 12) == (12_288,)
    assert same_events(open_capture(path), capture(10))


def test_metadata_that_cannot_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "x.kpd"
    for metadata in ({"x": object()}, {"x": "n" * (17 << 20)}):
        with pytest.raises(CaptureError, match="metadata"):
            write_capture(path, capture(10, info=CaptureInfo(metadata=metadata)))
        assert not path.exists()


def test_a_newer_minor_version_is_read(path: Path) -> None:
    path.write_bytes(patched(path.read_bytes(), 10, "<H", 9))
    assert same_events(open_capture(path), capture())


@pytest.mark.parametrize("major", [0, 2, 65535])
def test_another_major_version_is_refused(path: Path, major: int) -> None:
    path.write_bytes(patched(path.read_bytes(), 8, "<H", major))
    with pytest.raises(CaptureError, match=rf"version {major}\.0; this kprof reads version 1"):
        open_capture(path)


@pytest.mark.parametrize(
    ("offset", "fmt", "value", "said"),
    [
        (12, "<I", 4095, "its size is 4095"),
        (12, "<I", 0, "its size is 0"),
        (12, "<I", 32 << 20, "its size is"),
        (16, "<H", 2, "its layout is 2"),
        (18, "<H", 8, "it has 8 bytes a record, expected 5"),
        (20, "<B", 25, "it has 25 time bits"),
        (21, "<B", 0, "0 tag bits"),
        (24, "<Q", 0, "its clock is 0/1 Hz"),
        (32, "<I", 0, "its clock is 1000000/0 Hz"),
        (40, "<Q", 1001, "1001 valid records of 1000"),
        (48, "<Q", 1 << 60, "records in 5000 bytes"),
        (56, "<Q", 1 << 60, "it has 1000 records in"),
        (112, "<I", 99, "chunks of 2^99"),
    ],
)
def test_a_header_that_cannot_be(path: Path, offset: int, fmt: str, value: int, said: str) -> None:
    path.write_bytes(patched(path.read_bytes(), offset, fmt, value))
    with pytest.raises(CaptureError) as caught:
        open_capture(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_damaged_header_is_refused(path: Path) -> None:
    for offset in (20, 44, 100, 130):
        path.write_bytes(patched(path.read_bytes(), offset, "<B", 77, mend=False))
        with pytest.raises(CaptureError, match="header of this capture file is damaged"):
            open_capture(path)


def test_damaged_data_are_refused_unless_taken_as_they_are(path: Path) -> None:
    path.write_bytes(patched(path.read_bytes(), 4096 + 17, "<B", 77, mend=False))
    with pytest.raises(CaptureError, match="records 0 to 999 are damaged"):
        open_capture(path)
    read = open_capture(path, damaged_ok=True)
    assert read.events == 1000
    assert "records 0 to 999 are damaged" in read.info.warnings[0]
    assert open_capture(path, verify=False).info.warnings == ()


def test_a_damaged_table_is_a_warning(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    for damaged in (bytes(data), bytes(data[:-1])):
        path.write_bytes(damaged)
        read = open_capture(path)
        assert same_events(read, capture())
        assert "checksum table is damaged" in read.info.warnings[0]


def test_a_short_file_is_used_as_far_as_it_goes(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 + 5 * 300 + 3])
    read = open_capture(path)
    assert read.events == 300
    assert "holds 300 of 1000 records" in read.info.warnings[0]
    assert read.info.valid_from == "what is left of a short file"
    assert np.array_equal(read.ticks(), capture().ticks()[:300])


def test_a_file_that_ends_in_its_header(path: Path) -> None:
    data = path.read_bytes()
    for length in (1, 4, 8, 64, 127, 128, 140, 4095):
        path.write_bytes(data[:length])
        with pytest.raises(CaptureError, match=f"{path}: ends after {length} bytes"):
            open_capture(path)


def test_a_file_that_was_copied_as_text(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    with pytest.raises(CaptureError, match="was it copied as text"):
        open_capture(path)


def test_an_unfinished_file_is_counted_by_its_length(path: Path) -> None:
    data = patched(path.read_bytes()[: 4096 + 5 * 200 + 2], 40, "<Q", UNKNOWN)
    data = patched(data, 48, "<Q", 0)
    path.write_bytes(patched(data, 56, "<Q", 0))
    read = open_capture(path)
    assert (read.events, read.info.count_guessed) == (200, True)
    assert "did not finish" in read.info.warnings[0]


def test_metadata_that_are_no_json_object_are_left_out(path: Path) -> None:
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack_from("<I", data, 120)
    for text in (b"[1, 2]", b"{", b"\xff\xff", b"[" * length):
        data[128 : 128 + length] = text.ljust(length)
        path.write_bytes(patched(bytes(data), 16, "<H", 1))
        read = open_capture(path)
        assert read.info.metadata == {}
        assert "are not a JSON object" in read.info.warnings[0]


def test_a_capture_of_several_chunks(tmp_path: Path) -> None:
    path = tmp_path / "x.kpd"
    events = (3 << CHUNK_LOG2) // 5 + 1000
    part = np.arange(events * 5, dtype=np.uint32).astype(np.uint8).reshape(-1, 5)
    with capture_writer(path, CaptureInfo()) as writer:
        for start in range(0, events, 333_333):
            writer.append(part[start : start + 333_333])
        assert writer.records == events
    read = open_capture(path)
    assert np.array_equal(read.records, part)
    assert path.stat().st_size == 4096 + 5 * events + 4 * 4
    data = bytearray(path.read_bytes())
    data[4096 + (2 << CHUNK_LOG2)] ^= 1
    path.write_bytes(data)
    low = (2 << CHUNK_LOG2) // 5
    with pytest.raises(CaptureError, match=f"records {low} to"):
        open_capture(path)


def test_a_writer_that_fails_leaves_what_was_there(path: Path) -> None:
    before = path.read_bytes()
    with contextlib.suppress(ZeroDivisionError), capture_writer(path, CaptureInfo()) as writer:
        writer.append(capture(10).records)
        raise ZeroDivisionError
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_clock_that_cannot_be_stored(path: Path) -> None:
    for hz in (Fraction(0), Fraction(1, 1 << 33)):
        with pytest.raises(CaptureError, match="clock"):
            write_capture(path, capture(3, info=CaptureInfo(clock_hz=hz)))


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="cannot write"):
        write_capture(tmp_path / "no" / "x.kpd", capture(3))


def test_a_capture_into_a_pipe(tmp_path: Path) -> None:
    import os
    import threading

    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    write_capture(fifo, capture())
    reader.join()
    write_capture(tmp_path / "file", capture())
    assert got == [(tmp_path / "file").read_bytes()]
