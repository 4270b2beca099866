r"""Typing at a board's prompt before the upload: `--send 'G 2000\r' --expect '>'`.

`Greeting.sent` are typed one after another, character by character with a pause where the board
is slow; after each the text of the same place in `Greeting.expected` is waited for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kprof.errors import UsageError
from kprof.upload.failures import InterruptedUploadError, NoAnswerError
from kprof.upload.talk import Receive, Send, Talk

EXPECT_S = 10.0
ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "e": b"\x1b", "\\": b"\\"}
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.?)", re.DOTALL)


@dataclass(frozen=True)
class Greeting:
    """What to type and what to wait for.

    Attributes
    ----------
    sent, expected
        Bytes to type, and bytes that then must arrive; the n-th of one belongs to the n-th of the
        other.
    delay_s
        Pause after each character.
    """

    sent: tuple[bytes, ...] = ()
    expected: tuple[bytes, ...] = ()
    delay_s: float = 0.0


def parse_typed(text: str) -> bytes:
    r"""The bytes of an option's text: UTF-8, with the escapes of `ESCAPES`, ``\xHH`` and ``\\``.

    Raises
    ------
    UsageError
        An escape is not complete, or none of these.
    """

    typed, at = b"", 0
    for escape in _ESCAPE.finditer(text):
        code = escape[1]
        if len(code) < 3 and code not in ESCAPES:
            raise UsageError(
                rf"'{text}': {escape[0]} cannot be typed; expected \r, \n, \t, \e, \xHH or \\ "
                r"(\\ is a backslash itself)"
            )
        typed += text[at : escape.start()].encode("utf-8", "surrogateescape")
        typed += ESCAPES[code] if code in ESCAPES else bytes((int(code[1:], 16),))
        at = escape.end()
    return typed + text[at:].encode("utf-8", "surrogateescape")


def greet(greeting: Greeting) -> Talk[bytes]:
    """Type and wait; what was heard after the last expected text.

    Raises
    ------
    NoAnswerError
        An expected text did not arrive.
    InterruptedUploadError
        The user stopped it.
    """
    heard_all = b""
    for at in range(max(len(greeting.sent), len(greeting.expected))):
        if at < len(greeting.sent):
            heard_all += yield from _type(greeting.sent[at], greeting.delay_s)
        if at < len(greeting.expected):
            heard_all = yield from _expect(greeting.expected[at], heard_all)
    return heard_all


def _type(data: bytes, delay_s: float) -> Talk[bytes]:
    if not delay_s:
        yield Send(data)
        return b""
    echoed = b""
    for character in data:
        heard = yield Send(bytes((character,)))
        until = heard.now + delay_s
        while heard.now < until and not heard.interrupts:
            heard = yield Receive(until)
            echoed += heard.data
    return echoed


def _expect(wanted: bytes, before: bytes) -> Talk[bytes]:
    """Wait for `wanted`; what came after it."""
    heard = yield Receive(0.0)
    until, got = heard.now + EXPECT_S, bytearray(before + heard.data)
    while wanted not in got:
        if heard.interrupts:
            raise InterruptedUploadError("interrupted while waiting for the prompt")
        if heard.now >= until:
            tail = bytes(got[-40:]).decode("latin-1")
            raise NoAnswerError(
                f"'{wanted.decode('latin-1')!s}' did not come in {EXPECT_S:.0f} s; what came ends "
                f"{tail!r} (is the board at its prompt, the rate right?)"
            )
        heard = yield Receive(until)
        got += heard.data
    return bytes(got).partition(wanted)[2]
