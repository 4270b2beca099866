"""How an upload can end without a capture; each with its own exit code of the command line."""

from __future__ import annotations

from kprof.errors import UploadError


class PortError(UploadError):
    """The port cannot be opened or used: missing, not permitted, busy, unplugged."""

    exit_code = 3


class NoAnswerError(UploadError):
    """Nobody answers on the line, or what answers is not an agent."""

    exit_code = 4


class TransferError(UploadError):
    """The transfer did not come to its end; what arrived is kept."""

    exit_code = 5


class VerifyError(UploadError):
    """What arrived is not, after repeated tries, what the board says it has."""

    exit_code = 6


class KeptDiffersError(VerifyError):
    """What an earlier upload has kept is not what the board has now; it stays as it is."""


class InterruptedUploadError(UploadError):
    """The user stopped it; what arrived is kept."""

    exit_code = 130


class HungUpUploadError(InterruptedUploadError):
    """SIGHUP stopped it: the terminal was closed; what arrived is kept."""

    exit_code = 129


class TerminatedUploadError(InterruptedUploadError):
    """SIGTERM stopped it; what arrived is kept."""

    exit_code = 143
