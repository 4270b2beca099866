"""How fast recordings of a logic analyser become captures, beside sigrok-cli reading the same.

A made-up recording of 17 channels at 100 MS/s, a read a microsecond, is written as a sigrok
session, and by sigrok-cli as VCD and CSV. `kprof import` and ``sigrok-cli -O binary`` then read
each in turn. Printed are samples a second of processor time of both, their ratio, and the peak
memory.
"""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SAMPLES = 8_000_000
BLOCK = 200_000


def make_recording(path: Path) -> None:
    """A sigrok session of `SAMPLES` samples of 3 bytes."""
    import numpy as np

    choice = random.Random(1)
    block = np.zeros((BLOCK, 3), np.uint8)
    block[:, 2] = 1
    sample = 50
    while sample < BLOCK - 50:
        tag = choice.randrange(65_536)
        block[sample - 3 : sample + 20, 0] = tag & 255
        block[sample - 3 : sample + 20, 1] = tag >> 8
        block[sample : sample + 15, 2] = 0
        sample += choice.randrange(40, 160)
    probes = "".join(f"probe{n + 1}={f'A{n}' if n < 16 else 'CE'}\n" for n in range(17))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("version", "2")
        archive.writestr(
            "metadata",
            "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\ntotal probes=17\n"
            f"samplerate=100 MHz\ntotal analog=0\n{probes}unitsize=3\n",
        )
        for part in range(SAMPLES // BLOCK):
            archive.writestr(f"logic-1-{part + 1}", block.tobytes())


def seconds(command: list[str]) -> float:
    """Processor time of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Make the recordings, read each with both programs, print the comparison."""
    sigrok = shutil.which("sigrok-cli")
    if sigrok is None:
        print("no sigrok-cli here")
        return
    kprof = str(Path(sys.executable).with_name("kprof"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_recording(folder / "run.sr")
        for form, option in (("vcd", "vcd"), ("csv", "csv:time=true:label=channel")):
            target = str(folder / f"run.{form}")
            seconds([sigrok, "-i", str(folder / "run.sr"), "-O", option, "-o", target])
        for form in ("sr", "vcd", "csv"):
            path = folder / f"run.{form}"
            ours = [kprof, "import", str(path), "--force", "-o", str(folder / "out.kpd")]
            theirs = [sigrok, "-i", str(path), "-O", "binary", "-o", str(folder / "out.bin")]
            if form == "csv":
                theirs[1:1] = ["-I", "csv:column_formats=t,17l"]
            pairs = [(seconds(ours), seconds(theirs)) for _ in range(2)]
            mine, peer = (min(column) for column in zip(*pairs, strict=True))
            size = path.stat().st_size
            rates = SAMPLES / mine / 1e6, SAMPLES / peer / 1e6
            print(
                f"{form}: kprof {rates[0]:.1f} M samples/s ({size / mine / 1e6:.0f} MB/s), "
                f"sigrok-cli {rates[1]:.1f} M samples/s, ratio {peer / mine:.1f}"
            )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"peak memory of any process: {peak // 1024} MB")


if __name__ == "__main__":
    main()
