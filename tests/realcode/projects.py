"""The fetched projects: how each is built, and the compilations that its build made.

A project is built once, in the cache folder, with the compiler replaced by `record.py`; the
compilations that succeeded are its *units*. Nothing here knows kprof.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
FETCH = HERE.parents[1] / "tools" / "fetch-real-code.py"
_COMPILERS = ("cc", "gcc", "m68k-linux-gnu-gcc")
_DG_OPTIONS = re.compile(r'\{ dg-(?:additional-)?options "?\{?([^"{}]*?)\}?"?([^"{}]*)\}')
_UNITS = ".units.json"


@dataclass(frozen=True)
class Unit:
    """One compilation: a C file and the compiler's options for it.

    Parameters
    ----------
    cwd
        The folder that the compiler ran in.
    compiler
        Its name, as the build called it.
    options
        Every argument but the file, ``-c`` and ``-o FILE``, dependency options dropped.
    source
        The C file, relative to `cwd` or absolute.
    """

    cwd: str
    compiler: str
    options: tuple[str, ...]
    source: str

    @property
    def path(self) -> Path:
        """The C file, absolute."""
        return Path(self.cwd, self.source)


@dataclass(frozen=True)
class Project:
    """A fetched project.

    Parameters
    ----------
    name
        Its folder in the cache.
    build
        Shell commands, run in its folder; with the recording compilers first in ``PATH``.
    needs
        Programs without which it cannot be built.
    files
        Files of ours that it is built with: path and text.
    also
        More options for each of its units.
    folder
        The name of its folder, where that is not its own.
    sources
        Of a collection of single files: which ones; each is a unit with the options in it.
    """

    name: str
    build: tuple[str, ...]
    needs: tuple[str, ...] = ()
    files: dict[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    folder: str = ""


_M68K = "m68k-linux-gnu-gcc"

# Their headers ask that no inline function is instrumented, which would leave little to look at.
_EVERY_INLINE = ("-Dno_instrument_function=unused", "-D__no_instrument_function__=__unused__")

_NETHACK = (
    "gcc -O -I../include -include sys/cdefs.h -DNOTPARMDECL -DDLB -DSYSCF "
    """-DHACKDIR='"/games"' -DCOMPRESS='"/bin/gzip"' -DCOMPRESS_EXTENSION='".gz"'"""
)

# The part of lwIP that a port writes.
_LWIP = {
    "port/arch/cc.h": "#include <stdint.h>\n#include <sys/time.h>\n#include <errno.h>\n"
    "#define LWIP_TIMEVAL_PRIVATE 0\n#include <stdio.h>\n#include <stdlib.h>\n"
    "#define LWIP_PLATFORM_DIAG(x) do { printf x; } while (0)\n"
    "#define LWIP_PLATFORM_ASSERT(x) do { puts(x); abort(); } while (0)\n"
    "#define LWIP_RAND() ((u32_t)rand())\n",
    "port/lwipopts.h": "#define NO_SYS 0\n#define LWIP_IPV6 1\n#define LWIP_SNMP 1\n"
    "#define MIB2_STATS 1\n#define LWIP_DHCP 1\n#define LWIP_AUTOIP 1\n#define LWIP_IGMP 1\n"
    "#define LWIP_DNS 1\n#define PPP_SUPPORT 1\n#define PPPOS_SUPPORT 1\n#define LWIP_DEBUG 1\n"
    "#define LWIP_NETCONN_FULLDUPLEX 0\n#define LWIP_COMPAT_MUTEX 1\n"
    "#define ETHARP_DEBUG LWIP_DBG_ON\n"
    "#define TCP_DEBUG LWIP_DBG_ON\n#define SYS_LIGHTWEIGHT_PROT 1\n#define LWIP_NETIF_API 1\n"
    "#define MEMP_NUM_TCP_PCB 16\n#define CHAP_SUPPORT 1\n#define EAP_SUPPORT 1\n"
    "#define LWIP_RAW 1\n",
    "port/arch/sys_arch.h": "typedef void *sys_sem_t;\ntypedef void *sys_mbox_t;\n"
    "typedef void *sys_thread_t;\ntypedef unsigned long sys_prot_t;\n#define SYS_MBOX_NULL NULL\n"
    "#define SYS_SEM_NULL NULL\n#define sys_sem_valid(s) (*(s) != NULL)\n"
    "#define sys_sem_set_invalid(s) (*(s) = NULL)\n#define sys_mbox_valid(m) (*(m) != NULL)\n"
    "#define sys_mbox_set_invalid(m) (*(m) = NULL)\n",
}

PROJECTS: dict[str, Project] = {
    project.name: project
    for project in (
        Project("zlib", ("./configure --static", "make -j2 all", "make infcover")),
        Project("lua", ("make -C src -j2 linux",)),
        Project(
            "cjson",
            (
                "for f in cJSON.c cJSON_Utils.c test.c tests/unity/src/unity.c; do gcc -std=c89 "
                "-Wall -Wextra -pedantic -O -c $f -o /dev/null; done",
                "for f in tests/*.c; do gcc -Wall -O -I. -Itests -Itests/unity/src -c $f "
                "-o /dev/null; done",
            ),
        ),
        Project("unzip", ("make -f unix/Makefile generic CC=gcc",)),
        Project(
            "nethack",
            (
                "cd sys/unix && sh setup.sh hints/linux",
                f"cd util && for f in makedefs.c ../src/monst.c ../src/objects.c; do {_NETHACK} "
                "-c $f; done; gcc -o makedefs makedefs.o monst.o objects.o",
                "cd util && for o in o p v; do ./makedefs -$o; done",
                "cd src && for f in *.c ../sys/unix/*.c ../sys/share/*.c ../win/tty/*.c "
                f"../util/*.c; do {_NETHACK} -c $f -o /dev/null; done",
            ),
        ),
        Project(
            "bsdgames",
            (
                "echo bsd_games_cfg_non_interactive=y > config.params; ./configure",
                "for f in */pathnames.h.in */*/pathnames.h.in; do "
                "sed 's/@[a-z_]*@/x/' $f > ${f%.in}; done",
                "cd hack && gcc -w -o makedefs makedefs.c && ./makedefs def.objects.h "
                "> hack.onames.h",
                "top=$PWD; for f in */*.c */*/*.c; do (cd ${f%/*} && gcc -O -D_DEFAULT_SOURCE "
                "-DSIGNAL_TYPE=void -I. -I$top/include "
                "-I$top/lib/include -c ${f##*/} -o /dev/null); done",
            ),
        ),
        Project("dash", ("./configure || sh autogen.sh && ./configure", "make -j2")),
        Project(
            "lwip",
            (
                "for f in $(find src -name '*.c'); do gcc -Wall -O2 -Isrc/include -Iport "
                "-c $f -o /dev/null; done",
            ),
            files=_LWIP,
        ),
        Project("busybox", ("make defconfig", "make -k -j2")),
        Project(
            "newlib",
            (
                "mkdir -p build && cd build && ../newlib/configure --host=m68k-unknown-elf "
                f"CC='{_M68K} -ffreestanding -m68020' AR=m68k-linux-gnu-ar "
                "RANLIB=m68k-linux-gnu-ranlib "
                "AS=m68k-linux-gnu-as && make -k -j2",
            ),
            needs=(_M68K,),
        ),
        Project("musl", ("./configure", "make -k -j2")),
        Project(
            "dietlibc",
            (
                "make include/errno_definition.h",
                "for f in lib/*.c libugly/*.c libstdio/*.c libcruft/*.c libshell/*.c; "
                "do gcc -O -nostdinc -Iinclude -D__dietlibc__ -I. -c $f -o /dev/null; done",
            ),
        ),
        Project(
            "sqlite",
            (
                "./configure --disable-tcl",
                "make sqlite3.c shell.c",
                "gcc -O2 -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_JSON1 "
                "-DSQLITE_ENABLE_GEOPOLY -DSQLITE_ENABLE_SESSION -DSQLITE_ENABLE_PREUPDATE_HOOK "
                "-c sqlite3.c -o /dev/null",
                "gcc -O2 -c shell.c -o /dev/null",
                "for f in ext/misc/*.c ext/lsm1/*.c; do gcc -O2 -I. -c $f -o /dev/null; done",
            ),
            needs=("tclsh",),
        ),
        Project(
            "u-boot",
            (
                "make CROSS_COMPILE=m68k-linux-gnu- M5208EVBE_defconfig",
                "make -k -j2 CROSS_COMPILE=m68k-linux-gnu- u-boot",
            ),
            needs=(_M68K, "flex", "bison"),
            also=_EVERY_INLINE,
        ),
        Project(
            "linux",
            (
                "make ARCH=m68k CROSS_COMPILE=m68k-linux-gnu- multi_defconfig",
                "make -k -j2 ARCH=m68k CROSS_COMPILE=m68k-linux-gnu- init/ kernel/ mm/ ipc/ lib/ "
                "block/ arch/m68k/kernel/ arch/m68k/mm/ arch/m68k/amiga/ arch/m68k/atari/ "
                "fs/ext2/ fs/ext4/ fs/nfs/ fs/proc/ net/core/ net/ipv4/ net/ipv6/ net/sched/ "
                "drivers/net/ethernet/ drivers/tty/ drivers/scsi/ drivers/base/ crypto/ "
                "security/",
            ),
            needs=(_M68K, "flex", "bison", "bc"),
            also=_EVERY_INLINE,
        ),
        Project("torture", (), sources=("gcc/testsuite/gcc.c-torture/**/*.c",)),
        Project("gcc.dg", (), sources=("gcc/testsuite/gcc.dg/**/*.c",), folder="torture"),
    )
}


def cache_folder() -> Path:
    """Return the folder of the fetched projects, as the fetch script says."""
    done = subprocess.run([sys.executable, str(FETCH), "--where"], capture_output=True, text=True)
    return Path(done.stdout.strip())


def folder_of(name: str) -> Path:
    """Return the folder that a project is fetched to."""
    project = PROJECTS.get(name)
    return cache_folder() / ((project.folder if project else "") or name)


def missing(name: str) -> str | None:
    """Say why a project cannot be tried here; None: it can."""
    folder = folder_of(name)
    if not (folder / ".fetched").is_file():
        return f"{name} is not fetched (tools/fetch-real-code.py {folder.name})"
    project = PROJECTS.get(name)
    for program in project.needs if project else ():
        if shutil.which(program) is None:
            return f"{name} needs {program} to be built"
    return None


def units(name: str) -> list[Unit]:
    """Return the compilations of a project; builds it the first time."""
    project, folder = PROJECTS[name], folder_of(name)
    if project.sources:
        return list(_single_files(project, folder))
    noted = folder / _UNITS
    if not noted.is_file():
        _build(project, folder, noted)
    return [
        Unit(row["cwd"], row["compiler"], (*row["options"], *project.also), row["source"])
        for row in json.loads(noted.read_text())
    ]


def _single_files(project: Project, folder: Path) -> Iterator[Unit]:
    for pattern in project.sources:
        for path in sorted(folder.glob(pattern)):
            yield Unit(str(path.parent), "gcc", (*own_options(path), "-w"), path.name)


def own_options(path: Path) -> list[str]:
    """Return the compiler options that a test of gcc's asks for in its comments."""
    text = path.read_text("latin-1")
    found: list[str] = []
    for options, condition in _DG_OPTIONS.findall(text):
        if not condition.strip():
            found += options.split()
    return [option for option in found if not option.startswith(("-fdump", "-save", "-M", "-E"))]


