"""Finding the name file that belongs to a capture."""

from __future__ import annotations

import contextlib
from pathlib import Path


def find_names(beside: Path | str, digest: bytes | None = None) -> Path | None:
    """The ``*.names`` file for the dump `beside`, or None where there is none to be sure of.

    In this order: the one in the dump's folder whose text, or an earlier state of it (names are
    only ever appended), has the SHA-256 `digest`; the one named like the dump; the only one.
    """
    dump = Path(beside)
    folder = dump.parent
    found: list[Path] = []
    with contextlib.suppress(OSError):
        found = sorted(path for path in folder.glob("*.names") if path.is_file())
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
