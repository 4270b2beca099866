"""How long instrumenting takes, beside the compiler and beside parsers.

    python -m benchmarks.instrument [FOLDER ...]

FOLDER holds C sources that gcc compiles without options; without one, the projects that
tools/fetch-real-code.py has fetched are used, else the sources of this repository's examples.
Times are those of the processor, children included, the least of a few runs: other work on the
machine changes little. (In kprof cc a part of it runs beside the preprocessor.)
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

REAL = Path(os.environ.get("KPROF_REALCODE", Path.home() / ".cache/kprof/realcode"))
ROOT = Path(__file__).resolve().parent.parent
RUNS = 5
MOST_FILES = 12


def spent() -> float:
    """Processor seconds of this process and its children so far."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def seconds(action: Callable[[], object], runs: int = RUNS) -> float:
    """The least processor time of a few runs, in seconds, children included."""
    times = []
    for _ in range(runs):
        start = spent()
        action()
        times.append(spent() - start)
    return min(times)


def sources(folders: Sequence[str]) -> list[tuple[Path, list[str]]]:
    """Files to compile, each with the options that it needs."""
    if folders:
        found = [(path, []) for folder in folders for path in sorted(Path(folder).rglob("*.c"))]
    else:
        found = []
        for project, options in (("zlib", ["-I."]), ("lua/src", []), ("sqlite", [])):
            folder = REAL / project
            for path in sorted(folder.glob("*.c")):
                if path.stat().st_size > 8_000 and path.name not in ("shell.c", "fts5.c"):
                    found.append((path, options))
        folder = ROOT / "examples" / "agent"
        found = found or [(path, []) for path in sorted(folder.glob("*.c"))]
    accepted = []
    for path, options in found:
        done = subprocess.run(
            ["gcc", "-fsyntax-only", "-w", *options, path.name],
            cwd=path.parent,
            capture_output=True,
        )
        if done.returncode == 0:
            accepted.append((path, options))
    step = max(1, len(accepted) // MOST_FILES)
    return accepted[::step][:MOST_FILES]


def compiler_mode(files: Sequence[tuple[Path, list[str]]]) -> None:
    """Time of `kprof cc -- gcc -O2 -c` beside that of `gcc -O2 -c`."""
    from kprof.instrument.shadow import decode
    from kprof.instrument.targets import find_target
    from kprof.instrument.unit import plant_unit, scan_unit

    print("compiler mode: one file at a time, whole processes; core: scan and plant alone")
    print(f"{'file':<20}{'lines':>8}{'gcc -O2 -c':>12}{'kprof cc':>10}{'adds':>8}{'core':>8}")
    added, lines_all, core_all, plain_all, ours_all = [], 0, 0.0, 0.0, 0.0
    target = find_target("soft")
    with tempfile.TemporaryDirectory() as scratch:
        for path, options in files:
            gcc = ["gcc", "-O2", "-w", "-c", *options, path.name, "-o", f"{scratch}/x.o"]
            kprof = [sys.executable, "-m", "kprof", "cc", "--target", "soft"]
            kprof += ["--names", f"{scratch}/k.names", "--"]
            expanded = subprocess.run(
                ["gcc", "-E", *options, path.name], cwd=path.parent, capture_output=True, check=True
            )
            raw = decode(expanded.stdout)

            def core(raw: str = raw) -> None:
                unit = scan_unit(raw)
                plant_unit(unit, dict.fromkeys(unit.functions, 1024), target)

            def compile_(command: list[str], path: Path = path) -> None:
                subprocess.run(command, cwd=path.parent, check=True, capture_output=True)

            runs = 2 if len(raw) > 2_000_000 else RUNS
            plain = seconds(lambda gcc=gcc: compile_(gcc), runs)  # type: ignore[misc]
            ours = seconds(lambda gcc=gcc, kprof=kprof: compile_(kprof + gcc), runs)  # type: ignore[misc]
            inside = seconds(core, runs)
            lines = raw.count("\n")
            print(
                f"{path.name:<20}{lines:>8}{plain:>10.3f} s{ours:>8.3f} s"
                f"{(ours - plain) / plain:>7.0%}{inside:>6.3f} s"
            )
            added.append((ours - plain) / plain)
            lines_all, core_all = lines_all + lines, core_all + inside
            plain_all, ours_all = plain_all + plain, ours_all + ours
    print(
        f"added: median {statistics.median(added):.0%}, of the sum "
        f"{(ours_all - plain_all) / plain_all:.0%} of gcc's own time (limit 100%, goal 50%)"
    )
    print(f"core: {lines_all / core_all:,.0f} preprocessed lines/s (limit 170,000)")


def source_mode(files: Sequence[tuple[Path, list[str]]]) -> None:
    """Lines a second of source mode, beside parsers that build a tree of the same files."""
    from kprof.instrument.shadow import decode
    from kprof.instrument.source import plant, scan_source
    from kprof.instrument.syntax import syntax_problems
    from kprof.instrument.targets import find_target

    texts = [(str(path), path.read_bytes()) for path, _ in files]
    target = find_target("soft")
    lines = sum(data.count(b"\n") for _, data in texts)

    def ours() -> None:
        for path, data in texts:
            scan = scan_source(decode(data), path)
            for code, functions in scan.ways:
                list(syntax_problems(scan.shadow, code, functions))
            plant(scan, dict.fromkeys(scan.functions, 1024), target)

    rate = lines / seconds(ours, 3)
    print(f"source mode: {lines} lines, {rate:,.0f} lines/s (limit 100,000)")
    for name, peer in (("tree-sitter", tree_sitter), ("libclang", libclang)):
        found = peer(texts)
        if found is None:
            print(f"  {name}: not installed")
            continue
        took, bad = found
        print(
            f"  {name}: {lines / took:,.0f} lines/s, parse alone, errors in {bad} of "
            f"{len(texts)} files; kprof is {rate * took / lines:.2f} times as fast"
        )


def tree_sitter(texts: Sequence[tuple[str, bytes]]) -> tuple[float, int] | None:
    """Time to parse these texts, and in how many there were errors."""
    try:
        import tree_sitter
        import tree_sitter_c
    except ImportError:
        return None
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))
    took = seconds(lambda: [parser.parse(data) for _, data in texts], 3)
    return took, sum(parser.parse(data).root_node.has_error for _, data in texts)


def libclang(texts: Sequence[tuple[str, bytes]]) -> tuple[float, int] | None:
    """Time to parse these files, and in how many there were errors."""
    try:
        import clang.cindex
    except ImportError:
        return None
    index = clang.cindex.Index.create()

    def parse() -> list[object]:
        return [index.parse(path, args=[f"-I{Path(path).parent}"]) for path, _ in texts]

    took = seconds(parse, 2)
    bad = sum(any(d.severity >= 3 for d in unit.diagnostics) for unit in parse())  # type: ignore[attr-defined]
    return took, bad


def main() -> None:
    """Run all of it."""
    files = sources(sys.argv[1:])
    compiler_mode(files)
    source_mode(files)


if __name__ == "__main__":
    main()
