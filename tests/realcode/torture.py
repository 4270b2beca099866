"""gcc's C torture tests, compiled for the 68k with and without kprof, run under qemu.

    python -m tests.realcode.torture [--levels O0,O2] [--step N] [--strategy S]

A test passes when it compiles and exits with 0. The triggers are the short ones that a board has,
``tst.b`` at the addresses of the tags: `lowram.c` maps memory there.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.realcode import projects
from tests.realcode.suites import compile_own

COMPILER = "m68k-linux-gnu-gcc"
EMULATOR = "qemu-m68k"


@dataclass(frozen=True)
class Torture:
    """One torture test at one level: did it pass, without and with triggers, and what was said."""

    path: Path
    level: str
    plain: bool
    instrumented: bool | None
    said: str = ""


def tests() -> list[Path]:
    """Return the torture tests that are made to be run."""
    return sorted(projects.folder_of("torture").glob("gcc/testsuite/gcc.c-torture/execute/**/*.c"))


def _passes(command: list[str], program: Path) -> tuple[bool, str]:
    try:
        built = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        if built.returncode:
            lines = built.stderr.decode("utf-8", "replace").splitlines()
            return False, next((line for line in lines if "error" in line), "does not compile")
        ran = subprocess.run(
            [EMULATOR, str(program)], stdin=subprocess.DEVNULL, capture_output=True, timeout=60
        )
    except subprocess.TimeoutExpired as late:
        return False, f"took over {late.timeout} s"
    return ran.returncode == 0, f"exit {ran.returncode}"


def try_one(path: Path, level: str, low: str, kprof: list[str]) -> Torture:
    """Compile and run one test without triggers and, where it passes, with."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "test"
        options = [*projects.own_options(path), f"-{level}", "-w", "-static"]
        command = [COMPILER, *options, str(path), low, "-o", str(program), "-lm"]
        plain, _ = _passes(command, program)
        if not plain:
            return Torture(path, level, False, None)
        names = ["--names", str(Path(folder) / "test.names")]
        prefix = [sys.executable, "-m", "kprof", "cc", *names, *kprof, "--"]
        done, said = _passes([*prefix, *command], program)
        return Torture(path, level, True, done, said)


def try_all(paths: list[Path], levels: list[str], kprof: list[str]) -> list[Torture]:
    """Try tests at levels, two at a time."""
    with tempfile.TemporaryDirectory() as folder:
        low = compile_own("lowram", Path(folder), COMPILER)
        work = [(path, level) for level in levels for path in paths]
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda one: try_one(*one, low, kprof), work))


def main() -> None:
    """Try the tests; list those that pass only without triggers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--levels", default="O0,O2")
    parser.add_argument("--step", type=int, default=1, help="every so many tests")
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--options", default="", help="options of kprof cc")
    options = parser.parse_args()
    paths = tests()[options.offset :: options.step]
    seen = try_all(paths, options.levels.split(","), options.options.split())
    for one in seen:
        if one.plain and not one.instrumented:
            print(f"{one.path.name} -{one.level}: {one.said}")
    for level in options.levels.split(","):
        counted = Counter((one.plain, one.instrumented) for one in seen if one.level == level)
        plain = sum(count for key, count in counted.items() if key[0])
        print(f"-{level}: {plain} pass without, {counted[True, True]} of them with triggers")


if __name__ == "__main__":
    main()
