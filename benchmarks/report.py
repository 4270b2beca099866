"""How fast the trace is written: lines a second, memory, and the time to the first line.

Beside ``uftrace replay`` of the records of the same program, in the same run. Lines a second are of
CPU time of a whole process that writes into a file. One capture begins with a `main` that lasts to
its end, so that its first line needs the whole capture. ``--events N`` sets the size of the largest
capture (100000000 for the full run; 5 bytes an event on disk, and 35 of the trace's text).
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.replay import LOOPS, PROGRAM, make_capture

ROUNDS = 3


def used(command: list[str], folder: Path) -> float:
    """The least CPU time of a few runs that write into the file ``out``."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (folder / "out").open("wb") as out:
            subprocess.run(command, check=True, stdout=out, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def lines_of_uftrace(folder: Path) -> float | None:
    """Lines a second of ``uftrace replay``; None where it is not installed."""
    if not shutil.which("uftrace") or not shutil.which("gcc"):
        return None
    (folder / "p.c").write_text(PROGRAM)
    build = ["gcc", "-O1", "-pg", f"-DLOOPS={LOOPS}", "-o", "p", "p.c"]
    subprocess.run(build, check=True, cwd=folder)
    record = ["uftrace", "record", "--no-libcall", "-d", "data", "./p"]
    subprocess.run(record, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    taken = used(["uftrace", "replay", "-d", "data"], folder)
    return (folder / "out").read_bytes().count(b"\n") / taken


def trace(dump: Path, names: Path) -> list[str]:
    """The command that prints the trace of a capture."""
    command = [sys.executable, "-m", "kprof", "report", str(dump), "--trace"]
    return [*command, "--names", str(names), "--valid", "all"]


def first_line(command: list[str]) -> float:
    """Seconds until the first line is there."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        process.stdout.readline()
        taken = time.perf_counter() - start
        process.stdout.close()
        process.kill()
    return taken


def with_main(dump: Path) -> Path:
    """The same capture with an entry of `main` before it."""
    data = dump.read_bytes()
    target = dump.with_name("main.bin")
    target.write_bytes(data[:3] + b"\x00\x02" + data)
    return target


def main() -> None:
    """Print rates, the peak of memory and the time to the first line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--folder", help="where the generated files go")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        names = folder / "k.names"
        for events in (1_000_000, options.events):
            dump = make_capture(folder, events)
            taken = used(trace(dump, names), folder)
            size = 1 << 24
            with (folder / "out").open("rb") as text:
                lines = sum(part.count(b"\n") for part in iter(lambda: text.read(size), b""))  # noqa: B023
            (folder / "out").unlink()
            print(f"trace of {events:,} events: {lines:,} lines in {taken:.2f} s of CPU time")
            print(f"  {lines / taken:12,.0f} lines/s (limit 1,000,000 from 10,000,000 events on)")
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(f"  {peak:12,.0f} MB at most (limit 300)")
        rate = lines_of_uftrace(folder)
        if rate is not None:
            print(f"  {rate:12,.0f} lines/s of uftrace replay")
        print(f"  {first_line(trace(dump, names)):12.2f} s to the first line (limit 2)")
        long = first_line(trace(with_main(dump), names))
        print(f"  {long:12.2f} s to the first line of a call that lasts to the end (limit 2)")


if __name__ == "__main__":
    main()
