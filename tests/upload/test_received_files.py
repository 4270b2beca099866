"""XMODEM and YMODEM: what is kept of a failure, the filling of the last block, how many records."""

from __future__ import annotations

import fcntl
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.upload.boards import XSender
from tests.upload.rams import run_ram
from tests.upload.simline import ClosingLine, Faults, SimLine

from kprof.capture import open_capture
from kprof.errors import UsageError
from kprof.upload.failures import (
    InterruptedUploadError,
    NoAnswerError,
    PortError,
    TransferError,
)
from kprof.upload.layout import Layout
from kprof.upload.memory_session import MemoryOptions, fetch_memory_over
from kprof.upload.partial import check_output, partial_files
from kprof.upload.progress import Progress

RAM = run_ram(3000)
KEPT = (
    r"; ([0-9,]+) records are kept in .*a\.bin\.part, a raw image \(kprof convert .*needs --force"
)


def _kept(out: Path) -> bytes:
    """What was kept of `out`: whole records, the first ones of the RAM."""
    assert sorted(path.name for path in out.parent.iterdir()) == [f"{out.name}.part"]
    data = Path(f"{out}.part").read_bytes()
    assert len(data) % 5 == 0
    assert len(data) > 1000
    assert RAM.startswith(data)
    return data


@pytest.mark.parametrize("proto", ["xmodem", "ymodem"])
@pytest.mark.parametrize("how", ["silence", "closed", "ctrl-c"])
def test_what_arrived_is_kept(tmp_path: Path, proto: str, how: str) -> None:
    out = tmp_path / "a.bin"
    sender = XSender(RAM, name=b"ram.bin" if proto == "ymodem" else b"")
    faults = Faults(cuts=((1.0, 90.0),)) if how == "silence" else Faults()
    line = ClosingLine(sender, lambda: how == "closed" and line.now > 1.0, faults=faults)
    kind = InterruptedUploadError if how == "ctrl-c" else TransferError
    with pytest.raises(kind, match=KEPT) as raised:
        fetch_memory_over(
            line,
            out,
            MemoryOptions(proto),
            interrupts=lambda: int(how == "ctrl-c" and line.now > 1.0),
        )
    assert raised.value.exit_code == (130 if how == "ctrl-c" else 5)
    _kept(out)
    with pytest.raises(UsageError, match=r"an unfinished upload is there \(-f begins anew\)"):
        fetch_memory_over(SimLine(sender), out, MemoryOptions(proto))
    again = SimLine(XSender(RAM))
    fetch_memory_over(again, out, MemoryOptions("xmodem", records=3000, force=True))
    assert open_capture(out).records.tobytes() == RAM


def test_what_is_kept_can_be_converted(tmp_path: Path) -> None:
    out, made = tmp_path / "a.bin", tmp_path / "b.kpd"
    options = MemoryOptions("xmodem", records=4000, valid=1500)
    with pytest.raises(TransferError, match=r"4,000 records need 20,000.*--valid 1500 reads it"):
        fetch_memory_over(SimLine(XSender(RAM)), out, options)
    assert (tmp_path / "a.bin.part").read_bytes()[: len(RAM)] == RAM
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "convert", f"{out}.part", "-o", made, "--valid", "1500"],
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    capture = open_capture(made)
    assert capture.records.tobytes() == RAM[:7500]


def test_banks_are_kept_as_they_came(tmp_path: Path) -> None:
    options = MemoryOptions("xmodem", records=3000, banks=(0, 3000, 6000, 9000, 12000))
    line = SimLine(XSender(RAM), faults=Faults(cuts=((0.5, 90.0),)))
    with pytest.raises(TransferError, match=r"[0-9,]+ bytes are kept in .* as they came"):
        fetch_memory_over(line, tmp_path / "a.bin", options)
    data = (tmp_path / "a.bin.part").read_bytes()
    assert data
    assert RAM.startswith(data)


def test_a_second_pass_is_refused(tmp_path: Path) -> None:
    options = MemoryOptions("ymodem", verify=True)
    with pytest.raises(UsageError, match="--verify: ymodem checks each block"):
        fetch_memory_over(SimLine(None), tmp_path / "a.bin", options)


