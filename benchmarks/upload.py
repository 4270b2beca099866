"""How much of the line's rate an upload uses: kprof beside lrzsz on the same simulated line.

First on a line in virtual time, exactly; then with real processes (the agent compiled for this
machine, `sx`, `rx`, `sz`, `rz`) over ptys that a relay paces. The round trip is 16 ms. The ratio is
81,920 bytes at 10 bits over the time taken: 1.0 is the line's rate. "transfer" is from the first
request for records to the last record, "whole" from the first byte to the agent's goodbye.
"""

from __future__ import annotations

import os
import pty
import queue
import shutil
import subprocess
import tempfile
import threading
import time
import tty
from pathlib import Path

from tests.upload.agent import Agent
from tests.upload.peers import build_host_agent
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.upload.host import Host, HostOptions
from kprof.upload.line import converse
from kprof.upload.progress import Progress
from kprof.upload.session import UploadOptions, fetch

RAM = run_ram(16384)
LATENCY_S = 0.008


def ideal(baud: int) -> float:
    """Seconds of line time that the RAM takes."""
    return len(RAM) * 10 / baud


def virtual(baud: int, *, delta: bool, flags: int | None = None) -> tuple[float, float]:
    """(transfer, whole) as ratios of the line's rate, in virtual time."""
    agent = Agent(RAM)
    agent.flags = agent.flags if flags is None else flags
    line = SimLine(agent, latency_s=LATENCY_S)
    marks: list[Progress] = []
    host = Host(HostOptions(baud=baud, delta=delta), notify=marks.append)
    done = converse(host.run(), line)
    assert bytes(done.image.data) == RAM
    times = [mark.now for mark in marks if mark.phase == "fetching"]
    return ideal(baud) / (times[-1] - times[0]), ideal(baud) / line.now


class Relay:
    """Carries bytes between two ptys at a rate, with a latency each way."""

    def __init__(self, baud: int) -> None:
        self.ends = [pty.openpty(), pty.openpty()]
        for _, slave in self.ends:
            tty.setraw(slave)
        self.names = [os.ttyname(slave) for _, slave in self.ends]
        self._byte_s = 10 / baud
        for source, target in ((0, 1), (1, 0)):
            waiting: queue.Queue[tuple[float, bytes]] = queue.Queue()
            pair = (self.ends[source][0], waiting)
            threading.Thread(target=self._take, args=pair, daemon=True).start()
            pair = (self.ends[target][0], waiting)
            threading.Thread(target=self._give, args=pair, daemon=True).start()

    def _take(self, source: int, waiting: queue.Queue[tuple[float, bytes]]) -> None:
        free = time.monotonic()
        while True:
            try:
                data = os.read(source, 64)
            except OSError:
                return
            free = max(free, time.monotonic()) + len(data) * self._byte_s
            waiting.put((free + LATENCY_S, data))
            # Taken a little ahead, so that a late wake-up does not lower the rate.
            time.sleep(max(0.0, free - time.monotonic() - 0.3))

    @staticmethod
    def _give(target: int, waiting: queue.Queue[tuple[float, bytes]]) -> None:
        while True:
            due, data = waiting.get()
            time.sleep(max(0.0, due - time.monotonic()))
            try:
                os.write(target, data)
            except OSError:
                return


def paced_kprof(program: Path, folder: Path, baud: int, *, delta: bool) -> float:
    """The ratio of a whole upload with `kprof.upload.fetch` from the real agent."""
    relay = Relay(baud)
    board = os.open(relay.names[0], os.O_RDWR | os.O_NOCTTY)
    agent = subprocess.Popen([program, folder / "ram"], stdin=board, stdout=board)
    options = UploadOptions(host=HostOptions(base_baud=baud, delta=delta), force=True)
    start = time.monotonic()
    fetch(relay.names[1], folder / "dump.bin", options)
    seconds = time.monotonic() - start
    agent.kill()
    agent.wait()
    return ideal(baud) / seconds


def paced_lrzsz(folder: Path, baud: int, send: list[str], receive: list[str]) -> float:
    """The ratio of a file sent and received by lrzsz."""
    relay = Relay(baud)
    ends = [os.open(name, os.O_RDWR | os.O_NOCTTY) for name in relay.names]
    start = time.monotonic()
    running = [
        subprocess.Popen(
            command, stdin=end, stdout=end, stderr=subprocess.DEVNULL, cwd=folder / "received"
        )
        for command, end in zip((send, receive), ends, strict=True)
    ]
    running[1].wait(120)
    seconds = time.monotonic() - start
    running[0].kill()  # it may not have heard the last ACK
    running[0].wait()
    return ideal(baud) / seconds


def main() -> None:
    """Print the ratios."""
    print("virtual line, 16 ms round trip         transfer  whole   wanted")
    for baud, raw, coded in ((115200, 0.90, 2.0), (921600, 0.85, 2.0)):
        for delta, wanted in ((False, raw), (True, coded)):
            transfer, whole = virtual(baud, delta=delta)
            name = f"kpr1 {'delta' if delta else 'raw'} {baud}"
            print(f"{name:38} {transfer:8.3f} {whole:6.3f}   {wanted:.2f}")
    if shutil.which("sx") is None:
        print("no lrzsz: nothing to compare with")
        return
    print("real processes, paced ptys                       whole")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "ram").write_bytes(RAM)
        (folder / "received").mkdir()
        program = build_host_agent(folder)
        ram = str(folder / "ram")
        for baud in (115200, 921600):
            for delta in (False, True):
                ratio = paced_kprof(program, folder, baud, delta=delta)
                name = f"kpr1 {'delta' if delta else 'raw'} {baud}"
                print(f"{name:46} {ratio:7.3f}")
            for label, send, receive in (
                ("sx -> rx", ["sx", ram], ["rx", "-c", "x"]),
                ("sx -k -> rx", ["sx", "-k", ram], ["rx", "-c", "k"]),
                ("sz -> rz", ["sz", "-q", ram], ["rz", "-y", "-q"]),
            ):
                ratio = paced_lrzsz(folder, baud, send, receive)
                name = f"lrzsz {label} {baud}"
                print(f"{name:46} {ratio:7.3f}")


if __name__ == "__main__":
    main()
