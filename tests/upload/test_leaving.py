"""Far ends that hang up: after everything has come, and before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.upload.agent import Agent
from tests.upload.boards import ACK, GdbStub, Monitor, XSender, hex_line, srec_line
from tests.upload.rams import run_ram
from tests.upload.simline import ClosingLine, SimLine

from kprof.capture import open_capture
from kprof.upload.failures import PortError, TransferError
from kprof.upload.host import HostOptions
from kprof.upload.memory_session import MemoryOptions, fetch_memory_over
from kprof.upload.prompt import Greeting
from kprof.upload.session import UploadOptions, fetch_over
from kprof.upload.wire import CAN_CHECK, CAN_DELTA, FULL, Request

RAM = run_ram(1024)


def _is_the_ram(out: Path, ram: bytes = RAM) -> None:
    assert open_capture(out).records.tobytes() == ram
    assert [path.name for path in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("name", [b"", b"ram.bin"], ids=["xmodem", "ymodem"])
def test_a_sender_that_hangs_up_after_its_file(tmp_path: Path, name: bytes) -> None:
    class Hasty(XSender):
        """Hangs up as soon as its last EOT is answered."""

        gone = False

        def receive(self, byte: int) -> Iterator[bytes]:
            self.gone = self.gone or (byte == ACK and self.at == len(self.blocks))
            if not self.gone:
                yield from super().receive(byte)

    sender = Hasty(RAM, name=name)
    options = MemoryOptions("ymodem" if name else "xmodem")
    fetch_memory_over(ClosingLine(sender, lambda: sender.gone), tmp_path / "a.bin", options)
    _is_the_ram(tmp_path / "a.bin")


@pytest.mark.parametrize("verify", [False, True])
def test_a_gdb_stub_that_hangs_up_at_detach(tmp_path: Path, verify: bool) -> None:
    class Hasty(GdbStub):
        def receive(self, byte: int) -> Iterator[bytes]:
            answer = list(super().receive(byte))
            yield from [] if self.detached else answer

    stub = Hasty(RAM)
    options = MemoryOptions("gdb", records=1024, verify=verify)
    fetch_memory_over(ClosingLine(stub, lambda: stub.detached), tmp_path / "a.bin", options)
    _is_the_ram(tmp_path / "a.bin")


@pytest.mark.parametrize("baud", [None, 230400])
def test_an_agent_that_hangs_up_at_goodbye(tmp_path: Path, baud: int | None) -> None:
    class Hasty(Agent):
        def _answer(self, request: Request) -> Iterator[bytes]:
            if request.kind == "Q":
                self.done = True
                return
            yield from super()._answer(request)

    agent = Hasty(RAM)
    options = UploadOptions(HostOptions(baud=baud, verify=True))
    fetch_over(ClosingLine(agent, lambda: agent.done), tmp_path / "a.bin", options)
    _is_the_ram(tmp_path / "a.bin")


def test_a_monitor_that_hangs_up_after_its_dump(tmp_path: Path) -> None:
    class Hasty(Monitor):
        printed = False

        def receive(self, byte: int) -> Iterator[bytes]:
            yield from super().receive(byte)
            self.printed = self.printed or byte == 13

    monitor = Hasty(RAM)
    greeting = Greeting((b"d 0 13ff\r",))
    options = MemoryOptions("srec", records=1024, greeting=greeting)
    fetch_memory_over(ClosingLine(monitor, lambda: monitor.printed), tmp_path / "a.bin", options)
    _is_the_ram(tmp_path / "a.bin")
    monitor = Hasty(RAM[:-5])
    with pytest.raises(TransferError, match=r"port is gone; 1,023 of 1,024 records are kept"):
        fetch_memory_over(
            ClosingLine(monitor, lambda: monitor.printed), tmp_path / "b.bin", options
        )


def test_an_agent_that_hangs_up_before_it_was_asked_for_all(tmp_path: Path) -> None:
    class Leaving(Agent):
        def _answer(self, request: Request) -> Iterator[bytes]:
            self.done = self.requests == 3
            if not self.done:
                yield from super()._answer(request)

    agent = Leaving(RAM, flags=FULL | CAN_CHECK | CAN_DELTA)
    options = UploadOptions(HostOptions(verify=True))
    with pytest.raises(TransferError, match=r"port is gone; 1,024 of 1,024 records are kept"):
        fetch_over(ClosingLine(agent, lambda: agent.done), tmp_path / "a.bin", options)


def test_ctrl_c_after_everything_has_come_loses_nothing(tmp_path: Path) -> None:
    sender = XSender(RAM)
    line = SimLine(sender)
    count = lambda: int(sender.done)  # noqa: E731
    fetch_memory_over(line, tmp_path / "a.bin", MemoryOptions("xmodem"), interrupts=count)
    _is_the_ram(tmp_path / "a.bin")


def test_a_port_that_is_gone_at_once_leaves_nothing(tmp_path: Path) -> None:
    for proto in ("xmodem", "gdb", "srec"):
        line = ClosingLine(XSender(RAM), lambda: True)
        with pytest.raises(PortError) as raised:
            fetch_memory_over(line, tmp_path / "a.bin", MemoryOptions(proto))
        assert raised.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"proto": "hexdump"}, "of hexdump only what two dumps agree on"),
        ({"proto": "srec", "verify": True}, "with --verify only what two dumps agree on"),
        ({"proto": "srec"}, "no record is complete and sound"),  # a hexadecimal dump is no S-record
        ({"proto": "gdb"}, "no record is complete and sound"),
        ({"proto": "xmodem"}, "no record is complete and sound"),
    ],
)
def test_a_port_that_is_lost_after_something_came(
    tmp_path: Path, options: dict[str, object], said: str
) -> None:
    monitor = Monitor(RAM, line=srec_line if options.get("verify") else hex_line)
    line = ClosingLine(monitor, lambda: line.now > 0.3)
    typed = Greeting((b"d 0 13ff\r",))
    with pytest.raises(TransferError, match=f"port is gone; nothing is kept: {said}$") as raised:
        fetch_memory_over(
            line,
            tmp_path / "a.bin",
            MemoryOptions(records=1024, greeting=typed, **options),  # type: ignore[arg-type]
        )
    assert raised.value.exit_code == 5
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_is_lost_before_its_first_record(tmp_path: Path) -> None:
    class Leaving(Agent):
        def _answer(self, request: Request) -> Iterator[bytes]:
            yield from super()._answer(request)
            self.done = True

    agent = Leaving(RAM)
    with pytest.raises(TransferError, match=r"port is gone; nothing is kept: no record has come$"):
        fetch_over(ClosingLine(agent, lambda: agent.done), tmp_path / "a.bin")
    assert list(tmp_path.iterdir()) == []
