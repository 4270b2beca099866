"""Conversations over a line without any I/O: generators that yield steps and are sent what follows.

A protocol is a generator (`Talk`). It yields what it wants done, one `Step` at a time, and is sent
a `Heard` for each: the time, the bytes if it asked for some, how often the user asked to stop.

=============  ==================================================================
step           what is heard in answer
=============  ==================================================================
`Send`         the time when the bytes were handed over
`Receive`      the bytes that arrived; none: it is `until`, or the user asked to stop
`SetBaud`      the time after the line's rate was changed, output drained first
`Discard`      the time; what had arrived unread is gone
=============  ==================================================================

A port that fails raises `kprof.upload.failures.PortError` at the step that it could not do.

The same generator runs over a port (`kprof.upload.line`), over a simulated line in virtual time
(`kprof.upload.simline`), or by hand in a test.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar, Union


@dataclass(frozen=True)
class Send:
    """Write these bytes."""

    data: bytes


@dataclass(frozen=True)
class Receive:
    """Wait for bytes, at most until this time (s, on the conversation's own clock)."""

    until: float


@dataclass(frozen=True)
class SetBaud:
    """Change the rate of our end of the line."""

    rate: int


@dataclass(frozen=True)
class Discard:
    """Throw away what has arrived and was not read."""


@dataclass(frozen=True)
class Heard:
    """The answer to a step.

    Attributes
    ----------
    now
        Time in seconds; only differences mean something.
    data
        Bytes received; empty for all steps but `Receive`.
    interrupts
        How often the user has asked to stop since the conversation began.
    """

    now: float
    data: bytes = b""
    interrupts: int = 0


Step = Union[Send, Receive, SetBaud, Discard]  # noqa: UP007 (evaluated at run time on 3.10)
T = TypeVar("T")
Talk = Generator[Step, Heard, T]
