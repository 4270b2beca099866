"""The projects' own tests: built plain, built instrumented, run, compared.

A suite is a pair of shell scripts. ``$CC`` is the compiler with or without kprof before it,
``$SRC`` the project, ``$HERE`` this folder; the working folder is new. What the tests print and
their exit codes must be the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.realcode import projects

HERE = Path(__file__).resolve().parent
EVENT_RAM = 0x10000000


@dataclass(frozen=True)
class Suite:
    """A project's tests.

    Parameters
    ----------
    build, run
        Shell scripts; ``$RUN`` stands before a program that may need an emulator.
    programs
        What the build makes, and the truth test looks for.
    longjmp
        The project leaves functions by longjmp.
    """

    name: str
    build: str
    run: str
    programs: tuple[str, ...]
    longjmp: bool = False


SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "zlib",
            """
            for f in $SRC/*.c $SRC/test/example.c $SRC/test/minigzip.c $SRC/test/infcover.c; do
                $CC -D_LARGEFILE64_SOURCE=1 -DHAVE_HIDDEN -I$SRC -c $f
            done
            lib=$(ls *.o | grep -v -e example -e minigzip -e infcover)
            for t in example minigzip infcover; do $LD -o $t $t.o $lib; done
            """,
            """
            $RUN ./example; echo $?
            $RUN ./infcover 2>&1; echo $?
            $RUN ./minigzip < $SRC/trees.c | $RUN ./minigzip -d | cmp - $SRC/trees.c; echo $?
            $RUN ./minigzip -9 < $SRC/ChangeLog | cksum
            """,
            ("infcover", "example"),
        ),
        Suite(
            "lua",
            """
            for f in $SRC/src/l*.c; do $CC -DLUA_COMPAT_5_3 -DLUA_USE_POSIX -c $f; done
            rm -f luac.o
            $LD -o lua *.o -lm
            """,
            "$RUN ./lua $HERE/exercise.lua 2>&1; echo $?",
            ("lua",),
            longjmp=True,
        ),
        Suite(
            "cjson",
            """
            mkdir -p tests
            cp -r $SRC/tests/inputs $SRC/tests/json-patch-tests tests/
            $CC -I$SRC -c $SRC/cJSON_Utils.c
            $CC -I$SRC/tests/unity/src -c $SRC/tests/unity/src/unity.c
            for f in $(grep -l common.h $SRC/tests/*.c); do
                b=$(basename $f .c)
                $CC -I$SRC/tests/unity/src -c $f
                $LD -o tests/$b $b.o unity.o cJSON_Utils.o -lm
            done
            """,
            """
            cd tests
            for t in *; do test -f $t -a -x $t || continue
                $RUN ./$t | sed 's/.*\\/tests/tests/'; echo $t $?
            done
            """,
            ("tests/misc_tests", "tests/parse_examples", "tests/json_patch_tests"),
            longjmp=True,
        ),
        Suite(
            "sqlite",
            """
            opt="-DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_MEMSYS5
            -DSQLITE_OSS_FUZZ -DSQLITE_MAX_MEMORY=50000000 -DSQLITE_PRINTF_PRECISION_LIMIT=1000
            -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_ENABLE_FTS5
            -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_GEOPOLY -DSQLITE_ENABLE_DBSTAT_VTAB
            -DSQLITE_ENABLE_BYTECODE_VTAB"
            for f in sqlite3.c test/fuzzcheck.c test/ossfuzz.c test/fuzzinvariants.c test/vt02.c \
                ext/recover/dbdata.c ext/recover/sqlite3recover.c; do
                $CC $opt -I$SRC -I$SRC/test -I$SRC/ext/recover -c $SRC/$f
            done
            $LD -o fuzzcheck *.o -lm
            """,
            """
            for n in ${DATA:-1 3 4 5 6 8}; do
                $RUN ./fuzzcheck $SRC/test/fuzzdata$n.db 2>&1 | sed 's/ in [0-9.]*.*//'
                echo $?
            done
            """,
            ("fuzzcheck",),
        ),
    )
}


@dataclass(frozen=True)
class Ran:
    """What a suite printed, and whether it could be built."""

    built: bool
    said: str


def build(
    suite: Suite,
    folder: Path,
    flags: str,
    *,
    kprof: str = "",
    compiler: str = "gcc",
    link: str = "",
) -> Ran:
    """Build a suite in a new folder.

    Parameters
    ----------
    flags
        Options of every compilation.
    kprof
        Options of ``kprof cc``; "" builds without.
    link
        Options and files of ours for the link.
    """
    folder.mkdir(parents=True)
    wrapper = f"{sys.executable} -m kprof cc {kprof} -- " if kprof else ""
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "SRC": str(projects.folder_of(suite.name)),
        "HERE": str(HERE),
        "CC": f"{wrapper}{compiler} {flags}",
        "LD": f"{compiler} {flags} {link}",
    }
    done = subprocess.run(
        ["nice", "sh", "-e", "-c", suite.build],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=3600,
    )
    return Ran(done.returncode == 0, done.stdout.decode("latin-1"))


def run(suite: Suite, folder: Path, *, emulator: str = "", data: str = "") -> str:
    """Run a suite that is built; return all that it printed."""
    environment = {
        **os.environ,
        "LC_ALL": "C",
        "TZ": "UTC",
        "SRC": str(projects.folder_of(suite.name)),
        "HERE": str(HERE),
        "RUN": emulator,
        "DATA": data,
    }
    done = subprocess.run(
        ["nice", "sh", "-c", suite.run],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=7200,
    )
    return done.stdout.decode("latin-1").replace(str(folder), "")


def compile_own(name: str, folder: Path, compiler: str = "gcc") -> str:
    """Compile a C file of this folder plainly; return the object's path."""
    out = folder / f"{name}.o"
    subprocess.run([compiler, "-O", "-c", str(HERE / f"{name}.c"), "-o", str(out)], check=True)
    return str(out)


@dataclass(frozen=True)
class Counts:
    """What one run counted: calls by function name, by kprof's events and by gcc's hooks."""

    entries: Counter[str]
    exits: Counter[str]
    hooked_in: Counter[str]
    hooked_out: Counter[str]
    unwound: int
    orphans: int
    open: int


def read_counts(path: Path, program: Path, names: dict[int, str]) -> Counts:
    """Read what `counting.c` wrote; addresses are looked up with nm, tags in the name file."""
    listed = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True)
    symbols = {
        int(fields[0], 16): re.sub(r"\\.\\w+$", "", fields[2])
        for line in listed.stdout.splitlines()
        if len(fields := line.split()) == 3 and fields[1] in "tTwW"
    }
    tables: dict[str, Counter[str]] = {key: Counter() for key in ("entry", "exit", "in", "out")}
    nesting = (0, 0, 0)
    for line in path.read_text().splitlines():
        kind, *fields = line.split()
        if kind == "tag":
            tag, count = int(fields[0]), int(fields[1])
            name = names.get(tag & ~1, f"?{tag}").rpartition(":")[2].rpartition(".")[2]
            tables["exit" if tag & 1 else "entry"][name] += count
        elif kind == "nesting":
            nesting = (int(fields[0]), int(fields[1]), int(fields[2]))
        else:
            tables[kind][symbols.get(int(fields[0], 16), f"?{fields[0]}")] += int(fields[1])
    return Counts(tables["entry"], tables["exit"], tables["in"], tables["out"], *nesting)
