"""CPU time and peak memory of each report of a large capture, beside the summary.

The capture is of a kernel of four tasks with task marks, a function that they sleep in, an
interrupt on whatever runs, and inline triggers. Of whole processes that write into a file; the
least CPU time of a few runs. ``--events N`` sets the size of the largest capture.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROUNDS = 2
TASKS = 4
NAMES = """\
main/2
receive/4
input/6
get/8
copy/10
splx/12
sleep/14
tick/16^
RX/20=
DONE/22=
task/4096@4
"""
REPORTS = {
    "summary": ["summary"],
    "summary -F input": ["summary", "-F", "input"],
    "graph": ["graph"],
    "hist input": ["hist", "input"],
    "tasks": ["tasks"],
    "tasks --format json": ["tasks", "--format", "json"],
    "tasks -F input": ["tasks", "-F", "input"],
    "interrupts": ["interrupts"],
    "between RX DONE": ["between", "RX", "DONE"],
    "worst input": ["worst", "input"],
    "trace --around": ["trace", "--around", "100ms"],
    "trace --slower-than": ["trace", "--slower-than", "2ms"],
    "trace -F input": ["trace", "-F", "input"],
    "trace": ["trace"],
    "trace --format json": ["trace", "--format", "json"],
}
LARGE = ("trace", "trace -F input", "trace --format json")


def kernel_tags(rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """The tags that begin a capture, and those that can follow them any number of times."""
    start: list[int] = []
    for task in range(TASKS):
        start += [4096 + task, 2, 14]
    start += [4096, 15]
    tags: list[int] = []
    for turn in range(1 << 12):
        for n in range(4):
            inside = [8, 12, 13, 9] + ([10, 11] if n & 1 else [])
            body = [4, 20, 6, *inside, 12, 13, 7, 10, 11, 22, 5]
            at = int(rng.integers(0, len(body)))
            tags += [*body[:at], 16, 12, 13, 17, *body[at:]]
        tags += [14, 4096 + (turn + 1) % TASKS, 15]
    return start, tags


def make_kernel(folder: Path, events: int) -> Path:
    """A capture of so many events, and its name file beside it."""
    from kprof.capture.records import encode_records

    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    start, tags = kernel_tags(rng)
    (folder / "k.names").write_text(NAMES)
    target = folder / "dump.bin"
    time, left = 0, events
    with target.open("wb") as stream:
        for part in (start, *(tags for _ in range(events // len(tags) + 1))):
            times = time + np.cumsum(rng.integers(1, 30, len(part)))
            stream.write(encode_records(times[:left], part[:left]))
            time, left = int(times[-1]), max(0, left - len(part))
    return target


def used(command: list[str], output: Path) -> tuple[float, int]:
    """CPU seconds and peak memory in MB of a process that writes into a file."""
    best, peak = float("inf"), 0
    for _ in range(ROUNDS):
        with output.open("wb") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
        best = min(best, usage.ru_utime + usage.ru_stime)
        peak = max(peak, usage.ru_maxrss // 1024)
    return best, peak


def lines_in(path: Path) -> int:
    """How many lines a file has."""
    with path.open("rb") as text:
        return sum(part.count(b"\n") for part in iter(lambda: text.read(1 << 24), b""))


def main() -> None:
    """Print a table for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--reports", default=",".join(REPORTS), help="some of them, by commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for events in (options.events // 10, options.events):
            dump = make_kernel(folder / str(events), events)
            print(f"{events:,} events; CPU time, best of {ROUNDS}")
            print(f"{'':24}{'s':>8}{'/ summary':>11}{'MB':>6}{'M lines/s':>11}")
            first = 0.0
            for name in ["summary", *(n for n in options.reports.split(",") if n != "summary")]:
                command = [sys.executable, "-m", "kprof", REPORTS[name][0], str(dump)]
                command += [*REPORTS[name][1:], "--names", str(dump.with_name("k.names"))]
                taken, peak = used([*command, "--valid", "all"], folder / "out")
                first = first or taken
                rate = f"{lines_in(folder / 'out') / taken / 1e6:11.2f}" if name in LARGE else ""
                print(f"{name:24}{taken:8.2f}{taken / first:11.2f}{peak:6}{rate}", flush=True)
            (folder / "out").unlink()


if __name__ == "__main__":
    main()
