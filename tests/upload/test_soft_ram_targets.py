"""The software event RAM on microcontrollers: every ready clock compiled, and what runs, run."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.upload.peers import AGENT, WARNINGS, open_pty
from tests.upload.softram import RAM

from kprof.capture import open_capture

BARE = ["-ffreestanding", "-Os"]
RV32 = "riscv64-unknown-elf-gcc -march=rv32imac_zicsr -mabi=ilp32"
RV64 = "riscv64-unknown-elf-gcc -march=rv64imac_zicsr -mabi=lp64 -mcmodel=medany"

# Compiler, its clock, the clock's rate, and what must then be in the code (as objdump shows it).
TARGETS = [
    ("arm-none-eabi-gcc -mcpu=cortex-m0 -mthumb", "SYSTICK", "48000000", "e000e018|e000e010"),
    ("arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb", "DWT", "72000000", "e0001004|e0001000"),
    ("arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb", "DWT", "168000000", "e0001004|e0001000"),
    ("arm-none-eabi-gcc -mcpu=cortex-m33 -mthumb", "DWT", "64000000", "e0001004|e0001000"),
    (RV32, "MCYCLE", "16000000", r"mcycle"),
    (RV32, "RDTIME", "32768", r"rdtime"),
    (RV32, "MTIME", "32768", r"0x200c"),
    (RV64, "MCYCLE", "16000000", r"mcycle"),
    (RV64, "RDTIME", "10000000", r"rdtime"),
    ("riscv64-linux-gnu-gcc", "RDTIME", "10000000", r"rdtime"),
    ("aarch64-linux-gnu-gcc", "CNTVCT", "62500000", r"cntvct_el0"),
    ("avr-gcc -mmcu=atmega328p -DF_CPU=16000000UL -DKPROF_RAM_EVENTS=256", "AVR", None, r"0x0084"),
    ("avr-gcc -mmcu=atmega2560 -DF_CPU=16000000UL -DKPROF_RAM_EVENTS=512", "AVR", None, r"0x0084"),
    ("m68k-linux-gnu-gcc -m68000 -DKPROF_TIME()=(*(unsigned*)0x1234)", None, "1000000", "1234"),
    ("arm-linux-gnueabi-gcc -march=armv7-a -DKPROF_TIME()=0UL", None, "1000000", r"cpsid"),
]


@pytest.mark.parametrize("cplusplus", [False, True])
@pytest.mark.parametrize(("compiler", "clock", "rate", "expected"), TARGETS)
def test_each_ready_clock_compiles(
    tmp_path: Path,
    compiler: str,
    clock: str | None,
    rate: str | None,
    expected: str,
    cplusplus: bool,
) -> None:
    command, *options = compiler.split()
    if cplusplus:
        command = command.replace("-gcc", "-g++")
        options += ["-x", "c++", "-std=c++98", *(w for w in WARNINGS if not w.startswith("-std"))]
    else:
        options += WARNINGS
    if shutil.which(command) is None:
        pytest.skip(f"no {command}")
    options += [f"-DKPROF_CLOCK_{clock}"] if clock else []
    options += [f"-D{'KPROF_COUNTER_HZ' if clock else 'KPROF_CLOCK_HZ'}={rate}UL"] if rate else []
    made = tmp_path / "ram.o"
    done = subprocess.run(
        [command, *options, *BARE, "-DKPROF_AGENT", "-c", RAM, "-o", str(made)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    objdump = re.sub(r"-g(cc|\+\+)$", "-objdump", command)
    code = subprocess.run([objdump, "-dr", made], capture_output=True, text=True, timeout=60).stdout
    assert re.search(expected, code.lower()), code


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "define one of KPROF_CLOCK_"),
        (["-DKPROF_CLOCK_DWT", "-DKPROF_CLOCK_SHIFT=9"], "leaves less than 24 bits"),
        (["-DKPROF_CLOCK_SYSTICK", "-DKPROF_CLOCK_SHIFT=1"], "leaves less than 24 bits"),
        (["-DKPROF_CLOCK_DWT", "-DKPROF_AGENT"], "KPROF_COUNTER_HZ"),
        (["-DKPROF_CLOCK_DWT", "-DKPROF_RAM_EVENTS=1000"], "kprof_events_must_be_a_power_of_two"),
    ],
)
def test_what_cannot_work_does_not_compile(options: list[str], said: str) -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no arm-none-eabi-gcc")
    command = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", *options, "-fsyntax-only", RAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert said in done.stderr


SERVED = """
#include <stdio.h>
#include <unistd.h>
#include "kprof_ram.h"
unsigned long now(void) { static unsigned long ticks; return ticks += 7; }
int kpr_getc(void) { unsigned char c; return read(0, &c, 1) == 1 ? c : -1; }
void kpr_putc(int c) { unsigned char one = (unsigned char)c; if (write(1, &one, 1) != 1) _exit(3); }
int main(void)
{
    unsigned i;
    kprof_ram_start(KPROF_STOP_WHEN_FULL);
    kprof_ram_between(KPROF_KEEP_LAST, 1002, 1030);
    for (i = 0; i < 40; i++)
        kprof_event(1000 + i);
    if (kprof_ram_run() != 2 || kprof_ram_lost() != 29 - 16)
        return 2;
    kprof_ram_serve("a board");
    return 0;
}
"""


def test_the_agent_serves_the_ring_with_its_clock_and_run(tmp_path: Path) -> None:
    """As on a board, on this machine: from the start tag to the stop tag, the last 16 of them."""
    (tmp_path / "main.c").write_text(SERVED)
    (tmp_path / "now.h").write_text("unsigned long now(void);\n")
    options = ["-DKPROF_TIME()=now()", "-DKPROF_CLOCK_HZ=123456UL", "-DKPROF_RAM_EVENTS=16"]
    options += ["-DKPROF_LOCK(s)=(s=0)", "-DKPROF_UNLOCK(s)=((void)s)", "-DKPROF_AGENT"]
    options += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-include", "now.h"]
    sources = ["main.c", RAM, str(AGENT / "kpr_agent.c")]
    command = ["gcc", *options, "-Wall", "-Wextra", "-Werror", "-I", str(AGENT), "-o", "program"]
    subprocess.run([*command, *sources], cwd=tmp_path, check=True, timeout=60)
    out = tmp_path / "served.kpd"
    with open_pty() as (board, name):
        process = subprocess.Popen([tmp_path / "program"], stdin=board, stdout=board)
        try:
            upload = [sys.executable, "-m", "kprof", "upload", name, "-o", str(out)]
            subprocess.run(upload, check=True, timeout=60, capture_output=True)
        finally:
            process.kill()
            process.wait()
    capture = open_capture(out, verify=True)
    assert capture.tags().tolist() == list(range(1015, 1031))
    assert capture.info.clock_hz == 123456
    assert capture.info.full
    assert capture.info.metadata["board"] == "a board"


TICKING = r"""
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <util/delay.h>
#include "kprof_ram.h"
static void put(char c) { while (!(UCSR0A & _BV(UDRE0))) ; UDR0 = c; }
int main(void)
{
    unsigned i, byte;
    UCSR0B = _BV(TXEN0);
    kprof_ram_start(KPROF_STOP_WHEN_FULL);
    sei();
    for (i = 0; i < 20; i++) {
        if (i & 1)
            cli(); /* then the event itself has to see that the timer has overflowed */
        _delay_ms(20); /* 40,000 ticks: its 16 bits do so every other time */
        kprof_event(1024 + i);
        sei();
    }
    for (i = 0; i < kprof_ram_valid(); i++) {
        for (byte = 0; byte < 5; byte++) {
            unsigned char value = kprof_ram_byte(i, byte);
            put("0123456789abcdef"[value >> 4]);
            put("0123456789abcdef"[value & 15]);
        }
        put('\n');
    }
    cli();
    sleep_mode();
    return 0;
}
"""


def test_an_avr_s_clock_counts_past_its_timer(tmp_path: Path) -> None:
    for tool in ("avr-gcc", "simavr"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    (tmp_path / "main.c").write_text(TICKING)
    options = ["-mmcu=atmega328p", "-DF_CPU=16000000UL", "-Os", "-I", str(AGENT), "-o", "avr.elf"]
    options += ["-DKPROF_CLOCK_AVR", "-DKPROF_RAM_EVENTS=64"]
    subprocess.run(["avr-gcc", *options, "main.c", RAM], cwd=tmp_path, check=True, timeout=60)
    done = subprocess.run(
        ["simavr", "-m", "atmega328p", "-f", "16000000", "avr.elf"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    records = re.findall(r"([0-9a-f]{10})\.", done.stdout + done.stderr)
    times, tags = zip(*((int(r[:6], 16), int(r[6:], 16)) for r in records), strict=True)
    assert tags == tuple(range(1024, 1044))
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(40_000 <= gap <= 40_050 for gap in gaps), gaps
