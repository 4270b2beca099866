"""The host's side of KPR1 on simulated lines: what it asks for, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.upload.agent import Agent
from tests.upload.boards import XSender
from tests.upload.rams import random_ram, run_ram
from tests.upload.simline import Faults, SimLine

from kprof.upload.failures import (
    InterruptedUploadError,
    NoAnswerError,
    TransferError,
    VerifyError,
)
from kprof.upload.host import Host, HostOptions
from kprof.upload.line import converse
from kprof.upload.progress import Progress
from kprof.upload.wire import CAN_BAUD, CAN_CHECK, CAN_DELTA, CAN_STOP, FULL, Info, Request
from kprof.upload.xmodem import CANCEL, Receiver

RAM = run_ram(4096)


class Recording(Agent):
    """An agent that keeps what it is asked."""

    def _answer(self, request: Request) -> Iterator[bytes]:
        self.asked: list[Request] = [*getattr(self, "asked", []), request]
        yield from super()._answer(request)


def _upload(line: SimLine, options: HostOptions | None = None) -> Host:
    host = Host(options or HostOptions())
    done = converse(host.run(), line)
    assert done.image.complete
    return host


def test_a_clean_line_costs_one_request_a_second() -> None:
    agent = Recording(RAM)
    line = SimLine(agent)
    host = _upload(line)
    assert "".join(request.kind for request in agent.asked) == "IRRIKKQ"
    assert (host.retries, host.link.bad) == (0, 0)
    assert line.now < 4096 * 5 * 10 / 115200 / 2
    assert agent.done


def test_an_agent_that_can_be_stopped_is_asked_for_everything_at_once() -> None:
    agent = Recording(RAM, flags=CAN_STOP | CAN_CHECK)
    _upload(SimLine(agent), HostOptions(goodbye=False))
    assert "".join(request.kind for request in agent.asked) == "IRIKK"
    assert not agent.done


def test_what_the_delta_coding_would_lengthen_is_fetched_raw() -> None:
    agent = Recording(random_ram(8192))
    _upload(SimLine(agent))
    codings = [request.c >> 12 for request in agent.asked if request.kind == "R"]
    assert codings[0] == 1
    assert set(codings[1:]) == {0}


def test_frames_shrink_on_a_bad_line() -> None:
    agent = Recording(RAM)
    _upload(SimLine(agent, faults=Faults(flip=2e-3), seed=3))
    sizes = [request.c & 0xFFF for request in agent.asked if request.kind == "R"]
    assert sizes[0] == 128
    assert min(sizes) < 40


def test_the_rate_goes_up_and_comes_back() -> None:
    agent = Recording(RAM)
    line = SimLine(agent)
    host = _upload(line, HostOptions(baud=921600))
    assert host.policy.baud == 921600
    assert (agent.baud, line.baud) == (115200, 115200)
    assert line.now < 0.4


@pytest.mark.parametrize(
    "options", [HostOptions(baud=921600), HostOptions(baud=921600, goodbye=False)]
)
@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_a_rate_that_does_not_work_is_given_up(options: HostOptions, noise: float) -> None:
    agent = Agent(RAM)
    line = SimLine(agent, faults=Faults(noise_above=200_000, noise=noise))
    host = _upload(line, options)
    assert host.policy.baud == 115200
    assert (agent.baud, line.baud) == (115200, 115200)
    assert line.now < 9


def test_a_rate_that_is_refused_is_not_used() -> None:
    line = SimLine(Agent(RAM, refuses=(921600,)))
    assert _upload(line, HostOptions(baud=921600)).policy.baud == 115200
    line = SimLine(Agent(RAM, flags=CAN_DELTA))
    assert _upload(line, HostOptions(baud=921600)).policy.baud == 115200


def test_an_agent_left_at_another_rate_is_found() -> None:
    agent = Agent(RAM)
    agent.baud = 921600
    line = SimLine(agent)
    _upload(line)
    assert line.now < 6


def test_another_base_rate_is_nonsense() -> None:
    with pytest.raises(NoAnswerError, match=r"answers nonsense: .*--start-baud sets it"):
        _upload(
            SimLine(Agent(RAM, flags=FULL), baud=9600, faults=Faults(chatter=1.0, resets=(0.1,)))
        )


@pytest.mark.parametrize("cut", [0.9, 0.95, 0.98])
def test_a_line_that_fails_at_the_end_answers_no_longer(cut: float) -> None:
    clean = SimLine(Agent(RAM))
    _upload(clean, HostOptions(goodbye=False))
    line = SimLine(Agent(RAM), faults=Faults(cuts=((cut * clean.now, 1000),)))
    with pytest.raises(TransferError, match=r"no longer|no new record|does not say the checksum"):
        _upload(line)


@pytest.mark.parametrize("kind", "IRK")
def test_a_line_that_becomes_noise_is_not_said_to_answer_nonsense(kind: str) -> None:
    class Noisy(Agent):
        """From the second request of a kind on it answers with noise, as if at another rate."""

        def _answer(self, request: Request) -> Iterator[bytes]:
            self.failed = getattr(self, "failed", False) or (
                self.requests > 1 and request.kind == kind
            )
            if self.failed:
                yield b"\xf8" * 12
            else:
                yield from super()._answer(request)

    said = "answers no longer|no new record|does not say the checksum of records"
    with pytest.raises(TransferError, match=said):
        _upload(SimLine(Noisy(RAM)))


@pytest.mark.parametrize(("delta", "least"), [(False, 0.90), (True, 2.0)])
def test_the_speed_at_115200_baud_and_16_ms(delta: bool, least: float) -> None:
    line = SimLine(Agent(run_ram(16384)), latency_s=0.008)
    _upload(line, HostOptions(delta=delta))
    assert 81920 * 10 / 115200 / line.now > least


def test_an_echo_alone_is_said_to_be_one() -> None:
    with pytest.raises(NoAnswerError, match="only our own requests come back"):
        _upload(SimLine(None, faults=Faults(echo=True)))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"version": 2}, "has version 2"),
        ({"record_bytes": 8}, "records of 8 bytes"),
        ({"capacity": 0}, "has 0 records"),
        ({"capacity": 1 << 31}, "has 2,147,483,648 records"),
        ({"clock_hz": 0}, "at 0 Hz"),
        ({"max_records": 0}, "0 a frame"),
    ],
)
def test_an_agent_that_cannot_be_is_refused(changed: dict[str, int], said: str) -> None:
    import dataclasses

    class Strange(Agent):
        def info(self, seq: int = 0) -> Info:
            return dataclasses.replace(super().info(seq), **changed)

    with pytest.raises(NoAnswerError, match=said):
        _upload(SimLine(Strange(RAM)))


def test_a_ram_that_changes_all_the_time_is_not_believed() -> None:
    class Changing(Agent):
        def _answer(self, request: Request) -> Iterator[bytes]:
            if request.kind == "K":
                self.ram = random_ram(4096, self.requests)
            yield from super()._answer(request)

    with pytest.raises(VerifyError, match="changes while it is read") as raised:
        _upload(SimLine(Changing(RAM)), HostOptions(verify=True))
    assert raised.value.exit_code == 6


def test_a_ram_that_changed_once_is_fetched_again() -> None:
    other = run_ram(4096, 9)

    class Changing(Agent):
        def _answer(self, request: Request) -> Iterator[bytes]:
            if request.kind == "K":
                self.ram = other
            yield from super()._answer(request)

    host = _upload(SimLine(Changing(RAM)), HostOptions(verify=True))
    assert bytes(host.image.data) == other


def test_without_checksums_two_passes_are_compared() -> None:
    agent = Recording(RAM, flags=FULL | CAN_BAUD)
    line = SimLine(agent)
    host = Host(HostOptions(verify=True))
    assert converse(host.run(), line).verified == "twice"

    class Changing(Agent):
        def _answer(self, request: Request) -> Iterator[bytes]:
            if self.requests == 6:
                self.ram = run_ram(4096, 9)
            yield from super()._answer(request)

    with pytest.raises(VerifyError, match="two passes"):
        _upload(SimLine(Changing(RAM, flags=FULL)), HostOptions(verify=True))


def test_a_board_that_is_still_recording_is_noticed() -> None:
    class Recorder(Agent):
        def info(self, seq: int = 0) -> Info:
            self.valid = self.requests
            return super().info(seq)

    with pytest.raises(TransferError, match=r"started again or is still recording"):
        _upload(SimLine(Recorder(RAM)))


def test_a_second_ctrl_c_does_not_wait() -> None:
    agent = Agent(RAM, flags=CAN_CHECK)
    line = SimLine(agent)
    count = 0

    def interrupts() -> int:
        return count + 1 if line.now > 0.5 else 0

    for count, least, most in ((0, 0.8, 4.5), (1, 0.5, 0.7)):  # noqa: B007
        line = SimLine(Agent(RAM, flags=CAN_CHECK))
        host = Host(HostOptions(delta=False))
        with pytest.raises(InterruptedUploadError):
            converse(host.run(), line, interrupts)
        assert least < line.now < most


def test_the_retries_that_are_shown_never_fall() -> None:
    told: list[Progress] = []
    faults = Faults(flip=2e-4, drop=1e-4, burst=1e-5)
    host = Host(HostOptions(verify=True), notify=told.append)
    converse(host.run(), SimLine(Agent(RAM), faults=faults, seed=4))
    shown = [moment.retries for moment in told if moment.phase in ("fetching", "verifying")]
    assert host.link.bad > 0
    assert {moment.phase for moment in told} >= {"fetching", "verifying"}
    assert shown == sorted(shown)


def test_an_interrupted_xmodem_reception_is_cancelled() -> None:
    class Listening(XSender):
        heard = b""

        def receive(self, byte: int) -> Iterator[bytes]:
            self.heard += bytes((byte,))
            yield from super().receive(byte)

    sender = Listening(RAM)
    line = SimLine(sender)
    with pytest.raises(InterruptedUploadError):
        converse(Receiver(ymodem=False).run(), line, lambda: int(line.now > 1))
    line.read(1.0)
    assert sender.heard.startswith(b"C\x06\x06")
    assert sender.heard.endswith(CANCEL)
