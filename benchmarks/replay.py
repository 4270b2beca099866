"""How fast a capture is summarised, and in how much memory, beside uftrace and plain C.

One program's calls are recorded by ``uftrace record``, and laid out as captures of the same shape:
without context switches, with slices of 50 events, and with slices of 10 events and 64 tasks, each
of the last two with task marks and without. Then, in turn: kprof's summary, compiled (wall and CPU
time: it uses two cores) and not; a C loop over the same file, in one thread, that keeps one stack
and five statistics; and memcpy of it. ``--events N`` sets the size of a capture (1000000000 for the
full run; 5 bytes an event on disk).
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROUNDS = 3
LOOPS = 300_000
GOALS = [">1 C", "100", "60", "60", "20"]
PROGRAM = r"""
#define FN __attribute__((noinline)) int
static volatile int sink;
FN splx(int n) { sink += n; return sink; }
FN get(int n) { return splx(n) + 1; }
FN copy(int n) { sink ^= n; return sink; }
FN input(int n)
{
    int r = get(n) + 1;
    if (n & 1)
        r += copy(n);
    return r + splx(n);
}
FN receive(int n)
{
    int r = input(n);
    r += copy(r);
    if (n % 3 == 0)
        r += get(r);
    return r + 1;
}
int main(int argc, char **argv)
{
    int i, n = 0;
    (void)argv;
    for (i = 0; i < LOOPS * argc; i++)
        n += receive(i);
    return n & 1;
}
"""
C_LOOP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <time.h>
static uint64_t calls[32768], net[32768], elapsed[32768], least[32768], most[32768];
static struct { uint32_t fn; uint64_t time, inside; } stack[65536];
static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
int main(int argc, char **argv)
{
    enum { RECORDS = 1 << 20 };
    static uint8_t in[RECORDS * 5], out[RECORDS * 5];
    FILE *file = fopen(argv[1], "rb");
    uint64_t now = 0, before = 0, events = 0;
    size_t n;
    int top = 0;
    double loop = 0, copy = 0, from;
    (void)argc;
    memset(least, 255, sizeof least);
    while ((n = fread(in, 5, RECORDS, file)) > 0) {
        size_t i;
        from = cpu();
        for (i = 0; i < n; i++) {
            const uint8_t *p = in + 5 * i;
            uint64_t ticks = (uint64_t)p[0] << 16 | p[1] << 8 | p[2];
            uint32_t tag = p[3] << 8 | p[4], fn = tag >> 1;
            now += (ticks - before) & 0xFFFFFF; before = ticks;
            if (!(tag & 1)) {
                top = (top + 1) & 65535;
                stack[top].fn = fn;
                stack[top].time = now;
                stack[top].inside = 0;
            } else if (top && stack[top].fn == fn) {
                uint64_t whole = now - stack[top].time, own = whole - stack[top].inside;
                top--;
                stack[top].inside += whole;
                calls[fn]++;
                net[fn] += own;
                elapsed[fn] += whole;
                if (own < least[fn])
                    least[fn] = own;
                if (own > most[fn])
                    most[fn] = own;
            }
        }
        loop += cpu() - from;
        from = cpu(); memcpy(out, in, n * 5); copy += cpu() - from;
        if (out[n] == 1 && out[n + 1] == 2) putchar(' ');
        events += n;
    }
    printf("%llu %.6f %.6f\n", (unsigned long long)events, loop, copy);
    return 0;
}
"""
SUMMARY = """
import resource, sys, time
from kprof.capture import open_capture
from kprof.names import read_names
from kprof.analysis import summarise
dump, names, fast = sys.argv[1], read_names(sys.argv[2]), sys.argv[3] == "fast"
capture = open_capture(dump, valid="all", verify=False)
if fast:
    few = capture.records[:5_000_000]  # so many that all of the compiled code is loaded
    summarise(type(capture)(capture.info, few), names, fast=True)
wall, cpu = time.perf_counter(), time.process_time()
summary = summarise(capture, names, fast=fast)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
assert summary.events == capture.events and summary.anomalies.ambiguous_switches == 0
print(wall, cpu, peak)
"""


