"""`--resume` without the agent: never a file of two runs, or with bytes that nobody sent."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.upload.boards import Board, GdbStub, Monitor, XSender, hex_line
from tests.upload.rams import run_ram
from tests.upload.simline import Faults, SimLine

from kprof.capture import open_capture
from kprof.errors import FileAccessError, UsageError
from kprof.upload.failures import KeptDiffersError, NoAnswerError, TransferError
from kprof.upload.kept import SAMPLE_RECORDS, SAMPLES, samples
from kprof.upload.layout import Layout, Memory
from kprof.upload.memory_session import MemoryOptions, fetch_memory, fetch_memory_over
from kprof.upload.progress import Progress
from kprof.upload.prompt import Greeting

RAM, OTHER = run_ram(3000), run_ram(3000, seed=2)
BASE = 0x20008000
ASK = r"d {addr:x} {end:x}\r"
CUT = Faults(cuts=((1.0, 90.0),))


def _gdb(ram: bytes) -> Board:
    return GdbStub(ram, BASE)


def _monitor(ram: bytes) -> Board:
    return Monitor(ram, BASE)


def _hex(ram: bytes) -> Board:
    return Monitor(ram, BASE, hex_line)


class Raw(Board):
    """Prints the bytes alone, without an echo."""

    def __init__(self, ram: bytes) -> None:
        self.ram, self.typed = ram, b""

    def receive(self, byte: int):  # type: ignore[no-untyped-def]
        if byte != 13:
            self.typed += bytes((byte,))
            return
        first, last = (int(digits, 16) - BASE for digits in self.typed.split()[1:])
        self.typed = b""
        yield self.ram[first : last + 1]


CASES: dict[str, tuple[MemoryOptions, Callable[[bytes], Board]]] = {
    "gdb": (MemoryOptions("gdb", records=3000, addr=BASE), _gdb),
    "srec": (MemoryOptions("srec", records=3000, addr=BASE, ask=ASK), _monitor),
    "raw": (MemoryOptions("raw", records=3000, addr=BASE, ask=ASK), Raw),
}


def _begin(out: Path, name: str) -> MemoryOptions:
    """An upload that is cut off; the options to go on."""
    options, board = CASES[name]
    with pytest.raises(TransferError, match=r"records are kept in .*--resume"):
        fetch_memory_over(SimLine(board(RAM), faults=CUT), out, options)  # type: ignore[arg-type]
    return dataclasses.replace(options, resume=True)


@pytest.mark.parametrize("name", CASES)
def test_it_goes_on(name: str, tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    options = _begin(out, name)
    line = SimLine(CASES[name][1](RAM))  # type: ignore[arg-type]
    fetch_memory_over(line, out, options)
    assert open_capture(out).records.tobytes() == RAM
    anew = SimLine(CASES[name][1](RAM))  # type: ignore[arg-type]
    fetch_memory_over(anew, tmp_path / "b.bin", CASES[name][0])
    assert line.carried < anew.carried


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("damage", ["emptied", "one bit"])
def test_a_damaged_part_is_not_believed(name: str, damage: str, tmp_path: Path) -> None:
    out, part = tmp_path / "a.bin", tmp_path / "a.bin.part"
    options = _begin(out, name)
    data = bytearray(part.read_bytes())
    data[2000] ^= 1
    part.write_bytes(data if damage == "one bit" else b"")
    said: list[Progress] = []
    fetch_memory_over(SimLine(CASES[name][1](RAM)), out, options, said.append)  # type: ignore[arg-type]
    assert open_capture(out).records.tobytes() == RAM
    assert [moment.note for moment in said if "is damaged" in moment.note]


@pytest.mark.parametrize("name", CASES)
def test_a_board_with_another_run_is_refused(name: str, tmp_path: Path) -> None:
    out, part = tmp_path / "a.bin", tmp_path / "a.bin.part"
    options = _begin(out, name)
    kept, listed = part.read_bytes(), (tmp_path / "a.bin.part.json").read_text()
    with pytest.raises(
        KeptDiffersError, match=r"not what the board has now.*--force begins"
    ) as raised:
        fetch_memory_over(SimLine(CASES[name][1](OTHER)), out, options)  # type: ignore[arg-type]
    assert raised.value.exit_code == 6
    assert not out.exists()
    assert part.read_bytes() == kept
    assert (tmp_path / "a.bin.part.json").read_text() == listed
    again = dataclasses.replace(options, resume=False, force=True)
    fetch_memory_over(SimLine(CASES[name][1](OTHER)), out, again)  # type: ignore[arg-type]
    assert open_capture(out).records.tobytes() == OTHER


def test_a_dump_that_is_typed_again_is_compared_with_what_was_kept(tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    typed = Greeting((b"d %x %x\r" % (BASE, BASE + 14999),))
    options = MemoryOptions("srec", records=3000, addr=BASE, greeting=typed)
    with pytest.raises(TransferError, match="records are kept"):
        fetch_memory_over(SimLine(Monitor(RAM[:9000], BASE)), out, options)  # type: ignore[arg-type]
    options = dataclasses.replace(options, resume=True)
    with pytest.raises(KeptDiffersError):
        fetch_memory_over(SimLine(Monitor(OTHER, BASE)), out, options)  # type: ignore[arg-type]
    fetch_memory_over(SimLine(Monitor(RAM, BASE)), out, options)  # type: ignore[arg-type]
    assert open_capture(out).records.tobytes() == RAM


@pytest.mark.parametrize("name", CASES)
def test_nobody_there_loses_nothing_and_is_said(name: str, tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    options = _begin(out, name)
    with pytest.raises(NoAnswerError, match=r"records are kept in"):
        fetch_memory_over(SimLine(None), out, options)
    fetch_memory_over(SimLine(CASES[name][1](RAM)), out, options)  # type: ignore[arg-type]
    assert open_capture(out).records.tobytes() == RAM


def test_noise_in_a_sample_is_no_other_run(tmp_path: Path) -> None:
    out = tmp_path / "a.bin"
    options = MemoryOptions("hexdump", records=3000, addr=BASE, ask=ASK)
    line = SimLine(_hex(RAM), faults=Faults(cuts=((9.0, 90.0),)))  # type: ignore[arg-type]
    with pytest.raises(TransferError, match="records are kept"):
        fetch_memory_over(line, out, options)
    again = dataclasses.replace(options, resume=True)
    noisy = SimLine(_hex(RAM), faults=Faults(flip=3e-4), seed=3)  # type: ignore[arg-type]
    fetch_memory_over(noisy, out, again)
    assert open_capture(out).records.tobytes() == RAM


@pytest.mark.parametrize("options", [MemoryOptions("xmodem"), MemoryOptions("raw")])
def test_what_cannot_go_on_says_so(options: MemoryOptions, tmp_path: Path) -> None:
    options = dataclasses.replace(options, resume=True)
    with pytest.raises(UsageError, match=r"--resume: a transfer by (xmodem|raw) begins anew"):
        fetch_memory_over(SimLine(XSender(RAM)), tmp_path / "a.bin", options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "layout",
    [
        Layout(16384, BASE),
        Layout(16384, BASE, stride=2),
        Layout(9, BASE),
        Layout(16384, banks=(0x80000, 0x60000, 0x40000, 0x20000, 0), stride=4),
    ],
)
def test_samples_are_spread_and_few(layout: Layout) -> None:
    memory = Memory(layout)
    assert samples(memory) == []
    half = layout.records // 2
    memory.restore(0, RAM[:15000] * 6 if half > 9 else RAM[: 5 * half])
    held = memory.records()[1].count(1)
    parts = samples(memory)
    assert 1 <= len(parts) <= SAMPLES
    assert sum(count for _, count in parts) <= SAMPLES * SAMPLE_RECORDS * 5 * layout.stride
    step = layout.stride if layout.banks else 5 * layout.stride
    starts = layout.banks or (BASE,)

    def covered(record: int) -> bool:
        return any(
            address <= start + record * step < address + count
            for address, count in parts
            for start in starts
        )

    assert covered(0)
    assert covered(held - 1)
    assert covered(held // 2) or held > 9


def test_the_list_holds_a_sum_of_what_is_kept(tmp_path: Path) -> None:
    import zlib

    out = tmp_path / "a.bin"
    _begin(out, "gdb")
    listed = json.loads((tmp_path / "a.bin.part.json").read_text())
    have = bin(int(listed["bitmap"], 16)).count("1")
    assert listed["crc"] == zlib.crc32(RAM[: 5 * have])  # they are the first ones


def test_a_file_that_cannot_be_written_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise FileAccessError("the disk is full")

    out = tmp_path / "a.bin"
    options, board = CASES["srec"]
    with monkeypatch.context() as patched:
        patched.setattr("kprof.upload.memory_session.write_upload", full)
        with pytest.raises(
            TransferError, match=r"disk is full; what arrived is kept in .*--resume"
        ):
            fetch_memory_over(SimLine(board(RAM)), out, options)  # type: ignore[arg-type]
    line = SimLine(board(RAM))  # type: ignore[arg-type]
    fetch_memory_over(line, out, dataclasses.replace(options, resume=True))
    assert open_capture(out).records.tobytes() == RAM
    assert line.carried < 4000  # the samples alone: 8 of 16 records, 46 characters a line


@pytest.mark.parametrize("other", [{"addr": BASE + 16}, {"records": 2999}, {"proto": "ihex"}])
def test_a_part_of_something_else_is_not_replaced(tmp_path: Path, other: dict[str, object]) -> None:
    out, part = tmp_path / "a.bin", tmp_path / "a.bin.part"
    options = _begin(out, "srec")
    kept, listed = part.read_bytes(), (tmp_path / "a.bin.part.json").read_text()
    changed = dataclasses.replace(options, **other)  # type: ignore[arg-type]
    line = SimLine(None)
    said = r"a\.bin\.part: --resume cannot go on with it: .* is of another board.*--force be"
    with pytest.raises(UsageError, match=said):
        fetch_memory_over(line, out, changed)
    with pytest.raises(UsageError, match=said):
        fetch_memory("/dev/ttyNone7", out, changed)  # before the port is opened
    assert line.sent == 0
    assert part.read_bytes() == kept
    assert (tmp_path / "a.bin.part.json").read_text() == listed
    fetch_memory_over(SimLine(_monitor(RAM)), out, options)  # type: ignore[arg-type]
    assert open_capture(out).records.tobytes() == RAM


def test_an_image_that_was_kept_is_not_replaced(tmp_path: Path) -> None:
    out, part = tmp_path / "a.bin", tmp_path / "a.bin.part"
    with pytest.raises(TransferError, match="a raw image"):
        fetch_memory_over(SimLine(XSender(RAM), faults=CUT), out, MemoryOptions("xmodem"))
    kept = part.read_bytes()
    options, board = CASES["srec"]
    options = dataclasses.replace(options, resume=True)
    with pytest.raises(
        UsageError, match=r"nothing usable was kept of an earlier.*--force begins anew"
    ):
        fetch_memory_over(SimLine(board(RAM)), out, options)  # type: ignore[arg-type]
    assert part.read_bytes() == kept
    both = dataclasses.replace(options, force=True)
    fetch_memory_over(SimLine(board(RAM)), out, both)  # type: ignore[arg-type]
    assert open_capture(out).records.tobytes() == RAM


def test_resume_with_nothing_kept_begins(tmp_path: Path) -> None:
    options, board = CASES["srec"]
    options = dataclasses.replace(options, resume=True)
    (tmp_path / "a.bin.part").touch()
    fetch_memory_over(SimLine(board(RAM)), tmp_path / "a.bin", options)  # type: ignore[arg-type]
    fetch_memory_over(SimLine(board(RAM)), tmp_path / "b.bin", options)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", "b.bin"]
