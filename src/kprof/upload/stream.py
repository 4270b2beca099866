"""Reading a line character by character inside a conversation."""

from __future__ import annotations

from kprof.upload.failures import InterruptedUploadError
from kprof.upload.talk import Receive, Send, Talk


def untold(done: int) -> None:
    """Nobody is told how many bytes there are."""


class Stream:
    """What has been received and not yet read.

    Attributes
    ----------
    now
        The time of the last step, s.
    received
        Bytes received in all.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.received = 0
        self.pending = bytearray()
        self.deaf = False  # to the user's wish to stop: while taking leave

    def send(self, data: bytes) -> Talk[None]:
        """Send bytes."""
        self.now = (yield Send(data)).now

    def more(self, until: float) -> Talk[bool]:
        """Wait for bytes; False: none came until then.

        Raises
        ------
        InterruptedUploadError
            The user asked to stop.
        """
        heard = yield Receive(until)
        self.now = heard.now
        if heard.interrupts and not self.deaf:
            raise InterruptedUploadError("interrupted")
        self.received += len(heard.data)
        self.pending += heard.data
        return bool(heard.data)

    def read(self, count: int, gap: float) -> Talk[bytes]:
        """`count` bytes; fewer where a pause of `gap` s comes between them."""
        while len(self.pending) < count:
            if not (yield from self.more(self.now + gap)):
                break
        data = bytes(self.pending[:count])
        del self.pending[:count]
        return data

    def quiet(self, gap: float, longest: float = 5.0) -> Talk[int]:
        """Throw away what comes until nothing does for `gap` s; how much it was."""
        dropped, until = len(self.pending), self.now + longest
        self.pending.clear()
        while self.now < until and (yield from self.more(self.now + gap)):
            dropped += len(self.pending)
            self.pending.clear()
        return dropped
