"""`kprof sim`: the command, its pty and its errors."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from kprof.analysis import summarise
from kprof.board.minikernel import ready_built
from kprof.capture.open import open_capture
from kprof.cli.sim import command
from kprof.errors import BoardError, UsageError
from kprof.names import read_names
from kprof.upload import UploadOptions, fetch
from kprof.upload.host import HostOptions
from kprof.upload.prompt import Greeting


def sim(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, prog_name="kprof")


def test_a_dump_without_an_upload(tmp_path: Path) -> None:
    dump = tmp_path / "dump.bin"
    result = sim(str(ready_built()[0]), "--dump", str(dump))
    assert result.exit_code == 0, result.exception
    assert result.stdout.startswith("minikernel on MD20\n")
    assert "the Profiler is full: 16384 events in 1." in result.stderr
    assert "MHz" in result.stderr
    capture = open_capture(dump)
    assert capture.info.full
    assert capture.info.names_sha256 == read_names(ready_built()[1]).sha256()


def test_fewer_events_and_less_time(tmp_path: Path) -> None:
    dump = tmp_path / "dump.bin"
    assert sim("--dump", str(dump), "--events", "1000").exit_code == 0
    capture = open_capture(dump)
    assert capture.events == 1000
    assert not capture.info.full
    assert capture.stale is not None
    assert len(capture.stale) == 16384 - 1000
    result = sim("--dump", str(dump), "--force", "--seconds", "0.05")
    assert "it holds fewer than 16384 events" in result.stderr
    elapsed = summarise(open_capture(dump), read_names(ready_built()[1])).ledger.elapsed
    assert 35_000 < elapsed < 51_000


def test_what_is_on_the_ethernet(tmp_path: Path) -> None:
    dump = str(tmp_path / "dump.bin")
    brief = ("--dump", dump, "--force", "--seconds", "0.4")
    result = sim(*brief, "--traffic", "tcp", "--ram", "1536k")
    assert result.exit_code == 0, result.exception
    assert "the TCP peer: 0 connections, 0 bytes acknowledged" in result.stderr
    asked = summarise(open_capture(dump), read_names(ready_built()[1]))
    assert "lanisr" in {one.entry.name for one in asked.functions if one.calls}
    sim(*brief, "--traffic", "none")
    nothing = summarise(open_capture(dump), read_names(ready_built()[1]))
    assert "lanisr" not in {one.entry.name for one in nothing.functions if one.calls}
    assert isinstance(sim(*brief, "--ram", "4M").exception, BoardError)
    assert sim(*brief, "--ram", "much").exit_code == 2


def test_the_same_run_for_the_same_seed(tmp_path: Path) -> None:
    dumps = []
    for number, seed in enumerate(["3", "3", "4"]):
        dump = tmp_path / f"{number}.bin"
        sim("--dump", str(dump), "--seed", seed, "--events", "3000")
        dumps.append(open_capture(dump).records.tobytes())
    assert dumps[0] == dumps[1] != dumps[2]


@pytest.mark.parametrize("how", ["delta", "raw", "manual"])
def test_an_upload_from_another_process(tmp_path: Path, how: str) -> None:
    link, direct = tmp_path / "line", tmp_path / "direct.bin"
    sim("--dump", str(direct))
    board = subprocess.Popen(
        [
            *(sys.executable, "-m", "kprof", "sim", "--link", str(link)),
            *(["--manual"] if how == "manual" else []),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert board.stderr is not None
    try:
        for line in board.stderr:
            if "waiting for" in line:
                assert f"kprof upload {link}" in line
                assert ("--send 'u\\r' --expect agent" in line) == (how == "manual")
                break
        options = UploadOptions(
            host=HostOptions(goodbye=True, delta=how != "raw"),
            greeting=Greeting((b"u\r",), (b"agent",)) if how == "manual" else Greeting(),
        )
        result = fetch(str(link), tmp_path / "dump.bin", options)
        out, notices = board.communicate(timeout=60)
    finally:
        board.kill()
    assert board.returncode == 0
    assert "kprof: uploaded" in notices
    assert "uploaded" in out
    assert not link.is_symlink()
    assert result.records == result.valid == 16384
    uploaded = open_capture(tmp_path / "dump.bin")
    assert uploaded.records.tobytes() == open_capture(direct).records.tobytes()


def test_s_records_instead_of_the_agent(tmp_path: Path) -> None:
    link, dump, direct = (tmp_path / name for name in ("line", "dump.bin", "direct.bin"))
    sim("--dump", str(direct), "--events", "1500")
    board = subprocess.Popen(
        [
            *(sys.executable, "-m", "kprof", "sim", "--link", str(link), "--events", "1500"),
            "--manual",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert board.stderr is not None
    for line in board.stderr:
        if "waiting for" in line:
            break
    subprocess.run(
        [
            *(sys.executable, "-m", "kprof", "upload", str(link), "-o", str(dump)),
            *("--proto", "srec", "--send", r"s\r", "--addr", "0", "--records", "1500"),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    board.communicate(timeout=60)
    assert board.returncode == 0
    assert open_capture(dump).records.tobytes() == open_capture(direct).records.tobytes()


def test_ctrl_c_while_it_waits(tmp_path: Path) -> None:
    link = tmp_path / "line"
    board = subprocess.Popen(
        [sys.executable, "-m", "kprof", "sim", "--link", str(link), "--events", "10"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert board.stderr is not None
    for line in board.stderr:
        if "waiting for" in line:
            break
    assert link.is_symlink()
    board.send_signal(signal.SIGINT)
    _, notices = board.communicate(timeout=60)
    assert board.returncode == 130
    assert notices.strip() == "kprof: interrupted"
    assert not link.is_symlink()


@pytest.mark.parametrize(
    "option",
    [
        *("--ppm=nan", "--ppm=-1e6", "--ppm=inf", "--seconds=0", "--seconds=nan", "--seconds=1e99"),
        *("--start=-1", "--start=nan", "--start=inf", "--events=0", "--events=68M", "--events=1e3"),
    ],
)
def test_figures_out_of_range(tmp_path: Path, option: str) -> None:
    result = sim("--dump", str(tmp_path / "dump.bin"), option)
    assert isinstance(result.exception, (UsageError, SystemExit))
    assert getattr(result.exception, "exit_code", result.exit_code) == 2
    assert not list(tmp_path.iterdir())


def test_wrong_kernels(tmp_path: Path) -> None:
    bad = tmp_path / "kernel.elf"
    bad.write_bytes(b"\x7fELF\x02\x01 and so on")
    for path, message in [(bad, "not a 32-bit big-endian"), (tmp_path / "no.elf", "cannot read")]:
        result = sim(str(path), "--dump", str(tmp_path / "dump.bin"))
        assert message in str(result.exception)
    assert not (tmp_path / "dump.bin").exists()


def test_a_kernel_that_crashes(tmp_path: Path) -> None:
    rom = tmp_path / "boot.rom"
    rom.write_bytes(bytes.fromhex("00200000 00000008 4a3900900000"))
    result = sim(str(rom), "--dump", str(tmp_path / "dump.bin"))
    assert "bus error at 0x000008: read of 1 byte at 0x00900000" in str(result.exception)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    result = sim("--dump", str(tmp_path / "none" / "dump.bin"), "--events", "10")
    assert "cannot write" in str(result.exception)
    result = sim("--link", str(tmp_path / "none" / "line"))
    assert "cannot make the link" in str(result.exception)


def test_a_name_file_of_another_build_is_told(tmp_path: Path) -> None:
    kernel = tmp_path / "k.elf"
    image = bytearray(ready_built()[0].read_bytes())
    kernel.write_bytes(image)
    (tmp_path / "other.names").write_text("nobody/1024\n")
    dump = tmp_path / "dump.bin"
    arguments = (str(kernel), "--dump", str(dump), "--events", "100")
    planted = hashlib.sha256(ready_built()[1].read_bytes()).digest()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kprof.cli.simulate.planted_digest", lambda _: planted)
        result = sim(*arguments, "--names", str(tmp_path / "other.names"))
        assert "other.names: is not the name file of " in result.stderr
        assert open_capture(dump).info.names_sha256 == planted
        assert (
            "is not the name file"
            not in sim(*arguments, "--force", "--names", str(ready_built()[1])).stderr
        )
        assert open_capture(dump).info.names_sha256 == planted
