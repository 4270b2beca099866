"""How fast the simulated board is, beside a real one and beside the emulator alone.

Three kinds of kernels: the example kernel, one that does nothing but call small functions with
triggers (30 clocks an event), and one that computes and calls a function every 900 clocks. The
last two are measured while they record, and for as long again behind it, with the RAM full.

Emulation is measured in processor time of the host, uploads in real time.

python -m benchmarks.board_speed
"""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from pathlib import Path

from kprof.board.elf import KernelImage, load_kernel
from kprof.board.md20 import HZ, MD20, RAM_BASE
from kprof.board.minikernel import cross_compiler, ready_built
from kprof.board.profiler import CAPACITY
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


CALLS = """
__attribute__((noinline)) int fib(int n)
{
    int r;
    __asm__ volatile("tst.b 1024.w");
    r = n < 2 ? n : fib(n - 1) + fib(n - 2);
    __asm__ volatile("tst.b 1025.w" :: "g"(r) : "memory");
    return r;
}
void _start(void) { for (;;) fib(15); }
"""
COMPUTING = """
static unsigned sum;
__attribute__((noinline)) void mix(int n)
{
    __asm__ volatile("tst.b 1024.w");
    while (n--) sum = sum * 5 + (sum >> 3);
    __asm__ volatile("tst.b 1025.w");
}
void _start(void) { for (;;) mix(40); }
"""


def compiled(c: str, folder: Path) -> KernelImage:
    """A kernel of this C text in RAM, from the cross compiler."""
    source, image = folder / "guest.c", folder / "guest.elf"
    source.write_text(c)
    subprocess.run(
        [
            *(cross_compiler() or "", "-O2", "-m68020", "-ffreestanding", "-fomit-frame-pointer"),
            *("-fno-pic", "-w", "-nostdlib", "-static", f"-Wl,-Ttext={RAM_BASE + 0x1000:#x}"),
            *("-Wl,--build-id=none", "-Wl,-z,noexecstack", str(source), "-o", str(image)),
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return load_kernel(image)


def recording(image: KernelImage) -> tuple[float, float]:
    """MHz while the RAM fills, and of a second on the board behind that."""
    with MD20(image, traffic=iter(())) as board:
        board.run(1000)
        board.record(CAPACITY, noting=False)
        began, start = board.now, time.thread_time()
        while board.profiler.active:
            board.run(board.now + HZ // 50)
        filled, middle = board.now, time.thread_time()
        board.run(board.now + HZ)
        end = time.thread_time()
        return (filled - began) / (middle - start) / 1e6, HZ / (end - middle) / 1e6


def upload_s(session: Session, delta: bool) -> float:
    """Seconds of one upload over a pty."""
    line = Pty()
    session.connect(line)
    done = threading.Event()
    board = threading.Thread(target=session.serve, args=(done.is_set,))
    board.start()
    with tempfile.TemporaryDirectory() as folder:
        options = UploadOptions(host=HostOptions(goodbye=True, delta=delta))
        seconds = fetch(line.path, Path(folder) / "dump.bin", options).seconds
    done.set()
    board.join()
    line.close()
    return seconds


def main() -> None:
    """Print the figures."""
    alone = max(emulator_alone() for _ in range(3))
    if cross_compiler() is None:
        print("no cross compiler here: the example kernel only")
    else:
        with tempfile.TemporaryDirectory() as folder:
            for name, c in (("calls", CALLS), ("computing", COMPUTING)):
                image = compiled(c, Path(folder))
                best = [
                    max(kind) for kind in zip(*(recording(image) for _ in range(3)), strict=True)
                ]
                print(
                    f"{name}: {best[0]:.0f} MHz while it records, {best[1]:.0f} MHz behind that "
                    f"({best[1] * 1e6 / HZ:.1f} x a real board)"
                )
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
