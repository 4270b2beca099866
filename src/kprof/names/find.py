"""Finding the name file that belongs to a capture, or to a project's sources."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from kprof.errors import UsageError

PROJECT_NAMES = "kprof.names"
_VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")
_BUILD = (
    *("Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "meson.build", "configure"),
    *("SConstruct", "wscript", "WORKSPACE", "MODULE.bazel", "build.ninja", "Kbuild"),
)


def find_names(
    beside: Path | str, digest: bytes | None = None, *, among: Sequence[Path] | None = None
) -> Path | None:
    """The ``*.names`` file for the dump `beside`, or None where there is none to be sure of.

    In this order: the one in the dump's folder whose text, or an earlier state of it (names are
    only ever appended), has the SHA-256 `digest`; the one named like the dump; the only one.

    Parameters
    ----------
    among
        The name files in the folder, sorted, where they are known already.
    """
    dump = Path(beside)
    found: Sequence[Path] = among or ()
    with contextlib.suppress(OSError):
        if among is None:
            found = sorted(path for path in dump.parent.glob("*.names") if path.is_file())
    if digest:
        for path in found:
            with contextlib.suppress(OSError):
                if has_digest(path.read_bytes(), digest):
                    return path
    for name in (dump.with_suffix(".names"), dump.with_name(dump.name + ".names")):
        if name in found:
            return name
    return found[0] if len(found) == 1 else None


def has_digest(text: bytes, digest: bytes) -> bool:
    """Is `digest` the SHA-256 of `text`, or of its first lines?"""
    import hashlib

    running = hashlib.sha256()
    for line in text.splitlines(keepends=True):
        running.update(line)
        if running.copy().digest() == digest:
            return True
    return running.digest() == digest


def project_names(sources: Sequence[Path | str]) -> Path:
    """The name file of the project that these sources belong to: one for all of its folders.

    It is the `PROJECT_NAMES` nearest above the first source, else above the current folder. Where
    there is none it is to be made: at the top of the version control's tree, else in the highest
    folder from the source's up that the build has a file in, else beside the source.

    Raises
    ------
    UsageError
        A make called by another make (``MAKELEVEL``) would begin a second one beside that of
        another folder.
    """
    here = Path.cwd()
    folder = Path(os.path.abspath(sources[0])).parent if sources else here  # noqa: PTH100
    for above in (folder, *folder.parents, here, *here.parents):
        if (above / PROJECT_NAMES).is_file():
            return _shown(above / PROJECT_NAMES, here)
    top = folder
    for above in (folder, *folder.parents):
        if any((above / name).exists() for name in _VERSION_CONTROL):
            return _shown(above / PROJECT_NAMES, here)
        if above == top.parent and any((above / name).is_file() for name in _BUILD):
            top = above
    for other in sorted(top.parent.glob(f"*/{PROJECT_NAMES}")) if _called_by_make() else ():
        common = top.parent / PROJECT_NAMES
        raise UsageError(
            f"{sources[0]}: no {PROJECT_NAMES} in a folder above it, and {other} is another "
            f"folder's; expected one for a project (type: kprof names init {common}, remove "
            f"{other} and compile all again; for a project of its own: kprof names init "
            f"{top / PROJECT_NAMES})"
        )
    return _shown(top / PROJECT_NAMES, here)


def _called_by_make() -> bool:
    level = os.environ.get("MAKELEVEL", "")
    return level.isdecimal() and int(level) > 1


def _shown(path: Path, here: Path) -> Path:
    """The path as one would type it in the current folder."""
    return path.relative_to(here) if path.is_relative_to(here) else path
