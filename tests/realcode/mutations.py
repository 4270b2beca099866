"""Damage done to real C: what an instrumenter may refuse, but must not trip over.

    python -m tests.realcode.mutations [--count N] [--seed S]

Each mutation of a real file goes through source mode and compiler mode in this process. Allowed
are a result whose edits can be taken out again to the byte, and an error of kprof's own with
nothing written. A traceback, a longer wait than `LIMIT_S`, and a file left behind are faults.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from tests.realcode import projects

from kprof.errors import KprofError
from kprof.instrument.compiler_settings import Compiling
from kprof.instrument.edits import remove_edits
from kprof.instrument.job import Job
from kprof.instrument.job import run as run_job
from kprof.instrument.planting import instrument_unit
from kprof.instrument.shadow import decode
from kprof.instrument.targets import find_target

LIMIT_S = 20
PIECES = [
    *"(){}[];,\"'\\#*&=<>:?/\n\r\t\0\xff",
    "/*", "*/", "//", "\\\n", "??/\n", "<%", "%>", "<:", ":>", "%:", "??<", "??>", "??=",
    "#if 0\n", "\n#if X\n", "\n#else\n", "\n#elif Y\n", "\n#endif\n", "\n#define F(x) {\n",
    "\n#include <a.h>\n", "\n#line 7 \"x\"\n", "\n# 1 \"x.h\" 3\n",
    "\n#pragma STDC FP_CONTRACT ON\n",
    " return ", " return", "return;", " if ", " else ", " switch ", " case 1: ", " do ", " while ",
    " struct s ", " union ", " enum { A } ", " typedef int ", " static ", " extern \"C\" { ",
    " inline ", " __attribute__((", "))", " __attribute__((cleanup(f))) ", " asm(\"\") ",
    " __asm__ volatile (", " __extension__ ", " typeof(", " _Generic(", " __label__ l;", " ({ ",
    " }) ", " [[", "]] ", " f(a, b) int a; { ", " int f(void) { ", " int (*f(int a))(void) { ",
    "u8\"x\"", "L'", "R\"x(", "/*kprof<*/", "/*>kprof*/", "/*kprof<return*/", " kprof_1024 ",
    " kprof_t ", "PROFILE(", "PROFILE(x)", "0x1p3", "1'000", "'\\''", "\"\\\"\"", "...", "->", "##",
    "__VA_ARGS__", "\x0c", "\xe9", "\u00a0",
]  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """What went wrong, with the text that did it."""

    file: str
    mode: str
    what: str
    text: str


def mutate(text: str, random_: random.Random) -> str:
    """Damage a text in one to six places."""
    for _ in range(random_.choice((1, 1, 1, 2, 3, 6))):
        at = random_.randrange(len(text) + 1)
        length = random_.choice((1, 1, 2, 5, 20, 200, 2000))
        kind = random_.randrange(7)
        if kind == 0:
            text = text[:at] + text[at + length :]
        elif kind in (1, 2):
            text = text[:at] + random_.choice(PIECES) + text[at:]
        elif kind == 3:
            text = text[:at] + text[at : at + length] + text[at:]
        elif kind == 4:
            piece = text[at : at + length]
            there = random_.randrange(len(text) + 1)
            text = text[:there] + piece + text[there:]
        elif kind == 5:
            text = text[:at] + chr(random_.randrange(256)) + text[at + 1 :]
        elif random_.random() < 0.2:
            text = text[:at]
        else:
            text = text[:at] + "".join(random_.choice(PIECES) for _ in range(8)) + text[at:]
    return text


def seeds(names: Sequence[str], largest: int) -> list[tuple[str, str, str]]:
    """Return the file, its text and its preprocessed text of the units to damage."""
    found: dict[str, tuple[str, str, str]] = {}
    for name in names:
        for unit in projects.units(name):
            if str(unit.path) in found or unit.path.stat().st_size > largest:
                continue
            command = [unit.compiler, *unit.options, "-E", unit.source]
            done = subprocess.run(command, cwd=unit.cwd, capture_output=True)
            if done.returncode == 0:
                raw = decode(unit.path.read_bytes())
                found[str(unit.path)] = (str(unit.path), raw, decode(done.stdout))
    return list(found.values())


class _TooLongError(BaseException):
    """Not an Exception, so that nobody catches it by the way."""


def _stop(_: int, __: FrameType | None) -> None:
    raise _TooLongError


def faults(
    files: Sequence[tuple[str, str, str]],
    count: int,
    seed: int,
    folder: Path,
    damage: Callable[[str, random.Random], str] = mutate,
) -> Iterator[Fault | None]:
    """Yield for each of `count` mutations what was wrong with kprof's answer, or None."""
    random_ = random.Random(seed)
    before = signal.signal(signal.SIGALRM, _stop)
    try:
        for number in range(count):
            file, raw, unit = random_.choice(files)
            mode = random_.choice(("source", "source", "cc"))
            strategy = random_.choice(("cleanup", "returns"))
            text = damage(raw if mode == "source" else unit, random_)
            signal.alarm(LIMIT_S)
            try:
                what = _tried(text, mode, strategy, folder / str(number % 8))
            except KprofError as refused:
                what = "" if str(refused).strip() else "refused without a word"
            except _TooLongError:
                what = f"took over {LIMIT_S} s"
            except Exception:
                what = traceback.format_exc()
            finally:
                signal.alarm(0)
            yield Fault(file, f"{mode} {strategy}", what, text) if what else None
    finally:
        signal.signal(signal.SIGALRM, before)


def _tried(text: str, mode: str, strategy: str, folder: Path) -> str:
    """Instrument one text; return what is wrong with the answer, or ""."""
    folder.mkdir(exist_ok=True)
    source, out, names = folder / "unit.c", folder / "out", folder / "unit.names"
    copy = out / "unit.c"
    for path in (copy, names):
        path.unlink(missing_ok=True)
    if mode == "cc":
        target = find_target("soft", strategy=strategy)
        instrument_unit(text, "unit.c", Compiling(target, names), [])
        return ""
    source.write_bytes(text.encode("latin-1", "replace"))
    job = Job(
        [source], output=str(out), names=names, target="soft", strategy=strategy, compiler="none"
    )
    try:
        run_job(job)
    except KprofError:
        if copy.exists():
            return "refused, but left an output"
        raise
    if not copy.exists():
        return "no error and no output"
    if remove_edits(decode(copy.read_bytes())) != decode(source.read_bytes()):
        return "its edits taken out do not give the source"
    return ""


def main() -> None:
    """Damage files; print each fault once, and the pace."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--largest", type=int, default=40_000)
    parser.add_argument("names", nargs="*", default=["zlib", "lua", "cjson"])
    options = parser.parse_args()
    files = seeds(options.names, options.largest)
    seen: set[str] = set()
    start = time.monotonic()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, fault in enumerate(faults(files, options.count, options.seed, Path(folder)), 1):
            if fault:
                wrong += 1
                if fault.what not in seen:
                    seen.add(fault.what)
                    kept = Path(f"mutation-{options.seed}-{number}.c")
                    kept.write_text(fault.text, "latin-1", "replace")
                    print(f"{fault.file} ({fault.mode}), kept as {kept}: {fault.what}", flush=True)
    took = time.monotonic() - start
    print(f"{options.count} mutations of {len(files)} files, {wrong} faults, {took:.0f} s")


if __name__ == "__main__":
    main()
