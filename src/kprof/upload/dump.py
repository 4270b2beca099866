"""Fetching memory as a text dump that a monitor prints, or as raw bytes: a conversation.

A pass types its commands and takes what is printed. With `ask`, a template such as
``md.b {addr:x} {count:x}\\r``, each pass asks for what is missing; without, it types `greeting`
again. Formats with a sum on each line are complete when every byte has come once; without one every
byte must have come twice the same. A pass ends when the line is silent: for `QUIET_S`, or for
`DONE_S` where all that is wanted has been seen.

What an earlier upload has kept is compared with what comes: with samples that are asked for again
(`kprof.upload.kept`), and with whatever of it is printed again.
"""

from __future__ import annotations

import contextlib
import copy
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kprof.upload.ask import fill
from kprof.upload.dumplines import Parser, Piece
from kprof.upload.failures import (
    InterruptedUploadError,
    NoAnswerError,
    PortError,
    TransferError,
    VerifyError,
)
from kprof.upload.kept import check_kept, differing, look_again
from kprof.upload.layout import Memory
from kprof.upload.prompt import Greeting, greet, parse_typed
from kprof.upload.stream import Stream, untold
from kprof.upload.talk import Talk

FIRST_S, QUIET_S, DONE_S = 10.0, 2.0, 0.2
PIECE = 4096
LEAST_WORD = 4  # bytes; of a dump that does not show its words
MAX_PASSES = 8
MAX_DUMP, MAX_SURPLUS = 1 << 30, 1 << 16
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
        What is wanted, and what already exists.
    parser
        Takes the text apart.
    tell
        Is given the bytes so far.

    Attributes
    ----------
    retries
        Commands that were typed again.
    verified
        How, and how many records: see `kprof.upload.host.Fetched`.
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
        self.verified = "", 0
        self._parser, self._options, self._tell = parser, options, tell
        self._resumed = memory.held > 0

    def run(self) -> Talk[None]:
        """The conversation; afterwards the memory is complete.

        Raises
        ------
        NoAnswerError
            Nothing was printed.
        TransferError
            Something is missing at the end; the message lists what to type.
        VerifyError
            The passes do not agree, or what was kept is not what comes now.
        InterruptedUploadError
            The user stopped it.
        """
        options, memory = self._options, self.memory
        again = bool(options.ask or options.greeting.sent)
        complete: list[Memory] = []
        whole = not memory.missing()  # of an earlier upload
        if options.ask:
            options.command(0, 1)
            yield from check_kept(memory, self._ask_again)
            self._parser.bad = 0
        if options.passes == 1:
            for _ in range(MAX_PASSES):
                held = memory.held
                yield from self._pass(memory)
                if not memory.missing():
                    doubtful = self._parser.bad or memory.conflicts
                    if doubtful and again:
                        break  # a sum of 8 bits misses one damaged line in 256
                    if memory.conflicts:
                        memory.clear()
                        raise VerifyError(
                            "bytes came twice and were others the second time: of two runs, or "
                            "damaged (dump again)"
                        )
                    if options.ask and not whole:
                        looked = yield from look_again(memory, self._ask_again)
                        self.verified = "samples" if looked else "", looked
                    return
                self.retries += 1
                if memory.held == held or not again:
                    break
            if memory.missing():
                raise TransferError(self._gaps())
            complete = [copy.deepcopy(memory)]
            memory.clear()
            self._resumed = False
        yield from self._agreeing(complete)

    def _agreeing(self, seen: list[Memory]) -> Talk[None]:
        """Passes until each byte has come twice the same; `seen` are whole ones before."""
        again = bool(self._options.ask or self._options.greeting.sent)
        for number in range(len(seen), MAX_PASSES):
            found = Memory(self.memory.layout)
            try:
                yield from self._pass(found, whole=number < 2)
            finally:  # of a pass that is broken off, too: it is kept
                for before in seen:
                    self._put(self.memory, found.agreeing(before))
            if self.memory.conflicts:
                self.memory.clear()
                raise VerifyError(
                    "two dumps agree on other bytes than two before them: what is dumped changes, "
                    "or the line is too bad for it"
                )
            seen.append(found)
            if not self.memory.missing():
                if number > 1:  # each part was dumped twice the same, but not all at one time
                    yield from self._refuse_two_runs(found)
                self.retries += max(0, number - 1)
                self.verified = "twice", self.memory.layout.records
                return
            if number and not again:
                break
        if self.memory.held:
            raise VerifyError(f"the dumps do not agree with each other: {self._gaps()}")
        raise TransferError(self._gaps())

    def _refuse_two_runs(self, last: Memory) -> Talk[None]:
        """Raise where the last dump, or what is asked for again, is of another run."""
        if self.memory.contradicts(last):
            self.memory.clear()
            raise VerifyError(
                "the last dump is another run's than those before it: the board was started again "
                "or is still recording (stop it, upload again)"
            )
        if self._options.ask:
            yield from look_again(self.memory, self._ask_again)

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
                yield from self._ask_again(memory, at, count)
        if self._parser.counted:
            late = 0
            with contextlib.suppress(PortError):
                late = yield from self.stream.quiet(QUIET_S)
            if late:
                self._refuse_surplus(memory, late, sum(length for _, length in spans))

    def _ask_again(self, memory: Memory, address: int, count: int) -> Talk[None]:
        """Type the command for these bytes, in whole words of the board's, and take them."""
        wanted = self._aligned(address, count)
        yield from self.stream.send(parse_typed(self._options.command(*wanted)))
        yield from self._take(memory, b"", wanted=wanted)

    def _aligned(self, address: int, count: int) -> tuple[int, int]:
        """These bytes and what completes their words, within their part of the memory.

        A 68000 takes an address error on a word at an odd address.
        """
        word = max(LEAST_WORD, self._parser.word)
        for start, length in self.memory.layout.spans():
            if start <= address < start + length:
                first = max(start, address - address % word)
                stop = min(start + length, -(-(address + count) // word) * word)
                return first, stop - first
        raise AssertionError(f"{address:#x} is in no span")

    def _take(
        self, memory: Memory, heard: bytes, wanted: tuple[int, int] | None = None
    ) -> Talk[None]:
        """Take what is printed: of the whole memory, or of the (address, bytes) asked for."""
        parser, stream = self._parser, self.stream
        first, count = wanted or memory.layout.extent()
        parser.begin(first, count)
        received = stream.received
        lost: PortError | InterruptedUploadError | None = None
        stream.pending[:0] = heard
        try:
            if wanted is None:  # what already exists; and the time, for others have waited
                yield from stream.more(0.0)
            yield from self._listen(memory, wanted)
        except (PortError, InterruptedUploadError) as error:
            lost = error
        self._put(memory, parser.feed(bytes(stream.pending)), wanted)
        stream.pending.clear()
        self._put(memory, parser.finish(), wanted)
        self._tell(memory.held)
        if parser.surplus > 0:
            self._refuse_surplus(memory, parser.surplus, count)
        if isinstance(lost, InterruptedUploadError) or (lost and memory.missing()):
            raise lost  # but a far end may close when it has printed all
        if stream.received == received and not heard:
            kind = TransferError if received else NoAnswerError
            raise kind(
                f"nothing was printed in {FIRST_S:.0f} s (is the board at its prompt, the rate "
                "right? --send or --ask types the command)"
            )

    def _listen(self, memory: Memory, wanted: tuple[int, int] | None) -> Talk[None]:
        """Feed the parser until the dump has ended."""
        parser, stream = self._parser, self.stream
        taken, quiet, received = 0, FIRST_S, stream.received
        limit = MAX_DUMP if wanted is None else 65536 + 64 * wanted[1]
        while not parser.ended:
            if stream.received - received > limit or parser.surplus > MAX_SURPLUS:
                yield from stream.send(STOP)  # the command arrived as another one
                yield from stream.quiet(QUIET_S)
                return
            if not stream.pending and not (yield from stream.more(stream.now + quiet)):
                return
            data = bytes(stream.pending)
            stream.pending.clear()
            new = self._put(memory, parser.feed(data), wanted)
            taken += new
            if new or parser.waiting:
                self._tell(memory.held + parser.waiting)
            done = taken >= wanted[1] if wanted else taken > 0 and not memory.missing_any()
            last = parser.reached and (wanted or not parser.counted)
            quiet = DONE_S if done or last else QUIET_S

    def _refuse_surplus(self, memory: Memory, surplus: int, count: int) -> None:
        for shifted in (self.memory, memory):  # the earlier parts may be as well
            shifted.clear()
        raise TransferError(
            f"{surplus:,} bytes more than {count:,} came: an echo or a prompt is among them, or "
            "there are more (--expect skips what comes first)"
        )

    def _put(
        self, memory: Memory, pieces: Iterable[Piece], wanted: tuple[int, int] | None = None
    ) -> int:
        """Store pieces; how many of their bytes are wanted.

        What was not asked for is left out: a damaged address must not put bytes over others.
        """
        taken = 0
        for address, data in pieces:
            if wanted:
                first, last = max(address, wanted[0]), min(address + len(data), sum(wanted))
                data = data[first - address : max(first, last) - address]
                address = first
            taken += memory.put(address, data)
            if self._resumed and memory is self.memory and memory.conflicts:
                raise differing(address)
        return taken

    def _gaps(self) -> str:
        if self._parser.surplus < 0 and not self._options.ask:
            extent = self.memory.layout.extent()[1]
            return f"{-self._parser.surplus:,} bytes are missing of {extent:,} (send them again)"
        gaps = self.memory.missing()
        shown = [
            shlex.quote(self._options.command(*self._aligned(start, count)))
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
