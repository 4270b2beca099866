"""Uploads that are interrupted, unplugged, resumed, forced; and what is kept of them."""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
from pathlib import Path

import pytest
from tests.faults import MODES, run_with_faults
from tests.upload.agent import Agent
from tests.upload.peers import python_agent
from tests.upload.rams import run_ram
from tests.upload.simline import Faults, SimLine

from kprof.capture import open_capture
from kprof.errors import FileAccessError, UsageError
from kprof.upload import UploadOptions, fetch, session
from kprof.upload.failures import InterruptedUploadError, NoAnswerError, TransferError
from kprof.upload.host import HostOptions
from kprof.upload.progress import Progress
from kprof.upload.session import fetch_over
from kprof.upload.wire import CAN_CHECK, CAN_DELTA, CAN_STOP, FULL

RAM = run_ram(4000)


def _kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _resumed(out: Path, ram: bytes = RAM) -> list[Progress]:
    told: list[Progress] = []
    agent = Agent(ram)
    fetch_over(SimLine(agent), out, UploadOptions(resume=True), told.append)
    assert open_capture(out).records.tobytes() == ram
    assert _kept(out.parent) == [out.name]
    return told


@pytest.mark.parametrize("flags", [0, CAN_STOP])
def test_ctrl_c_keeps_what_arrived_and_resume_goes_on(tmp_path: Path, flags: int) -> None:
    def interrupt_at(number: int) -> bool:
        if number == 12:
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.2)  # the host's thread must see it before the rest is sent
        return True

    out = tmp_path / "dump.bin"
    before = signal.getsignal(signal.SIGINT)
    with (
        python_agent(Agent(RAM, flags=FULL | CAN_DELTA | CAN_CHECK | flags), interrupt_at) as port,
        pytest.raises(InterruptedUploadError, match=r"records are kept in .*--resume") as raised,
    ):
        fetch(port, out)
    assert raised.value.exit_code == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert _kept(tmp_path) == ["dump.bin.part", "dump.bin.part.json"]
    told = _resumed(out)
    fetched = [moment.done for moment in told if moment.phase == "fetching"]
    assert min(fetched) >= 128 * 8


def test_an_unplugged_port_keeps_what_arrived(tmp_path: Path) -> None:
    begun = threading.Event()

    def unplugged_at_9(number: int) -> bool:
        return number < 9 or not begun.wait(20)

    def note(moment: Progress) -> None:
        if moment.done:
            begun.set()

    out = tmp_path / "dump.bin"
    with (
        python_agent(Agent(RAM), unplugged_at_9) as port,
        pytest.raises(TransferError, match="the port is gone") as raised,
    ):
        fetch(port, out, progress=note)
    assert raised.value.exit_code == 5
    _resumed(out)


def test_resume_after_another_run_fetches_all_anew(tmp_path: Path) -> None:
    out = tmp_path / "dump.bin"
    line = SimLine(Agent(RAM), faults=Faults(cuts=((0.3, 60.0),)))
    with pytest.raises(TransferError, match="no new record"):
        fetch_over(line, out)
    told = _resumed(out, run_ram(4000, seed=2))
    assert any("not what the board has now" in moment.note for moment in told)


def test_resume_with_another_board_s_part_starts_over(tmp_path: Path) -> None:
    out = tmp_path / "dump.bin"
    with pytest.raises(TransferError):
        fetch_over(SimLine(Agent(RAM), faults=Faults(cuts=((0.3, 60.0),))), out)
    told = _resumed(out, run_ram(300))
    assert any("another board" in moment.note for moment in told)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"kprof": 1}', '{"kprof": 9, "board": 0, "bitmap": ""}', "null"]
)
def test_a_damaged_list_of_what_was_kept_is_no_obstacle(tmp_path: Path, text: str) -> None:
    out = tmp_path / "dump.bin"
    (tmp_path / "dump.bin.part").write_bytes(b"old")
    (tmp_path / "dump.bin.part.json").write_text(text)
    _resumed(out)


def test_a_part_with_a_lie_in_it_is_found_out(tmp_path: Path) -> None:
    out, part = tmp_path / "dump.bin", tmp_path / "dump.bin.part"
    with pytest.raises(TransferError):
        fetch_over(SimLine(Agent(RAM), faults=Faults(cuts=((0.3, 60.0),))), out)
    data = bytearray(part.read_bytes())
    data[500] ^= 1
    part.write_bytes(data)
    assert json.loads((tmp_path / "dump.bin.part.json").read_text())["bitmap"].startswith("f")
    _resumed(out)


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    out = tmp_path / "dump.bin"
    out.write_bytes(b"precious")
    with pytest.raises(UsageError, match="already exists"):
        fetch_over(SimLine(Agent(RAM)), out)
    assert out.read_bytes() == b"precious"
    with pytest.raises(FileAccessError, match="is a device or a pipe"):
        fetch_over(SimLine(Agent(RAM)), Path("/dev/null"), UploadOptions(force=True))
    out.unlink()
    (tmp_path / "dump.bin.part").write_bytes(b"kept")
    with pytest.raises(UsageError, match="--resume goes on"):
        fetch_over(SimLine(Agent(RAM)), out)
    assert (tmp_path / "dump.bin.part").read_bytes() == b"kept"
    fetch_over(SimLine(Agent(RAM)), out, UploadOptions(force=True))
    assert open_capture(out).records.tobytes() == RAM
    assert _kept(tmp_path) == ["dump.bin"]
    with pytest.raises(FileAccessError, match="is a folder"):
        fetch_over(SimLine(Agent(RAM)), tmp_path)
    with pytest.raises(FileAccessError, match="cannot write"):
        fetch_over(SimLine(Agent(RAM)), tmp_path / "no" / "dump.bin")


