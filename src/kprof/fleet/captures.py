"""Which captures: names, patterns, folders and lists on a command line.

==============  ================================================================================
``a.kpd``       itself
``runs/*.kpd``  what the pattern matches, in the order of the names; ``**`` goes through folders
``runs/``       the capture files (KPD) in the folder and below; raw images have no mark by which
                they could be told from other files, and need a pattern
``s3://...``    a URL of a store (`kprof.fleet.stores`), or a pattern of them
``@list``       a line each of the file ``list``: names, patterns, folders; ``#`` begins a comment
==============  ================================================================================

A file that is there is itself, whatever its name looks like.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from kprof.capture.sniff import MAGIC
from kprof.errors import UsageError
from kprof.files import no_text, read_bytes
from kprof.fleet.stores import expand, is_url

_WILD = "*?["


def captures_of(given: Iterable[str]) -> list[str]:
    """The names of the captures that are meant.

    Raises
    ------
    UsageError
        A pattern, a folder or a list has none.
    FileAccessError
        A list cannot be read.
    """
    return [name for one in given for name in _captures(one)]


def _captures(one: str) -> Iterable[str]:
    if is_url(one):
        wild = any(sign in one for sign in _WILD)
        return _some(expand(one), f"{one}: matches nothing") if wild else [one]
    if one == "-" or os.path.isfile(one):  # noqa: PTH113 - false for a name that is too long
        return [one]
    if one.startswith("@"):
        return _listed(one[1:])
    if os.path.isdir(one):  # noqa: PTH112
        return _some(_in_folder(one), f"{one}: has no capture file in it (raw images: 'DIR/*.bin')")
    if any(sign in one for sign in _WILD):
        matching = glob.iglob(one, recursive=True)  # noqa: PTH207 - takes absolute patterns
        found = (name for name in matching if Path(name).is_file())
        return _some(sorted(found), f"{one}: matches no file")
    return [one]


def _listed(name: str) -> Iterator[str]:
    data = read_bytes(name)
    if problem := no_text(data):
        raise UsageError(f"@{name}: {problem}; expected the name of a capture in each line")
    lines = [line.strip() for line in data.decode("utf-8-sig", "surrogateescape").splitlines()]
    wanted = [line for line in lines if line and not line.startswith("#")]
    for line in _some(wanted, f"@{name}: names no capture"):
        if line.startswith("@"):
            raise UsageError(f"@{name}: names the list {line}; expected captures in it")
        yield from _captures(line)


def _in_folder(folder: str) -> list[str]:
    return sorted(str(path) for path in Path(folder).rglob("*") if _is_capture_file(path))


def _is_capture_file(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(len(MAGIC)) == MAGIC
    except OSError:  # it is named when it is asked for by its name
        return False


def _some(found: list[str], otherwise: str) -> list[str]:
    if not found:
        raise UsageError(otherwise)
    return found
