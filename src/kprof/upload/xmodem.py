"""Receiving by XMODEM (CRC, 1K, checksum) and YMODEM, as a conversation.

A block is ``SOH n ~n 128 bytes check`` or ``STX n ~n 1024 bytes check``; the check is CRC-16 (poly
1021), or a sum where the sender knows no other. What receivers often get wrong:

- a lost ACK: the sender sends the block again; it is acknowledged again and not stored twice;
- a header byte turned into EOT (or CAN): an EOT counts only when the line is silent after it and it
  comes again after a NAK; CAN counts twice in a row, with silence after it;
- a damaged header: the line is let fall silent before the NAK, so that the rest of the block is not
  taken for blocks;
- a sender that hangs up as soon as its EOT is answered: the file is complete.

The simple sum misses one error in 256; it is used only with a sender that answers nothing else.
"""

from __future__ import annotations

import binascii
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from kprof.errors import KprofError
from kprof.upload.failures import NoAnswerError, PortError, TransferError
from kprof.upload.stream import Stream, untold
from kprof.upload.talk import Talk

SOH, STX, EOT, ACK, NAK, CAN = 0x01, 0x02, 0x04, 0x06, 0x15, 0x18
START_S, START_TRIES, CRC_TRIES = 3.0, 20, 6
GAP_S = 0.5  # inside a block
BLOCK_S = 3.0  # until a block begins
QUIET_S = 0.15
LINGER_S = 0.6
SENDER_S = 11.0
MAX_BYTES = 1 << 26
FILLING = b"\x1a"  # of the last block, where the file does not fill it
CANCEL = bytes((CAN,)) * 8 + b"\b" * 8


@dataclass(frozen=True)
class Block:
    """A sound block: its number (mod 256) and its data."""

    number: int
    data: bytes


@dataclass(frozen=True)
class Sign:
    """Something else than a sound block: ``EOT``, ``CAN``, ``silence`` or ``noise``."""

    kind: str


