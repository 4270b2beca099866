"""How long a user waits: `kprof --help`, and `kprof report` of one full event RAM.

Each is a whole Python process, run in turn with its peer in the same run, so that what else the
machine does hits both: the `--help` of a plain click program; a process that only imports numpy and
click. Printed are the medians and their ratio, beside the limit.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._bytecode import compile_as_installed

ROUNDS = 31
CLICK = """
import click
@click.group()
def main():
    "A program."
@main.command()
def verb():
    "A verb."
main()
"""


def made_up_dump(folder: Path) -> Path:
    """A raw image of 16,384 events of nested calls, with its name file beside it."""
    from kprof.capture import Capture, write_raw
    from kprof.names import allocate

    choice = random.Random(1993)
    names = allocate(folder / "kernel.names", [f"function_{n}" for n in range(120)])
    entries = list(names.values())
    time_us, stack, ticks, tags = 0, [], [], []
    for _ in range(16_384):
        time_us += choice.randrange(1, 120)
        ticks.append(time_us)
        if stack and (len(stack) > 8 or choice.random() < 0.5):
            tags.append(stack.pop() + 1)
        else:
            stack.append(choice.choice(entries).value)
            tags.append(stack[-1])
    write_raw(folder / "dump.bin", Capture.from_events(ticks, tags))
    return folder / "dump.bin"


def seconds(command: list[str]) -> float:
    """Wall time of one process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def compare(what: str, command: list[str], peer: list[str], limit: float) -> None:
    """Run both in turn; print the medians and the median of the ratios of neighbouring runs."""
    seconds(command), seconds(peer)  # once for the caches
    pairs = [(seconds(command), seconds(peer)) for _ in range(ROUNDS)]
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    best = min(a for a, _ in pairs) / min(b for _, b in pairs)
    print(
        f"{what}: {1000 * mine:.0f} ms, peer {1000 * theirs:.0f} ms, ratio {ratio:.2f} "
        f"(of the fastest runs {best:.2f}), limit {limit}"
    )


def main() -> None:
    """Print both comparisons."""
    compile_as_installed()
    python = sys.executable
    kprof = str(Path(python).with_name("kprof"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = folder / "plain.py"
        plain.write_text(CLICK)
        dump = str(made_up_dump(folder))
        compare("kprof --help", [kprof, "--help"], [python, str(plain), "--help"], 2.0)
        imports = [python, "-c", "import numpy, click"]
        compare("kprof report, 16384 events", [kprof, "report", dump], imports, 1.5)
        compare("kprof info, 16384 events", [kprof, "info", dump], imports, 1.5)


if __name__ == "__main__":
    main()
