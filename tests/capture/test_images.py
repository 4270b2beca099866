"""Raw images, bank images, their order, and how many records are valid."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from tests.capture.traces import calls, capture, same_events

from kprof.capture import (
    Capture,
    open_banks,
    open_capture,
    write_banks,
    write_capture,
    write_raw,
)
from kprof.capture.banks import looks_planar
from kprof.capture.records import decode_records, encode_records
from kprof.errors import CaptureError, FileAccessError, UsageError
from kprof.names import parse_names


def bank_files(folder: Path, made: Capture, order: str = "01234") -> list[Path]:
    """The five bank images, the i-th file of the answer holding bank ``order[i]``."""
    paths = [folder / f"bank{bank}" for bank in range(5)]
    write_banks(paths, made)
    return [paths[int(bank)] for bank in order]


def test_a_record_is_time_then_tag() -> None:
    assert encode_records([0x123456], [0x789A]) == bytes.fromhex("123456789a")
    ticks, tags = decode_records(np.frombuffer(bytes.fromhex("123456789a"), np.uint8).reshape(1, 5))
    assert (ticks.tolist(), tags.tolist()) == ([0x123456], [0x789A])


def test_a_raw_image(tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    write_raw(path, capture(16_384))
    assert path.stat().st_size == 81_920
    read = open_capture(path)
    assert same_events(read, capture(16_384))
    assert read.info.valid_from == "all: the image does not say how many are valid"
    assert read.info.count_guessed
    assert read.info.warnings == ()


def test_a_raw_image_holds_the_ram_past_the_valid_records(tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    whole = capture(100)
    write_raw(path, Capture(whole.info, whole.records[:60], whole.records[60:]))
    assert path.read_bytes() == whole.records.tobytes()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"abcd", "its 4 bytes are neither a capture file nor a raw image"),
        (b"x" * 81_921, "81921 bytes"),
    ],
)
def test_what_is_no_capture(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "dump.bin"
    path.write_bytes(data)
    with pytest.raises(CaptureError) as caught:
        open_capture(path)
    assert said in str(caught.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "no", tmp_path):
        with pytest.raises(FileAccessError, match="cannot read"):
            open_capture(path)


def test_a_large_raw_image_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "big.bin"
    ticks, tags = calls(16_384)
    path.write_bytes(encode_records(ticks, tags) * 80)
    read = open_capture(path)
    assert read.events == 16_384 * 80
    assert not read.records.flags.owndata
    assert read.records.base is not None
    assert np.array_equal(read.tags()[-16_384:], tags)


def test_thirty_of_thirty_bank_orders_are_found(tmp_path: Path) -> None:
    choice = random.Random(5)
    orders = ["".join(order) for order in itertools.permutations("01234")]
    for trial in range(30):
        ticks, tags = calls(
            choice.choice((1000, 1000, 4000, 16_384)),
            trial,
            functions=choice.choice((5, 30, 300)),
            first_tag=choice.choice((2, 100, 1024, 5038, 30_000)),
            pause=choice.choice((100, 2000, 30_000)),
        )
        made = Capture.from_events(ticks, tags)
        for order in choice.sample(orders, 1):
            assert same_events(open_banks(bank_files(tmp_path, made, order)), made), (trial, order)


def test_banks_with_stale_and_unwritten_ram(tmp_path: Path) -> None:
    old, new = capture(9000, seed=1), capture(5000, seed=2)
    blank = np.full((16_384 - 9000, 5), 0xFF, np.uint8)
    made = Capture(new.info, np.concatenate([new.records, old.records[5000:], blank]))
    read = open_banks(bank_files(tmp_path, made, "30142"), valid=5000)
    assert same_events(read, new)
    assert read.info.form == "five bank images in the order 30142"


def test_the_name_file_settles_what_the_events_leave_open(tmp_path: Path) -> None:
    # Time and tag bytes that look alike: too little for statistics.
    made = Capture.from_events([n * 257 for n in range(40)], [n * 0x101 for n in range(40, 80)])
    names = parse_names("".join(f"m{n}/{n * 0x101}=\n" for n in range(40, 80)))
    files = bank_files(tmp_path, made, "41302")
    assert not same_events(open_banks(files), made)
    assert same_events(open_banks(files, names=names), made)


def test_an_order_that_is_a_guess_is_said_to_be_one(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (2000, 5)).astype(np.uint8)
    read = open_banks(bank_files(tmp_path, Capture(capture(1).info, noise)))
    assert "which is a guess" in read.info.warnings[0]
    sure = open_banks(bank_files(tmp_path, capture(2000)))
    assert "which is a guess" not in sure.info.warnings[0]


def test_a_given_order_is_used(tmp_path: Path) -> None:
    made = Capture.from_events([1, 2, 3], [5, 6, 7])
    read = open_banks(bank_files(tmp_path, made, "43210"), record_order="43210")
    assert same_events(read, made)
    assert read.info.warnings == ()


@pytest.mark.parametrize("order", ["0123", "01233", "abcde", "planer:01234", "", "012345"])
def test_an_order_that_is_none(tmp_path: Path, order: str) -> None:
    path = tmp_path / "dump.bin"
    write_raw(path, capture(10))
    with pytest.raises(UsageError, match="expected the digits 0 to 4"):
        open_capture(path, record_order=order)


def test_bank_files_that_do_not_fit(tmp_path: Path) -> None:
    paths = bank_files(tmp_path, capture(10))
    with pytest.raises(CaptureError, match="4 bank images given"):
        open_banks(paths[:4])
    paths[2].write_bytes(b"123")
    with pytest.raises(CaptureError, match="different sizes"):
        open_banks(paths)
    for path in paths:
        path.write_bytes(b"")
    with pytest.raises(CaptureError, match="different sizes, or none"):
        open_banks(paths)
    with pytest.raises(CaptureError, match="expected 5 different"):
        write_banks([tmp_path / "x"] * 5, capture(10))


@pytest.mark.parametrize("order", ["01234", "34012", "42130", "20431"])
def test_a_planar_file_is_recognised(tmp_path: Path, order: str) -> None:
    for seed in range(5):
        made = capture(16_384, seed)
        path = tmp_path / "dump.bin"
        path.write_bytes(b"".join(p.read_bytes() for p in bank_files(tmp_path, made, order)))
        read = open_capture(path)
        assert same_events(read, made)
        assert read.info.form == f"five bank images one after another, in the order {order}"
        assert "--record-order records:01234" in read.info.warnings[0]
        asis = open_capture(path, record_order="records:01234")
        assert asis.records.tobytes() == path.read_bytes()


def test_a_raw_image_is_not_taken_as_planar() -> None:
    for seed in range(40):
        choice = random.Random(seed)
        ticks, tags = calls(
            choice.choice((100, 1000, 16_384)),
            seed,
            functions=choice.choice((3, 30, 500)),
            first_tag=choice.choice((2, 1024, 30_000)),
            inline=choice.choice((0.0, 0.05, 1.0)),
            pause=choice.choice((100, 2000, 100_000)),
        )
        assert looks_planar(np.frombuffer(encode_records(ticks, tags), np.uint8)) is None
    noise = np.random.default_rng(1).integers(0, 256, 81_920).astype(np.uint8)
    assert looks_planar(noise) is None
    assert looks_planar(np.zeros(81_920, np.uint8)) is None


def test_records_in_another_byte_order(tmp_path: Path) -> None:
    made = capture(100)
    path = tmp_path / "dump.bin"
    path.write_bytes(made.records[:, [3, 4, 0, 1, 2]].tobytes())  # tag first
    assert same_events(open_capture(path, record_order="34012"), made)


@pytest.mark.parametrize(
    ("valid", "events", "reason"),
    [("all", 100, "--valid all"), ("40", 40, "--valid 40"), (0, 0, "--valid 0")],
)
def test_the_user_says_how_many(tmp_path: Path, valid: str, events: int, reason: str) -> None:
    path = tmp_path / "dump.bin"
    write_raw(path, capture(100))
    read = open_capture(path, valid=valid)
    assert (read.events, read.info.valid_from) == (events, reason)
    assert read.info.stale_tail == (events < 100)
    assert read.info.full == (events == 100)
    assert len(read.stale) == 100 - events  # type: ignore[arg-type]


@pytest.mark.parametrize("valid", ["101", "-1", "many", ""])
def test_a_number_that_cannot_be(tmp_path: Path, valid: str) -> None:
    path = tmp_path / "dump.bin"
    write_raw(path, capture(100))
    with pytest.raises(UsageError, match="expected 0 to 100 or all"):
        open_capture(path, valid=valid)


def test_the_image_of_the_run_before(tmp_path: Path) -> None:
    before, after = tmp_path / "before.bin", tmp_path / "after.bin"
    old, new = capture(500, seed=1), capture(200, seed=2)
    write_raw(before, old)
    after.write_bytes(new.records.tobytes() + old.records[200:].tobytes())
    read = open_capture(after, previous=before)
    assert same_events(read, new)
    assert read.info.valid_from == f"the last record that differs from {before}"
    assert not read.info.count_guessed
    same = open_capture(before, previous=before)
    assert same.events == 0
    assert "holds no new run" in same.info.warnings[0]
    write_raw(after, capture(3))
    with pytest.raises(UsageError, match="expected an earlier image of the same event RAM"):
        open_capture(after, previous=before)


def test_the_users_number_comes_before_the_image_of_the_run_before(tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    write_raw(path, capture(100))
    assert open_capture(path, valid=7, previous=path).events == 7


def test_a_capture_file_that_knows_is_not_overruled(tmp_path: Path) -> None:
    path = tmp_path / "dump.kpd"
    whole = capture(100)
    write_capture(path, Capture(whole.info, whole.records[:60], whole.records[60:]))
    read = open_capture(path, valid=80)
    assert read.events == 60
    assert "--valid 80 is not used" in read.info.warnings[0]
    assert open_capture(path, valid=60).info.warnings == ()


def test_a_capture_file_that_guessed_takes_a_number(tmp_path: Path) -> None:
    from dataclasses import replace

    path = tmp_path / "dump.kpd"
    whole = capture(100)
    info = replace(whole.info, count_guessed=True)
    write_capture(path, Capture(info, whole.records[:60], whole.records[60:]))
    read = open_capture(path, valid=80)
    assert (read.events, read.info.valid_from) == (80, "--valid 80")
    assert np.array_equal(read.records, whole.records[:80])


def test_statistics_only_advise(tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    new = capture(300, seed=2)
    path.write_bytes(new.records.tobytes() + b"\xff" * 5 * 200)
    read = open_capture(path)
    assert read.events == 500
    assert read.info.warnings == (
        f"{path}: the records from 300 on look like an earlier run's (try --valid 300)",
    )
    old = Capture.from_events([9_000_000 + 3 * n for n in range(200)], [1024, 1025] * 100)
    path.write_bytes(new.records.tobytes() + old.records.tobytes())
    assert "try --valid 300" in open_capture(path).info.warnings[0]


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dump.bin"
    write_raw(path, capture(100))
    with path.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert same_events(open_capture("-"), capture(100))