class Receiver:
    """One reception.

    Parameters
    ----------
    ymodem
        Blocks with the file's name and size come first, and end the batch.
    tries
        Times that the sender is called.
    tell
        Is given the bytes so far.

    Attributes
    ----------
    retries
        Blocks asked for again.
    checked
        ``"crc"`` or ``"sum"``: how the blocks were checked.
    sized
        The sender has said how long the file is.
    """

    def __init__(
        self, *, ymodem: bool, tries: int = START_TRIES, tell: Callable[[int], None] = untold
    ) -> None:
        self.retries = 0
        self.checked = "crc"
        self.sized = False
        self.stream = Stream()
        self._ymodem, self._tries, self._tell = ymodem, tries, tell
        self._sign = b"C"
        self._data = bytearray()
        self._last_block = 0

    @property
    def data(self) -> bytes:
        """The bytes of the sound blocks so far."""
        return bytes(self._data)

    @property
    def filling(self) -> int:
        """How many bytes at the end look like the last block's filling; 0 with a size."""
        if self.sized:
            return 0
        last = self._data[len(self._data) - self._last_block :]
        return len(last) - len(last.rstrip(FILLING))

    def run(self) -> Talk[bytes]:
        """The conversation: the file's bytes, the last block's filling included without a size.

        Raises
        ------
        NoAnswerError
            No sender.
        TransferError
            The sender cancelled, or went silent.
        InterruptedUploadError
            The user stopped it.
        """
        try:
            first = yield from self._start()
            size = (yield from self._header(first)) if self._ymodem else None
            self.sized = size is not None
            yield from self._file(None if self._ymodem else first)
        except PortError:
            raise
        except KprofError:
            self.stream.deaf = True
            yield from self.stream.send(CANCEL)
            raise
        self.stream.deaf = True
        with contextlib.suppress(PortError):
            yield from self._take_leave()
        if size is not None and size > len(self._data):
            raise TransferError(
                f"the sender announced {size:,} bytes and sent {len(self._data):,} (send it again)"
            )
        return bytes(self._data[:size])

    def _start(self) -> Talk[Block]:
        for attempt in range(self._tries):
            if attempt >= CRC_TRIES and not self._ymodem:
                self._sign = b"C" if attempt % 2 else bytes((NAK,))
            self.checked = "crc" if self._sign == b"C" else "sum"
            yield from self.stream.send(self._sign)
            found = yield from self._block(START_S)
            if isinstance(found, Block) and found.number == (0 if self._ymodem else 1):
                return found
            if isinstance(found, Sign) and found.kind == "CAN":
                raise TransferError("the sender cancelled (start it again)")
            if isinstance(found, Block) and found.number == 0:
                raise NoAnswerError(
                    "the sender sends by YMODEM (sb, sz): its first block is a name (--proto "
                    "ymodem takes it, or type 'sx FILE' there)"
                )
            yield from self.stream.quiet(QUIET_S)
        raise NoAnswerError(
            f"no sender in {START_S * self._tries:.0f} s (start it on the board: it sends when "
            "it is asked to; --send types a command)"
        )

    def _header(self, block: Block) -> Talk[int | None]:
        """Take YMODEM's block 0; the size of the file, where it says one."""
        name, _, rest = block.data.partition(b"\0")
        if not name:
            raise TransferError("the sender has no file to send")
        words = rest.split(b"\0")[0].split()
        yield from self.stream.send(bytes((ACK,)) + self._sign)
        if words and words[0].isdigit() and len(words[0]) <= 10:
            return int(words[0])
        return None

    def _file(self, block: Block | None) -> Talk[None]:
        """Take blocks up to a confirmed EOT."""
        expected, heard_at, noisy = 1, self.stream.now, 0
        found: Block | Sign = block or (yield from self._block(BLOCK_S))
        while True:
            if isinstance(found, Block):
                if found.number == expected:
                    self._data += found.data
                    self._last_block = len(found.data)
                    expected = (expected + 1) & 0xFF
                    heard_at, noisy = self.stream.now, 0
                    self._tell(len(self._data))
                    answer = ACK
                elif found.number == (expected - 1) & 0xFF:
                    self.retries += 1
                    heard_at, answer = self.stream.now, ACK  # our ACK was lost
                else:
                    raise TransferError(
                        f"the sender is at block {found.number}, block {expected} is missing "
                        "(send it again)"
                    )
                if len(self._data) > MAX_BYTES:
                    raise TransferError(f"the sender goes on past {MAX_BYTES:,} bytes")
            elif found.kind == "EOT":
                if (yield from self._confirmed_end()):
                    return
                answer = NAK
            elif found.kind == "CAN":
                raise TransferError("the sender cancelled (send it again)")
            else:
                noisy += found.kind == "noise"
                answer = NAK
            if self.stream.now - heard_at > SENDER_S or noisy > 40:
                raise TransferError(
                    f"no sound block for {self.stream.now - heard_at:.0f} s, after "
                    f"{len(self._data):,} bytes (check the line; send it again)"
                )
            if answer == NAK:
                self.retries += 1
                # Before the first block the sender waits for the sign, not for a NAK.
                again = self._sign if self._ymodem and not self._data else bytes((NAK,))
                yield from self.stream.quiet(QUIET_S)
                yield from self.stream.send(again)
            else:
                yield from self.stream.send(bytes((ACK,)))
            found = yield from self._block(BLOCK_S)

    def _confirmed_end(self) -> Talk[bool]:
        """An EOT, with silence after it, again after a NAK."""
        for _ in range(3):
            yield from self.stream.send(bytes((NAK,)))
            found = yield from self._block(BLOCK_S)
            if isinstance(found, Sign) and found.kind == "EOT":
                return True
            if isinstance(found, Block):
                # It was no end: the block comes again after the NAK that follows.
                return False
        return False

    def _take_leave(self) -> Talk[None]:
        """Answer the confirmed EOT, and what the sender still wants to hear."""
        yield from self.stream.send(bytes((ACK,)))
        if self._ymodem:
            yield from self._end_of_batch()
        else:
            yield from self._linger()

    def _linger(self) -> Talk[None]:
        """Answer an EOT that comes once more because our last ACK was lost."""
        while True:
            found = yield from self._block(LINGER_S)
            if not (isinstance(found, Sign) and found.kind == "EOT"):
                return
            yield from self.stream.send(bytes((ACK,)))

    def _end_of_batch(self) -> Talk[None]:
        for _ in range(4):
            yield from self.stream.send(self._sign)
            found = yield from self._block(BLOCK_S)
            if isinstance(found, Block) and found.number == 0:
                yield from self.stream.send(bytes((ACK,)))
                if found.data.strip(b"\0"):
                    yield from self.stream.send(CANCEL)  # one file is all that is wanted
                return
            if isinstance(found, Sign) and found.kind == "EOT":  # our ACK of the end was lost
                yield from self.stream.send(bytes((ACK,)))

    def _block(self, wait: float) -> Talk[Block | Sign]:
        stream = self.stream
        head = yield from stream.read(1, wait)
        if not head:
            return Sign("silence")
        if head[0] in (EOT, CAN):
            rest = yield from stream.read(1, QUIET_S)
            if head[0] == EOT:
                return Sign("noise" if rest else "EOT")
            if rest and rest[0] == CAN and not (yield from stream.quiet(QUIET_S)) > 64:
                return Sign("CAN")
            return Sign("noise")
        if head[0] not in (SOH, STX):
            return Sign("noise")
        size = 128 if head[0] == SOH else 1024
        check_bytes = 2 if self.checked == "crc" else 1
        body = yield from stream.read(2 + size + check_bytes, GAP_S)
        if len(body) < 2 + size + check_bytes or body[0] != body[1] ^ 0xFF:
            return Sign("noise")
        data, check = body[2 : 2 + size], int.from_bytes(body[2 + size :], "big")
        sound = binascii.crc_hqx(data, 0) if check_bytes == 2 else sum(data) & 0xFF
        return Block(body[0], data) if sound == check else Sign("noise")
