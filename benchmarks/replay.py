"""How fast a capture is summarised, and in how much memory, beside uftrace and plain C.

One program's calls are recorded by ``uftrace record`` and laid out as a capture of the same shape;
then, in turn and in CPU time: ``uftrace report`` of its records; kprof's summary, compiled and
not; a C loop over the same file that keeps a stack and five statistics; and memcpy of it.
``--events N`` sets the size of the capture (1000000000 for the full run; 5 bytes an event on disk).
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 3
LOOPS = 300_000
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
NAMES = ["main", "receive", "input", "get", "copy", "splx"]
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
                top++;
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
    summarise(capture.from_events([0, 1], [2, 3]), names, fast=True)
start = time.process_time()
summary = summarise(capture, names, fast=fast)
taken = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(summary.events, taken, peak)
"""


def make_capture(folder: Path, events: int) -> Path:
    """The calls of PROGRAM as a raw image of so many events."""
    import numpy as np

    from kprof.capture.records import encode_records

    tags: list[int] = []

    def call(name: str, *inside: tuple[str, ...]) -> list[int]:
        value = 2 * (NAMES.index(name) + 1)
        return [value, *(t for part in inside for t in part), value + 1]

    for n in range(1 << 14):
        get = call("get", call("splx"))
        first = [get, call("copy")] if n & 1 else [get]
        body = [call("input", *first, call("splx")), call("copy")]
        if n % 3 == 0:
            body.append(get)
        tags += call("receive", *body)
    steps = np.random.default_rng(1).integers(1, 30, len(tags))
    times = np.cumsum(steps)
    target = folder / "dump.bin"
    left = events
    with target.open("wb") as stream:
        turn = 0
        while left > 0:
            part = encode_records(times + turn * int(times[-1]), tags)[: 5 * left]
            stream.write(part)
            left -= len(part) // 5
            turn += 1
    lines = (f"{name}/{2 * (i + 1)}\n" for i, name in enumerate(NAMES))
    (folder / "k.names").write_text("".join(lines))
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


def best_of(command: list[str]) -> list[float]:
    """The numbers that a command prints, of the run with the least second one."""
    runs = []
    for _ in range(ROUNDS):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append([float(word) for word in done.stdout.split()])
    return min(runs, key=lambda numbers: numbers[1])


def main() -> None:
    """Print rates and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--folder", help="where the generated files go")
    events = (options := parser.parse_args()).events
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        folder = Path(made)
        dump = make_capture(folder, events)
        names = str(folder / "k.names")
        (folder / "loop.c").write_text(C_LOOP)
        compiler = ["gcc", "-O2", "-w", "-o", str(folder / "loop"), str(folder / "loop.c")]
        subprocess.run(compiler, check=True)
        count, loop, copy = best_of([str(folder / "loop"), str(dump)])
        rates = {"memcpy": count / copy, "C loop": count / loop}
        peaks = {}
        (folder / "small").mkdir()
        small = make_capture(folder / "small", 2_000_000)
        for kind, path in (("fast", dump), ("plain", small)):
            command = [sys.executable, "-c", SUMMARY, str(path), names, kind]
            count, taken, peaks[kind] = best_of(command)
            rates[f"kprof summary, {kind}"] = count / taken
        uftrace = rate_of_uftrace(folder)
        if uftrace is not None:
            rates["uftrace report"] = uftrace
        print(f"{events:,} events; CPU time, best of {ROUNDS}")
        for name, rate in rates.items():
            print(f"{name:24} {rate / 1e6:9.2f} M events/s")
        fast, plain = rates["kprof summary, fast"], rates["kprof summary, plain"]
        print(f"fast / C loop            {fast / rates['C loop']:9.2f}   (limit 0.5)")
        print(f"fast / memcpy            {fast / rates['memcpy']:9.3f}")
        if uftrace is not None:
            print(f"fast / uftrace report    {fast / uftrace:9.2f}   (limit 10)")
        print(f"plain                    {plain / 1e6:9.2f} M events/s (limit 2)")
        print(f"peak memory, fast        {peaks['fast']:9.0f} MB (limit 300)")


if __name__ == "__main__":
    main()
