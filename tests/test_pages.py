"""Every command of the pages that lead from nothing to a report, typed as it stands there."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

import pytest
from tests import shellpages

ROOT = Path(__file__).parents[1]
PAGES = {
    "road-host.md": ("cc", "make"),
    "road-uart.md": (),
    "road-analyser.md": (),
    "road-probe.md": ("arm-none-eabi-gcc", "qemu-system-arm"),
    "road-simulator.md": (),
}
LONG = {"road-uart.md", "road-probe.md"}  # an upload takes its time; QEMU is waited for


def _free_port() -> int:
    with socket.socket() as made:
        made.bind(("localhost", 0))
        return int(made.getsockname()[1])


@pytest.mark.parametrize(
    "name", [pytest.param(page, marks=pytest.mark.long if page in LONG else ()) for page in PAGES]
)
def test_the_commands_of_a_page_print_what_it_shows(name: str, tmp_path: Path) -> None:
    for tool in PAGES[name]:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    if name in ("road-uart.md", "road-simulator.md"):
        pytest.importorskip("machine68k")
    page = ROOT / "docs" / name
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "kprof"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kprof "$@"\n')
    command.chmod(0o755)
    (tmp_path / "work").mkdir()
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "MAKELEVEL": "0"}
    found = shellpages.run(page, tmp_path / "work", environment, _free_port())
    if os.environ.get("KPROF_REFRESH"):
        shellpages.refresh(page, found)
    wrong = [c for c in found if not c.agrees]
    if not os.environ.get("KPROF_REFRESH"):
        assert not wrong, "\n\n".join(
            f"$ {c.typed}\nexit code {c.code}\n" + "\n".join(c.printed) for c in wrong
        )
    assert all(c.code == 0 for c in found), [c.typed for c in found if c.code]
    assert len(found) > 2


def test_a_page_that_says_something_else_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```console\n$ echo one\none\n$ printf 'a\\nb\\nc\\n'\na\n...\n"
        "$ echo 12\n13\n$ false\n```\n"
        "```console figures\n$ echo 12 us\n13   us\n$ cat <<'END'\n> x\n> END\nx\n```\n"
    )
    found = shellpages.run(page, tmp_path, dict(os.environ))
    assert [c.agrees for c in found] == [True, True, False, False, True, True]
    shellpages.refresh(page, found)
    again = shellpages.run(page, tmp_path, dict(os.environ))
    assert [c.agrees for c in again] == [True, True, True, False, True, True]
