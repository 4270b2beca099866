"""`kprof info` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from tests.capture.traces import capture

from kprof.capture import Capture, CaptureInfo, write_capture, write_raw

NAMES_SHA256 = "796aff59922c26710f5da67ee4e73e924fc3611c37cb05645c1668d45c0c03aa"  # of sha256sum


def kprof(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kprof", "info", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_capture_file_in_full(tmp_path: Path) -> None:
    path = tmp_path / "dump.kpd"
    (tmp_path / "kernel.names").write_text("softint/1024\n")
    info = CaptureInfo(
        clock_hz=Fraction(2_000_000),
        full=True,
        lost=3,
        started_ns=1_700_000_000_000_000_000,
        valid_from="the device's address counter",
        metadata={"board": "MD20 \x1b[31m"},
    )
    made = Capture.from_events([0xFFFFFE, 0x000002, 30, 31, 9], [1024, 1025, 1024, 1025, 7], info)
    write_capture(path, Capture(info, made.records[:4], made.records[4:]))
    done = kprof(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"capture       {path}",
        "form          capture file, KPD 1.0, layout 1: 5 bytes a record",
        "events        4 of 5 records (the device's address counter)",
        "event RAM     full: the run goes on past the last event",
        "clock         2000000 Hz, 0.5 us a tick",
        "time          counter of 24 bits, wraps after 8 sec 388608 us",
        "span          0 sec 000016 us",
        "intervals     longest 14 us, before event 2; shortest 0.5 us",
        "tags          2 different, 1024 to 1025 (16 bits)",
        "lost events   3",
        "stale tail    the records past the valid ones hold an earlier run",
        "started       2023-11-14 22:13:20 UTC",
        f"name file     {tmp_path / 'kernel.names'} (SHA-256 {NAMES_SHA256}; knows every tag)",
        "              not known to the capture",
        "  board       MD20 \\x1b[31m",
    ]


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    write_raw(path, Capture.from_events([5, 10, 40], [2, 3, 8]))
    (tmp_path / "k.names").write_text("f/2\n")
    values = json.loads(kprof(path, "--format", "json", "--valid", "all").stdout)
    assert values["events"] == 3
    assert values["valid_from"] == "--valid all"
    assert values["span_us"] == 35
    assert values["longest_interval_us"] == 30
    assert values["longest_interval_at"] == 2
    assert values["shortest_interval_us"] == 5
    assert (values["unknown_events"], values["unknown_tags"]) == (1, 1)


@pytest.mark.parametrize("events", [0, 1])
def test_a_capture_of_no_interval(tmp_path: Path, events: int) -> None:
    path = tmp_path / "dump.kpd"
    write_capture(path, capture(events))
    done = kprof(path)
    assert done.returncode == 0
    assert f"events        {events} of {events} records" in done.stdout
    assert "intervals" not in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["no.bin"], 1, "kprof: no.bin: cannot read: no such file or directory"),
        (["/dev/null"], 1, "kprof: /dev/null: is empty"),
        (["/"], 1, "kprof: /: cannot read: is a directory"),
        ([], 2, "Missing argument 'FILE'"),
    ],
)
def test_wrong_input(args: list[str], code: int, said: str) -> None:
    done = kprof(*args)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_damage_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "dump.kpd"
    write_capture(path, capture())
    data = bytearray(path.read_bytes())
    data[5000] ^= 1
    path.write_bytes(data)
    done = kprof(path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "records 0 to 999 are damaged" in done.stderr
    path.write_bytes(data[:6000])
    done = kprof(path)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "is short: it holds 380 of 1000 records" in done.stderr
