"""`kprof convert` and `kprof import` from the command line; the count on the terminal."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.capture.traces import capture, same_events

from kprof.capture import Capture, open_banks, open_capture, write_capture, write_raw


def kprof(folder: Path, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kprof", *map(str, args)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


FORMS = {"kpd": "a.kpd", "kpd3": "b.kpd", "raw": "c.bin", "banks": "ram"}


def opened(folder: Path, form: str) -> Capture:
    if form == "banks":
        return open_banks([folder / f"ram.{bank}" for bank in range(5)], record_order="01234")
    return open_capture(folder / FORMS[form])


@pytest.mark.parametrize(("source", "target"), list(itertools.product(FORMS, FORMS)))
def test_between_all_forms(tmp_path: Path, source: str, target: str) -> None:
    made = capture(2000)
    write_raw(tmp_path / "start.bin", made)
    first = kprof(tmp_path, "convert", "start.bin", "-o", FORMS[source], "--to", source)
    assert first.returncode == 0, first.stderr
    given = [f"ram.{b}" for b in (3, 1, 0, 4, 2)] if source == "banks" else [FORMS[source]]
    (tmp_path / "out").mkdir()
    done = kprof(tmp_path, "convert", *given, "-o", f"out/{FORMS[target]}", "--to", target)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    read = opened(tmp_path / "out", target)
    assert np.array_equal(read.tags(), made.tags())
    assert np.array_equal(np.diff(read.ticks()) & 0xFFFFFF, np.diff(made.ticks()) & 0xFFFFFF)
    if target != "kpd3":
        assert same_events(read, made)


def test_a_capture_is_not_converted_onto_itself(tmp_path: Path) -> None:
    write_capture(tmp_path / "dump.bin", capture(20))
    before = (tmp_path / "dump.bin").read_bytes()
    done = kprof(tmp_path, "convert", "dump.bin", "-o", "./dump.bin")
    assert done.returncode == 2
    assert "name another file" in done.stderr
    assert (tmp_path / "dump.bin").read_bytes() == before


@pytest.mark.parametrize("form", FORMS)
def test_a_capture_is_replaced_only_when_asked(tmp_path: Path, form: str) -> None:
    write_raw(tmp_path / "start.bin", capture(20))
    kept = tmp_path / ("ram.3" if form == "banks" else FORMS[form])
    kept.write_bytes(b"precious")
    arguments = ("convert", "start.bin", "-o", FORMS[form], "--to", form)
    done = kprof(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"kprof: {kept.name}: already exists (--force replaces it, or name another file)\n"
    )
    assert kept.read_bytes() == b"precious"
    assert kprof(tmp_path, *arguments, "--force").returncode == 0
    assert kept.read_bytes() != b"precious"


def test_an_image_can_be_written_into_a_pipe(tmp_path: Path) -> None:
    write_raw(tmp_path / "start.bin", capture(20))
    done = subprocess.run(
        f"{sys.executable} -m kprof convert start.bin -o /dev/stdout --to raw | cat > got.bin",
        shell=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.returncode == 0
    assert (tmp_path / "got.bin").read_bytes() == (tmp_path / "start.bin").read_bytes()


def test_time_is_unwrapped_and_wrapped_again(tmp_path: Path) -> None:
    ticks = np.cumsum(np.full(40, 10_000_000))
    made = Capture.from_events(ticks, np.arange(40))
    write_capture(tmp_path / "a.kpd", made)
    kprof(tmp_path, "convert", "a.kpd", "-o", "wide.kpd", "--to", "kpd3")
    assert open_capture(tmp_path / "wide.kpd").ticks().tolist() == ticks.tolist()
    kprof(tmp_path, "convert", "wide.kpd", "-o", "back.bin")
    assert (tmp_path / "back.bin").read_bytes() == made.records.tobytes()


def test_a_long_run_is_as_long_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "k.names").write_text("a/2\n")
    ticks = np.arange(0, 40_000_000, 9_000)  # 24 bits are 16.8 s
    made = Capture.from_events(ticks, np.tile([2, 3], len(ticks))[: len(ticks)])
    write_capture(tmp_path / "a.kpd", made)
    assert kprof(tmp_path, "convert", "a.kpd", "-o", "b.kpd", "--to", "kpd3").returncode == 0
    assert kprof(tmp_path, "convert", "b.kpd", "-o", "c.kpd", "--to", "kpd").returncode == 0
    for name in ("a.kpd", "b.kpd", "c.kpd"):
        done = kprof(tmp_path, "report", name, "--names", "k.names", "--format", "json")
        assert json.loads(done.stdout)["elapsed_us"] == ticks[-1], name
        told = json.loads(kprof(tmp_path, "info", name, "--format", "json").stdout)
        assert (told["unwrapped"], told["span_us"]) == (name == "b.kpd", ticks[-1])


def test_an_interval_that_does_not_fit(tmp_path: Path) -> None:
    info = replace(capture(1).info, unwrapped=True)
    write_capture(tmp_path / "a.kpd", Capture.from_events([0, 1 << 24], [2, 3], info))
    done = kprof(tmp_path, "convert", "a.kpd", "-o", "b.bin")
    assert done.returncode == 1
    assert "an interval of 16777216 ticks does not fit in 24 bits" in done.stderr
    assert "--to kpd3" in done.stderr
    assert not (tmp_path / "b.bin").exists()


def test_what_an_image_does_not_say_is_said(tmp_path: Path) -> None:
    whole = capture(100)
    info = replace(whole.info, full=True, clock_hz=Fraction(2_000_000))
    write_capture(tmp_path / "a.kpd", Capture(info, whole.records[:60], whole.records[60:]))
    done = kprof(tmp_path, "convert", "a.kpd", "-o", "b.bin")
    assert done.stderr == (
        "b.bin: 60 events in a raw image; an image does not say that only the first 60 records are "
        "valid, the clock of 2e+06 Hz, that the RAM was full\n"
    )
    assert (tmp_path / "b.bin").read_bytes() == whole.records.tobytes()


def test_five_images_with_the_help_of_a_name_file(tmp_path: Path) -> None:
    made = capture(3000)
    write_raw(tmp_path / "a.bin", made)
    (tmp_path / "k.names").write_text("".join(f"f{n}/{1024 + 2 * n}\n" for n in range(40)))
    kprof(tmp_path, "convert", "a.bin", "-o", "ram", "--to", "banks")
    files = [f"ram.{bank}" for bank in (4, 2, 0, 1, 3)]
    done = kprof(
        tmp_path, "convert", *files, "-o", "b.kpd", "--names", "k.names", "--valid", "2000"
    )
    assert "are taken in the order 42013" in done.stderr
    read = open_capture(tmp_path / "b.kpd")
    assert (read.events, read.info.valid_from) == (2000, "--valid 2000")
    assert read.info.names_sha256 is not None
    assert np.array_equal(read.tags(), made.tags()[:2000])


@pytest.mark.parametrize("how", ["same", "other spelling", "link", "hard link"])
def test_a_bank_is_not_given_twice(tmp_path: Path, how: str) -> None:
    write_raw(tmp_path / "a.bin", capture(3000))
    kprof(tmp_path, "convert", "a.bin", "-o", "ram", "--to", "banks")
    twin = {"same": "ram.0", "other spelling": "./ram.0"}.get(how, "twin")
    if how == "link":
        (tmp_path / twin).symlink_to("ram.0")
    elif how == "hard link":
        (tmp_path / twin).hardlink_to(tmp_path / "ram.0")
    done = kprof(tmp_path, "convert", "ram.0", twin, "ram.2", "ram.3", "ram.4", "-o", "b.kpd")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"kprof: ram.0, {twin}: are one file; expected the five banks' images\n"
    assert not (tmp_path / "b.kpd").exists()


def test_two_banks_with_the_same_bytes_are_told_of(tmp_path: Path) -> None:
    write_raw(tmp_path / "a.bin", capture(3000))
    kprof(tmp_path, "convert", "a.bin", "-o", "ram", "--to", "banks")
    for bank in (0, 3):  # constant bytes are nothing strange
        (tmp_path / f"ram.{bank}").write_bytes(bytes(3000))
    files = [f"ram.{bank}" for bank in range(5)]
    done = kprof(tmp_path, "convert", *files, "-o", "b.kpd")
    assert done.returncode == 0
    assert "the same bytes" not in done.stderr
    (tmp_path / "ram.1").write_bytes((tmp_path / "ram.2").read_bytes())
    done = kprof(tmp_path, "convert", *files, "-o", "c.kpd")
    assert done.returncode == 0
    assert "ram.1, ram.2: hold the same bytes (was one RAM read twice?)" in done.stderr


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_bank_images_are_not_converted_onto_themselves(
    tmp_path: Path, force: tuple[str, ...]
) -> None:
    write_raw(tmp_path / "a.bin", capture(100))
    kprof(tmp_path, "convert", "a.bin", "-o", "ram", "--to", "banks")
    files = [f"ram.{bank}" for bank in range(5)]
    done = kprof(tmp_path, "convert", *files, "-o", "ram", "--to", "banks", *force)
    assert done.returncode == 2
    assert "ram.0: would be replaced by what is made from it; name another file" in done.stderr


def test_damaged_data_are_taken_only_when_asked_for(tmp_path: Path) -> None:
    write_capture(tmp_path / "a.kpd", capture(100))
    data = bytearray((tmp_path / "a.kpd").read_bytes())
    data[4100] ^= 1
    (tmp_path / "a.kpd").write_bytes(data)
    done = kprof(tmp_path, "convert", "a.kpd", "-o", "b.kpd")
    assert (done.returncode, (tmp_path / "b.kpd").exists()) == (1, False)
    done = kprof(tmp_path, "convert", "a.kpd", "-o", "b.kpd", "--damaged-ok")
    assert done.returncode == 0
    assert "are damaged" in done.stderr
    assert open_capture(tmp_path / "b.kpd").events == 100


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["a.bin", "a.bin", "-o", "b.bin"], "2 files given; expected one capture, or five"),
        (["a.bin", "-o", "b"], "b: its ending says no form"),
        (["a.bin", "-o", "b.bin", "--valid", "101"], "expected 0 to 100 or all"),
        (["a.bin"], "Missing option '-o'"),
    ],
)
def test_wrong_use(tmp_path: Path, args: list[str], said: str) -> None:
    write_raw(tmp_path / "a.bin", capture(100))
    done = kprof(tmp_path, "convert", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_into_standard_output(tmp_path: Path) -> None:
    write_raw(tmp_path / "a.bin", capture(100))
    command = [sys.executable, "-m", "kprof", "convert", "a.bin", "-o", "-", "--to", "kpd"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    (tmp_path / "out.kpd").write_bytes(done.stdout)
    assert same_events(open_capture(tmp_path / "out.kpd"), capture(100))
