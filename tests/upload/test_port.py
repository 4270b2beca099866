"""Ports: devices and URLs, and the sentence for each way in which one cannot be used."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.upload.agent import Agent
from tests.upload.peers import open_pty, python_agent
from tests.upload.rams import run_ram

from kprof.capture import open_capture
from kprof.upload import UploadOptions, causes, connect, fetch
from kprof.upload.failures import NoAnswerError, PortError
from kprof.upload.port import open_port

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
    assert "is no serial port" in _refused(str(tmp_path / "file"))


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
def test_an_upload_over_a_port_server(tmp_path: Path) -> None:
    import serial
    from serial.rfc2217 import PortManager

    class Wired(serial.Serial):  # type: ignore[misc]
        """A pty has no modem lines."""

        cts = dsr = ri = cd = rts = dtr = True

    with python_agent(Agent(RAM)) as name, socket.create_server(("127.0.0.1", 0)) as server:

        def forward() -> None:
            peer, _ = server.accept()
            device = Wired(name, 115200, timeout=0.01)

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
            fetch(url, tmp_path / "dump.bin", UploadOptions())
        finally:
            stop.set()
            thread.join(10)
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == RAM


def test_an_echo_is_told_from_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "TRIES", 2)
    with pytest.raises(NoAnswerError, match="only our own requests come back"):
        fetch("loop://", tmp_path / "dump.bin")
    assert list(tmp_path.iterdir()) == []
