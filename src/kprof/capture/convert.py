"""From one form of a capture to another."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from kprof.capture.match import with_names
from kprof.capture.model import Capture
from kprof.capture.write import write_banks, write_capture, write_raw
from kprof.errors import UsageError
from kprof.names import NameFile

FORMS = ("kpd", "kpd3", "raw", "banks")
"""``kpd``: capture file of 5-byte records; ``kpd3``: capture file of unwrapped time; ``raw``: the
RAM's image; ``banks``: five images, ``OUT.0`` to ``OUT.4``."""


def form_of(output: str, form: str | None, capture: Capture) -> str:
    """The form to write: the one named, or the one that the output's ending says.

    Raises
    ------
    UsageError
        Neither says it.
    """
    if form is not None:
        return form
    ending = Path(output).suffix.lower()
    if ending in (".bin", ".raw", ".img"):
        return "raw"
    if ending == ".kpd":
        return "kpd3" if capture.info.unwrapped else "kpd"
    raise UsageError(f"{output}: its ending says no form; expected --to {', '.join(FORMS)}")


def paths_of(output: str, form: str) -> list[str]:
    """The files that a form is written to."""
    return [f"{output}.{bank}" for bank in range(5)] if form == "banks" else [output]


def convert(
    capture: Capture,
    output: str,
    form: str,
    names: NameFile | None = None,
    planted: bytes | None = None,
) -> str:
    """Write `capture` as `form`; a sentence that says what was written, and what was left out.

    Parameters
    ----------
    names, planted
        Of the code, from now on (see `kprof.capture.match.with_names`); None: the capture's.

    Raises
    ------
    FileAccessError, CaptureError
        The output cannot be written, or its form cannot hold the capture.
    """
    if names is not None or planted is not None:
        capture = replace(capture, info=with_names(capture.info, names, planted))
    said = f"{output}: {capture.events} events"
    if form in ("kpd", "kpd3"):
        write_capture(output, capture, layout=3 if form == "kpd3" else 1)
        return f"{said} in a capture file"
    if form == "raw":
        write_raw(output, capture)
        said += " in a raw image"
    else:
        paths = paths_of(output, form)
        write_banks(paths, capture)
        said = f"{paths[0]} to {paths[-1]}: {capture.events} events in five bank images"
    left = []
    if capture.stale is not None and len(capture.stale):
        left.append(f"that only the first {capture.events} records are valid")
    if capture.info.clock_hz != Fraction(1_000_000):
        left.append(f"the clock of {float(capture.info.clock_hz):g} Hz")
    if capture.info.full:
        left.append("that the RAM was full")
    return f"{said}; an image does not say {', '.join(left)}" if left else said