@pytest.mark.parametrize("options", [{"proto": "xmodem", "records": 16384}, {"proto": "gdb"}])
def test_too_large_a_number_of_valid_records_is_refused_first(
    tmp_path: Path, options: dict[str, object]
) -> None:
    line = SimLine(XSender(RAM))
    with pytest.raises(UsageError, match="--valid 20000: there are 16384 records"):
        fetch_memory_over(line, tmp_path / "a.bin", MemoryOptions(valid=20000, **options))  # type: ignore[arg-type]
    assert line.sent == 0
    assert list(tmp_path.iterdir()) == []


def test_too_large_a_number_of_a_file_s_records_takes_all(tmp_path: Path) -> None:
    said: list[Progress] = []
    options = MemoryOptions("ymodem", valid=20000)
    result = fetch_memory_over(
        SimLine(XSender(RAM, name=b"ram")), tmp_path / "a.bin", options, said.append
    )
    assert result.valid == 3000
    notes = [moment.note for moment in said if moment.phase == "notice"]
    assert notes == ["--valid 20000: the file holds 3000 records; all are taken"]


# A block of 128 or 1024 bytes is filled up; how many of the records are none can be counted.
@pytest.mark.parametrize(
    ("ram", "block", "records", "left_out"),
    [
        (run_ram(1000), 128, 1000, 24),  # 5,000 bytes; 5,120 in 40 blocks
        (run_ram(1000), 1024, 1000, 24),
        (run_ram(1024), 1024, 1024, 0),  # 5 blocks, full
        (run_ram(999) + b"\0\0\1\4\x1a", 128, 1000, 24),  # the last tag ends as filling does
        (run_ram(999) + b"\0\0\1\x1a\x1a", 128, 1000, 24),
        (run_ram(900) + b"\x1a" * 620, 128, 999, 25),  # at most one block is filling
    ],
)
def test_the_filling_of_the_last_block_is_no_record(
    tmp_path: Path, ram: bytes, block: int, records: int, left_out: int
) -> None:
    said: list[Progress] = []
    line = SimLine(XSender(ram, size=block))
    fetch_memory_over(line, tmp_path / "a.bin", MemoryOptions("xmodem"), said.append)
    kept = open_capture(tmp_path / "a.bin").records.tobytes()
    assert kept == ram[: 5 * records]
    notes = [moment.note for moment in said if moment.phase == "notice"]
    assert len(notes) == (left_out > 0)
    assert all(note.startswith(f"the last {left_out} records are the filling") for note in notes)


def test_a_size_says_where_the_filling_begins(tmp_path: Path) -> None:
    ram = run_ram(900) + b"\x1a" * 500  # records of the RAM, whatever they look like
    fetch_memory_over(SimLine(XSender(ram, name=b"r")), tmp_path / "a.bin", MemoryOptions("ymodem"))
    assert open_capture(tmp_path / "a.bin").records.tobytes() == ram
    sender = XSender(ram, name=b"r")
    sender.blocks[0] = b"r".ljust(128, b"\0")
    fetch_memory_over(SimLine(sender), tmp_path / "b.bin", MemoryOptions("ymodem"))
    # 5,000 bytes and 120 of filling: the last block is all 1A, and only that is left out
    assert open_capture(tmp_path / "b.bin").records.tobytes() == ram[:4995]
    options = MemoryOptions("xmodem", records=1000)
    fetch_memory_over(SimLine(XSender(ram)), tmp_path / "c.bin", options)
    assert open_capture(tmp_path / "c.bin").records.tobytes() == ram


def test_banks_in_a_longer_file_have_the_default_size(tmp_path: Path) -> None:
    memory = bytearray(b"\xee" * 0x30000)
    ram = run_ram(16384)
    banks = (0, 1, 0x8000, 0x8001, 0x10000)
    for byte, start in enumerate(banks):
        memory[start : start + 0x8000 : 2] = ram[byte::5]
    options = MemoryOptions("ymodem", banks=banks, stride=2)
    line = SimLine(XSender(bytes(memory), size=1024, name=b"r"), baud=115200)
    result = fetch_memory_over(line, tmp_path / "a.bin", options)
    assert result.records == 16384
    assert open_capture(tmp_path / "a.bin").records.tobytes() == ram


