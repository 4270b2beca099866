"""What each report takes, beside uftrace's of the same trace: CPU time and peak memory.

A program is recorded by ``uftrace record``; its records, one for one, are the capture that kprof
reads. Times are CPU seconds of whole processes, user and system, that write into a file, the best
of a few. ``--events`` gives the sizes (1e6,1e7 unless told otherwise; 1e8 takes some 10 GB of disk
and minutes). The last column is kprof's CPU time of the report through that of its summary.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.export import as_capture, measured, record

UFTRACE = {
    "report": ["uftrace", "report", "-d", "data"],
    "replay": ["uftrace", "replay", "-d", "data"],
    "graph": ["uftrace", "graph", "-d", "data"],
    "dump --chrome": ["uftrace", "dump", "--chrome", "--no-event", "-d", "data"],
}
REPORTS = [
    ("summary", ["summary"], "report"),
    ("trace", ["trace"], "replay"),
    ("graph", ["graph"], "graph"),
    ("export chrome", ["export", "--format", "chrome", "-o", "-"], "dump --chrome"),
    ("tasks", ["tasks"], ""),
    ("interrupts", ["interrupts"], ""),
    ("hist", ["hist", "copy"], ""),
    ("worst", ["worst", "copy"], ""),
    ("summary -F receive", ["summary", "-F", "receive"], ""),
    ("page", ["page", "-o", "-"], ""),
]


def _of_kprof(folder: Path, words: list[str]) -> tuple[float, int]:
    report, *more = words
    command = [sys.executable, "-m", "kprof", report, str(folder / "dump.bin"), *more]
    command += ["--names", str(folder / "named.names"), "--valid", "all"]
    taken, peak, _ = measured(command, folder / "out")
    return taken, peak


def _of_uftrace(folder: Path, words: list[str]) -> tuple[float, int]:
    command = [str(folder / "data") if word == "data" else word for word in words]
    taken, peak, _ = measured(command, folder / "out")
    return taken, peak


def _name_functions(folder: Path) -> None:
    """Give the functions of the name file the names of PROGRAM, by how often each is called."""
    from kprof.analysis import summarise
    from kprof.capture import open_capture
    from kprof.names import read_names

    capture = open_capture(folder / "dump.bin", verify=False)
    found = summarise(capture, read_names(folder / "k.names")).functions
    by_calls = sorted(found, key=lambda function: function.calls)
    real = ("main", "receive", "input", "get", "copy", "splx")
    names = {one.entry.name: name for one, name in zip(by_calls, real, strict=True)}
    text = (folder / "k.names").read_text()
    for name, real_name in names.items():
        text = text.replace(f"{name}/", f"{real_name}/")
    (folder / "named.names").write_text(text)


def compare(events: int) -> None:
    """Print the table of one size."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        count = record(folder, events)
        # In a process of its own: a child's peak memory begins with its parent's.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            pool.submit(as_capture, folder, "dump.bin", count).result()
            pool.submit(_name_functions, folder).result()
        print(f"\n{count:,} events")
        print(f"{'':20} {'CPU s':>8} {'MB':>6}   {'uftrace':16} {'CPU s':>8} {'MB':>6} {'/sum':>6}")
        least = 0.0
        for name, words, peer in REPORTS:
            taken, peak = _of_kprof(folder, words)
            least = least or taken
            theirs = f"{'':16} {'':8} {'':6}"
            if peer:
                seconds, size = _of_uftrace(folder, UFTRACE[peer])
                theirs = f"{peer:16} {seconds:8.2f} {size:6}"
            print(f"{name:20} {taken:8.2f} {peak:6}   {theirs} {taken / least:6.1f}", flush=True)


def main() -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", default="1e6,1e7", help="sizes, with commas between them")
    sizes = [int(float(word)) for word in parser.parse_args().events.split(",")]
    if not shutil.which("uftrace") or not shutil.which("gcc"):
        print("uftrace or gcc is not installed: nothing to compare with")
        return
    for size in sizes:
        compare(size)


if __name__ == "__main__":
    main()
