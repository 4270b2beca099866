"""Requests and replies of KPR1 over a line: numbers the requests, takes the frames apart."""

from __future__ import annotations

from kprof.upload.talk import Receive, Send, Talk
from kprof.upload.wire import (
    Bye,
    Check,
    Deframer,
    Echo,
    End,
    Info,
    Malformed,
    Rate,
    Reply,
    Request,
    Unknown,
    decode_reply,
    encode_request,
)

Answer = Info | End | Check | Rate | Bye | Unknown
FIRST_BYTES = 1024  # that are looked at where no agent answers
ANSWER_S = 0.4  # an answer of a few bytes
LONGEST_TRIP_S = 2.0  # a longer one was a stall


class Link:
    """One end of a KPR1 line; what it has seen so far.

    Attributes
    ----------
    now
        The time of the last step.
    heard_at
        The time of the last sound message.
    interrupts
        How often the user has asked to stop.
    echoes, malformed
        Requests that came back; sound frames that are no message.
    first_bytes
        The first `FIRST_BYTES` that came, whatever they are.
    round_trip_s
        The shortest time from a request to its answer so far; 0 before the first.
    """

    def __init__(self) -> None:
        self.now = self.heard_at = 0.0
        self.interrupts = self.echoes = self.malformed = 0
        self.first_bytes = b""
        self.round_trip_s = 0.0
        self._seq = 0
        self._deframer = Deframer()

    @property
    def bad(self) -> int:
        """Frames that were damaged, or noise between frames."""
        return self._deframer.bad + self.malformed

    @property
    def received(self) -> int:
        """Bytes received in all."""
        return self._deframer.received

    def send(self, kind: str, a: int = 0, b: int = 0, c: int = 0) -> Talk[int]:
        """Send one request; its number."""
        self._seq = (self._seq + 1) & 0xFF
        yield from self.write(encode_request(Request(kind, self._seq, a, b, c)))
        return self._seq

    def write(self, data: bytes) -> Talk[None]:
        """Send bytes as they are."""
        heard = yield Send(data)
        self.now, self.interrupts = heard.now, heard.interrupts

    def listen(self, until: float) -> Talk[list[Reply] | None]:
        """The messages in what arrives next, perhaps none yet; None: nothing came until then."""
        heard = yield Receive(until)
        self.now, self.interrupts = heard.now, heard.interrupts
        if not heard.data:
            return None
        if len(self.first_bytes) < FIRST_BYTES:
            self.first_bytes = (self.first_bytes + heard.data)[:FIRST_BYTES]
        replies: list[Reply] = []
        for body in self._deframer.feed(heard.data):
            reply = decode_reply(body)
            if isinstance(reply, Echo):
                self.echoes += 1
            elif isinstance(reply, Malformed):
                self.malformed += 1
            else:
                replies.append(reply)
                self.heard_at = self.now
        return replies

    def ask(
        self,
        kind: str,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        *,
        wait: float = ANSWER_S,
        asked: dict[int, float] | None = None,
    ) -> Talk[Answer | None]:
        """Send a request whose answer is one message; None: no answer in `wait` seconds.

        Parameters
        ----------
        wait
            Over the line's round trip.
        asked
            The same request's numbers, and when each was sent, as often as it was sent before: an
            answer to any of these counts. This one is added.
        """
        asked = {} if asked is None else asked
        seq = yield from self.send(kind, a, b, c)
        asked[seq] = self.now
        until, interrupts = self.now + wait + self.round_trip_s, self.interrupts
        while self.now < until and self.interrupts == interrupts:
            for reply in (yield from self.listen(until)) or ():
                if isinstance(reply, Answer) and reply.seq in asked and _answers(kind, reply):
                    self._timed(kind, self.now - asked[reply.seq])
                    return reply
        return None

    def _timed(self, kind: str, seconds: float) -> None:
        """Learn the round trip from an answer that takes the board no time."""
        if kind != "K":
            shortest = min(seconds, self.round_trip_s or seconds)
            self.round_trip_s = min(shortest, LONGEST_TRIP_S)


def _answers(kind: str, reply: Answer) -> bool:
    expected = {"I": Info, "R": End, "K": Check, "B": Rate, "Q": Bye}
    return isinstance(reply, (expected[kind], Unknown))
