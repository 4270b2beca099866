"""The errors that kprof raises on purpose: one family, each message for a person.

A message says where, what was found, what was expected and what to try. Any other exception that
leaves the library is a bug. ``exit_code`` is what the command line exits with.
"""

from __future__ import annotations

from collections.abc import Sequence


class KprofError(Exception):
    """Base of all errors of kprof; `str(error)` is what the user reads."""

    exit_code = 1


class UsageError(KprofError):
    """The command was called in a way that cannot work (exit code 2)."""

    exit_code = 2


class FileAccessError(KprofError):
    """A file or folder could not be read or written."""


class MissingExtraError(KprofError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs the extra '{extra}': install it with pip install 'kprof[{extra}]'"
        )


MOST_PROBLEMS = 10


class ProblemsError(KprofError):
    """All the problems found in one text input, each with its own place.

    Parameters
    ----------
    problems
        One line each, ``where: what was found; what was expected (what to try)``. The message has
        the first `MOST_PROBLEMS`.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        shown = list(self.problems[:MOST_PROBLEMS])
        more = len(self.problems) - len(shown)
        super().__init__("\n".join([*shown, f"and {more} more"] if more else shown))


class NameFileError(ProblemsError):
    """A name file breaks its grammar or its rules."""


class InstrumentError(ProblemsError):
    """C text that cannot be instrumented as asked."""


class CaptureError(KprofError):
    """Bytes that are not a capture, or a capture that cannot be used."""


class BoardError(KprofError):
    """The simulated board cannot run what it was given."""


class QemuError(KprofError):
    """QEMU cannot be used for a recording, or did not record."""


class UploadError(KprofError):
    """An upload that did not end in a complete, verified capture."""
