"""Boards' ends that other people wrote: lrzsz over ptys, srec_cat's records, gdbserver, QEMU."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import subprocess
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.upload.peers import compiler, open_pty
from tests.upload.rams import random_ram, run_ram

from kprof.capture import open_capture
from kprof.upload.dumplines import IntelHex, SRecords
from kprof.upload.memory_session import MemoryOptions, fetch_memory


def _tool(name: str, package: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} (package {package})")
    return found


@contextlib.contextmanager
def _sender(*command: str) -> Iterator[str]:
    with open_pty() as (board, name):
        process = subprocess.Popen(
            command, stdin=board, stdout=board, stderr=subprocess.DEVNULL, cwd=os.sep
        )
        try:
            yield name
            process.wait(20)
        finally:
            process.kill()
            process.wait()


@pytest.mark.parametrize("ram", [run_ram(16384), random_ram(3000)], ids=["run", "any"])
@pytest.mark.parametrize(
    ("tool", "arguments", "proto"),
    [
        ("sx", [], "xmodem"),
        ("sx", ["-k"], "xmodem"),
        ("sb", [], "ymodem"),
        ("sb", ["-k"], "ymodem"),
    ],
)
def test_lrzsz_sends(
    tmp_path: Path, ram: bytes, tool: str, arguments: list[str], proto: str
) -> None:
    program = _tool(tool, "lrzsz")
    image = tmp_path / "ram.raw"
    image.write_bytes(ram)
    records = len(ram) // 5 if proto == "xmodem" else None
    with _sender(program, *arguments, str(image)) as port:
        fetch_memory(port, tmp_path / "dump.bin", MemoryOptions(proto, records=records))
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == ram


@pytest.mark.parametrize(("tool", "proto"), [("sx", "xmodem"), ("sb", "ymodem")])
def test_lrzsz_hangs_up_when_it_has_sent(tmp_path: Path, tool: str, proto: str) -> None:
    program = _tool(tool, "lrzsz")
    image = tmp_path / "ram.raw"
    image.write_bytes(run_ram(1000))
    board, host = os.openpty()
    tty.setraw(host)
    process = subprocess.Popen(
        [program, str(image)], stdin=board, stdout=board, stderr=subprocess.DEVNULL
    )
    os.close(board)  # its own descriptors alone hold the line
    try:
        options = MemoryOptions(proto, records=1000)
        fetch_memory(os.ttyname(host), tmp_path / "dump.bin", options)
    finally:
        process.kill()
        process.wait()
        os.close(host)
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == run_ram(1000)


@pytest.mark.parametrize("width", ["-address-length=2", "-address-length=3", "-address-length=4"])
def test_records_of_srec_cat(tmp_path: Path, width: str) -> None:
    program = _tool("srec_cat", "srecord")
    ram = run_ram(4000)
    (tmp_path / "ram.raw").write_bytes(ram)
    made = tmp_path / "ram.srec"
    source = [str(tmp_path / "ram.raw"), "-binary", "-offset", "0x8000"]
    subprocess.run([program, *source, "-o", str(made), "-motorola", width], check=True)
    parser = SRecords()
    assert _joined(parser, made.read_bytes(), 0x8000, len(ram)) == ram
    assert parser.bad == 0


@pytest.mark.parametrize("offset", [0, 0xFF00, 0x2000FF00])
def test_intel_hex_of_srec_cat(tmp_path: Path, offset: int) -> None:
    program = _tool("srec_cat", "srecord")
    ram = run_ram(16384)
    (tmp_path / "ram.raw").write_bytes(ram)
    made = tmp_path / "ram.hex"
    source = [str(tmp_path / "ram.raw"), "-binary", "-offset", hex(offset)]
    subprocess.run([program, *source, "-o", str(made), "-intel"], check=True)
    parser = IntelHex()
    assert _joined(parser, made.read_bytes(), offset, len(ram)) == ram
    assert (parser.bad, parser.ended) == (0, True)


def _joined(parser: SRecords | IntelHex, text: bytes, start: int, length: int) -> bytes:
    memory = bytearray(length)
    for address, data in parser.feed(text):
        memory[address - start : address - start + len(data)] = data
    return bytes(memory)


PROGRAM = """
#include <stdio.h>
unsigned char event_ram[81920] = {
#include "ram.inc"
};
int main(void) { puts("halted before"); return event_ram[0]; }
"""


def test_gdbserver_gives_its_memory(tmp_path: Path) -> None:
    gdbserver, nm = _tool("gdbserver", "gdbserver"), _tool("nm", "binutils")
    ram = run_ram(16384)
    (tmp_path / "ram.inc").write_text(",".join(map(str, ram)))
    (tmp_path / "main.c").write_text(PROGRAM)
    program = tmp_path / "program"
    command = [compiler(), "-no-pie", "-static", "-o", str(program), str(tmp_path / "main.c")]
    subprocess.run(command, check=True, timeout=60)
    symbols = subprocess.run([nm, program], capture_output=True, text=True, check=True).stdout
    (address,) = (int(line.split()[0], 16) for line in symbols.splitlines() if "event_ram" in line)
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = free.getsockname()[1]
    server = subprocess.Popen(
        [gdbserver, "--once", f"127.0.0.1:{number}", str(program)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        said = ""
        while "Listening" not in said:
            line = server.stderr.readline()
            said += line
            if not line or "ptrace" in said:
                pytest.skip(f"gdbserver cannot run here: {said.strip()}")
        options = MemoryOptions("gdb", addr=address, verify=True)
        result = fetch_memory(f"socket://127.0.0.1:{number}", tmp_path / "dump.bin", options)
    finally:
        server.kill()
        server.communicate()
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == ram
    assert result.verified == "twice"


M68K = """
volatile unsigned char event_ram[] = {
#include "ram.inc"
};
void _start(void) { while (event_ram[0] != 0x5A) ; }
"""


@contextlib.contextmanager
def _relayed(path: Path) -> Iterator[str]:
    """A pseudo-terminal whose other end is the socket at `path`, as soon as somebody listens."""
    with open_pty() as (board, name), socket.socket(socket.AF_UNIX) as link:
        deadline = time.monotonic() + 20
        while link.connect_ex(str(path)):
            assert time.monotonic() < deadline, "nobody listens"
            time.sleep(0.02)

        def relay() -> None:
            while True:
                ready, _, _ = select.select([board, link], [], [], 20)
                if not ready:
                    return
                for end in ready:
                    data = os.read(board, 4096) if end == board else link.recv(4096)
                    if not data:
                        return
                    if end is link:
                        os.write(board, data)
                    else:
                        link.sendall(data)

        thread = threading.Thread(target=relay, daemon=True)
        thread.start()
        yield name
        link.shutdown(socket.SHUT_RDWR)
        thread.join(20)


def test_the_stub_of_qemu_gives_its_memory(tmp_path: Path) -> None:
    qemu = _tool("qemu-m68k", "qemu-user")
    cross, nm = _tool("m68k-linux-gnu-gcc", "gcc-m68k-linux-gnu"), "m68k-linux-gnu-nm"
    ram = run_ram(16384)
    (tmp_path / "ram.inc").write_text(",".join(map(str, ram)))
    (tmp_path / "main.c").write_text(M68K)
    program, stub = tmp_path / "program", tmp_path / "stub"
    command = [cross, "-nostdlib", "-static", "-o", str(program), str(tmp_path / "main.c")]
    subprocess.run(command, check=True, timeout=60)
    symbols = subprocess.run([nm, program], capture_output=True, text=True, check=True).stdout
    (address,) = (int(line.split()[0], 16) for line in symbols.splitlines() if "event_ram" in line)
    server = subprocess.Popen([qemu, "-g", str(stub), str(program)], stderr=subprocess.DEVNULL)
    try:
        with _relayed(stub) as port:
            options = MemoryOptions("gdb", addr=address, verify=True)
            result = fetch_memory(port, tmp_path / "dump.bin", options)
    finally:
        server.kill()
        server.wait()
    assert open_capture(tmp_path / "dump.bin").records.tobytes() == ram
    assert result.verified == "twice"
