"""`docs/microcontroller.md`, command by command, with QEMU as the board."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kprof.capture import open_capture
from kprof.names.grammar import parse_names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "microcontroller.md").read_text()
ELSEWHERE = ("sudo", "pip", "st-flash", "cp hifive1.hex")  # done already, or with the board at hand
CALLS = {"sample": 144, "smooth": 6, "sort": 6, "median": 6, "crc16": 6, "work": 1}


def _commands(section: str) -> list[str]:
    text = PAGE.split(f"## {section}")[1].split("\n## ")[0]
    found = re.findall(r"^    \$ (.*)$", text, re.MULTILINE)
    return [c for c in found if not c.startswith(ELSEWHERE) and "/dev/tty" not in c]


@contextlib.contextmanager
def _at_work(folder: Path) -> Iterator[dict[str, str]]:
    """An environment in which the page's commands are found; `first` is made by the page."""
    (folder / "bin").mkdir()
    (folder / "bin" / "kprof").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kprof "$@"\n')
    (folder / "bin" / "kprof").chmod(0o755)
    (folder / "examples").symlink_to(ROOT / "examples")
    yield {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("localhost", 0))
        return int(made.getsockname()[1])


@pytest.mark.parametrize(
    ("section", "tools", "port", "made", "hz"),
    [
        ("2.", ("arm-none-eabi-gcc", "qemu-system-arm"), 4321, "stm32", 24_000_000),
        ("3.", ("riscv64-unknown-elf-gcc", "qemu-system-riscv32"), 4322, "hifive1", 16_000_000),
    ],
)
def test_the_page_s_commands_lead_to_the_report(
    tmp_path: Path, section: str, tools: tuple[str, ...], port: int, made: str, hz: int
) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    free, said = _free_port(), ""
    boards: list[subprocess.Popen[str]] = []
    with _at_work(tmp_path) as environ:
        folder = tmp_path
        try:
            for command in [*_commands("1."), *_commands(section)]:
                shell = ["sh", "-ec", command.replace(str(port), str(free))]
                if command.endswith(" &"):
                    shell[2] = "exec " + shell[2].removesuffix(" &")
                    board = subprocess.Popen(
                        shell, cwd=folder, env=environ, stderr=subprocess.PIPE, text=True
                    )
                    boards.append(board)
                    assert board.stderr is not None
                    assert "waiting for connection" in board.stderr.readline()
                    continue
                done = subprocess.run(
                    shell, cwd=folder, env=environ, capture_output=True, text=True, timeout=60
                )
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                if command.endswith("cd first"):
                    folder = tmp_path / "first"
                if command.startswith("kprof report"):
                    said = done.stdout
        finally:
            for board in boards:
                board.kill()
                board.communicate()
    rows = {line.split()[-1]: line.split() for line in said.splitlines() if "%  " in line}
    assert {name: int(row[2]) for name, row in rows.items() if name in CALLS} == CALLS, said
    capture = open_capture(folder / f"{made}.kpd", verify=True)
    names = {"2.": "board.names", "3.": "riscv.names"}[section]
    assert capture.events == 338
    assert capture.info.clock_hz == hz
    assert capture.info.names_sha256 == parse_names((folder / names).read_text()).sha256()
    assert set(capture.tags().tolist()) == set(range(1024, 1036))
    shown = re.findall(r"^    .*%\s+(\w+)$", PAGE, re.MULTILINE)
    assert set(shown) == set(CALLS)  # the page's own report
