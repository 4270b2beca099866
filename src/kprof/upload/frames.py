"""What KPR1 frames say, in words: for the log of a line."""

from __future__ import annotations

from collections.abc import Iterator

from kprof.upload.wire import Data, Deframer, decode_reply, decode_request


class FrameNotes:
    """Takes the bytes of both directions, and gives a line of text for each frame."""

    def __init__(self) -> None:
        self._deframers = {">": Deframer(), "<": Deframer()}

    def note(self, sign: str, data: bytes) -> Iterator[str]:
        """The frames that end in `data`, sent (``>``) or received (``<``), and damage."""
        deframer = self._deframers[sign]
        bad = deframer.bad
        for body in deframer.feed(data):
            yield _described(sign, body)
        if deframer.bad > bad:
            yield f"{deframer.bad - bad} damaged frames, or noise"


def _described(sign: str, body: bytes) -> str:
    if sign == ">":
        request = decode_request(body)
        if request is None:
            return f"no request: {body[:16].hex(' ')}"
        return (
            f"request {request.kind} {request.seq}: A={request.a} B={request.b} C={request.c:#06x}"
        )
    reply = decode_reply(body)
    if isinstance(reply, Data):
        return (
            f"records {reply.seq}: {reply.count} from {reply.first}, coding {reply.encoding}, "
            f"{len(reply.payload)} bytes"
        )
    return str(reply)
