"""How fast the reports are written: the trace of a million events, and the start of `kprof report`.

Lines a second are of a whole process that writes into a file; the start is in `startup`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.replay import make_capture

EVENTS = 1_000_000
ROUNDS = 3


def main() -> None:
    """Print lines a second of CPU time."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        dump = make_capture(folder, EVENTS)
        out = folder / "trace.txt"
        command = [sys.executable, "-m", "kprof", "report", str(dump), "--trace", "-o", str(out)]
        command += ["--names", str(folder / "k.names"), "--valid", "all"]
        best = float("inf")
        for _ in range(ROUNDS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        lines = out.read_bytes().count(b"\n")
        print(f"trace of {EVENTS:,} events: {lines:,} lines in {best:.2f} s of CPU time")
        print(f"{lines / best:,.0f} lines/s (limit 500,000)")


if __name__ == "__main__":
    main()
