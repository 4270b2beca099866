"""A line that carries conversations: the protocol between `kprof.upload.talk` and the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from kprof.upload.failures import PortError
from kprof.upload.talk import Discard, Heard, Receive, Send, SetBaud, Step, Talk

T = TypeVar("T")
SLICE_S = 0.1  # how long a wait goes on before the user's wish to stop is looked at


class Line(Protocol):
    """One end of a serial line."""

    def clock(self) -> float:
        """Time in s; only differences mean something."""

    def read(self, timeout: float) -> bytes:
        """What has arrived; waits for it at most `timeout` s."""

    def write(self, data: bytes) -> None:
        """Send."""

    def set_baud(self, rate: int) -> None:
        """Change the rate after what was sent has left."""

    def discard(self) -> None:
        """Throw away what has arrived."""


def converse(talk: Talk[T], line: Line, interrupts: Callable[[], int] = lambda: 0) -> T:
    """Run a conversation over a line to its end; its value.

    A port that fails does so inside the conversation, at the step that it cannot do: one that has
    all it wants, and only takes leave, need not fail with it.

    Parameters
    ----------
    interrupts
        How often the user has asked to stop; a change ends a wait.
    """
    try:
        step = next(talk)
        while True:
            try:
                data = _carry_out(step, line, interrupts)
            except PortError as error:
                step = talk.throw(error)
            else:
                step = talk.send(Heard(line.clock(), data, interrupts()))
    except StopIteration as end:
        value: T = end.value
        return value


def _carry_out(step: Step, line: Line, interrupts: Callable[[], int]) -> bytes:
    """Do one step; what was received."""
    if isinstance(step, Send):
        line.write(step.data)
    elif isinstance(step, Receive):
        return _receive(line, step.until, interrupts)
    elif isinstance(step, SetBaud):
        line.set_baud(step.rate)
    elif isinstance(step, Discard):
        line.discard()
    return b""


def _receive(line: Line, until: float, interrupts: Callable[[], int]) -> bytes:
    before = interrupts()
    while True:
        left = until - line.clock()
        data = line.read(min(max(left, 0.0), SLICE_S))
        if data or left <= 0 or interrupts() != before:
            return data


class CountedLine:
    """A line that counts what is received.

    Attributes
    ----------
    received
        Bytes so far.
    """

    def __init__(self, line: Line) -> None:
        self.received = 0
        self.clock, self.write = line.clock, line.write
        self.set_baud, self.discard = line.set_baud, line.discard
        self._read = line.read

    def read(self, timeout: float) -> bytes:
        """See `Line`."""
        data = self._read(timeout)
        self.received += len(data)
        return data


class TracedLine:
    """A line that tells everything that passes over it, for a report about a failed upload.

    Parameters
    ----------
    line
        The line itself.
    tell
        Called with one line of text: seconds, ``>`` (sent), ``<`` (received) or ``#``, the bytes.
    describe
        Called with ``>`` or ``<`` and the bytes; what they mean, in lines that follow with ``#``.
    """

    def __init__(
        self,
        line: Line,
        tell: Callable[[str], None],
        describe: Callable[[str, bytes], Iterable[str]] = lambda sign, data: (),  # noqa: ARG005
    ) -> None:
        self._line, self._tell, self._describe = line, tell, describe
        self._start = line.clock()

    def clock(self) -> float:
        """See `Line`."""
        return self._line.clock()

    def read(self, timeout: float) -> bytes:
        """See `Line`."""
        data = self._line.read(timeout)
        if data:
            self._carried("<", data)
        return data

    def write(self, data: bytes) -> None:
        """See `Line`."""
        self._carried(">", data)
        self._line.write(data)

    def set_baud(self, rate: int) -> None:
        """See `Line`."""
        self._note("#", f"{rate} baud")
        self._line.set_baud(rate)

    def discard(self) -> None:
        """See `Line`."""
        self._note("#", "input discarded")
        self._line.discard()

    def _carried(self, sign: str, data: bytes) -> None:
        self._note(sign, data.hex(" "))
        for text in self._describe(sign, data):
            self._note("#", text)

    def _note(self, sign: str, text: str) -> None:
        self._tell(f"{self._line.clock() - self._start:10.6f} {sign} {text}")
