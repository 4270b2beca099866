"""What kprof adds to the compilation of whole projects, each with its own options.

    python -m benchmarks.realcode [--units N] [PROJECT ...]

For the projects that tools/fetch-real-code.py has fetched: N units of each are built with the
compiler alone and with `kprof cc` before it, -O2 -Wall -Wextra, from an empty name file with
nothing remembered (first), and once more (again). Processor time of all processes, the compile
server's too, so that a busy machine does not count. Then both modes' own pace within one process.
The ratios are medians of the units': what kprof adds over what the compiler takes; 1.00 doubles it.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.realcode import projects
from tests.realcode.projects import Unit

from benchmarks._bytecode import compile_as_installed
from benchmarks.instrument import installed, server_seconds, start_server

DEFAULT = ("zlib", "lua", "cjson", "sqlite", "busybox", "lwip", "newlib", "linux", "u-boot")
LIMIT = 1.00
GOAL = 0.50


def processor_seconds(command: Sequence[str], cwd: str) -> float:
    """Run a command; return the processor time of it, of all that it started, and of servers."""
    servers = Path(os.environ["KPROF_SERVER"])
    before, served = resource.getrusage(resource.RUSAGE_CHILDREN), server_seconds(servers)
    subprocess.run(
        command, cwd=cwd, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    served = server_seconds(servers) - served
    return served + after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def beside_the_compiler(units: Sequence[Unit], folder: Path) -> list[tuple[float, float, float]]:
    """Return the seconds of each unit: the compiler alone, in a first build, and built again."""
    os.environ |= {"KPROF_CACHE": str(folder / "cache"), "KPROF_SERVER": str(folder / "s")}
    kprof = installed(folder)
    names = str(folder / "bench.names")
    prefix = [*kprof, "cc", "--target", "soft", "--names", names, "--"]
    commands = [
        [
            *(unit.compiler, *unit.options, "-O2", "-Wall", "-Wextra", "-c", unit.source),
            *("-o", str(folder / "unit.o")),
        ]
        for unit in units
    ]
    rows = []
    for way in ([], prefix, prefix):
        start_server(kprof, folder)
        pairs = zip(units, commands, strict=True)
        rows.append([processor_seconds([*way, *command], unit.cwd) for unit, command in pairs])
    return list(zip(*rows, strict=True))


def pace(units: Sequence[Unit], folder: Path) -> tuple[int, float, int, float]:
    """Return preprocessed lines and seconds of compiler mode, lines and seconds of source mode."""
    from kprof.instrument.compiler_settings import Compiling
    from kprof.instrument.planting import instrument_unit
    from kprof.instrument.preprocess import Preprocessor, preprocessing
    from kprof.instrument.shadow import decode
    from kprof.instrument.source import plant, scan_source
    from kprof.instrument.targets import find_target
    from kprof.instrument.verify import Verifier

    os.environ["KPROF_CACHE"] = ""
    target = find_target("soft")
    names = folder / "pace.names"
    lines, took, source_lines, source_took = 0, 0.0, 0, 0.0
    for unit in units:
        expanded = subprocess.run(
            [unit.compiler, *unit.options, "-E", unit.source], cwd=unit.cwd, capture_output=True
        )
        text, raw = decode(expanded.stdout), decode(unit.path.read_bytes())
        names.unlink(missing_ok=True)
        start = time.process_time()
        instrument_unit(text, unit.source, Compiling(target, names), [])
        took += time.process_time() - start
        lines += text.count("\n")
        start = time.process_time()
        how = Preprocessor(preprocessing([unit.compiler, *unit.options]), Path(unit.cwd))
        scan = Verifier(how, names).verify(scan_source(raw, str(unit.path)), unit.path).scan
        plant(scan, {brace: 1024 + 2 * at for at, brace in enumerate(scan.functions)}, target)
        source_took += time.process_time() - start
        source_lines += raw.count("\n")
    return lines, took, source_lines, source_took


def _sample(name: str, most: int) -> list[Unit]:
    """Units of a project, the largest sources and a spread of the rest, that compile."""
    # As the project compiles it: what the tests add to see more functions is left out.
    more = set(projects.PROJECTS[name].also)
    found = {
        str(unit.path): replace(unit, options=tuple(o for o in unit.options if o not in more))
        for unit in projects.units(name)
    }
    ordered = sorted(found.values(), key=lambda unit: unit.path.stat().st_size, reverse=True)
    picked = ordered[: most // 2] + ordered[most // 2 :: max(1, 2 * len(ordered) // most)]
    accepted = []
    for unit in picked[:most]:
        command = [unit.compiler, *unit.options, "-w", "-O2", "-fsyntax-only", unit.source]
        if subprocess.run(command, cwd=unit.cwd, capture_output=True).returncode == 0:
            accepted.append(unit)
    return accepted


def main() -> None:
    """Print a line a project, and the sums."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--units", type=int, default=8)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.environ["LC_ALL"] = "C"
    compile_as_installed()
    print(
        f"{'project':<9} {'units':>5} {'gcc s':>7} {'first':>6} {'again':>6}"
        "   cc lines/s   source lines/s"
    )
    rows: list[tuple[float, float, float]] = []
    paces = [0.0] * 4
    for name in options.names or DEFAULT:
        if reason := projects.missing(name):
            print(f"{name:<9} {reason}")
            continue
        units = _sample(name, options.units)
        with tempfile.TemporaryDirectory() as scratch:
            found = beside_the_compiler(units, Path(scratch))
            own = pace(units, Path(scratch))
        rows += found
        paces = [old + new for old, new in zip(paces, own, strict=True)]
        print(_line(name, found, own), flush=True)
    if rows:
        print(_line("all", rows, paces))
        added = statistics.median(row[1] / row[0] for row in rows) - 1
        verdict = "within the goal" if added <= GOAL else "within" if added <= LIMIT else "OVER"
        print(
            f"a first build adds {added:.2f} of the compiler's time in the median: {verdict} "
            f"(limit {LIMIT}, goal {GOAL})"
        )


def _line(name: str, rows: Sequence[tuple[float, float, float]], pace_: Sequence[float]) -> str:
    first, again = (statistics.median(row[at] / row[0] for row in rows) - 1 for at in (1, 2))
    lines, took, source_lines, source_took = pace_
    return (
        f"{name:<9} {len(rows):>5} {sum(row[0] for row in rows):>7.2f} {first:>6.2f} {again:>6.2f} "
        f"{lines / max(took, 1e-9):>12,.0f} {source_lines / max(source_took, 1e-9):>16,.0f}"
    )


if __name__ == "__main__":
    main()
