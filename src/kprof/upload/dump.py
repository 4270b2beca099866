"""Fetching memory as a text dump that a monitor prints, or as raw bytes: a conversation.

A pass types its commands and takes what is printed. With `ask`, a template such as
``md.b {addr:x} {count:x}\\r``, each pass asks for what is missing; without, it types `greeting`
again. Formats with a sum on each line are complete when every byte has come once; without one every
byte must have come twice the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kprof.upload.ask import fill
from kprof.upload.dumplines import Parser
from kprof.upload.failures import NoAnswerError, TransferError, VerifyError
from kprof.upload.layout import Memory
from kprof.upload.prompt import Greeting, greet, parse_typed
from kprof.upload.stream import Stream, untold
from kprof.upload.talk import Talk

FIRST_S, QUIET_S = 10.0, 2.0
PIECE = 4096
MAX_PASSES = 8
MAX_DUMP = 1 << 30
STOP = b"\x03"


@dataclass(frozen=True)
class DumpOptions:
    """How to make the board print.

    Attributes
    ----------
    ask
        Template of the command for `addr`, `count` bytes, up to `end`; empty: `greeting` is typed.
    greeting
        What to type and to wait for.
    passes
        Times that every byte must have come.
    """

    ask: str = ""
    greeting: Greeting = field(default_factory=Greeting)
    passes: int = 1

    def command(self, addr: int, count: int) -> str:
        """The command that prints these bytes.

        Raises
        ------
        UsageError
            The template is wrong.
        """
        return fill(self.ask, addr, count)


class Dumper:
    """One fetch.

    Parameters
    ----------
    memory
        What is wanted, and what is there already.
    parser
        Takes the text apart.
    tell
        Is given the bytes so far.

    Attributes
    ----------
    retries
        Commands that were typed again.
    """

    def __init__(
        self,
        memory: Memory,
        parser: Parser,
        options: DumpOptions,
        tell: Callable[[int], None] = untold,
    ) -> None:
        self.memory = memory
        self.stream = Stream()
        self.retries = 0
        self._parser, self._options, self._tell = parser, options, tell

    def run(self) -> Talk[None]:
        """The conversation; afterwards the memory is complete.

        Raises
        ------
        NoAnswerError
            Nothing was printed.
        TransferError
            Something is missing at the end; the message lists what to type.
        VerifyError
            The passes do not agree.
        InterruptedUploadError
            The user stopped it.
        """
        options, memory = self._options, self.memory
        if options.ask:
            options.command(0, 1)
        if options.passes == 1:
            for _ in range(MAX_PASSES):
                held = memory.held
                yield from self._pass(memory)
                if not memory.missing():
                    if self._parser.bad and (options.ask or options.greeting.sent):
                        break  # a sum of 8 bits misses one damaged line in 256
                    return
                self.retries += 1
                if memory.held == held or not (options.ask or options.greeting.sent):
                    break
            if memory.missing():
                raise TransferError(self._gaps())
            memory.clear()
        yield from self._agreeing()

    def _agreeing(self) -> Talk[None]:
        """Passes until each byte has come twice the same."""
        seen: list[Memory] = []
        for number in range(MAX_PASSES):
            found = Memory(self.memory.layout)
            yield from self._pass(found, whole=number < 2)
            for before in seen:
                for address, data in found.agreeing(before):
                    self.memory.put(address, data)
            seen.append(found)
            if not self.memory.missing():
                self.retries += max(0, number - 1)
                return
            if number and not (self._options.ask or self._options.greeting.sent):
                break
        if self.memory.held:
            raise VerifyError(f"the dumps do not agree with each other: {self._gaps()}")
        raise TransferError(self._gaps())

    def _pass(self, memory: Memory, *, whole: bool = False) -> Talk[None]:
        """Type the commands for what is missing (or for all), and take what is printed."""
        options = self._options
        if not options.ask:
            heard = yield from greet(options.greeting)
            yield from self._take(memory, heard)
            return
        spans = memory.layout.spans() if whole else self.memory.missing()
        for start, length in spans:
            for at in range(start, start + length, PIECE):
                count = min(PIECE, start + length - at)
                yield from self.stream.send(parse_typed(options.command(at, count)))
                yield from self._take(memory, b"", wanted=(at, count))

    def _take(
        self, memory: Memory, heard: bytes, wanted: tuple[int, int] | None = None
    ) -> Talk[None]:
        parser, stream = self._parser, self.stream
        before = taken = 0
        stream.pending[:0] = heard
        quiet, received = FIRST_S, stream.received
        limit = MAX_DUMP if wanted is None else 65536 + 64 * wanted[1]
        while not parser.ended:
            if stream.received - received > limit:  # the command arrived as another one
                yield from stream.send(STOP)
                yield from stream.quiet(QUIET_S)
                break
            if not stream.pending and not (yield from stream.more(stream.now + quiet)):
                break
            data = bytes(stream.pending)
            stream.pending.clear()
            for address, piece in parser.feed(data):
                taken += memory.put(address, piece)
            quiet = QUIET_S
            if taken > before:
                before = taken
                self._tell(memory.held)
            done = taken >= wanted[1] if wanted else taken > 0 and not memory.missing_any()
            if done:
                quiet = 0.2
        for address, piece in parser.finish():
            taken += memory.put(address, piece)
        self._tell(memory.held)
        if stream.received == received and not heard:
            raise NoAnswerError(
                f"nothing was printed in {FIRST_S:.0f} s (is the board at its prompt, the rate "
                "right? --send or --ask types the command)"
            )

    def _gaps(self) -> str:
        gaps = self.memory.missing()
        shown = [
            repr(self._options.command(start, count))
            if self._options.ask
            else f"{start:#x} to {start + count - 1:#x}"
            for start, count in gaps[:8]
        ]
        more = f" and {len(gaps) - 8} more" if len(gaps) > 8 else ""
        damaged = f", {self._parser.bad} lines were damaged" if self._parser.bad else ""
        verb = "type again" if self._options.ask else "dump again"
        return (
            f"{sum(count for _, count in gaps):,} bytes are missing{damaged}; {verb} "
            f"{', '.join(shown)}{more}"
        )
