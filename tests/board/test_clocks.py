"""The clocks of single instructions, beside the table in the documentation."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from kprof.board.elf import KernelImage
from kprof.board.md20 import MD20, RAM_BASE

CODE = RAM_BASE + 0x1000
SETUP = "7203 2e7c00102000 41f900102000".replace(" ", "")  # d1 = 3, a7, a0
ROWS = re.findall(
    r"^\| `([a-z.]+(?: \S+)?)`.*?\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$",
    (Path(__file__).resolve().parents[2] / "docs" / "board.md").read_text(),
    re.MULTILINE,
)
OPCODES = {
    "nop": "4e71",
    "moveq #1,d0": "7001",
    "move.l d0,d1": "2200",
    "tst.b xxx.w": "4a383000",
    "swap d0": "4840",
    "lsl.l #4,d0": "e988",
    "mulu.w d1,d0": "c0c1",
    "divu.w d1,d0": "80c1",
    "bsr": "6102",
    "rts": "4e75",
}


def clocks(opcode: str) -> int:
    """From the start of this instruction to that of the next, by the emulator's own hook."""
    code = bytes.fromhex(SETUP + opcode + "4e71" * 20)
    at = CODE + len(SETUP) // 2
    stack = (at + 8).to_bytes(4, "big")
    memory = ((CODE, code), (RAM_BASE + 0x2000, stack))
    seen: list[tuple[int, int]] = []
    with MD20(KernelImage(b"", memory, CODE, {}), traffic=iter(())) as board:
        board.cpu.step_hook(lambda pc: seen.append((pc, board.now)))
        board.run(120)
    index = [pc for pc, _ in seen].index(at)
    return seen[index + 1][1] - seen[index][1]


def test_the_table_has_ten() -> None:
    assert [row[0] for row in ROWS] == list(OPCODES)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_clocks_are_the_cache_case(row: tuple[str, ...]) -> None:
    best, cache, worst, board = map(int, row[1:])
    measured = clocks(OPCODES[row[0]])
    waits = 2 if row[0].startswith("tst") else 0  # of the EPROM
    assert measured - waits == board == cache
    assert best <= cache <= worst


@pytest.mark.skipif(shutil.which("m68k-linux-gnu-as") is None, reason="no m68k-linux-gnu-as here")
def test_the_opcodes_are_those_instructions(tmp_path: Path) -> None:
    text = "\n".join(
        f"1: {name} 2f\n nop\n2:" if name == "bsr" else re.sub(r"\b([ad]\d)\b", r"%\1", name)
        for name in OPCODES
    ).replace("xxx.w", "0x3000.w")
    (tmp_path / "ten.s").write_text(text.replace("bsr 2f", "bsr.s 2f") + "\n")
    subprocess.run(
        ["m68k-linux-gnu-as", "-m68020", "ten.s", "-o", "ten.o"], cwd=tmp_path, check=True
    )
    out = subprocess.run(
        ["m68k-linux-gnu-objcopy", "-O", "binary", "ten.o", "ten.bin"], cwd=tmp_path, check=True
    )
    assert out.returncode == 0
    assembled = (tmp_path / "ten.bin").read_bytes().hex()
    expected = "".join(code + ("4e71" if name == "bsr" else "") for name, code in OPCODES.items())
    assert assembled.startswith(expected)
