#!/usr/bin/env python3
"""Fetch C that others wrote, for the tests of tests/realcode.

    tools/fetch-real-code.py                 the small set (zlib, lua, cjson, lwip)
    tools/fetch-real-code.py --set all       every project, about 350 MB to fetch
    tools/fetch-real-code.py zlib unzip      these projects

The sources are Debian source packages, had through the machine's own apt from the mirrors that it
is set up with, checked by apt against the signed index. Nothing of the system is changed: apt
works on a configuration and lists of its own in the cache folder, and root is not needed. The
folder is ``$KPROF_REALCODE``, else ``~/.cache/kprof/realcode``; a project that is there is not
fetched again. Nothing that is fetched belongs into the repository.

Standard library only. Exit 0: everything asked for is there; 1: something is not.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """One project: the Debian source package it comes from and the files of it that are wanted."""

    package: str
    about: str
    keep: Callable[[str], bool] = bool


def _torture(path: str) -> bool:
    return "/gcc.c-torture/" in path or "/gcc.dg/" in path


# The kernel without what no configuration tried here compiles: three quarters of its bytes.
_LINUX_LEFT_OUT = re.compile(
    r"^[^/]+/(Documentation|sound|tools/testing|samples|arch/(?!m68k|x86)[^/]+"
    r"|drivers/(gpu|media|staging|infiniband|iio|hwmon|isdn|usb/gadget|net/wireless))/"
    r"(?!.*(Kconfig|Makefile|Kbuild)[^/]*$)"
)


def _linux(path: str) -> bool:
    return not _LINUX_LEFT_OUT.match(path)


SOURCES: dict[str, Source] = {
    "zlib": Source("zlib", "compression, 1995 on; its own test program"),
    "lua": Source("lua5.4", "interpreter, ANSI C, computed goto"),
    "cjson": Source("cjson", "a small C89 library; its own tests"),
    "unzip": Source("unzip", "K&R definitions behind macros, 1990 on"),
    "nethack": Source("nethack", "K&R throughout, 1987 on"),
    "dash": Source("dash", "the 4.4BSD shell of Almquist"),
    "bsdgames": Source("bsdgames", "4.4BSD's games"),
    "lwip": Source("lwip", "TCP/IP for firmware, macros that return"),
    "busybox": Source("busybox", "GNU C, packed attributes, many small programs"),
    "newlib": Source("newlib", "C library for firmware, K&R to C99, m68k parts"),
    "musl": Source("musl", "C library, C99, inline assembly"),
    "sqlite": Source("sqlite3", "230,000 lines in one unit; its own fuzz checks"),
    "dietlibc": Source("dietlibc", "C library, terse style"),
    "u-boot": Source("u-boot", "boot loader, ColdFire boards"),
    "linux": Source("linux", "a kernel; configured for m68k", _linux),
    "torture": Source("gcc-12", "the C tests of gcc", _torture),
}
SMALL = ("zlib", "lua", "cjson", "lwip")
_MARK = ".fetched"


def cache_folder() -> Path:
    """Return the folder of the fetched projects; it need not exist."""
    if given := os.environ.get("KPROF_REALCODE"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "kprof" / "realcode"


class FetchError(Exception):
    """A project could not be fetched; the text says why."""


def source_stanzas(texts: list[tuple[str, str]]) -> str:
    """Return what apt's source files say of binary packages, said of source packages.

    Parameters
    ----------
    texts
        (file name, text) of each of apt's source files; ``.sources`` is in the stanza form, any
        other in the one-line form.

    Returns
    -------
    One text in the stanza form, of the places with a component ``main`` only.
    """
    stanzas: list[str] = []
    for name, text in texts:
        if name.endswith(".sources"):
            for stanza in re.split(r"\n\s*\n", text):
                lines = [line for line in stanza.splitlines() if not line.startswith("#")]
                if any(re.match(r"Components:.*\bmain\b", line) for line in lines):
                    kept = [line for line in lines if not re.match(r"(Types|Enabled):", line)]
                    stanzas.append("\n".join(["Types: deb-src", *kept]))
            continue
        for line in text.splitlines():
            found = re.match(r"deb\s+(?:\[(.*?)\]\s+)?(\S+)\s+(\S+)\s+(.*\bmain\b.*)", line)
            if not found:
                continue
            options, uri, suite, components = found.groups()
            fields = [
                "Types: deb-src",
                f"URIs: {uri}",
                f"Suites: {suite}",
                f"Components: {components}",
            ]
            signed = re.search(r"signed-by=(\S+)", options or "")
            if signed:
                fields.append(f"Signed-By: {signed[1]}")
            stanzas.append("\n".join(fields))
    return "\n\n".join(stanzas) + "\n"


class Apt:
    """The machine's apt on lists of its own, with source packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = ""
        for part in ("lists/partial", "cache/archives/partial", "parts"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        self.options = [
            option
            for value in (
                "Dir::Etc::SourceList=/dev/null",
                f"Dir::Etc::SourceParts={folder / 'parts'}",
                f"Dir::State::Lists={folder / 'lists'}",
                f"Dir::Cache={folder / 'cache'}",
                "APT::Sandbox::User=root",
                "Acquire::Retries=3",
            )
            for option in ("-o", value)
        ]

    def update(self) -> None:
        """Fetch the lists of source packages, once for a cache folder and a day."""
        etc = Path("/etc/apt")
        files = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*.*"))]
        texts = [
            (f.name, f.read_text())
            for f in files
            if f.suffix in (".list", ".sources") and f.is_file()
        ]
        stanzas = source_stanzas(texts)
        if not stanzas.strip():
            raise FetchError("apt has no source with a component main on this machine")
        (self.folder / "parts" / "main.sources").write_text(stanzas)
        self._run("update")
        if not any((self.folder / "lists").glob("*Sources*")):
            raise FetchError("apt found no list of source packages (no network?)")

    def download(self, package: str, into: Path) -> list[Path]:
        """Fetch the newest source package that can be had; return its upstream archives."""
        shown = subprocess.run(
            ["apt-cache", *self.options, "showsrc", "--only-source", package],
            capture_output=True,
            text=True,
        )
        versions = dict.fromkeys(re.findall(r"^Version: (\S+)", shown.stdout, re.MULTILINE))
        if not versions:
            raise FetchError(f"apt knows no source package {package}")
        # A mirror may lack the newest, which its list names.
        for version in reversed(versions):
            done = self._run(
                "source", "--download-only", "--tar-only", f"{package}={version}", cwd=into
            )
            archives = sorted(
                path for path in into.iterdir() if re.search(r"\.tar\.(gz|bz2|xz)$", path.name)
            )
            if not done and archives:
                return [archive for archive in archives if ".orig." in archive.name] or archives
        raise FetchError(f"no version of {package} can be fetched from the mirror: {self.said}")

    def _run(self, *arguments: str, cwd: Path | None = None) -> int:
        done = subprocess.run(
            ["apt-get", *self.options, "-q", *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=1800,
        )
        self.said = (done.stderr.strip().splitlines() or [""])[0]
        return done.returncode


def unpack(archive: Path, into: Path, keep: Callable[[str], bool]) -> int:
    """Unpack the wanted files of a tar archive, and of tar archives inside it.

    Returns
    -------
    The number of files written.
    """
    count = 0
    with tarfile.open(archive) as tar:
        for member in tar:
            inner = re.search(r"\.tar\.(gz|bz2|xz)$", member.name)
            if inner and member.size > 10_000_000:
                with tempfile.TemporaryDirectory(dir=into.parent) as scratch:
                    nested = Path(scratch) / "inner.tar"
                    with tar.extractfile(member) as source, nested.open("wb") as target:  # type: ignore[union-attr]
                        shutil.copyfileobj(source, target)
                    count += unpack(nested, into, keep)
                continue
            if not keep(member.name) or not (member.isfile() or member.issym() or member.isdir()):
                continue
            try:
                if hasattr(tarfile, "data_filter"):
                    tar.extract(member, into, filter="data")
                elif not member.name.startswith("/") and ".." not in Path(member.name).parts:
                    tar.extract(member, into)
            except (tarfile.TarError, OSError):
                # A link that leads out of the folder, or to a file that is not wanted.
                continue
            count += member.isfile()
    return count


def fetch(name: str, folder: Path, apt: Apt) -> str:
    """Fetch one project into ``folder/name``; return its version."""
    source = SOURCES[name]
    target = folder / name
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as scratch_name:
        scratch = Path(scratch_name)
        down, out = scratch / "down", scratch / "out"
        down.mkdir()
        out.mkdir()
        archives = apt.download(source.package, down)
        files = sum(unpack(archive, out, source.keep) for archive in archives)
        if not files:
            raise FetchError(f"{archives[0].name} has none of the files that are wanted")
        inside = list(out.iterdir())
        # Most archives hold one folder: its content is the project.
        root = inside[0] if len(inside) == 1 and inside[0].is_dir() else out
        version = re.sub(r"\.orig.*$|\.tar\..*$", "", archives[0].name)
        (root / _MARK).write_text(f"{version}\n")
        if target.exists():
            shutil.rmtree(target)
        root.rename(target)
    return version


def main(arguments: list[str] | None = None) -> int:
    """Fetch what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SOURCES))
    parser.add_argument("--set", choices=("small", "all"), default="small", dest="which")
    parser.add_argument("--where", action="store_true", help="print the folder and stop")
    options = parser.parse_args(arguments)
    folder = cache_folder()
    if options.where:
        print(folder)
        return 0
    if unknown := [name for name in options.names if name not in SOURCES]:
        parser.error(f"no project {', '.join(unknown)}; there are {', '.join(SOURCES)}")
    names = options.names or (list(SOURCES) if options.which == "all" else list(SMALL))
    missing = [name for name in names if not (folder / name / _MARK).is_file()]
    if not missing:
        return 0
    if shutil.which("apt-get") is None:
        print("fetch-real-code: no apt-get here; tests on real code will be skipped")
        return 1
    failed = 0
    try:
        apt = Apt(folder / ".apt")
        apt.update()
        for name in missing:
            try:
                version = fetch(name, folder, apt)
                print(f"fetch-real-code: {name}: {version} ({SOURCES[name].about})", flush=True)
            except FetchError as error:
                failed += 1
                print(f"fetch-real-code: {name}: {error}", flush=True)
    except (FetchError, OSError, subprocess.TimeoutExpired, tarfile.TarError) as error:
        print(f"fetch-real-code: {error}; tests on real code will be skipped")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
