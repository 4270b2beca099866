"""Where functions are defined, as other tools want it: a file that they can open, and a line.

From the call knowledge, where there is some; else the file from the name file and the line from the
source itself.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import NamedTuple

from kprof.instrument.definitions import source_places
from kprof.names import NameFile
from kprof.names.calls import CallKnowledge


class Place(NamedTuple):
    """Where a function is defined.

    Attributes
    ----------
    file
        The absolute path of the source where it is there, else as the name file has it; "" where
        it is not known.
    line
        Of the function's head, from 1; 0 where it is not known.
    package
        The folder of the source, from the lowest one on that holds all sources; "" where they are
        in none.
    """

    file: str = ""
    line: int = 0
    package: str = ""


NOWHERE = Place()


def function_places(
    names: NameFile, known: CallKnowledge | None, root: Path | None
) -> dict[str, Place]:
    """The places of the functions whose sources are known, by name.

    Parameters
    ----------
    root
        The folder of the name file, which the paths of the sources start from; None: no source is
        looked at.
    """
    found: dict[str, tuple[str, int]] = {e.name: (e.source, 0) for e in names.entries if e.source}
    for name, facts in known.functions.items() if known else ():
        if facts.file:
            found[name] = facts.file, facts.line
    if root is not None and any(not line for _, line in found.values()):
        for name, (_, line) in source_places(names, root).items():
            if name in found and not found[name][1]:
                found[name] = found[name][0], line
    base = _common({file for file, _ in found.values()})
    paths: dict[str, str] = {}
    for file in {file for file, _ in found.values()}:
        path = (root / file).resolve() if root is not None else None
        paths[file] = str(path) if path is not None and path.is_file() else file
    return {
        name: Place(paths[file], line, _folder(file)[len(base) :].lstrip("/"))
        for name, (file, line) in found.items()
    }


def _folder(file: str) -> str:
    """The folder of a source without ``..`` before it; "" where it is in none."""
    parts = posixpath.normpath(file.replace("\\", "/")).split("/")[:-1]
    return "/".join(part for part in parts if part not in ("..", ""))


def _common(files: set[str]) -> str:
    """The folder that holds the lowest one that holds all."""
    folders = [_folder(file) for file in files]
    return posixpath.dirname(posixpath.commonpath(folders)) if folders and all(folders) else ""
