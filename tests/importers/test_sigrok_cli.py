"""Recordings written by sigrok itself."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from tests.importers.recordings import noise, reads, reference

from kprof.capture import open_capture
from kprof.capture.importers.run import ImportOptions, import_recording

SIGROK = shutil.which("sigrok-cli")
pytestmark = pytest.mark.skipif(SIGROK is None, reason="no sigrok-cli here")
MAP = "A0-A15=0-15,CE=16"
FORMATS = {
    "sr": "srzip",
    "vcd": "vcd",
    "csv": "csv",
    "time.csv": "csv:time=true",
    "dedup.csv": "csv:time=true:dedup=true:label=channel",
}


def written_by_sigrok(folder: Path, words: list[int], rate: int, form: str) -> Path:
    """`words` as sigrok-cli writes them in one of `FORMATS`."""
    assert SIGROK is not None
    raw, session = folder / "raw.bin", folder / "made.sr"
    raw.write_bytes(b"".join(struct.pack("<I", word)[:3] for word in words))
    binary = f"binary:numchannels=17:samplerate={rate}"
    run = [SIGROK, "-I", binary, "-i", str(raw), "-O", "srzip", "-o", str(session)]
    subprocess.run(run, check=True, capture_output=True)
    if form == "sr":
        return session
    target = folder / f"made.{form}"
    run = [SIGROK, "-i", str(session), "-O", FORMATS[form], "-o", str(target)]
    subprocess.run(run, check=True, capture_output=True)
    return target


@pytest.mark.parametrize("rate", [1_000_000, 24_000_000, 100_000_000, 333_000])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_at_every_rate(tmp_path: Path, form: str, rate: int) -> None:
    words, expected = reads(100, rate)
    words += noise(2000, rate)
    wanted = reference(words, 1)["events"]
    assert isinstance(wanted, list)
    assert wanted[:100] == expected
    path = written_by_sigrok(tmp_path, words, rate, form)
    import_recording([path], tmp_path / "out.kpd", ImportOptions(mapping=MAP))
    made = open_capture(tmp_path / "out.kpd")
    assert made.info.clock_hz == rate
    found = list(zip(made.ticks().tolist(), made.tags().tolist(), strict=True))
    assert found == [(sample - wanted[0][0], tag) for sample, tag in wanted]


def test_the_demo_device_on_the_command_line(tmp_path: Path) -> None:
    assert SIGROK is not None
    demo = [SIGROK, "-d", "demo", "--samples", "20000", "--config", "samplerate=24m"]
    subprocess.run([*demo, "-o", str(tmp_path / "d.sr")], check=True, capture_output=True)
    command = [sys.executable, "-m", "kprof", "import", "d.sr", "-o", "d.kpd"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "its channels are D0, D1, D2, D3, D4, D5, D6, D7" in done.stderr
    command += ["--map", "A0-A6=D1-D7,CE=D0", "--settle", "0ns", "--ignore", "0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert " reads in a sigrok session file (" in done.stderr
    assert open_capture(tmp_path / "d.kpd").info.clock_hz == 24_000_000
