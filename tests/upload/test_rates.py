"""The line's rate: what one damaged request costs, which rate is taken, how long answers take."""

from __future__ import annotations

import pytest
from tests.upload.agent import Agent
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.upload.connect import SETTLE_S
from kprof.upload.failures import PortError
from kprof.upload.host import Host, HostOptions
from kprof.upload.line import converse
from kprof.upload.wire import CAN_BAUD, CAN_CHECK, CAN_DELTA, CAN_STOP, FULL

RAM = run_ram(16384)
ALL = FULL | CAN_BAUD | CAN_DELTA | CAN_CHECK


class OneBit(SimLine):
    """The n-th request at a raised rate has one bit wrong."""

    number = 1

    def write(self, data: bytes) -> None:
        """See `SimLine`."""
        if self.baud != 115200:
            self.number -= 1
            if not self.number:
                data = data[:9] + bytes((data[9] ^ 4,)) + data[10:]
        super().write(data)


@pytest.mark.parametrize("counts_all", [False, True])
@pytest.mark.parametrize("flags", [ALL, ALL | CAN_STOP])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_one_wrong_bit_in_a_request_does_not_cost_the_rate(
    number: int, flags: int, counts_all: bool
) -> None:
    agent = Agent(RAM, flags=flags, counts_all=counts_all)
    line = OneBit(agent)
    line.number = number
    host = Host(HostOptions(baud=921600, goodbye=False))
    done = converse(host.run(), line)
    assert bytes(done.image.data) == RAM
    assert done.baud == 921600
    assert line.number < 1
    assert line.now < (3.5 if counts_all else 1.3)


def test_the_rate_that_the_agent_says_is_taken() -> None:
    agent = Agent(RAM, nearest=460800)
    line = SimLine(agent)
    done = converse(Host(HostOptions(baud=500000)).run(), line)
    assert bytes(done.image.data) == RAM
    assert done.baud == 460800
    assert (agent.baud, line.baud) == (115200, 115200)
    assert line.now < 1.5


def test_a_rate_that_cannot_be_is_not_taken() -> None:
    line = SimLine(Agent(RAM, nearest=5_000_000))
    done = converse(Host(HostOptions(baud=500000)).run(), line)
    assert bytes(done.image.data) == RAM
    assert done.baud == 115200


def test_a_rate_that_our_port_cannot_have_leaves_the_agent_at_the_base_rate() -> None:
    class Slow(SimLine):
        def set_baud(self, rate: int) -> None:
            if rate > 115200:
                raise PortError(f"cannot run at {rate} baud")
            super().set_baud(rate)

    agent = Agent(RAM)
    line = Slow(agent)
    with pytest.raises(PortError, match="cannot run at 921600 baud"):
        converse(Host(HostOptions(baud=921600)).run(), line)
    line.read(0.2)
    assert agent.baud == 115200


def test_an_agent_may_take_40_ms_to_change_its_rate() -> None:
    class Leisurely(SimLine):
        """What comes at the new rate too soon is lost."""

        ready = 0.0

        def set_baud(self, rate: int) -> None:
            self.ready = self.now + 0.04
            super().set_baud(rate)

        def write(self, data: bytes) -> None:
            if self.now >= self.ready:
                super().write(data)

    host = Host(HostOptions(baud=921600))
    done = converse(host.run(), Leisurely(Agent(RAM), latency_s=0.0005))
    assert (done.baud, done.retries) == (921600, 0)
    assert 0.04 < SETTLE_S < 0.1


@pytest.mark.parametrize("options", [HostOptions(), HostOptions(baud=921600)])
@pytest.mark.parametrize("latency_s", [0.1, 0.2, 0.4, 0.8])
def test_a_line_with_a_long_way(latency_s: float, options: HostOptions) -> None:
    line = SimLine(Agent(RAM), latency_s=latency_s)
    done = converse(Host(options).run(), line)
    assert bytes(done.image.data) == RAM
    assert (done.verified, done.baud) == ("crc", options.baud or 115200)
    assert done.retries == 0
    assert line.now < 4 + 30 * latency_s


def test_checksums_of_a_slow_board_over_a_long_way() -> None:
    class Slow(SimLine):
        """An 8 MHz 68000: 0.3 ms for the checksum of a record."""

        def _send(self, frame: bytes, rate: int) -> None:
            if frame[1:2] == b"k":
                records = int.from_bytes(frame[3:7], "little")
                self._agent_time += 0.0003 * min(records, 16384)
            super()._send(frame, rate)

    done = converse(Host(HostOptions()).run(), Slow(Agent(RAM), latency_s=0.4))
    assert (done.verified, done.retries) == ("crc", 0)