def _build(project: Project, folder: Path, noted: Path) -> None:
    for path, text in project.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    tools = folder / ".compilers"
    tools.mkdir(exist_ok=True)
    for name in _COMPILERS:
        link = tools / name
        if not link.exists():
            shutil.copy(HERE / "record.py", link)
            link.chmod(0o755)
    log = folder / ".commands.jsonl"
    log.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "REALCODE_LOG": str(log),
        "LC_ALL": "C",
    }
    environment.pop("MAKEFLAGS", None)
    environment.pop("CC", None)
    with (folder / ".build.log").open("w") as output:
        for command in project.build:
            subprocess.run(
                ["nice", "sh", "-c", command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=7200,
            )
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
    found = dict.fromkeys(unit for row in rows for unit in units_of(row["cwd"], row["argv"]))
    noted.write_text(
        json.dumps(
            [
                {"cwd": u.cwd, "compiler": u.compiler, "options": u.options, "source": u.source}
                for u in found
            ],
            indent=0,
        )
    )


def units_of(cwd: str, argv: list[str]) -> Iterator[Unit]:
    """Yield the compilations in one call of a compiler driver."""
    options: list[str] = []
    sources: list[str] = []
    arguments = iter(argv[1:])
    for argument in arguments:
        if argument in ("-E", "-M", "-MM", "-v", "--version", "-dumpversion"):
            return
        if argument in ("-c", "-S", "-MD", "-MMD", "-MP", "-MG") or argument.startswith(
            ("-Wp,-MD", "-Wp,-MMD", "-Wp,-MT", "-l", "-L", "-Wl,", "-print", "-Wa,-ahl")
        ):
            continue
        if argument in ("-o", "-MF", "-MT", "-MQ"):
            next(arguments, None)
        elif argument in (
            "-include",
            "-isystem",
            "-I",
            "-D",
            "-U",
            "-idirafter",
            "-imacros",
            "-x",
            "-iquote",
            "--param",
            "-isysroot",
            "-T",
            "-u",
            "-A",
        ):
            options += [argument, next(arguments, "")]
        elif argument.startswith("-") or argument.endswith((".o", ".a", ".so", ".lds")):
            if argument.startswith("-"):
                options.append(argument)
        elif argument.endswith(".c"):
            sources.append(argument)
    if "assembler-with-cpp" in options:
        return
    for source in sources:
        if Path(source).name != "conftest.c" and Path(cwd, source).is_file():
            yield Unit(cwd, argv[0], tuple(options), source)


def main() -> None:
    """Build the named projects, or all that can be; print how many units each has."""
    for name in sys.argv[1:] or PROJECTS:
        reason = missing(name)
        print(f"{name}: {reason or f'{len(units(name))} units'}", flush=True)


if __name__ == "__main__":
    main()
