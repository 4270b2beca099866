"""A serial line in virtual time between a conversation and an agent, with faults both ways.

Bytes take 10 bit times, a direction carries one at a time, and arrive a latency later. The agent
computes in no time but sends blocking, and hears only what its receiver's FIFO holds meanwhile. The
fault rates are chances a byte. Not modelled: bit timing, baud rates that nearly agree, a collision
on a half-duplex line.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.upload.agent import Agent
from tests.upload.boards import Board

from kprof.upload.failures import PortError


@dataclass(frozen=True)
class Faults:
    """What goes wrong.

    Attributes
    ----------
    flip, drop, double, insert
        Chances a byte: one bit wrong, lost, twice, a random byte before it.
    burst
        Chance a byte that 20 to 200 bytes of noise take the place of what follows.
    stall, stall_s
        Chance a frame that nothing is sent for up to `stall_s`.
    cuts
        (from, to) in s: nothing arrives in either direction.
    echo
        What the host sends comes back.
    xon
        Chance a byte that an XON or XOFF is inserted; raw ones are eaten.
    seven_bits
        The top bit is lost.
    chatter
        Chance a frame that the board's console prints between frames.
    printk
        Chance a byte that the board's console prints before it, inside a frame too.
    line_ends
        A terminal server turns line feeds into CR and LF.
    noise_above
        Above this rate, `noise` more flips a byte.
    resets
        Times (s) at which the board starts again: back to the base rate, deaf for `boot_s`.
    """

    flip: float = 0.0
    drop: float = 0.0
    double: float = 0.0
    insert: float = 0.0
    burst: float = 0.0
    stall: float = 0.0
    stall_s: float = 0.0
    cuts: tuple[tuple[float, float], ...] = ()
    echo: bool = False
    xon: float = 0.0
    seven_bits: bool = False
    chatter: float = 0.0
    printk: float = 0.0
    line_ends: bool = False
    noise_above: int = 1 << 30
    noise: float = 0.0
    resets: tuple[float, ...] = ()
    boot_s: float = 0.5


EPOCH = 5000.0  # no clock that a conversation is given begins at 0
CONSOLE = (b"\r\nlogin: ", b"eth0: link up\r\n", b"~~~\r\n", b"panic? no\r\n", b"~", b"\x13\x11")


class SimLine:
    """The line; a `kprof.upload.line.Line` for the host's end.

    Parameters
    ----------
    agent
        Serves the other end; None: nobody.
    latency_s
        Time from the end of a byte to its arrival, each way: half the round trip.
    fifo
        Bytes that the agent's receiver holds while it sends.
    """

    def __init__(
        self,
        agent: Agent | Board | None,
        *,
        baud: int = 115200,
        latency_s: float = 0.008,
        fifo: int = 16,
        faults: Faults = Faults(),
        seed: int = 0,
    ) -> None:
        self.now = 0.0
        self.baud = baud
        self._agent, self._latency, self._fifo, self._faults = agent, latency_s, fifo, faults
        self._rng = random.Random(seed)
        self._to_agent: deque[tuple[float, int, int]] = deque()  # when, what, at which rate
        self._to_host: list[tuple[float, int, float, bytes]] = []
        self._count = 0
        self._host_free = self._agent_time = 0.0
        self._answer: Iterator[bytes] | None = None
        self._resets = list(faults.resets)
        self._deaf_until = 0.0
        self.sent = self.carried = 0
        if agent is not None:
            agent.poll, agent.clock = self._waiting, lambda: self._agent_time

    # The host's end.

    def clock(self) -> float:
        """Virtual time, s; `now` counts from the start of the test."""
        return EPOCH + self.now

    def write(self, data: bytes) -> None:
        """Send towards the agent."""
        start = max(self.now, self._host_free)
        bit10 = 10 / self.baud
        self._host_free = start + len(data) * bit10
        self.sent += len(data)
        if self._faults.echo:
            self._arrive(start + self._latency, bit10, data)
        if self._cut(start):
            return
        for at, byte in enumerate(self._damage(data, self.baud)):
            self._to_agent.append((start + (at + 1) * bit10 + self._latency, byte, self.baud))

    def read(self, timeout: float) -> bytes:
        """What has arrived by the first arrival, or at the end of `timeout`."""
        until = self.now + timeout
        while True:
            first = self._to_host[0] if self._to_host else None
            due = first[0] + first[2] * len(first[3]) if first else float("inf")
            if due <= self._agent_time or not self._agent_runs(min(due, until)):
                break
        if due <= until:
            self.now = max(self.now, due)
            return self._taken(self.now)
        self.now = max(self.now, until)
        return self._taken(self.now)

    def prints(self, at: float, data: bytes) -> None:
        """The board's end sends something of itself, at this time."""
        self._arrive(at, 10 / self.baud, data)

    def set_baud(self, rate: int) -> None:
        """Change the host's rate."""
        self.now = max(self.now, self._host_free)
        self.baud = rate

    def discard(self) -> None:
        """Throw away what has arrived."""
        self._agent_runs(self.now)
        self._taken(self.now)

    def _taken(self, now: float) -> bytes:
        out = bytearray()
        while self._to_host and self._to_host[0][0] < now:
            start, order, step, data = heapq.heappop(self._to_host)
            n = min(len(data), int((now - start) / step + 1e-6))
            out += data[:n]
            if n < len(data):
                rest = (start + n * step, order, step, data[n:])
                heapq.heappush(self._to_host, rest)
                break
        return bytes(out)

    # The agent's end.

    def _agent_runs(self, until: float) -> bool:
        """Let the agent do one thing that begins before `until`; False: there is none."""
        agent = self._agent
        if agent is None or agent.done:
            return False
        if self._resets and self._resets[0] <= max(self._agent_time, self.now):
            self._reset(agent, self._resets.pop(0))
            return True
        if self._answer is not None:
            if self._agent_time > until:
                return False
            rate = agent.baud
            frame = next(self._answer, None)
            if frame is None:
                self._answer = None
                self._overrun()
            else:
                self._send(frame, rate)
            return True
        if not self._to_agent or self._to_agent[0][0] > until:
            return False
        at, byte, rate = self._to_agent.popleft()
        self._agent_time = max(self._agent_time, at)
        if at >= self._deaf_until:
            if rate != agent.baud:
                garbled = self._rng.randbytes(int(agent.baud / rate + self._rng.random()))
                self._to_agent.extendleft((at, part, agent.baud) for part in garbled[1:])
                if not garbled:
                    return True
                byte = garbled[0]
            self._answer = iter(agent.receive(byte))
        return True

    def _send(self, frame: bytes, rate: int) -> None:
        faults, rng = self._faults, self._rng
        if faults.stall and rng.random() < faults.stall:
            self._agent_time += rng.random() * faults.stall_s
        if faults.chatter and rng.random() < faults.chatter:
            frame = rng.choice(CONSOLE) + frame
        start, bit10 = self._agent_time, 10 / rate
        self._agent_time += len(frame) * bit10
        self.carried += len(frame)
        if self._cut(start):
            return
        damaged = self._damage(frame, rate)
        if rate != self.baud:
            damaged = self._garble(damaged, rate, self.baud)
        self._arrive(start + self._latency, bit10, damaged)

    def _arrive(self, start: float, step: float, data: bytes) -> None:
        if data:
            self._count += 1
            heapq.heappush(self._to_host, (start, self._count, step, data))

    def _overrun(self) -> None:
        """Of what came while the agent sent, it has only what the FIFO held."""
        late = 0
        while late < len(self._to_agent) and self._to_agent[late][0] <= self._agent_time:
            late += 1
        if late > self._fifo:
            kept = [self._to_agent.popleft() for _ in range(late)][: self._fifo]
            self._to_agent.extendleft(reversed(kept))

    def _waiting(self) -> bool:
        return bool(self._to_agent) and self._to_agent[0][0] <= self._agent_time

    def _reset(self, agent: Agent | Board, at: float) -> None:
        agent.reset()
        self._answer = None
        self._agent_time = max(self._agent_time, at)
        self._deaf_until = self._agent_time + self._faults.boot_s
        while self._to_agent and self._to_agent[0][0] < self._deaf_until:
            self._to_agent.popleft()
        self._send(b"\r\nMD20 monitor 1.2\r\nagent started\r\n", agent.baud)

    # What goes wrong.

    def _cut(self, at: float) -> bool:
        return any(start <= at < end for start, end in self._faults.cuts)

    def _damage(self, data: bytes, rate: int) -> bytes:
        faults, rng = self._faults, self._rng
        if faults.seven_bits:
            data = bytes(byte & 0x7F for byte in data)
        if faults.line_ends:
            data = data.replace(b"\n", b"\r\n")
        flip = faults.flip + (faults.noise if rate > faults.noise_above else 0)
        kinds: list[tuple[float, Any]] = [
            (flip, self._flip),
            (faults.drop, lambda out, at: out.__delitem__(at)),
            (faults.double, lambda out, at: out.insert(at, out[at])),
            (faults.insert, lambda out, at: out.insert(at, rng.randrange(256))),
            (faults.xon, lambda out, at: out.insert(at, rng.choice(b"\x11\x13"))),
            (faults.burst, self._burst),
            (faults.printk, lambda out, at: out.__setitem__(slice(at, at), rng.choice(CONSOLE))),
        ]
        kinds = [(chance, act) for chance, act in kinds if chance]
        if not kinds:
            return data
        total = sum(chance for chance, _ in kinds)
        out = bytearray(data)
        at = int(rng.expovariate(total))
        while at < len(out):
            act = rng.choices([act for _, act in kinds], [chance for chance, _ in kinds])[0]
            act(out, at)
            at += 1 + int(rng.expovariate(total))
        return bytes(out)

    def _flip(self, out: bytearray, at: int) -> None:
        out[at] ^= 1 << self._rng.randrange(8)

    def _burst(self, out: bytearray, at: int) -> None:
        length = self._rng.randrange(20, 200)
        out[at : at + length] = self._rng.randbytes(length)

    def _garble(self, data: bytes, sent_at: int, heard_at: int) -> bytes:
        """What a receiver at another rate makes of it: about as many bytes as bit times say."""
        return self._rng.randbytes(max(1, len(data) * heard_at // max(sent_at, 1)))


class ClosingLine(SimLine):
    """A line whose far end closes the port at some time; what it has sent before arrives."""

    def __init__(self, board: Agent | Board, closed: Callable[[], bool], **options: Any) -> None:
        super().__init__(board, **options)
        self._closed = closed

    def read(self, timeout: float) -> bytes:
        """See `SimLine`."""
        data = super().read(timeout)
        if not data and self._closed():
            raise PortError("the port is gone")
        return data

    def write(self, data: bytes) -> None:
        """See `SimLine`."""
        if self._closed():
            raise PortError("the port is gone")
        super().write(data)
