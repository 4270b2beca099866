"""How long instrumenting takes, beside the compiler and beside parsers.

    python -m benchmarks.instrument [FOLDER ...]

FOLDER holds C sources that gcc compiles without options; without one, the projects that
tools/fetch-real-code.py has fetched are used, else the examples of this repository; source
mode takes up to 100,000 lines of them.
Times are those of the processor, children and the compile server included, the least of a few runs:
other work on the machine changes little.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.realcode import projects

REAL = Path(os.environ.get("KPROF_REALCODE", Path.home() / ".cache/kprof/realcode"))
ROOT = Path(__file__).resolve().parent.parent
RUNS = 5
MOST_FILES = 12
MOST_LINES = 100_000
SERVERS = Path("/nonexistent")
LAUNCHER = """\
#!{}
import re
import sys
from kprof.__main__ import main
if __name__ == '__main__':
    sys.argv[0] = re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])
    sys.exit(main())
"""


def spent() -> float:
    """Processor seconds of this process, its children and the compile servers so far."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return server_seconds(SERVERS) + sum(usage.ru_utime + usage.ru_stime for usage in usages)


def server_seconds(sockets: Path) -> float:
    """Processor seconds of the compile servers whose sockets are in this folder."""
    sessions = {lock.read_text().strip() for lock in sockets.glob("*.lock")}
    total = 0.0
    for process in Path("/proc").glob("[0-9]*") if sessions else ():
        try:
            if (process / "stat").read_text().rpartition(")")[2].split()[3] in sessions:
                total += int((process / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            continue
    return total


def installed(folder: Path) -> list[str]:
    """Make the command `kprof`, as pip installs it, in this folder."""
    script = folder / "kprof"
    script.write_text(LAUNCHER.format(sys.executable))
    script.chmod(0o755)
    return [str(script)]


def start_server(command: Sequence[str], folder: Path) -> None:
    """Compile something twice, which starts a compile server, and wait for it."""
    source = folder / "start.c"
    source.write_text("int start(void) { return 0; }\n")
    names = str(folder / "start.names")
    compile_ = [*command, "cc", "--names", names, "--", "gcc", "-c", str(source), "-o"]
    for _ in range(2):
        subprocess.run([*compile_, str(folder / "start.o")], check=True)
    for _ in range(100):
        if list(Path(os.environ["KPROF_SERVER"]).glob("cc-????????")):
            return
        time.sleep(0.1)


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
    """Time of `kprof cc -- gcc -O2 -Wall -Wextra -c` beside that of gcc alone.

    Cold: no function of the file was ever read. Warm: all were, and nothing has changed.
    """
    global SERVERS
    print("compiler mode: one file at a time, whole processes, -O2 -Wall -Wextra")
    print(
        f"{'file':<16}{'lines':>8}{'gcc':>10}{'cold':>10}{'adds':>7}{'warm':>10}{'adds':>7}"
        f"{'alone':>10}{'adds':>7}"
    )
    rows: list[tuple[float, ...]] = []
    with tempfile.TemporaryDirectory() as scratch:
        cache, SERVERS = Path(scratch, "cache"), Path(scratch, "s")
        os.environ |= {"KPROF_CACHE": str(cache), "KPROF_SERVER": str(SERVERS)}
        command = installed(Path(scratch))
        for path, options in files:
            gcc = ["gcc", "-O2", "-Wall", "-Wextra", "-c", *options, path.name]
            gcc += ["-o", f"{scratch}/x.o"]
            kprof = [*command, "cc", "--target", "soft", "--names", f"{scratch}/k.names", "--"]

            def compile_(command: list[str], path: Path = path) -> None:
                subprocess.run(command, cwd=path.parent, check=True, capture_output=True)

            def cold(command: list[str], compile_: Callable[..., None] = compile_) -> None:
                shutil.rmtree(cache, ignore_errors=True)
                compile_(command)

            def alone(command: list[str], compile_: Callable[..., None] = compile_) -> None:
                os.environ["KPROF_SERVER"] = ""
                compile_(command)
                os.environ["KPROF_SERVER"] = str(SERVERS)

            start_server(command, Path(scratch))
            runs = 2 if path.stat().st_size > 1_000_000 else RUNS
            ways = ((compile_, gcc), (cold, kprof + gcc), (compile_, kprof + gcc))
            row = [
                seconds(lambda way=way, what=what: way(what), runs)  # type: ignore[misc]
                for way, what in (*ways, (alone, kprof + gcc))
            ]
            lines = path.read_bytes().count(b"\n")
            ours = "".join(f"{took:>8.3f} s{took / row[0] - 1:>7.0%}" for took in row[1:])
            print(f"{path.name:<16}{lines:>8}{row[0]:>8.3f} s{ours}", flush=True)
            rows.append(tuple(row))
        SERVERS, os.environ["KPROF_SERVER"] = Path("/nonexistent"), ""
    for name, column in (("cold", 1), ("warm", 2), ("warm, without a server", 3)):
        median = statistics.median(row[column] / row[0] - 1 for row in rows)
        total = sum(row[column] for row in rows) / sum(row[0] for row in rows) - 1
        print(
            f"added, {name}: median {median:.0%}, of the sum {total:.0%} of gcc's time (goal 50%)"
        )


def project_sources() -> list[tuple[Path, list[str], str]]:
    """Return up to 100,000 lines of the fetched projects: files, their options, and folders."""
    found: dict[Path, tuple[Path, list[str], str]] = {}
    lines = 0
    for name in ("nethack", "lua", "zlib"):
        for unit in projects.units(name) if not projects.missing(name) else ():
            if unit.path.suffix == ".c" and unit.path not in found and lines < MOST_LINES:
                found[unit.path] = unit.path, list(unit.options), unit.cwd
                lines += unit.path.read_bytes().count(b"\n")
    return list(found.values())


def source_mode(files: Sequence[tuple[Path, list[str], str]]) -> None:
    """A first and a second run over all files beside `gcc -O2 -c`; parsers of the same files."""
    lines = sum(path.read_bytes().count(b"\n") for path, _, _ in files)
    with tempfile.TemporaryDirectory() as scratch:
        database = [
            {"directory": folder, "arguments": ["gcc", *options], "file": str(path)}
            for path, options, folder in files
        ]
        Path(scratch, "db.json").write_text(json.dumps(database))
        command = [
            sys.executable,
            "-m",
            "kprof",
            "instrument",
            *(str(path) for path, _, _ in files),
        ]
        command += ["-o", f"{scratch}/out", "--names", f"{scratch}/k.names", "--target", "soft"]
        command += ["--compile-commands", f"{scratch}/db.json"]
        environment = {**os.environ, "KPROF_CACHE": f"{scratch}/cache"}

        def ours() -> None:
            subprocess.run(command, check=True, capture_output=True, env=environment)

        def compiler() -> None:
            for path, options, folder in files:
                gcc = ["gcc", "-O2", "-w", "-c", *options, str(path), "-o", f"{scratch}/x.o"]
                subprocess.run(gcc, cwd=folder, check=True)

        plain, first, second = seconds(compiler, 1), seconds(ours, 1), seconds(ours, 2)
    print(
        f"source mode: {lines} lines; gcc -O2 -c {plain:.1f} s, first run {first:.1f} s, in two "
        f"processes {first / 2 / plain:.2f} of gcc's time (limit 1); second run {second:.2f} s, "
        f"{first / second:.1f} times faster (goal 5)"
    )
    rate = lines / first
    print(f"  kprof: {lines / first:,.0f} lines/s, {lines / second:,.0f} the second time")
    for name, peer in (("tree-sitter", tree_sitter), ("libclang", libclang)):
        found = peer(files)
        if found is None:
            print(f"  {name}: not installed (pip install 'kprof[bench]')")
            continue
        took, bad = found
        print(
            f"  {name}: {lines / took:,.0f} lines/s, parse alone, errors in {bad} of "
            f"{len(files)} files; kprof is {rate * took / lines:.2f} times as fast"
        )


def tree_sitter(files: Sequence[tuple[Path, list[str], str]]) -> tuple[float, int] | None:
    """Time to parse the text of these files, and in how many there were errors."""
    try:
        import tree_sitter
        import tree_sitter_c
    except ImportError:
        return None
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))
    texts = [path.read_bytes() for path, _, _ in files]
    took = seconds(lambda: [parser.parse(data) for data in texts], 3)
    return took, sum(parser.parse(data).root_node.has_error for data in texts)


def libclang(files: Sequence[tuple[Path, list[str], str]]) -> tuple[float, int] | None:
    """Time to parse these files with all that they include, and in how many there were errors."""
    try:
        import clang.cindex
    except ImportError:
        return None
    index = clang.cindex.Index.create()
    # Its package has no headers of the compiler's own (stddef.h).
    own = subprocess.check_output(["gcc", "-print-file-name=include"], text=True).strip()

    def parse() -> list[object]:
        return [
            index.parse(str(path), [*options, f"-working-directory={folder}", "-isystem", own])
            for path, options, folder in files
        ]

    took = seconds(parse, 2)
    bad = sum(any(d.severity >= 3 for d in unit.diagnostics) for unit in parse())  # type: ignore[attr-defined]
    return took, bad


def main() -> None:
    """Run all of it."""
    files = sources(sys.argv[1:])
    compiler_mode(files)
    own = [(path, options, str(path.parent)) for path, options in files]
    source_mode(own if sys.argv[1:] else project_sources() or own)


if __name__ == "__main__":
    main()
