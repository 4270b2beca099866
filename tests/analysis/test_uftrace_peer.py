"""A native program under uftrace and with the software event RAM: the same calls and paths."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kprof.analysis.paths import call_paths
from kprof.analysis.stream import Stream
from kprof.capture import open_capture
from kprof.names import read_names

AGENT = Path(__file__).parents[2] / "examples" / "agent"
PROGRAM = """
volatile int sink;
int leaf(int n) { sink += n; return n & 3; }
int fib(int n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
int odd(int n);
int even(int n) { return n == 0 ? leaf(1) : odd(n - 1); }
int odd(int n) { return n == 0 ? leaf(2) : even(n - 1); }
int work(int n) { int r = fib(n % 9); if (n % 3) r += even(n % 6); else r += odd(n % 5); return r; }
int main(void) { int i, r = 0; for (i = 0; i < 40; i++) r += work(i); return r == 1; }
"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("uftrace") and shutil.which("gcc")), reason="uftrace or gcc is not installed"
)


def _uftrace(folder: Path) -> Counter[tuple[str, ...]]:
    """How often each call path was entered, from ``uftrace replay``."""
    build = ["gcc", "-O0", "-pg", "-o", "peer", "p.c"]
    subprocess.run(build, cwd=folder, check=True)
    record = ["uftrace", "record", "--no-libcall", "-d", "data", "./peer"]
    subprocess.run(record, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    replay = ["uftrace", "replay", "--no-pager", "-f", "none", "-d", "data"]
    text = subprocess.run(replay, cwd=folder, check=True, capture_output=True, text=True).stdout
    found: Counter[tuple[str, ...]] = Counter()
    stack: list[str] = []
    for line in text.splitlines():
        entered = re.match(r"\s*(\w+)\(\)( \{|;)", line)
        if entered:
            found[(*stack, entered[1])] += 1
            if entered[2] == " {":
                stack.append(entered[1])
        elif line.strip().startswith("}"):
            stack.pop()
    return found


def _kprof(folder: Path) -> Counter[tuple[str, ...]]:
    """The same from the software event RAM."""
    kprof = [sys.executable, "-m", "kprof", "instrument", "p.c", "-o", "made"]
    kprof += ["--names", "k.names", "--target", "soft"]
    subprocess.run(kprof, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    build = ["gcc", "-O0", f"-I{AGENT}", "-o", "soft", "made/p.c", str(AGENT / "kprof_ram.c")]
    subprocess.run(build, cwd=folder, check=True)
    environment = dict(os.environ) | {"KPROF_OUT": str(folder / "run.bin")}
    subprocess.run(["./soft"], cwd=folder, check=True, env=environment)
    stream = Stream(open_capture(folder / "run.bin"), read_names(folder / "k.names"))
    assert not stream.info.full
    tree = call_paths(stream).merged()
    return Counter(
        {
            tuple(stream.functions[function].name for function in tree.path(node)): int(calls)
            for node, calls in enumerate(tree.calls)
        }
    )


def test_the_same_calls_by_the_same_paths(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PROGRAM)
    theirs, ours = _uftrace(tmp_path), _kprof(tmp_path)
    assert sum(ours.values()) > 1000
    assert ours == theirs
