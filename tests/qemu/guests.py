"""Small systems for QEMU's machines `virt`, that end by themselves."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Machine:
    """How a processor's `virt` machine is compiled for, run, and switched off."""

    compilers: tuple[str, ...]
    qemu: tuple[str, ...]
    text: int
    off: str

    def built(self, source: Path, *more: str | Path) -> Path:
        """The program of a source file; skips where the compiler or QEMU is not there."""
        compiler = next(filter(None, map(shutil.which, self.compilers)), None)
        if compiler is None or shutil.which(self.qemu[0]) is None:
            pytest.skip(f"no {' or '.join(self.compilers)}, or no {self.qemu[0]}")
        program = source.with_suffix(".elf")
        options = ["-nostdlib", "-static", "-no-pie", f"-Wl,-Ttext={self.text:#x}"]
        options += ["-Wl,--build-id=none", "-Wl,-z,noexecstack", "-x", "assembler-with-cpp"]
        command = [compiler, *options, str(source), "-x", "none", *map(str, more)]
        subprocess.run([*command, "-o", str(program)], check=True)
        return program

    def command(self, program: Path, *more: str) -> list[str]:
        """The command line of QEMU."""
        return [
            *self.qemu,
            *("-display", "none", "-monitor", "none"),
            *more,
            "-kernel",
            str(program),
        ]


M68K = Machine(
    ("m68k-linux-gnu-gcc",),
    ("qemu-system-m68k", "-M", "virt"),
    0x10000,
    "move.l #2,0xff009004\n9: bra 9b\n",
)
RISCV = Machine(
    ("riscv64-unknown-elf-gcc", "riscv64-linux-gnu-gcc"),
    ("qemu-system-riscv64", "-M", "virt", "-bios", "none"),
    0x8000_0000,
    "li t0,0x100000\nli t1,0x5555\nsw t1,0(t0)\n9: j 9b\n",
)
AARCH64 = Machine(
    ("aarch64-linux-gnu-gcc",),
    ("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53", "-nic", "none"),
    0x4010_0000,
    "ldr w0,=0x84000008\nhvc #0\n9: b 9b\n",
)


def guest(folder: Path, machine: Machine, body: str, *more: str | Path) -> Path:
    """A program that executes `body` and switches the machine off."""
    source = folder / "guest.s"
    source.write_text(f".text\n.globl _start\n_start:\n{body}\n{machine.off}")
    return machine.built(source, *more)
