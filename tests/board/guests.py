"""Small kernels for the board, compiled for one test each."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kprof.board.elf import KernelImage, load_kernel

CROSS = shutil.which("m68k-linux-gnu-gcc")
needs_cross = pytest.mark.skipif(CROSS is None, reason="no m68k-linux-gnu-gcc here")

# Registers of the MD20's DUART; TAG(n) is a trigger.
PRELUDE = """
#define TAG(n) ({ __asm__ volatile("tst.b " #n ".w" ::: "memory"); })
#define D(r) (*(volatile unsigned char *)(0x400000 + (r)))
#define SPL(s) ({ __asm__ volatile("move.w %0,%%sr" :: "d"((short)(s)) : "memory"); })
#define STOP(s) ({ __asm__ volatile("stop #" #s ::: "memory"); })
#define HANDLER __attribute__((interrupt_handler))
typedef unsigned long u32;
static u32 *const vectors = (u32 *)0x100000;
static void vbr(void) { __asm__ volatile("movec %0,%%vbr" :: "d"(vectors)); }
static void timer(unsigned preload) /* 3.6864 MHz / 2 a count */
{
    D(4) = 0x60, D(6) = preload >> 8, D(7) = preload;
    (void)D(14);
}
"""
START = """
        .globl _start
_start: lea 0x1ff000,%sp
        jsr main
halt:   stop #0x2700
        bra halt
"""
LINK = """
SECTIONS {
    .text 0x101000 : { *(.text.start) *(.text*) *(.rodata*) *(.data*) }
    .bss : { *(.bss*) *(COMMON) }
}
"""


def guest(folder: Path, c: str, *options: str) -> KernelImage:
    """A kernel of this C text in RAM; its ``main`` returns into a masked stop."""
    assert CROSS is not None
    (folder / "start.S").write_text('.section .text.start,"ax"' + START)
    (folder / "guest.c").write_text(PRELUDE + c)
    (folder / "guest.ld").write_text(LINK)
    flags = (
        "-O2 -m68020 -msoft-float -ffreestanding -fno-pic -fomit-frame-pointer -w -nostdlib -static"
    )
    subprocess.run(
        [
            *(
                CROSS,
                *flags.split(),
                "-nostdlib",
                "-static",
                "-Wl,--build-id=none",
                "-Wl,-z,noexecstack",
                *options,
            ),
            *(str(folder / "start.S"), str(folder / "guest.c"), "-lgcc"),
            *("-T", str(folder / "guest.ld"), "-o", str(folder / "guest.elf")),
        ],
        check=True,
    )
    return load_kernel(folder / "guest.elf")
