"""Agents at the other end of a pty: the real one, compiled for this machine, and the Python one."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import threading
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.upload.agent import Agent

AGENT = Path(__file__).parents[2] / "examples" / "agent"
WARNINGS = ["-std=c89", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def compiler() -> str:
    """A C compiler, or the test is skipped."""
    found = shutil.which("cc") or shutil.which("gcc")
    if found is None:
        pytest.skip("no C compiler")
    return found


def build_host_agent(folder: Path, *, sanitized: bool = False) -> Path:
    """The real agent, ported to this machine; perhaps with gcc's sanitizers."""
    made = folder / "kpr_host"
    sources = [str(AGENT / "port_host.c"), str(AGENT / "kpr_agent.c")]
    checks = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command = [compiler(), *WARNINGS, "-O1", *(checks if sanitized else ()), "-o", str(made)]
    subprocess.run([*command, *sources], check=True)
    return made


@contextlib.contextmanager
def open_pty() -> Iterator[tuple[int, str]]:
    """(descriptor of the board's end, name of the host's end)."""
    board, host = pty.openpty()
    tty.setraw(host)
    try:
        yield board, os.ttyname(host)
    finally:
        os.close(host)
        with contextlib.suppress(OSError):
            os.close(board)


@contextlib.contextmanager
def real_agent(program: Path, image: Path, valid: int | None = None, **more: str) -> Iterator[str]:
    """The name of a pty on which the real agent serves `image`; `more` is for its environment."""
    environment = dict(os.environ) | more
    if valid is not None:
        environment["KPR_VALID"] = str(valid)
    with open_pty() as (board, name):
        process = subprocess.Popen(
            [str(program), str(image)], stdin=board, stdout=board, env=environment
        )
        try:
            yield name
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def python_agent(
    agent: Agent, before_frame: Callable[[int], bool] = lambda _: True
) -> Iterator[str]:
    """The name of a pty on which `agent` serves; False from `before_frame` unplugs it."""
    with open_pty() as (board, name):

        def serve() -> None:
            sent = 0
            with contextlib.suppress(OSError):
                while not agent.done:
                    for byte in os.read(board, 256):
                        for frame in agent.receive(byte):
                            sent += 1
                            if not before_frame(sent):
                                os.close(board)
                                return
                            os.write(board, frame)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield name
