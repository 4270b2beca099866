"""`kprof upload` as a user runs it: output, exit codes, the prompt."""

from __future__ import annotations

import io
import os
import pty
import shutil
import signal
import stat
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.upload.agent import Agent
from tests.upload.boards import XSender
from tests.upload.peers import open_pty, python_agent
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.capture import open_capture
from kprof.cli.line_log import line_log
from kprof.cli.uploading import UploadMeter
from kprof.errors import UsageError
from kprof.names import read_names
from kprof.upload.failures import NoAnswerError
from kprof.upload.line import converse
from kprof.upload.progress import Progress
from kprof.upload.prompt import Greeting, greet, parse_typed

RAM = run_ram(500)


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kprof", "upload", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_uploads_and_says_so(tmp_path: Path) -> None:
    names, out = tmp_path / "k.names", tmp_path / "dump.bin"
    names.write_text("main/1024\n")
    with python_agent(Agent(RAM)) as port:
        done = _run(port, "-o", out, "--names", names, "--trace-line", tmp_path / "log")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith(f"kprof: {out}: 500 events in 500 records from 'sim' in ")
    capture = open_capture(out)
    assert capture.records.tobytes() == RAM
    assert capture.info.names_sha256 == read_names(names).sha256()
    assert " > 7e 7e 49 " in (tmp_path / "log").read_text().splitlines()[0]


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
def test_the_program_knows_its_name_file(tmp_path: Path) -> None:
    names, other = tmp_path / "k.names", tmp_path / "other.names"
    names.write_text("main/1024\n")
    other.write_text("other/1024\n")
    digest = read_names(names).sha256()
    (tmp_path / "p.c").write_text(
        f"const unsigned char kprof_names_sha256[32] = {{{','.join(map(str, digest))}}};\n"
    )
    subprocess.run(["gcc", "-c", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    elf = ("--elf", tmp_path / "p")
    for given, kept in (((), False), (("--names", names), True), (("--names", other), False)):
        out = tmp_path / f"{len(given)}{kept}.bin"
        with python_agent(Agent(RAM)) as port:
            done = _run(port, "-o", out, *elf, *given)
        assert done.returncode == 0, done.stderr
        assert ("is not the name file of" in done.stderr) == (given[-1:] == (other,))
        info = open_capture(out).info
        assert info.names_sha256 == digest
        assert ("name_entries" in info.metadata) == kept
    done = _run("/dev/ttyNone7", "-o", tmp_path / "p", *elf, "-f")
    assert done.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["/dev/ttyNone7", "-o", "{}/x"], 3, "no such port"),
        (["{}", "-o", "{}/x"], 3, "cannot open|is not a serial port|not permitted|directory"),
        (["/dev/ttyNone7"], 2, "no file to write is given; expected -o FILE"),
        ([], 2, r"no PORT is given; (there are: /dev/|no serial port is there)"),
        (["-o", "{}/x"], 2, "no PORT is given"),
        (["/dev/ttyNone7", "-o", "{}/x", "--send", r"\x"], 2, "cannot be typed"),
        (["/dev/ttyNone7", "-o", "{}/x", "--start-baud", "0"], 2, "--start-baud"),
    ],
)
def test_its_exit_codes(tmp_path: Path, arguments: list[str], code: int, said: str) -> None:
    import re

    done = _run(*[argument.format(tmp_path) for argument in arguments])
    assert done.returncode == code, done.stderr
    assert re.search(said, done.stderr)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_it_starts_the_agent_at_a_prompt(tmp_path: Path) -> None:
    typed = bytearray()
    with open_pty() as (board, name):

        def monitor() -> None:
            os.write(board, b"MD20> ")
            while not typed.endswith(b"\r"):
                typed.extend(os.read(board, 1))
            os.write(board, b"G 2000\r\nAGENT READY\r\n")
            agent = Agent(RAM)
            while not agent.done:
                for byte in os.read(board, 64):
                    for frame in agent.receive(byte):
                        os.write(board, frame)

        thread = threading.Thread(target=monitor, daemon=True)
        thread.start()
        send = ["--send", r"G 2000\r", "--expect", "READY\\r\\n", "--send-delay", "1ms"]
        done = _run(name, "-o", tmp_path / "dump.bin", *send)
        thread.join(10)
    assert done.returncode == 0, done.stderr
    assert bytes(typed) == b"G 2000\r"


