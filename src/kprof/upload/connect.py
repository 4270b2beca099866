"""Finding the agent on the line, and changing the line's rate with it."""

from __future__ import annotations

from kprof.upload.failures import InterruptedUploadError, NoAnswerError, PortError, TransferError
from kprof.upload.link import Link
from kprof.upload.talk import Discard, Receive, SetBaud, Talk
from kprof.upload.wire import CAN_BAUD, FULL, Info, Rate, Unknown

TRIES = 8
FIRST_WAIT_S, MORE_WAIT, LONGEST_WAIT_S = 0.4, 1.4, 1.2
SETTLE_S = 0.05  # an agent is at its new rate 40 ms after its reply has left
RATES = range(50, 4_000_001)  # baud
MAX_CAPACITY = 1 << 24  # records; a RAM of 84 MB
SENDER_S = 1.0
ZMODEM = b"**\x18B0"  # how ZMODEM's first header begins
SOH_STX = b"\1\2"  # how blocks of XMODEM and YMODEM begin, with their number and its complement
# An agent at another rate counts 48 bytes without a request; the flags end what it has begun.
WAKE = bytes(64) + b"~~~~"


def connect(link: Link, until: float | None = None) -> Talk[Info]:
    """Ask the agent who it is until it answers: 8 times, or twice and then `until` this time.

    Raises
    ------
    NoAnswerError
        It does not, or what answers is no agent.
    InterruptedUploadError
        The user stopped it.
    """
    wait, received, echoes = FIRST_WAIT_S, link.received, link.echoes
    tries = 0
    asked: dict[int, float] = {}
    while tries < TRIES and (tries < 3 or until is None or link.now < until):
        tries += 1
        if tries > 2:
            yield from link.write(WAKE)
        info = yield from link.ask("I", 1, wait=wait, asked=asked)
        if isinstance(info, Info):
            return info
        if link.interrupts:
            raise InterruptedUploadError("interrupted while waiting for an answer")
        wait = min(wait * MORE_WAIT, LONGEST_WAIT_S)
    yield from _refuse_sender(link, called=link.received == received)
    if link.received == received:
        raise NoAnswerError(
            f"nobody answers: {tries} requests, not a byte back (is the agent running, the cable a "
            "crossed one, the rate right? --start-baud sets it)"
        )
    if link.echoes - echoes >= tries - 1:
        raise NoAnswerError(
            "only our own requests come back: the line or a monitor echoes, and no agent answers "
            "(start the agent first; --send types a command)"
        )
    raise NoAnswerError(
        f"answers nonsense: {link.received - received} bytes and none an agent's message; they "
        f"begin {_excerpt(link.first_bytes)} (another rate? --start-baud sets it; or the agent is "
        "not started: --send types a command)"
    )


def _refuse_sender(link: Link, *, called: bool) -> Talk[None]:
    """Raise where the far end sends a file: by ZMODEM, or once it is `called` as senders are."""
    if called:
        yield from link.write(b"C")
        until, interrupts = link.now + SENDER_S, link.interrupts
        while link.now < until and link.interrupts == interrupts:
            yield from link.listen(until)
    heard = link.first_bytes
    if ZMODEM in heard:
        raise NoAnswerError(
            "the far end sends a file by ZMODEM (sz), which kprof does not take (stop it there, "
            "type 'sb FILE' instead, and --proto ymodem here)"
        )
    if called and len(heard) > 2 and heard[0] in SOH_STX and heard[1] ^ heard[2] == 0xFF:
        proto = "xmodem" if heard[1] else "ymodem"
        raise NoAnswerError(
            f"the far end sends a file by {proto.upper()}, and no agent answers (--proto {proto} "
            "takes it)"
        )


def refuse_strange(info: Info) -> None:
    """Raise unless the agent serves what this host can take.

    Raises
    ------
    NoAnswerError
        It is of another version, or its numbers are impossible.
    """
    shape = (info.version, info.record_bytes, info.time_bits, info.tag_bits)
    if shape != (1, 5, 24, 16):
        raise NoAnswerError(
            f"the agent '{info.name}' has version {shape[0]} with records of {shape[1]} bytes, "
            f"{shape[2]} bits of time and {shape[3]} of tag; expected version 1 with 5, 24 and 16"
        )
    if not (1 <= info.capacity <= MAX_CAPACITY and info.clock_hz and info.max_records):
        raise NoAnswerError(
            f"the agent '{info.name}' says it has {info.capacity:,} records at {info.clock_hz:,} "
            f"Hz, {info.max_records} a frame; expected 1 to {MAX_CAPACITY:,} and a clock above 0"
        )


def refuse_another_run(before: Info, after: Info) -> None:
    """Raise unless the agent says at the end what it said at the start.

    Raises
    ------
    TransferError
        The board was started again meanwhile, or is recording.
    """
    if before.run and after.run and before.run != after.run:
        raise TransferError(
            f"the board now has run {after.run}, and had run {before.run} at the start: it was "
            "started again (upload again)"
        )
    if _described(before) != _described(after):
        raise TransferError(
            f"the board now says {_described(after)}, and said {_described(before)} at the start: "
            "it was started again or is still recording (stop it, upload again)"
        )


def _described(info: Info) -> str:
    valid = "an unknown number of" if info.valid is None else f"{info.valid:,}"
    full = " (full)" if info.flags & FULL else ""
    return f"{valid} valid records of {info.capacity:,}{full} at {info.clock_hz:,} Hz"


def change_rate(link: Link, info: Info, base: int, baud: int) -> Talk[int]:
    """Take both ends to `baud`; the rate that they are at afterwards.

    That is `baud`, the other rate that the agent says it changes to, or `base`. Whether the line
    carries it shows when records are asked for.
    """
    if not info.flags & CAN_BAUD:
        return base
    asked: dict[int, float] = {}
    answer = None
    for _ in range(3):
        answer = yield from link.ask("B", baud, asked=asked)
        if answer is not None or link.interrupts:
            break
    if isinstance(answer, Unknown) or (isinstance(answer, Rate) and not answer.rate):
        return base
    rate = answer.rate if isinstance(answer, Rate) else baud
    if rate in RATES:
        try:
            yield SetBaud(rate)
        except PortError:  # the agent has changed: take it back
            yield from fall_back(link, base)
            raise
        yield from settle(link)
        if answer is not None:
            return rate
        for _ in range(3):  # has the agent changed its rate, and only its answer was lost?
            if isinstance((yield from link.ask("I", 1, wait=0.25)), Info):
                return rate
    yield from fall_back(link, base)
    yield from connect(link)
    return base


def settle(link: Link) -> Talk[None]:
    """Give the agent the time to change its rate; what comes meanwhile is noise."""
    heard = yield Receive(0.0)
    until = heard.now + SETTLE_S
    while heard.now < until and heard.interrupts == link.interrupts:
        heard = yield Receive(until)
    link.now, link.interrupts = heard.now, heard.interrupts
    yield Discard()


def fall_back(link: Link, base: int) -> Talk[None]:
    """Take our end to the base rate, and make the agent give up any other."""
    yield SetBaud(base)
    yield Discard()
    yield from link.write(WAKE)


def _excerpt(data: bytes) -> str:
    text = "".join(chr(c) if 32 <= c < 127 else f"\\x{c:02x}" for c in data[:16])
    return f"'{text}'"
