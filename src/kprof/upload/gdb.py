"""Reading memory through a gdb stub: `m` (hexadecimal) or `x` (binary) reads, as a conversation.

A packet is ``$data#sum``; both ends acknowledge with ``+``, we together with the next request (of
two writes to a socket the second waits). A reply does not say which request it answers, so after
anything out of the ordinary the line is let fall silent before the next request, and at the end
everything is read a second time and compared; else samples are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from kprof.errors import KprofError
from kprof.upload.failures import NoAnswerError, PortError, TransferError, VerifyError
from kprof.upload.kept import check_kept, look_again
from kprof.upload.layout import Memory
from kprof.upload.stream import Stream, untold
from kprof.upload.talk import Talk

ANSWER_S = 1.0
QUIET_S = 0.2
GIVE_UP_S = 10.0
LEAST = 4
DEFAULT_PACKET, MAX_PACKET = 400, 16384
PASSES = 4


class GdbReader:
    """One fetch.

    Parameters
    ----------
    memory
        What is wanted, and what already exists; some of that is read again and compared.
    twice
        Read everything a second time even where nothing went wrong.
    detach
        Let the target run at the end.
    tell
        Is given the bytes so far.

    Attributes
    ----------
    retries
        Requests that were repeated.
    verified
        How, and how many records: see `kprof.upload.host.Fetched`.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        twice: bool = False,
        detach: bool = True,
        tell: Callable[[int], None] = untold,
    ) -> None:
        self.memory = memory
        self.stream = Stream()
        self.retries = 0
        self.verified = "", 0
        self._twice, self._detach, self._tell = twice, detach, tell
        self._most = 0
        self._binary = False
        self._answered_at = 0.0
        self._owed = b""  # our acknowledgement of the last reply

    def run(self) -> Talk[None]:
        """The conversation; afterwards the memory is complete.

        Raises
        ------
        NoAnswerError
            No stub answers.
        TransferError
            It does not give the memory.
        VerifyError
            What it gives changes, or is not what was there already.
        InterruptedUploadError
            The user stopped it.
        """
        yield from self._connect()
        try:
            yield from check_kept(self.memory, self._read_piece)
            yield from self._read_all(self.memory)
            if (yield from self._quiet(QUIET_S)) > 2:
                self.retries += 1
            if self._twice or self.retries:
                yield from self._compare()
                self.verified = "twice", self.memory.layout.records
            else:
                self.verified = "samples", (yield from look_again(self.memory, self._read_piece))
        except PortError:
            raise
        except KprofError:
            self.stream.deaf = True
            yield from self._leave()
            raise
        self.stream.deaf = True
        with contextlib.suppress(PortError):  # everything is here: a stub may hang up at `D`
            yield from self._leave()

    def _connect(self) -> Talk[None]:
        for _ in range(8):
            yield from self.stream.send(b"+")
            yield from self.stream.quiet(QUIET_S, 1.0)
            reply = yield from self._ask(b"qSupported:")
            if reply is not None:
                break
        else:
            raise NoAnswerError(
                "no gdb stub answers"
                + (f": {self.stream.received} bytes, no packet" if self.stream.received else "")
                + " (is it started, the rate right? --start-baud sets it)"
            )
        size = DEFAULT_PACKET
        for feature in reply.split(b";"):
            name, _, value = feature.partition(b"=")
            if name == b"PacketSize":
                size = _number(value) or size
            self._binary = self._binary or feature == b"binary-upload+"
        # Some stubs give no memory before they were asked why they stopped, and for which thread.
        for question in (b"?", b"Hg0"):
            yield from self._ask(question)
        yield from self._quiet(QUIET_S, 1.0)
        size = min(max(size, 32), MAX_PACKET)
        self._most = size - 8 if self._binary else (size - 4) // 2

    def _read_all(self, memory: Memory) -> Talk[None]:
        """Read what is missing."""
        while gaps := memory.missing():
            yield from self._read_parts(memory, gaps)

    def _read_piece(self, memory: Memory, address: int, count: int) -> Talk[None]:
        yield from self._read_parts(memory, [(address, count)])

    def _read_parts(self, memory: Memory, parts: list[tuple[int, int]]) -> Talk[None]:
        """Read these, in pieces that the stub can take."""
        most = self._most
        for start, length in parts:
            at = start
            while at < start + length:
                count = min(most, start + length - at)
                data = yield from self._read(at, count)
                if data is None:
                    if most <= LEAST:
                        raise TransferError(
                            f"the stub does not give {count} bytes at {at:#x} (is that the "
                            "event RAM's address? --addr)"
                        )
                    most = max(LEAST, most // 2)
                    continue
                memory.put(at, data)
                at += count
                self._tell(memory.held)

    def _read(self, address: int, count: int) -> Talk[bytes | None]:
        """`count` bytes; None: the stub refuses so many."""
        started = self.stream.now
        while True:
            letter = b"x" if self._binary else b"m"
            reply = yield from self._ask(b"%s%x,%x" % (letter, address, count))
            if reply is not None:
                self._answered_at = self.stream.now
                data = data_in(reply, binary=self._binary)
                if data is not None and len(data) == count:
                    return data
                if data is not None and 0 < len(data) < count and not self.retries:
                    return None
                if self._binary and not reply:
                    self._binary = False
                    self._most = (self._most + 4) // 2
                    return None
                if reply[:1] == b"E":
                    return None
            self.retries += 1
            yield from self._quiet(QUIET_S, 2.0)
            if self.stream.now - max(started, self._answered_at) > GIVE_UP_S:
                raise TransferError(
                    f"the stub has not answered for {GIVE_UP_S:.0f} s, at {address:#x} (check the "
                    "cable and the board)"
                )
            if self.stream.now - started > 2 * GIVE_UP_S:
                return None

    def _compare(self) -> Talk[None]:
        """Read again until two passes agree on every byte."""
        before = self.memory
        for _ in range(PASSES):
            again = Memory(before.layout)
            yield from self._read_all(again)
            if again.same(before):
                for start, length in before.layout.spans():
                    self.memory.put(start, again.get(start, length))
                return
            before = again
        raise VerifyError(
            f"{PASSES} passes over the memory differ: it changes while it is read (stop the board, "
            "or turn the Profiler off)"
        )

    def _leave(self) -> Talk[None]:
        if self._detach:
            yield from self._ask(b"D")
        yield from self._acknowledge()

    def _acknowledge(self) -> Talk[None]:
        """Send the acknowledgement that is owed, where no request follows."""
        if self._owed:
            owed, self._owed = self._owed, b""
            yield from self.stream.send(owed)

    def _quiet(self, gap: float, longest: float = 5.0) -> Talk[int]:
        yield from self._acknowledge()
        return (yield from self.stream.quiet(gap, longest))

    def _ask(self, data: bytes) -> Talk[bytes | None]:
        """Send a packet; the data of the next sound one, or None."""
        stream = self.stream
        if b"$" in stream.pending:  # a reply too many: which request has it answered?
            self.retries += 1
            yield from self._quiet(QUIET_S)
        owed, self._owed = self._owed, b""
        yield from stream.send(b"%s$%s#%02x" % (owed, data, sum(data) & 0xFF))
        until = stream.now + ANSWER_S
        latest = stream.now + GIVE_UP_S
        while stream.now < until:
            reply = packet_in(stream.pending)
            if reply is not None:
                self._owed = b"+"
                return reply
            if not (yield from stream.more(until)):
                return None
            until = min(stream.now + ANSWER_S, latest)  # a long reply takes its time
            if len(stream.pending) > 4 * MAX_PACKET:
                stream.pending.clear()
        return None


def packet_in(pending: bytearray) -> bytes | None:
    """Take the first sound packet out of what has come, and what stands before it."""
    while (start := pending.find(b"$")) >= 0:
        end = pending.find(b"#", start)
        if end < 0 or len(pending) < end + 3:
            return None
        body, digits = bytes(pending[start + 1 : end]), bytes(pending[end + 1 : end + 3])
        if b"$" in body:  # cut off by the next packet, which begins there
            del pending[: start + 1 + body.rfind(b"$")]
            continue
        del pending[: end + 3]
        if _number(digits) == sum(body) & 0xFF:
            return body
    return None


def data_in(reply: bytes, *, binary: bool) -> bytes | None:
    """The bytes in a reply to a read; None: it is none."""
    if binary:
        if reply[:1] != b"b":
            return None
        head, *escaped = reply[1:].split(b"}")
        if not all(escaped):
            return None
        return head + b"".join(bytes((part[0] ^ 0x20,)) + part[1:] for part in escaped)
    out = bytearray()
    text = _expanded(reply)
    if text is None or len(text) % 2:
        return None
    try:
        out += bytes.fromhex(text.decode("ascii"))
    except (ValueError, UnicodeError):
        return None
    return bytes(out) if b" " not in text else None


def _expanded(reply: bytes) -> bytes | None:
    """Undo run lengths: ``0*n`` is n - 29 more of the character before."""
    head, *rest = reply.split(b"*")
    out = bytearray(head)
    for part in rest:
        if not part or not out or not 29 < part[0] <= 126:
            return None
        out += out[-1:] * (part[0] - 29) + part[1:]
    return bytes(out)


def _number(digits: bytes) -> int | None:
    try:
        return int(digits, 16) if digits.strip() == digits and b"_" not in digits else None
    except ValueError:
        return None
