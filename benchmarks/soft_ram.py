"""What an event costs with the software event RAM, beside -finstrument-functions and uftrace.

A program calls a small function many times, two events a call; the plain program's time is taken
off. Times are CPU times, the least of several runs.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS, TRACED_CALLS = 10_000_000, 1_000_000
RUNS = 3
SOURCE = """
int atoi(const char *);
volatile int sink;
int work(int n) { sink += n; return sink; }
int main(int argc, char **argv)
{
    int i, calls = argc > 1 ? atoi(argv[1]) : 0;
    for (i = 0; i < calls; i++)
        work(i);
    return 0;
}
"""
# What a program with -finstrument-functions must have: here it does nothing, or stores as we do.
EMPTY_HOOKS = """
#define NO __attribute__((no_instrument_function))
NO void __cyg_profile_func_enter(void *a, void *b) { (void)a; (void)b; }
NO void __cyg_profile_func_exit(void *a, void *b) { (void)a; (void)b; }
"""
STORING_HOOKS = """
#include <time.h>
#define NO __attribute__((no_instrument_function))
static struct { unsigned long time; void *at; } ram[16384];
static unsigned long next;
NO static void store(void *at)
{
    struct timespec now;
    unsigned long slot = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) & 16383;
    clock_gettime(CLOCK_MONOTONIC, &now);
    ram[slot].time = now.tv_sec * 1000000000UL + now.tv_nsec;
    ram[slot].at = at;
}
NO void __cyg_profile_func_enter(void *a, void *b) { (void)b; store(a); }
NO void __cyg_profile_func_exit(void *a, void *b) { (void)b; store(a); }
"""
AGENT = Path(__file__).parents[1] / "examples" / "agent"


def seconds(command: list[str], folder: Path) -> float:
    """The least CPU time of `RUNS` runs."""
    best = float("inf")
    environment = dict(os.environ) | {"KPROF_KEEP": "last", "KPROF_OUT": str(folder / "run.bin")}
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def build(folder: Path, name: str, *arguments: str) -> list[str]:
    """Compile a program; the command that runs it."""
    command = ["gcc", "-O2", "-fno-inline", "-fno-ipa-cp", "-fno-ipa-pure-const"]
    subprocess.run([*command, *arguments, "-o", name], check=True, cwd=folder)
    return [f"./{name}"]


def main() -> None:
    """Print nanoseconds an event."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "work.c").write_text(SOURCE)
        (folder / "empty.c").write_text(EMPTY_HOOKS)
        (folder / "storing.c").write_text(STORING_HOOKS)
        kprof = [sys.executable, "-m", "kprof", "instrument", "work.c", "-o", "made"]
        options = ["--names", "k.names", "--target", "soft"]
        subprocess.run([*kprof, *options], check=True, cwd=folder)
        ours = ["made/work.c", str(AGENT / "kprof_ram.c")]
        hooks = "-finstrument-functions"
        programs = {
            "kprof_ram, clock_gettime": build(folder, "soft", *ours),
            "kprof_ram, -DKPROF_TSC": build(folder, "tsc", *ours, "-DKPROF_TSC"),
            "-finstrument-functions, empty hooks": build(folder, "e", "work.c", "empty.c", hooks),
            "-finstrument-functions, storing hooks": build(
                folder, "s", "work.c", "storing.c", hooks
            ),
        }
        if shutil.which("uftrace"):
            record = ["uftrace", "record", "--no-libcall", "-d", "data"]
            programs["uftrace record, -pg"] = [*record, *build(folder, "p", "work.c", "-pg")]
        plain = build(folder, "plain", "work.c")
        print(f"{CALLS:,} calls ({TRACED_CALLS:,} under uftrace), 2 events each")
        costs = {}
        for name, command in programs.items():
            calls = TRACED_CALLS if command[0] == "uftrace" else CALLS
            taken = seconds([*command, str(calls)], folder)
            costs[name] = (taken - seconds([*plain, str(calls)], folder)) / (2 * calls) * 1e9
            print(f"{name:40} {costs[name]:8.1f} ns an event")
        first = costs["kprof_ram, clock_gettime"]
        for name, cost in costs.items():
            print(f"{name:40} {cost / first:8.2f} of kprof_ram")


if __name__ == "__main__":
    main()
