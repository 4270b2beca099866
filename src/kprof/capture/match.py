"""Does a name file belong to a capture, or to another build of the code?

A capture carries up to two things of the name file that its code was built with:

- the SHA-256 of its text (header, byte 80). The file only grows, so a file belongs to the capture
  if that is the digest of its text or of its first lines;
- its entries (metadata, `ENTRIES`), which stay comparable when the file is edited by hand. A file
  belongs to the capture if every tag that occurs is of the same entry.

A capture without either says nothing, and every name file is taken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kprof.capture.model import Capture, CaptureInfo
from kprof.errors import NameFileError
from kprof.names import NameFile, display_name, parse_names
from kprof.names.find import has_digest

ENTRIES = "name_entries"
"""Key of the metadata: lines ``name/value[modifier]``, those of value 0 left out."""
_HINT = "give the one of that build: --names FILE"


def with_names(
    info: CaptureInfo, names: NameFile | None, planted: bytes | None = None
) -> CaptureInfo:
    """`info` of a capture of code that was built with `names`.

    Parameters
    ----------
    planted
        The digest that the program itself holds (`kprof.symbols.planted_digest`): it decides, and
        `names` of another build are left out.
    """
    metadata = {key: value for key, value in info.metadata.items() if key != ENTRIES}
    if names is not None and (planted is None or has_digest(_bytes(names), planted)):
        metadata[ENTRIES] = "\n".join(entry.line() for entry in names.entries if entry.value)
        planted = planted or names.sha256()
    return replace(info, names_sha256=planted or info.names_sha256, metadata=metadata)


def planted_mismatch(names: NameFile, source: str, planted: bytes, program: str) -> str | None:
    """Why `names` is not what a program was built with: a sentence, or None (see `with_names`)."""
    if has_digest(_bytes(names), planted):
        return None
    return _other_digest(names, source, planted, program, program)


def names_mismatch(capture: Capture, names: NameFile, source: str) -> str | None:
    """Why `names` is of another build than the capture: a sentence; None where nothing says so.

    Parameters
    ----------
    source
        Where `names` is from, for the sentence.
    """
    info = capture.info
    digest = info.names_sha256
    if digest is None or has_digest(_bytes(names), digest):
        return None
    built = _recorded(info)
    if built is None:
        return _other_digest(names, source, digest, info.source, "the capture")
    wrong = [
        (tag, then, now)
        for tag in _occurring(capture)
        if (then := _meaning(built, tag)) != (now := _meaning(names, tag))
    ]
    if not wrong:
        return None
    tag, then, now = wrong[0]
    return (
        f"{source}: is not the name file of {info.source}: {len(wrong)} of the tags that occur are "
        f"of other entries ({tag} is {then} in the capture, {now} in the file; {_HINT})"
    )


def _other_digest(names: NameFile, source: str, digest: bytes, of: str, where: str) -> str:
    return (
        f"{source}: is not the name file of {of}: its SHA-256 is {names.sha256().hex()[:16]}..., "
        f"in {where} is {digest.hex()[:16]}... ({_HINT})"
    )


def mostly_unknown(capture: Capture, names: NameFile, source: str) -> str | None:
    """A sentence where `names` knows less than half of the events (of the first million)."""
    _, tags = next(capture.chunks(), (None, np.empty(0, np.uint16)))
    known = np.zeros(1 << 16, dtype=bool)
    known[list(names.by_tag)] = True
    if capture.info.task_marks is not None:
        known[capture.info.task_marks.tags] = True
    unknown = len(tags) - int(np.count_nonzero(known[tags]))
    if unknown * 2 <= len(tags):
        return None
    return (
        f"{source}: does not know the tags of {unknown} of {len(tags)} events of "
        f"{capture.info.source} (is it the name file that the code was built with, and is that a "
        "capture? kprof info tells more)"
    )


def _bytes(names: NameFile) -> bytes:
    return names.text.encode("utf-8", "surrogateescape")


def _recorded(info: CaptureInfo) -> NameFile | None:
    recorded = info.metadata.get(ENTRIES)
    try:
        return parse_names(recorded) if isinstance(recorded, str) else None
    except NameFileError:  # a newer kprof's modifiers
        return None


def _occurring(capture: Capture) -> list[int]:
    counts = np.zeros(1 << 16, dtype=np.int64)
    for _, tags in capture.chunks():
        counts += np.bincount(tags, minlength=1 << 16)
    return [int(tag) for tag in np.flatnonzero(counts)]


def _meaning(names: NameFile, tag: int) -> str:
    entry = names.by_tag.get(tag)
    return display_name(entry.line()) if entry else "nothing"
