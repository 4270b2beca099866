"""How fast a trace is exported, and in how much memory, beside ``uftrace dump --chrome``.

A program is recorded by ``uftrace record``; its records, one for one, are the capture that kprof
exports: the same trace. Rates are in events (records) a second of CPU time, user and system, into a
file; kprof's for the export alone and for the whole process with its start (Python, numpy, numba).
Memory is the peak of the process. A second capture of a tenth shows that it does not grow.
``--events N`` sets the size.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.replay import PROGRAM

ROUNDS = 3
PER_LOOP = 15.4  # records of one turn of PROGRAM's loop
FORMATS = ["perfetto", "folded", "pprof", "ctf"]
EXPORT = """
import importlib, io, json, sys, time
from kprof.analysis.stream import Stream
from kprof.capture.model import Capture
from kprof.capture import open_capture
from kprof.names import read_names
from kprof.export.formats import export
from kprof.export.view import View
dump, names, form, target = sys.argv[1:]
capture, named = open_capture(dump, valid="all", verify=False), read_names(names)
if form in ("perfetto", "folded", "pprof") and capture.events >= 3_000_000:  # load numba's code
    few = Stream(Capture(capture.info, capture.records[:1000]), named, fast=True)
    view = View(few, paths=form != "perfetto")
    importlib.import_module("kprof.export." + form).write(view, io.BytesIO())
start = time.process_time()
export(capture, named, form, target)
print(json.dumps([capture.events, time.process_time() - start]))
"""


def record(folder: Path, events: int) -> int:
    """Record PROGRAM into ``data``; how many records there are."""
    (folder / "p.c").write_text(PROGRAM)
    loops = max(1, round(events / PER_LOOP))
    subprocess.run(
        ["gcc", "-O1", "-pg", f"-DLOOPS={loops}", "-o", "p", "p.c"], check=True, cwd=folder
    )
    command = ["uftrace", "record", "--no-libcall", "--no-event", "-b", "64m", "-d", "data", "./p"]
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    return sum(f.stat().st_size for f in _records(folder)) // 16


def _records(folder: Path) -> list[Path]:
    return [path for path in (folder / "data").glob("*.dat") if path.stem.isdecimal()]


def as_capture(folder: Path, name: str, events: int) -> Path:
    """The first so many records of uftrace as a capture of 48 bits of ns, and its name file."""
    from fractions import Fraction

    import numpy as np

    from kprof.capture.model import Capture, CaptureInfo
    from kprof.capture.write import write_capture

    words = np.concatenate([np.fromfile(path, "<u8") for path in _records(folder)])
    words = words.reshape(-1, 2)[:events]
    kind, address = words[:, 1] & np.uint64(3), words[:, 1] >> np.uint64(16)
    calls = kind < 2
    functions, number = np.unique(address[calls], return_inverse=True)
    tags = 2 * (number + 1) + kind[calls].astype(np.int64)
    ticks = words[calls, 0] - words[0, 0]
    info = CaptureInfo(unwrapped=True, clock_hz=Fraction(1_000_000_000))
    write_capture(folder / name, Capture.from_events(ticks, tags, info))
    lines = (f"f_{value:x}/{2 * (k + 1)}\n" for k, value in enumerate(functions.tolist()))
    (folder / "k.names").write_text("".join(lines))
    return folder / name


def measured(command: list[str], output: Path | None = None) -> tuple[float, int, str]:
    """CPU seconds, peak memory in MB and output of the best of ROUNDS runs of a process."""
    best: tuple[float, int, str] | None = None
    for _ in range(ROUNDS):
        with tempfile.TemporaryFile() as held, (output or Path(os.devnull)).open("wb") as out:
            process = subprocess.Popen(command, stdout=out if output else held)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise SystemExit(f"{' '.join(command[:3])}: exit code {process.returncode}")
            held.seek(0)
            found = usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, held.read().decode()
        if best is None or found[0] < best[0]:
            best = found
    assert best is not None
    return best


def exported(folder: Path, dump: Path, form: str) -> tuple[float, float, int, int]:
    """Events a CPU second of the export and of the whole process, peak in MB, bytes written."""
    target = folder / f"out.{form}"
    command = [sys.executable, "-c", EXPORT, str(dump), str(folder / "k.names"), form, str(target)]
    whole, peak, text = measured(command)
    events, taken = json.loads(text)
    files = [target] if target.is_file() else list(target.iterdir())
    size = sum(path.stat().st_size for path in files)
    return events / taken, events / whole, peak, size


def _row(name: str, *cells: object) -> str:
    return f"{name:22}" + "".join(f"{cell!s:>12}" for cell in cells)


def main() -> None:
    """Print rates, memory and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--formats", default=",".join(FORMATS), help="any of kprof export")
    options = parser.parse_args()
    if not shutil.which("uftrace") or not shutil.which("gcc"):
        print("uftrace or gcc is not installed: no trace to export")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        events = record(folder, options.events)
        # In processes of their own: a child's peak memory begins with its parent's.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            dump = pool.submit(as_capture, folder, "dump.bin", events).result()
            tenth = pool.submit(as_capture, folder, "tenth.bin", events // 10).result()
        print(f"{events:,} records; CPU time, best of {ROUNDS}")
        heads = ("M events/s", "with start", "MB", "MB of 1/10", "B/event")
        print(_row("", *heads))
        chrome = folder / "uftrace.json"
        command = ["uftrace", "dump", "--chrome", "--no-event", "-d", str(folder / "data")]
        taken, peak, _ = measured(command, chrome)
        peer = events / taken
        size = chrome.stat().st_size / events
        rate = f"{peer / 1e6:.2f}"
        print(_row("uftrace dump --chrome", rate, rate, peak, "", f"{size:.1f}"))
        chrome.unlink()
        rates = {}
        for form in options.formats.split(","):
            rate, whole, peak, size = exported(folder, dump, form)
            _, _, small, _ = exported(folder, tenth, form)
            rates[form] = rate
            numbers = (f"{rate / 1e6:.2f}", f"{whole / 1e6:.2f}", peak, small)
            print(_row(f"kprof {form}", *numbers, f"{size / events:.1f}"), flush=True)
        for form in ("perfetto", "folded"):
            if form in rates:
                print(f"{form} / uftrace dump --chrome: {rates[form] / peer:.2f} (goal 3)")


if __name__ == "__main__":
    main()
