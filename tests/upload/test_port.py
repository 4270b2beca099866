"""Ports: devices and URLs, and the sentence for each way in which one cannot be used."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest
from tests.upload.agent import Agent
from tests.upload.peers import open_pty, python_agent
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.capture import open_capture
from kprof.upload import UploadOptions, causes, connect, fetch
from kprof.upload.failures import NoAnswerError, PortError
from kprof.upload.memory_session import MemoryOptions, fetch_memory
from kprof.upload.port import open_port
from kprof.upload.session import fetch_over

RAM = run_ram(500)
HOLD = """
import fcntl, os, sys
tty = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
fcntl.flock(tty, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def _refused(name: str) -> str:
    with pytest.raises(PortError) as raised, open_port(name, 115200):
        pass
    assert raised.value.exit_code == 3
    return str(raised.value)


def test_a_port_that_is_not_there() -> None:
    assert _refused("/dev/ttyNone7").startswith("/dev/ttyNone7: no such port (")


def test_a_file_is_no_port(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert "is not a serial port" in _refused(str(tmp_path / "file"))


def test_a_busy_port_names_the_process() -> None:
    with open_pty() as (_, name):
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert holder.stdout is not None
        assert holder.stdin is not None
        try:
            assert holder.stdout.readline() == b"held\n"
            message = _refused(name)
        finally:
            holder.communicate()
        assert f"(process {holder.pid}) has it" in message
        with open_port(name, 115200):
            pass


def test_an_open_port_is_locked_against_another_upload() -> None:
    with open_pty() as (_, name), open_port(name, 115200):
        other = os.open(name, os.O_RDWR | os.O_NOCTTY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(other)


def test_no_permission_names_the_group(tmp_path: Path) -> None:
    import grp

    path = tmp_path / "tty"
    path.write_bytes(b"")
    group = next((one for one in grp.getgrall() if one.gr_name == "dialout"), None)
    if os.geteuid() or group is None:
        pytest.skip("only root can give a file to the group dialout")
    os.chown(path, 0, group.gr_gid)
    path.chmod(0o660)
    message = causes.explain_open(str(path), errno.EACCES, "Permission denied")
    assert "not permitted (its group is 'dialout': sudo usermod -aG dialout" in message
    path.chmod(0o600)
    assert "only 'root' may use it" in causes.explain_open(str(path), errno.EACCES, "")


def test_modem_manager_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "holders_of", lambda path: [(7, "ModemManager")])  # noqa: ARG005
    assert "ID_MM_DEVICE_IGNORE" in causes.explain_open("/dev/ttyACM0", errno.EBUSY, "busy")


def test_other_errors_say_what_the_system_says() -> None:
    assert "unplugged?" in causes.explain_open("/dev/ttyS9", errno.EIO, "Input/output error")
    assert causes.explain_open("/dev/x", errno.ENOMEM, "No memory") == (
        "/dev/x: cannot open: no memory"
    )
    assert "flow control" in causes.explain_stalled("/dev/x", 5)


def test_a_url_that_pyserial_does_not_know() -> None:
    assert "cannot open" in _refused("nonsense://x")
    assert "none of pyserial's options" in _refused("loop://?logging=x")


@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
@pytest.mark.parametrize("rest", ["localhost", "localhost:", ":4001", "localhost:x", "h:99999", ""])
def test_a_url_without_a_server_and_a_port(kind: str, rest: str) -> None:
    assert _refused(f"{kind}://{rest}") == (
        f"{kind}://{rest}: names no server and port; expected {kind}://HOST:PORT, such as "
        f"{kind}://localhost:4001"
    )


@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_a_server_that_is_not_there(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"{kind}://127.0.0.1:{server.getsockname()[1]}"
    assert _refused(url) == (
        f"{url}: cannot open: connection refused (is the server there, the name right?)"
    )


def test_a_rate_that_the_port_cannot_have() -> None:
    with (
        open_pty() as (_, name),
        open_port(name, 115200) as port,
        pytest.raises(PortError, match="cannot run at -5 baud"),
    ):
        port.set_baud(-5)


def test_an_upload_over_tcp(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            peer, _ = server.accept()
            agent = Agent(RAM)
            with peer:
                while not agent.done:
                    for byte in peer.recv(256):
                        for frame in agent.receive(byte):
                            peer.sendall(frame)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"socket://127.0.0.1:{server.getsockname()[1]}"
        fetch(url, tmp_path / "dump.bin")
        thread.join(10)
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == RAM


@pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # of pyserial's client
@pytest.mark.parametrize("low", [(), ("dtr",), ("dtr", "rts")])
def test_an_upload_over_a_port_server(tmp_path: Path, low: tuple[str, ...]) -> None:
    import serial
    from serial.rfc2217 import PortManager

    set_: dict[str, set[bool]] = {"dtr": set(), "rts": set()}

    class Wired(serial.Serial):  # type: ignore[misc]
        """A pty has no modem lines; these keep what they were set to."""

        cts = dsr = ri = cd = True
        dtr = property(lambda _: False, lambda _, level: set_["dtr"].add(level))
        rts = property(lambda _: False, lambda _, level: set_["rts"].add(level))

    with python_agent(Agent(RAM)) as name, socket.create_server(("127.0.0.1", 0)) as server:

        def forward() -> None:
            peer, _ = server.accept()
            device = Wired(name, 115200, timeout=0.01)
            set_.update(dtr=set(), rts=set())

            class Connection:
                def write(self, data: bytes) -> None:
                    peer.sendall(data)

            manager = PortManager(device, Connection())
            peer.settimeout(0.01)
            with peer, device:
                while not stop.is_set():
                    try:
                        data = peer.recv(1024)
                    except TimeoutError:
                        data = b""
                    if data:
                        device.write(b"".join(manager.filter(data)))
                    got = device.read(device.in_waiting or 1)
                    if got:
                        peer.sendall(b"".join(manager.escape(got)))

        stop = threading.Event()
        thread = threading.Thread(target=forward, daemon=True)
        thread.start()
        url = f"rfc2217://127.0.0.1:{server.getsockname()[1]}"
        try:
            options = UploadOptions(dtr="dtr" not in low, rts="rts" not in low)
            fetch(url, tmp_path / "dump.bin", options)
        finally:
            stop.set()
            thread.join(10)
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == RAM
    assert set_ == {line: {line not in low} for line in ("dtr", "rts")}


def test_an_echo_is_told_from_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "TRIES", 2)
    with pytest.raises(NoAnswerError, match="only our own requests come back"):
        fetch("loop://", tmp_path / "dump.bin")
    assert list(tmp_path.iterdir()) == []


class ModemLines:
    """What a driver does: DTR and RTS go up when the device is opened, unless it leaves them."""

    def __init__(self, at_open: int) -> None:
        self.bits = at_open
        self.were: set[int] = {at_open}
        self._ioctl = fcntl.ioctl

    def ioctl(self, descriptor: int, request: int, argument: object = 0, *more: object) -> object:
        """In the place of `fcntl.ioctl`."""
        if request == termios.TIOCMGET:
            return struct.pack("i", self.bits)
        if request in (termios.TIOCMBIS, termios.TIOCMBIC):
            assert isinstance(argument, bytes)
            (bits,) = struct.unpack("I", argument)
            self.bits = self.bits | bits if request == termios.TIOCMBIS else self.bits & ~bits
            self.were.add(self.bits)
            return 0
        return self._ioctl(descriptor, request, argument, *more)  # type: ignore[call-overload]


DTR, RTS = termios.TIOCM_DTR, termios.TIOCM_RTS


@pytest.mark.parametrize(
    ("at_open", "dtr", "rts", "held"),
    [
        (DTR | RTS, True, True, DTR | RTS),
        (0, True, True, 0),  # a driver that leaves them as they are
        (RTS, True, True, RTS),
        (DTR | RTS, False, True, RTS),
        (DTR | RTS, True, False, DTR),
        (DTR | RTS, False, False, 0),
    ],
)
def test_the_modem_lines_stay_or_are_low(
    monkeypatch: pytest.MonkeyPatch, at_open: int, dtr: bool, rts: bool, held: int
) -> None:
    lines = ModemLines(at_open)
    with open_pty() as (_, name):
        monkeypatch.setattr(fcntl, "ioctl", lines.ioctl)
        with open_port(name, 115200, dtr=dtr, rts=rts):
            assert lines.bits == held
        monkeypatch.undo()
    assert lines.were <= {at_open, at_open & held, held}


@pytest.mark.parametrize("form", ["{:>10}\n", "{} minicom root\n", "binary"])
def test_a_uucp_lock_file_names_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(causes, "_LOCK_FOLDERS", (str(tmp_path / "none"), str(tmp_path)))
    holder = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with open_pty() as (_, name):
        lock = tmp_path / f"LCK..{Path(name).name}"
        number = holder.pid
        lock.write_bytes(
            number.to_bytes(4, sys.byteorder) if form == "binary" else form.format(number).encode()
        )
        message = _refused(name)
        assert f"(process {number}) has it, says {lock} (close it" in message
        holder.communicate(b"\n")
        with open_port(name, 115200):  # a lock of a process that is gone is none
            pass
        for content in (b"", b"0", b"-1", b"x y", b"\0\0\0\0", b"99999999999999999999"):
            lock.write_bytes(content)
            with open_port(name, 115200):
                pass


READ = """
import os, sys, time
tty = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
print("open", flush=True)
sys.stdin.read()
"""


def test_another_reader_of_the_port_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "TRIES", 2)
    with open_pty() as (_, name):
        reader = subprocess.Popen(
            [sys.executable, "-c", READ, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert reader.stdout is not None
        assert reader.stdout.readline() == b"open\n"
        try:
            with pytest.raises(NoAnswerError) as raised:
                fetch(name, tmp_path / "dump.bin")
            lost = causes.explain_lost(name, "returned no data")
        finally:
            reader.communicate()
        named = (
            f"(process {reader.pid}) has the port open too and takes what comes (close it there)"
        )
        assert str(raised.value).startswith("nobody answers: ")
        assert str(raised.value).endswith(named)
        assert lost.startswith(f"{name}: cannot be read: ")
        assert lost.endswith(named)
        assert "unplugged" in causes.explain_lost(name, "returned no data")


@pytest.mark.parametrize(
    ("tool", "proto", "said"),
    [
        # As soon as it is called by C; what it says of itself when it starts may be heard first.
        (
            "sz",
            "kpr1",
            ("the far end sends a file by ZMODEM", "the far end sends a file by YMODEM"),
        ),
        ("sb", "kpr1", "the far end sends a file by YMODEM, and no agent answers (--proto ymodem"),
        ("sx", "kpr1", "the far end sends a file by XMODEM, and no agent answers (--proto xmodem"),
        ("sz", "xmodem", "the sender sends by YMODEM (sb, sz): its first block is a name (--proto"),
    ],
)
def test_a_sender_at_the_far_end_is_recognised(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    proto: str,
    said: str | tuple[str, ...],
) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool} (package lrzsz)")
    monkeypatch.setattr(connect, "TRIES", 2)
    (tmp_path / "ram").write_bytes(RAM)

    def take(port: str) -> None:
        if proto == "kpr1":
            fetch(port, tmp_path / "dump.bin")
        else:
            fetch_memory(port, tmp_path / "dump.bin", MemoryOptions(proto))

    with open_pty() as (board, name):
        sender = subprocess.Popen(
            [tool, tmp_path / "ram"], stdin=board, stdout=board, stderr=subprocess.DEVNULL
        )
        try:
            with pytest.raises(NoAnswerError) as raised:
                take(name)
        finally:
            sender.kill()
            sender.wait()
    assert str(raised.value).startswith(said)


def test_zmodem_s_first_header_is_recognised(tmp_path: Path) -> None:
    line = SimLine(None)
    line.prints(0.2, b"MON> sz ram\r\nrz\r**\x18B00000000000000\r\x8a\x11")
    with pytest.raises(NoAnswerError, match=r"by ZMODEM \(sz\).*type 'sb FILE' instead"):
        fetch_over(line, tmp_path / "dump.bin")
