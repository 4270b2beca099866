"""Many small captures: how many a second with 1 and 2 processes, CPU and bytes each, merging.

Captures of 16,384 events, as an event RAM holds. The ratio of 2 processes to 1 means something
only on a machine with two idle cores.
"""

from __future__ import annotations

import os
import pickle
import resource
import tempfile
import time
from pathlib import Path

from tests.capture.traces import capture

from kprof.analysis.replay.compiled import available
from kprof.analysis.statistics import merge_statistics
from kprof.capture import write_capture
from kprof.fleet.measure import Plan, measure
from kprof.fleet.pool import measure_all

EVENTS = 16384
FEW, MANY = 250, 1000


def cpu_s() -> float:
    """CPU seconds of this process and of its children that have ended."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in each)


def main() -> None:
    """Print the figures."""
    plan = Plan(fast=available())
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "k.names").write_text("".join(f"f{n}/{1024 + 2 * n}\n" for n in range(30)))
        (folder / "k.names").open("a").write("".join(f"i{n}/{1084 + 2 * n}=\n" for n in range(8)))
        write_capture(folder / "first.kpd", capture(EVENTS))
        names = [str(folder / f"{number:05}.kpd") for number in range(MANY)]
        for name in names:
            os.link(folder / "first.kpd", name)
        size = (folder / "first.kpd").stat().st_size
        measure(names[:2], plan)  # compiles
        print(f"{EVENTS:,} events, {size:,} bytes a capture; {len(os.sched_getaffinity(0))} cores")
        for many in (FEW, MANY):
            walls = []
            for processes in (1, 2):
                start, before = time.perf_counter(), cpu_s()
                measure_all(names[:many], plan, processes=processes)
                walls.append(time.perf_counter() - start)
                spent = (cpu_s() - before) / many * 1e3
                print(
                    f"{many:5} captures, {processes} processes: {many / walls[-1]:7.0f} a second, "
                    f"{spent:5.2f} ms CPU each"
                )
            print(f"{'':6}2 processes are {walls[0] / walls[1]:.2f} times one")
        parts = [measure([name], plan).statistics for name in names[:32]]
        known = [part for part in parts if part is not None]
        start = time.perf_counter()
        merged = merge_statistics(known)
        took = (time.perf_counter() - start) / len(known) * 1e3
        print(f"merging: {took:.2f} ms a capture; merged {len(pickle.dumps(merged)):,} bytes")


if __name__ == "__main__":
    main()