@dataclass(frozen=True)
class Load:
    """A capture: a program's calls, cut into slices of tasks that read and sleep.

    Attributes
    ----------
    name
        What it is called in the table.
    slices
        Events of a slice; 0: nothing is switched.
    tasks
        Tasks that take turns at random.
    marks
        The kernel fires task marks.
    """

    name: str
    slices: int = 0
    tasks: int = 1
    marks: bool = False

    def names(self) -> str:
        """The name file: each task has a read of its own, by whose exit it can be told."""
        used = SHARED if self.slices else SHARED[:-2]
        shared = (f"{name}/{2 * (n + 1)}" for n, name in enumerate(used))
        reads = (f"read{k}/{READS + 2 * k}" for k in range(self.tasks))
        marks = [f"task/{MARKS}@{self.tasks}"] if self.marks else []
        return "\n".join([*shared, *reads, *marks, ""])

    def tags(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """About a million tags, which can follow themselves."""
        if not self.slices:
            return np.tile(np.array(_work(1 << 12)), 50)
        start = [MARKS] if self.marks else []
        start += [_value("swtch") + 1, _value("sleep") + 1, READS + 1]
        end = [READS, _value("sleep"), _value("swtch")]
        room = self.slices - len(start) - len(end)
        body = _work(room)[:room]
        while _open(body):
            body = body[:-1]
        body += [_value("copy"), _value("copy") + 1] * ((room - len(body)) // 2)
        one = np.array(start + body + end)
        task = rng.integers(self.tasks, size=(1_000_000 // len(one), 1))
        own = (one == READS) | (one == READS + 1)
        slices = one + np.where(own, 2 * task, 0) + np.where(one == MARKS, task, 0)
        return np.ravel(slices)


LOADS = [
    Load("no switches"),
    Load("1 in 50, marks", 50, 8, marks=True),
    Load("1 in 50", 50, 8),
    Load("1 in 10, marks", 10, 64, marks=True),
    Load("1 in 10", 10, 64),
]
SHARED = ["main", "receive", "input", "get", "copy", "splx", "sleep", "swtch"]
READS = 1024
MARKS = 4096


def _value(name: str) -> int:
    return 2 * (SHARED.index(name) + 1)


def _work(turns: int) -> list[int]:
    """The calls of PROGRAM."""
    tags: list[int] = []

    def call(name: str, *inside: list[int]) -> list[int]:
        return [_value(name), *(t for part in inside for t in part), _value(name) + 1]

    for n in range(turns):
        get = call("get", call("splx"))
        first = [get, call("copy")] if n & 1 else [get]
        body = [call("input", *first, call("splx")), call("copy")]
        if n % 3 == 0:
            body.append(get)
        tags += call("receive", *body)
    return tags


def _open(tags: list[int]) -> bool:
    """Is a call of these still open at their end?"""
    return sum(-1 if tag & 1 else 1 for tag in tags) > 0


def make_capture(folder: Path, events: int, load: Load = LOADS[0]) -> Path:
    """A load as a raw image of so many events, and its name file beside it."""
    from kprof.capture.records import encode_records

    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    tags = load.tags(rng)
    times = np.cumsum(rng.integers(1, 30, len(tags)))
    target = folder / "dump.bin"
    left = events
    with target.open("wb") as stream:
        turn = 0
        while left > 0:
            part = encode_records(times + turn * int(times[-1]), tags)[: 5 * left]
            stream.write(part)
            left -= len(part) // 5
            turn += 1
    switch = "swtch/16\n", "swtch/16!\n"
    (folder / "k.names").write_text(load.names().replace(*switch))
    return target


def rate_of_uftrace(folder: Path) -> float | None:
    """Records a second of ``uftrace report``; None where it is not installed."""
    if not shutil.which("uftrace") or not shutil.which("gcc"):
        return None
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(
        ["gcc", "-O1", "-pg", f"-DLOOPS={LOOPS}", "-o", "p", "p.c"], check=True, cwd=folder
    )
    record = ["uftrace", "record", "--no-libcall", "-d", "data", "./p"]
    subprocess.run(record, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    records = sum(f.stat().st_size for f in (folder / "data").glob("*.dat")) / 16
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["uftrace", "report", "-d", "data"]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return records / best


class Ran(NamedTuple):
    """Seconds of wall and CPU time, and MB."""

    wall: float
    cpu: float
    peak: float


def summaries(dump: Path, kind: str) -> Ran:
    """The best summary of a capture."""
    names = str(dump.with_name("k.names"))
    return Ran(*best_of([sys.executable, "-c", SUMMARY, str(dump), names, kind]))


def best_of(command: list[str]) -> list[float]:
    """The numbers that a command prints, each of the run where it is least but the first."""
    runs = []
    for _ in range(ROUNDS):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append([float(word) for word in done.stdout.split()])
    return [min(column) for column in zip(*runs, strict=True)]


def main() -> None:
    """Print rates and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--folder", help="where the generated files go")
    events = (options := parser.parse_args()).events
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        (folder / "loop.c").write_text(C_LOOP)
        compiler = ["gcc", "-O2", "-w", "-o", str(folder / "loop"), str(folder / "loop.c")]
        subprocess.run(compiler, check=True)
        uftrace = rate_of_uftrace(folder)
        print(f"M events/s, best of {ROUNDS}; peak memory of the fast summary (limit 300 MB)")
        if uftrace is not None:
            print(f"uftrace report, CPU time: {uftrace / 1e6:.2f}")
        print(f"{'':16} {'memcpy':>8} {'C loop':>8} {'fast':>8} {'/ C':>6} {'goal':>6} "
              f"{'CPU':>8} {'plain':>8} {'peak':>8}")  # fmt: skip
        for load, goal in zip(LOADS, GOALS, strict=True):
            dump = make_capture(folder / "capture", events, load)
            count, loop, copy = best_of([str(folder / "loop"), str(dump)])
            ran = summaries(dump, "fast")
            small = make_capture(folder / "small", 1_000_000, load)
            slow = summaries(small, "plain")
            rate, c = count / ran.wall, count / loop
            print(f"{load.name:16} {count / copy / 1e6:8.0f} {c / 1e6:8.0f} {rate / 1e6:8.1f} "
                  f"{rate / c:6.2f} {goal:>6} {count / ran.cpu / 1e6:8.1f} "
                  f"{1 / slow.cpu:8.2f} {ran.peak:5.0f} MB", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