def test_a_prompt_that_does_not_come_is_said() -> None:
    line = SimLine(None)
    with pytest.raises(NoAnswerError, match="'READY' did not come in 10 s"):
        converse(greet(Greeting((b"G\r",), (b"READY",), 0.01)), line)
    assert line.now < 11


def test_what_may_be_typed() -> None:
    assert parse_typed(r"G 20\r\n\x1b\e\\") == b"G 20\r\n\x1b\x1b\\"
    assert parse_typed("Ω") == "Ω".encode()
    assert parse_typed(r"a\\e\\\e\\x41\x41") == b"a\\e\\\x1b\\x41A"
    assert parse_typed("\udcff\\t") == b"\xff\t"  # a byte of the command line that is no text


@pytest.mark.parametrize("text", [r"\x1", r"\x", r"\q", r"G\0", r"\N{DIGIT ONE}", "G\\", r"\é"])
def test_what_may_not_be_typed(text: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be typed; expected \\r, "):
        parse_typed(text)


def _started(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "kprof", "upload", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
    )


def test_sigterm_gives_the_port_back(tmp_path: Path) -> None:
    board, host = pty.openpty()
    name, before = os.ttyname(host), termios.tcgetattr(host)
    process = _started(name, "-o", tmp_path / "dump.bin")
    try:
        assert os.read(board, 1)  # it calls the agent: the port's settings are its own
        assert termios.tcgetattr(host) != before
        process.terminate()
        _, said = process.communicate(timeout=30)
        assert termios.tcgetattr(host) == before
    finally:
        process.kill()
        process.wait()
        os.close(board)
        os.close(host)
    assert (process.returncode, said) == (
        143,
        "kprof: interrupted while waiting for an answer\n",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def a_terminal_counts() -> Iterator[None]:
    """SIGHUP is not ignored by the processes that a test starts, though the tests run in nohup."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("a_terminal_counts")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_keeps_what_arrived(tmp_path: Path, number: int, code: int) -> None:
    out, ram = tmp_path / "dump.bin", run_ram(4000)
    running: list[subprocess.Popen[str]] = []

    def before_frame(frame: int) -> bool:
        if frame == 6:
            running[0].send_signal(number)
        return True

    with python_agent(Agent(ram), before_frame) as port:
        running.append(_started(port, "-o", out))
        _, said = running[0].communicate(timeout=60)
    assert running[0].returncode == code
    assert f"of 4,000 records are kept in {out}.part (--resume goes on with them)" in said
    with python_agent(Agent(ram)) as port:
        assert _run(port, "-o", out, "--resume").returncode == 0
    assert open_capture(out).records.tobytes() == ram


@pytest.mark.usefixtures("a_terminal_counts")
@pytest.mark.parametrize("proto", ["kpr1", "xmodem"])
def test_a_closed_terminal_keeps_what_arrived(tmp_path: Path, proto: str) -> None:
    out, ram = tmp_path / "dump.bin", run_ram(4000)
    board: Agent | XSender = Agent(ram) if proto == "kpr1" else XSender(ram)
    terminal, its_end = pty.openpty()
    running: list[subprocess.Popen[str]] = []

    def before_frame(frame: int) -> bool:
        if frame == 6:
            os.close(terminal)
            running[0].send_signal(signal.SIGHUP)
        return True

    with python_agent(board, before_frame) as port:  # type: ignore[arg-type]
        arguments = [port, "-o", str(out), "--proto", proto]
        running.append(
            subprocess.Popen(
                [sys.executable, "-m", "kprof", "upload", *arguments], stderr=its_end, text=True
            )
        )
        os.close(its_end)
        assert running[0].wait(60) == 129
    kept = Path(f"{out}.part").read_bytes()
    assert len(kept) >= 640  # five blocks of 128 bytes
    assert ram.startswith(kept)


def test_a_hang_up_that_is_ignored_stays_so(tmp_path: Path) -> None:
    out = tmp_path / "dump.bin"
    running: list[subprocess.Popen[str]] = []

    def before_frame(frame: int) -> bool:
        if frame == 2:
            running[0].send_signal(signal.SIGHUP)
        return True

    with python_agent(Agent(RAM), before_frame) as port:
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup: a child inherits it
        try:
            running.append(_started(port, "-o", out))
        finally:
            signal.signal(signal.SIGHUP, before)
        _, said = running[0].communicate(timeout=60)
    assert running[0].returncode == 0, said
    assert open_capture(out).records.tobytes() == RAM


class GoneTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:  # noqa: ARG002
        raise OSError(5, "Input/output error")


def test_a_terminal_that_is_gone_ends_no_upload() -> None:
    _shown(GoneTerminal(), 20)
    UploadMeter(GoneTerminal()).say("nobody reads it")


def _full_device(folder: Path) -> Path:
    full = folder / "full"
    try:
        os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        full.open("wb").close()
    except OSError:
        pytest.skip("devices cannot be made here")
    return full


def test_a_log_that_cannot_be_written_does_not_end_the_upload(tmp_path: Path) -> None:
    full, out = _full_device(tmp_path), tmp_path / "dump.bin"
    with python_agent(Agent(RAM)) as port:
        done = _run(port, "-o", out, "--trace-line", full)
    assert done.returncode == 0, done.stderr
    first, second = done.stderr.splitlines()
    assert first == (
        f"kprof: {full}: cannot write: no space left on device; the upload goes on without this log"
    )
    assert second.startswith(f"kprof: {out}: 500 events")
    assert open_capture(out).records.tobytes() == RAM
    assert not Path(f"{out}.part").exists()


def test_an_error_of_the_upload_is_not_the_log_s(tmp_path: Path) -> None:
    def uploading() -> None:
        with line_log(str(tmp_path / "log"), pytest.fail) as log:
            assert log is not None
            log("one")
            raise OSError("the line's")

    with pytest.raises(OSError, match="the line's"):
        uploading()
    assert (tmp_path / "log").read_text() == "one\n"


@pytest.mark.parametrize(
    ("there", "name", "code", "said"),
    [
        ("dump.bin", "dump.bin", 2, "already exists"),
        ("dump.bin.part", "dump.bin", 2, "an unfinished upload is there"),
        ("dump.bin", "no/dump.bin", 1, "its folder is not there"),
        ("dump.bin", "dump.bin/x", 1, "not a directory"),
        ("dump.bin", "", 1, "is a folder"),
        ("dump.bin", "n" * 300, 1, "file name too long"),
        ("dump.bin", "n" * 254, 1, "file name too long"),  # its .part is too long
    ],
)
def test_the_port_is_not_touched_for_nothing(
    tmp_path: Path, there: str, name: str, code: int, said: str
) -> None:
    (tmp_path / there).write_bytes(b"kept")
    with open_pty() as (board, port):
        done = _run(port, "-o", tmp_path / name)
        os.set_blocking(board, False)
        with pytest.raises(BlockingIOError):
            os.read(board, 1)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(there, b"kept")]


def test_an_unreadable_name_file_is_found_before_the_port_is_opened(tmp_path: Path) -> None:
    done = _run("/dev/ttyNone7", "-o", tmp_path / "x", "--names", tmp_path / "no.names")
    assert done.returncode == 1
    assert "no.names: cannot read" in done.stderr


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _shown(stream: io.StringIO, seconds: float) -> str:
    meter = UploadMeter(stream)
    for step in range(1001):
        meter(Progress("fetching", step, 1000, step // 100, step * seconds / 1000))
    meter.end()
    return stream.getvalue()


def test_progress_on_a_terminal_is_at_most_ten_times_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = _shown(Terminal(), 20)
    assert 150 < shown.count("fetching") <= 20 * 10 + 2
    assert "1,000/1,000 records  250 B/s  0 s left  10 retries" in shown


def test_progress_elsewhere_is_a_line_each_tenth() -> None:
    lines = _shown(io.StringIO(), 20).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "fetching 100% 1,000/1,000 records  250 B/s  0 s left  10 retries"


def test_what_is_done_within_a_second_shows_none() -> None:
    assert _shown(Terminal(), 0.9) == ""


def test_notices_are_always_shown() -> None:
    screen = io.StringIO()
    UploadMeter(screen)(Progress("notice", 0, 0, 0, 0, "the line stays"))
    assert screen.getvalue() == "kprof: the line stays\n"
