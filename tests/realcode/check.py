"""Hold kprof against gcc, unit by unit, and add up what was seen.

    python -m tests.realcode.check [--mode cc|source] [--levels O0,O2] [--limit N] [NAME ...]

For each unit that the compiler accepts as it is: gcc's list of its functions, the same list as gcc
sees it in the instrumented unit, whether that compiles at each level, and the warnings that
are new. Whatever differs is listed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.realcode import projects
from tests.realcode.oracle import (
    Compiled,
    Definition,
    definitions,
    left_alone,
    run,
    system_files,
    triggered,
)
from tests.realcode.projects import Unit

from kprof.names import read_names
from kprof.names.calls import read_calls

KPROF = (sys.executable, "-m", "kprof")
_SHOWN = 30
_SYSTEM = ("/usr/", "<")


@dataclass
class Verdict:
    """What was seen of one unit.

    Attributes
    ----------
    accepted
        The compiler takes the unit as it is.
    functions, instrumented
        gcc's definitions outside system headers; those of them that begin with their own trigger.
    left_alone
        Definitions in system headers, or with attributes that keep triggers out; not among
        `functions`.
    unlisted
        Definitions without a trigger that kprof did not name: the fault this whole folder is for.
    listed
        What kprof said of the others.
    unread
        Functions that were planted without the parser, although this configuration has them.
    misread
        Definitions whose line or storage in the call knowledge is not gcc's.
    broken, noisy
        Levels at which the instrumented unit does not compile, or has new warnings; and the text.
    """

    unit: Unit
    accepted: bool = False
    functions: int = 0
    left_alone: int = 0
    instrumented: int = 0
    unlisted: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    misread: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    noisy: list[str] = field(default_factory=list)


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C", "CCACHE_DISABLE": "1"}


def check_cc(unit: Unit, levels: Sequence[str]) -> Verdict:
    """Hold compiler mode against gcc on one unit."""
    verdict = Verdict(unit)
    environment = _environment()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        done, found, dumped = definitions(unit, (f"-{levels[-1]}", "-w"), scratch, environment)
        verdict.accepted = done.code == 0
        if not verdict.accepted:
            return verdict
        names = scratch / "unit.names"
        prefix = [*KPROF, "cc", "--target", "soft", "--names", str(names), "--"]
        said = ""
        for level in levels:
            dump = scratch / f"dump{level}"
            tail = [f"-{level}", "-S", unit.source, "-o", str(scratch / "unit.s")]
            extra = [f"-fdump-tree-original={dump}"] if level == levels[-1] else []
            plain = [unit.compiler, *unit.options, *tail]
            after = run([*prefix, *plain[:1], *extra, *plain[1:]], unit.cwd, environment)
            said = after.said
            if after.code or after.warnings:
                _compare(verdict, level, run(plain, unit.cwd, environment), after)
        fires = triggered(scratch / f"dump{levels[-1]}")
        _count(
            verdict,
            found,
            dumped,
            fires,
            names,
            said,
            lambda: _exempt(unit, levels[-1], scratch),
        )
    return verdict


def check_source(unit: Unit, levels: Sequence[str]) -> Verdict:
    """Hold source mode against gcc on one unit: the functions of its main file."""
    verdict = Verdict(unit)
    environment = _environment()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        done, found, _ = definitions(unit, (f"-{levels[-1]}", "-w"), scratch, environment)
        verdict.accepted = done.code == 0
        if not verdict.accepted:
            return verdict
        found = [one for one in found if Path(unit.cwd, one.file) == unit.path]
        names, out = scratch / "unit.names", scratch / "out"
        database = scratch / "compile_commands.json"
        arguments = [unit.compiler, *unit.options, f"-{levels[-1]}", "-c", unit.source]
        database.write_text(
            json.dumps([{"directory": unit.cwd, "arguments": arguments, "file": unit.source}])
        )
        command = [*KPROF, "instrument", unit.source, "-o", str(out), "--target", "soft"]
        command += ["--names", str(names), "--compile-commands", str(database)]
        ran = run(command, unit.cwd, environment)
        made = list(out.rglob("*.c"))
        if len(made) != 1:
            verdict.functions = len(found)
            verdict.broken.append(f"refused: {ran.said.strip()[-400:]}")
            return verdict
        # Beside the original, where what it includes is found in the same order.
        copy = unit.path.with_name(f"kprof-{os.getpid()}-{scratch.name}.c")
        shutil.copyfile(made[0], copy)
        try:
            for level in levels:
                dump = scratch / f"dump{level}"
                tail = [f"-{level}", "-o", str(scratch / "unit.s"), "-S"]
                plain = [unit.compiler, *unit.options, *tail, unit.source]
                extra = [f"-fdump-tree-original={dump}"] if level == levels[-1] else []
                again = [unit.compiler, *unit.options, *extra, *tail]
                again.append(str(Path(unit.source).with_name(copy.name)))
                after = run(again, unit.cwd, environment)
                after = Compiled(after.code, after.said.replace(copy.name, unit.path.name))
                if after.code or after.warnings:
                    _compare(verdict, level, run(plain, unit.cwd, environment), after)
        finally:
            copy.unlink()
        fires = triggered(scratch / f"dump{levels[-1]}")
        _count(
            verdict,
            found,
            [],
            fires,
            names,
            ran.said,
            lambda: _exempt(unit, levels[-1], scratch),
        )
    return verdict


def _compare(verdict: Verdict, level: str, plain: Compiled, after: Compiled) -> None:
    if plain.code:
        return  # the compiler does not take the original at this level either
    if after.code:
        verdict.broken.append(f"-{level}: {_first_error(after.said)}")
        return
    new = _by_text(after) - _by_text(plain)
    if new:
        verdict.noisy.append(f"-{level}: {', '.join(sorted(new))[:300]}")


def _by_text(compiled: Compiled) -> Counter[str]:
    counted: Counter[str] = Counter()
    for (file, line, text), count in compiled.warnings.items():
        counted[f"{Path(file).name}:{line}: {text}"] += count
    return counted


def _first_error(said: str) -> str:
    lines = said.strip().splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else "?")[:300]


def _count(
    verdict: Verdict,
    found: list[Definition],
    dumped: list[str],
    fires: list[tuple[str, int | None]],
    names: Path,
    said: str,
    exempt: Callable[[], tuple[set[str], set[str]]],
) -> None:
    own = [one for one in found if not one.file.startswith(_SYSTEM)]
    verdict.functions = len(own)
    if verdict.broken:
        return
    if dumped and Counter(dumped) != Counter(name for name, _ in fires):
        verdict.broken.append("the instrumented unit has other functions than the original")
    verdict.unread = _unread(said, {f"{one.line}: {one.name}" for one in own})
    known = read_calls(names)
    facts = known.functions.items() if known else ()
    places = {(_base(name), fact.line, fact.static) for name, fact in facts}
    # A nested function is static in the knowledge; gcc writes none of it.
    verdict.misread = [
        f"{one.file}:{one.line}: {one.name}: gcc says {'static' if one.static else 'not static'}"
        for one in own
        if not {(one.name, one.line, one.static), (one.name, one.line, True)} & places
    ]
    entries = {e.value: e.name for e in read_names(names).entries} if names.exists() else {}
    good = Counter(
        name for name, tag in fires if tag is not None and _base(entries.get(tag, "")) == name
    )
    missing: list[Definition] = []
    for one in own:
        if good[one.name] > 0:
            good[one.name] -= 1
            verdict.instrumented += 1
        else:
            missing.append(one)
    asked, system = exempt() if missing else (set(), set())
    for one in missing:
        if one.name in asked or one.file in system:
            verdict.functions -= 1
            verdict.left_alone += 1
            continue
        line = next((line for line in said.splitlines() if f" {one.name}: " in line), "")
        where = f"{one.file}:{one.line}: {one.name}"
        (verdict.listed if line else verdict.unlisted).append(line or where)


def _unread(said: str, defined: set[str]) -> list[str]:
    """What kprof read without the parser of what the compiler compiles.

    Source mode gives triggers to functions in branches that the configuration leaves out too; they
    are read as they stand, and some make no sense to a parser without their macros.
    """
    unread = []
    for line in said.splitlines():
        head, found, tail = line.partition("read without the parser: ")
        if not found:
            continue
        if head.endswith("functions ") and " more" not in tail:  # source mode's list
            some = (item.partition(":")[2] for item in tail.split(", "))  # FILE:LINE: NAME
            unread += [place for place in some if place in defined]
        else:
            unread.append(line)
    return unread


def _exempt(unit: Unit, level: str, scratch: Path) -> tuple[set[str], set[str]]:
    """Functions that want no triggers, and files whose functions are not asked for."""
    environment = _environment()
    asked = left_alone(unit, (f"-{level}",), scratch, environment)
    return asked, system_files(unit, scratch, environment)


def _base(name: str) -> str:
    return name.rpartition(":")[2].rpartition(".")[2]


def check_all(
    units: Iterable[Unit], levels: Sequence[str], mode: str, workers: int = 2
) -> list[Verdict]:
    """Check units, a few at a time."""
    check = {"cc": check_cc, "source": check_source}[mode]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda unit: check(unit, levels), units))


def summary(name: str, verdicts: Sequence[Verdict]) -> str:
    """One line of a table for a project."""
    accepted = [verdict for verdict in verdicts if verdict.accepted]
    total = sum(verdict.functions for verdict in accepted)
    done = sum(verdict.instrumented for verdict in accepted)
    listed = sum(len(verdict.listed) for verdict in accepted)
    broken = sum(bool(verdict.broken) for verdict in accepted)
    noisy = sum(bool(verdict.noisy) for verdict in accepted)
    share = 100 * done / total if total else 100.0
    return (
        f"{name:<10} {len(accepted):>5} {total:>7} {done:>7} {share:>8.3f} % {listed:>6} "
        f"{total - done - listed:>8} {broken:>7} {noisy:>8} "
        f"{sum(len(verdict.unread) for verdict in accepted):>6} "
        f"{sum(len(verdict.misread) for verdict in accepted):>7}"
    )


HEADER = (
    f"{'project':<10} {'units':>5} {'defined':>7} {'planted':>7} {'':>10} {'listed':>6} "
    f"{'unlisted':>8} {'broken':>7} {'warnings':>8} {'unread':>6} {'misread':>7}"
)


def main() -> None:
    """Check whole projects; print a line each and list what differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--mode", choices=("cc", "source"), default="cc")
    parser.add_argument("--levels", default="O2")
    parser.add_argument("--limit", type=int, default=0, help="every so many units only, to N")
    parser.add_argument("--options", default="", help="more options for the compiler")
    parser.add_argument("--out", type=Path, help="write every verdict there, as JSON lines")
    options = parser.parse_args()
    print(HEADER)
    everything: list[Verdict] = []
    for name in options.names or projects.PROJECTS:
        if reason := projects.missing(name):
            print(f"{name:<10} {reason}")
            continue
        units = projects.units(name)
        if options.limit and len(units) > options.limit:
            units = units[:: -(-len(units) // options.limit)]
        more = tuple(options.options.split())
        units = [Unit(u.cwd, u.compiler, u.options + more, u.source) for u in units]
        verdicts = check_all(units, options.levels.split(","), options.mode)
        everything += verdicts
        print(summary(name, verdicts), flush=True)
        said = [
            f"    {verdict.unit.source}: {text}"
            for verdict in verdicts
            for text in (
                *verdict.broken,
                *verdict.noisy,
                *verdict.unlisted,
                *verdict.listed,
                *verdict.unread,
                *verdict.misread,
            )
        ]
        print("\n".join([*said[:_SHOWN], *(["    ..."] if len(said) > _SHOWN else [])]), flush=True)
        if options.out:
            with options.out.open("a") as stream:
                for verdict in verdicts:
                    stream.write(json.dumps({**vars(verdict), "unit": vars(verdict.unit)}) + "\n")
    print(summary("all", everything))


if __name__ == "__main__":
    main()
