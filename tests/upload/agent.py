"""A reference agent: the board's end of KPR1 in Python, for simulated lines. No I/O.

The real one is examples/agent/kpr_agent.c; this one has faults that can be asked for.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kprof.upload.delta import encode_delta
from kprof.upload.wire import (
    CAN_BAUD,
    CAN_CHECK,
    CAN_DELTA,
    CAN_STOP,
    FLAG,
    FULL,
    Deframer,
    Info,
    Request,
    decode_request,
    encode_data,
    encode_frame,
    encode_info,
    encode_reply,
)

MAX_JUNK, MAYBE_REQUEST = 48, 34


@dataclass(frozen=True)
class Run:
    """The Profiler is started again: from `at` (s) on, `seconds` long, `ram` is stored."""

    at: float
    ram: bytes
    seconds: float = 0.0


@dataclass
class Agent:
    """Serves `ram`, 5 bytes a record.

    Attributes
    ----------
    poll
        Set by the line: is a received byte waiting?
    hostile
        Chance that a data frame is turned into something else that is well-formed.
    after_reset
        What the RAM holds after the board has started again; None: what it held.
    refuses
        Rates that it does not change to.
    nearest
        The rate that it changes to whatever it is asked for; None: what it is asked for.
    runs
        Runs that begin while it serves, in their order.
    run
        Number of the run that is there at first; None: it sends none.
    clock
        Set by the line: the time.
    counts_all
        As agents of old: what becomes a sound request counts as junk until it is one.
    """

    ram: bytes
    valid: int | None = None
    flags: int = FULL | CAN_BAUD | CAN_DELTA | CAN_CHECK
    base: int = 115200
    max_records: int = 256
    after_reset: bytes | None = None
    hostile: float = 0.0
    refuses: tuple[int, ...] = ()
    nearest: int | None = None
    counts_all: bool = False
    poll: Callable[[], bool] = lambda: False
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    name: str = "sim"
    run: int | None = None
    runs: tuple[Run, ...] = ()
    clock: Callable[[], float] = lambda: 0.0

    def __post_init__(self) -> None:
        self.done = False
        self.requests = 0
        self._begun: Run | None = None
        self._start()

    def reset(self) -> None:
        """Start anew, at the base rate."""
        if self.after_reset is not None:
            self.ram = self.after_reset
        self._start()

    def _start(self) -> None:
        self.baud = self.base
        self._deframer = Deframer()
        self._junk = self._since = 0

    def _run_on(self) -> None:
        """Store what the runs have stored by now."""
        while self.runs and self.clock() >= self.runs[0].at:
            run = self.runs[0]
            if self._begun is not run:
                self._begun = run
                self.run = None if self.run is None else self.run + 1
            done = (self.clock() - run.at) / run.seconds if run.seconds else 1.0
            stored = int(self.capacity * min(done, 1.0)) * 5
            self.ram = run.ram[:stored] + self.ram[stored:]
            if done < 1:
                return
            self.runs = self.runs[1:]

    @property
    def capacity(self) -> int:
        """Records in the RAM."""
        return len(self.ram) // 5

    def receive(self, byte: int) -> Iterator[bytes]:
        """Take one byte; the frames of the answer, each made when it is asked for."""
        if self._since < MAYBE_REQUEST and not self.counts_all:
            self._since += 1
        else:
            self._junk += 1
        if self.counts_all:
            self._give_up_rate()
        for body in self._deframer.feed(bytes((byte,))):
            request = decode_request(body)
            if request is not None:
                self._junk = self._since = 0
                self.requests += 1
                yield from self._answer(request)
        if byte == FLAG:
            self._junk += self._since
            self._since = 0
        self._give_up_rate()

    def _give_up_rate(self) -> None:
        if self._junk > MAX_JUNK and self.flags & CAN_BAUD:
            self.baud, self._junk, self._since = self.base, 0, 0

    def _answer(self, request: Request) -> Iterator[bytes]:
        self._run_on()
        seq, kind = request.seq, request.kind
        first = min(request.a, self.capacity)
        count = min(request.b, self.capacity - first)
        if kind == "I":
            yield encode_frame(encode_info(self.info(seq)))
        elif kind == "R":
            yield from self._records(seq, first, count, request.c)
        elif kind == "K":
            crc = zlib.crc32(self.ram[first * 5 : (first + count) * 5])
            yield encode_frame(encode_reply("k", seq, first + count, crc))
        elif kind == "B":
            can = self.flags & CAN_BAUD and request.a and request.a not in self.refuses
            rate = (self.nearest or request.a) if can else 0
            yield encode_frame(encode_reply("b", seq, rate))
            self.baud = rate or self.baud
        elif kind == "Q":
            yield encode_frame(encode_reply("q", seq, 0))
            self.baud = self.base
            self.done = True
        else:
            yield encode_frame(encode_reply("?", seq, ord(kind)))

    def info(self, seq: int = 0) -> Info:
        """What it says about itself."""
        return Info(
            seq, 1, 5, 24, 16, 1_000_000, self.capacity, self.valid, self.flags, self.max_records,
            self.name, self.run,
        )  # fmt: skip

    def _records(self, seq: int, first: int, count: int, how: int) -> Iterator[bytes]:
        per = max(1, min(how & 0xFFF, self.max_records))
        delta = how >> 12 == 1 and bool(self.flags & CAN_DELTA)
        while count:
            if self.flags & CAN_STOP and self.poll():
                break
            n = min(per, count)
            self._run_on()
            records = self.ram[first * 5 : (first + n) * 5]
            payload = encode_delta(records) if delta else records
            body = encode_data(seq, first, n, int(delta), payload)
            if self.hostile and self.rng.random() < self.hostile:
                yield from self._hostile(body)
            else:
                yield encode_frame(body)
            first, count = first + n, count - n
        yield encode_frame(encode_reply("e", seq, first))

    def _hostile(self, body: bytes) -> Iterator[bytes]:
        """Sound frames that are no right answer, and never records that are not in the RAM."""
        seq, rng = body[1], self.rng
        yield encode_frame(
            rng.choice(
                [
                    body[:-1],
                    body + b"\0",
                    body[:6] + bytes((body[6] ^ 1,)) + body[7:],
                    body[:8] + bytes((rng.randrange(2, 256),)) + body[9:],
                    body[:2] + b"\xff\xff\xff\xff" + body[6:],
                    encode_reply("e", seq, self.capacity),
                    encode_reply("?", seq, ord("R")),
                    b"d",
                    b"i" + bytes(rng.randrange(40)),
                    rng.randbytes(rng.randrange(1, 3000)),
                    b"",
                ]
            )
        )
