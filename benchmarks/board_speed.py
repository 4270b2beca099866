"""How fast the simulated board is, beside a real one and beside the emulator alone.

Emulation is measured in processor time of the host, uploads in real time.

python -m benchmarks.board_speed
"""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path

from kprof.board.elf import KernelImage, load_kernel
from kprof.board.md20 import HZ, MD20, RAM_BASE
from kprof.board.minikernel import ready_built
from kprof.board.pty import Pty
from kprof.board.session import Plan, Session
from kprof.upload import UploadOptions, fetch
from kprof.upload.host import HostOptions

LINE_BYTES_S = 115_200 / 10
IMAGE_BYTES = 81_920
SPIN = "2200 5280 4a80 6708 e388 0680 00000007 60f0".replace(" ", "")


def emulator_alone() -> float:
    """MHz of a loop that touches no device."""
    image = KernelImage(b"", ((RAM_BASE, bytes.fromhex(SPIN)),), RAM_BASE, {})
    with MD20(image, traffic=iter(())) as board:
        start = time.thread_time()
        board.run(2 * HZ)
        return board.now / (time.thread_time() - start) / 1e6


def upload_s(session: Session, delta: bool) -> float:
    """Seconds of one upload over a pty."""
    line = Pty()
    session.connect(line)
    board = threading.Thread(target=session.serve)
    board.start()
    with tempfile.TemporaryDirectory() as folder:
        options = UploadOptions(host=HostOptions(goodbye=True, delta=delta))
        seconds = fetch(line.path, Path(folder) / "dump.bin", options).seconds
    board.join()
    line.close()
    return seconds


def main() -> None:
    """Print the figures."""
    alone = max(emulator_alone() for _ in range(3))
    with MD20(load_kernel(ready_built()[0])) as board:
        session = Session(board)
        start = time.thread_time()
        session.record(Plan())
        mhz, events = board.now / (time.thread_time() - start) / 1e6, board.profiler.count
        print(
            f"example kernel, {events} events: {mhz:.0f} MHz, {mhz * 1e6 / HZ:.1f} x a real board"
        )
        print(f"the emulator alone: {alone:.0f} MHz, {alone / mhz:.1f} x that")
        for name, delta in (("raw", False), ("delta", True)):
            seconds = upload_s(session, delta)
            rate = IMAGE_BYTES / seconds
            print(
                f"upload, {name}: {seconds:.2f} s, {rate / LINE_BYTES_S:.1f} x the rate of a real "
                "line at 115200 baud"
            )


if __name__ == "__main__":
    main()