@pytest.mark.parametrize(
    ("layout", "length", "whole", "begun"),
    [
        (Layout(), 24, 4, 5),
        (Layout(), 25, 5, 5),
        (Layout(addr=10), 24, 2, 3),
        (Layout(addr=30), 24, 0, 0),
        (Layout(stride=2), 9, 1, 1),  # bytes 0, 2, 4, 6, 8
        (Layout(stride=2), 18, 1, 2),
        (Layout(stride=2), 19, 2, 2),
        (Layout(banks=(0, 10, 20, 30, 40)), 47, 7, 7),
        (Layout(banks=(40, 30, 20, 10, 0), stride=4), 41, 1, 1),
        (Layout(banks=(40, 30, 20, 10, 0), stride=4), 45, 2, 2),
    ],
)
def test_records_in_a_file(layout: Layout, length: int, whole: int, begun: int) -> None:
    assert (layout.records_in(length), layout.records_begun_in(length)) == (whole, begun)


@pytest.mark.parametrize("proto", ["xmodem", "gdb", "raw"])
def test_force_keeps_the_old_part_until_something_new_has_come(tmp_path: Path, proto: str) -> None:
    out, part, listed = (tmp_path / f"a.bin{end}" for end in ("", ".part", ".part.json"))
    part.write_bytes(RAM[:3070])
    listed.write_text("{}")
    options = MemoryOptions(proto, force=True)
    with pytest.raises(PortError):
        fetch_memory_over(ClosingLine(XSender(RAM), lambda: True), out, options)
    assert (part.read_bytes(), listed.read_text()) == (RAM[:3070], "{}")
    with pytest.raises(NoAnswerError):
        fetch_memory_over(SimLine(None), out, options)
    assert (part.read_bytes(), listed.read_text()) == (RAM[:3070], "{}")


def test_force_leaves_nothing_of_the_old_part(tmp_path: Path) -> None:
    out, part = tmp_path / "a.bin", tmp_path / "a.bin.part"
    part.write_bytes(b"old" * 9000)
    (tmp_path / "a.bin.part.json").write_text("{}")
    line = SimLine(XSender(RAM), faults=Faults(cuts=((1.0, 90.0),)))
    with pytest.raises(TransferError, match=KEPT):
        fetch_memory_over(line, out, MemoryOptions("xmodem", force=True))
    _kept(out)
    part.write_bytes(b"old" * 9000)
    fetch_memory_over(SimLine(XSender(RAM)), out, MemoryOptions("xmodem", force=True))
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_the_command_that_reads_what_is_kept_can_be_typed(tmp_path: Path) -> None:
    options = MemoryOptions("xmodem", records=4000)
    with pytest.raises(TransferError) as raised:
        fetch_memory_over(SimLine(XSender(RAM)), tmp_path / "it's a b.bin", options)
    command = str(raised.value).partition(" (kprof ")[2].partition(" reads it)")[0]
    assert shlex.split(command)[:4] == ["convert", f"{tmp_path}/it's a b.bin.part", "-o", "FILE"]


@pytest.mark.parametrize("how", [{}, {"resume": True}, {"force": True}])
@pytest.mark.parametrize("kept", [b"", b"kept"])
def test_a_part_that_another_upload_writes(
    tmp_path: Path, how: dict[str, bool], kept: bytes
) -> None:
    wanted = {"resume": False, "force": False} | how
    out, part = tmp_path / "a.bin", tmp_path / "a.bin.part"
    part.write_bytes(kept)
    with part.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match=r"a\.bin\.part: another upload is writing it now"):
            check_output(out, **wanted)
        with (
            pytest.raises(UsageError, match=r"a\.bin\.part: another upload is writing it now"),
            partial_files(out, **wanted),
        ):
            pass
    assert part.read_bytes() == kept
    check_output(out, resume=True, force=False)  # it holds no lock of its own


def test_a_part_that_another_upload_removes_in_this_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, part = tmp_path / "a.bin", tmp_path / "a.bin.part"
    monkeypatch.setattr("fcntl.flock", lambda *_: part.unlink())
    with (
        pytest.raises(UsageError, match="another upload is writing it now"),
        partial_files(out, resume=False, force=False),
    ):
        pass