def test_an_empty_part_is_no_unfinished_upload(tmp_path: Path) -> None:
    out = tmp_path / "dump.bin"
    (tmp_path / "dump.bin.part").write_bytes(b"")
    fetch_over(SimLine(Agent(RAM)), out)
    assert _kept(tmp_path) == ["dump.bin"]


def test_nobody_there_leaves_nothing_behind(tmp_path: Path) -> None:
    from kprof.upload.failures import NoAnswerError

    with pytest.raises(NoAnswerError, match="nobody answers"):
        fetch_over(SimLine(None), tmp_path / "dump.bin")
    assert _kept(tmp_path) == []


def test_every_byte_can_be_traced(tmp_path: Path) -> None:
    lines: list[str] = []
    options = UploadOptions(host=HostOptions(baud=230400), trace=lines.append)
    fetch_over(SimLine(Agent(RAM)), tmp_path / "dump.bin", options)
    signs = {line.split()[1] for line in lines}
    assert signs == {"<", ">", "#"}
    assert lines[0].split(maxsplit=2)[2].startswith("7e 7e 49")
    assert any(line.endswith("# 230400 baud") for line in lines)
    notes = [line.split(" # ")[1] for line in lines if " # " in line]
    assert notes[0] == "request I 1: A=1 B=0 C=0x0000"
    assert notes[1].startswith("Info(seq=1, version=1,")
    assert "request R 3: A=0 B=4000 C=0x1080" in notes
    assert any(note.startswith("records 3: 128 from 128, coding 1, ") for note in notes)
    times = [float(line.split()[0]) for line in lines]
    assert times == sorted(times)


@pytest.mark.parametrize("function", ["upload", "resumed_upload"])
def test_the_old_file_or_the_complete_new_one(tmp_path: Path, function: str) -> None:
    tried = run_with_faults(tmp_path, "tests.upload.fault_uploads", function)
    assert tried >= 8 * len(MODES)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_full_disk_keeps_what_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    out, write = tmp_path / "dump.bin", os.write
    written: list[bytes] = []

    def filling(descriptor: int, data: bytes) -> int:
        part = out.with_name("dump.bin.part")
        if part.exists() and os.path.samestat(os.fstat(descriptor), part.stat()):
            if len(written) == after:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written.append(data)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", filling)
    with pytest.raises(TransferError) as raised:
        fetch_over(SimLine(Agent(RAM, max_records=64)), out)
    assert raised.value.exit_code == 5
    said = str(raised.value)
    assert said.startswith(f"{out}.part: cannot write: no space left on device; ")
    monkeypatch.undo()
    if after:
        assert said.endswith(f"what arrived is kept in {out}.part (--resume goes on with it)")
        told = _resumed(out)
        fetched = [moment.done for moment in told if moment.phase == "fetching"]
        assert min(fetched) >= sum(map(len, written)) // 5
    else:
        assert said.endswith("; nothing is kept")
        assert list(tmp_path.iterdir()) == []


def test_a_capture_that_finds_no_room_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "dump.bin"

    def full(*_: object) -> int:
        raise FileAccessError(f"{out}: cannot write: no space left on device")

    monkeypatch.setattr(session, "write_upload", full)
    with pytest.raises(TransferError, match=r"what arrived is kept in .*\.part \(--resume"):
        fetch_over(SimLine(Agent(RAM)), out)
    monkeypatch.undo()
    line = SimLine(Agent(RAM))
    fetch_over(line, out, UploadOptions(resume=True))
    assert open_capture(out).records.tobytes() == RAM
    assert line.carried < len(RAM) // 4  # nothing was fetched again


def test_force_keeps_the_old_part_until_the_agent_has_sent_a_record(tmp_path: Path) -> None:
    out, part = tmp_path / "dump.bin", tmp_path / "dump.bin.part"
    with pytest.raises(TransferError):
        fetch_over(SimLine(Agent(RAM), faults=Faults(cuts=((0.3, 60.0),))), out)
    kept, listed = part.read_bytes(), (tmp_path / "dump.bin.part.json").read_text()
    with pytest.raises(NoAnswerError):
        fetch_over(SimLine(None), out, UploadOptions(force=True))
    assert part.read_bytes() == kept
    assert (tmp_path / "dump.bin.part.json").read_text() == listed
    _resumed(out)
