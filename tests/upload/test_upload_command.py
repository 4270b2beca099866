"""`kprof upload` as a user runs it: output, exit codes, the prompt."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.upload.agent import Agent
from tests.upload.peers import open_pty, python_agent
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.capture import open_capture
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


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["/dev/ttyNone7", "-o", "{}/x"], 3, "no such port"),
        (["{}", "-o", "{}/x"], 3, "cannot open|is no serial port|not permitted|directory"),
        (["/dev/ttyNone7"], 2, "Missing option"),
        (["/dev/ttyNone7", "-o", "{}/x", "--send", r"\x"], 2, "cannot be typed"),
        (["/dev/ttyNone7", "-o", "{}/x", "--base", "0"], 2, "--base"),
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
        send = ["--send", r"G 2000\r", "--expect", "READY\\r\\n", "--send-delay", "1"]
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
    with pytest.raises(UsageError, match="cannot be typed"):
        parse_typed(r"\x1")


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
