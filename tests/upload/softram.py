"""Programs with the software event RAM: how the tests build and run them."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from tests.upload.peers import AGENT, WARNINGS, compiler

from kprof.capture import Capture, open_capture

RAM = str(AGENT / "kprof_ram.c")
OPTIONS = ["-O2", "-pthread", "-I", str(AGENT)]


_MADE = tempfile.TemporaryDirectory(prefix="kprof_ram")


@functools.cache
def event_ram(*options: str) -> Path:
    """The event RAM, compiled with these options."""
    made = Path(_MADE.name) / f"{event_ram.cache_info().currsize}.o"
    command = [compiler(), *WARNINGS, *OPTIONS, *options, "-c", RAM, "-o", str(made)]
    subprocess.run(command, check=True, timeout=60)
    return made


def build(folder: Path, text: str, *options: str) -> Path:
    """The program of this text, with the event RAM."""
    (folder / "main.c").write_text(text)
    made = folder / "program"
    command = [compiler(), "-Wall", "-Wno-misleading-indentation", *OPTIONS, *options]
    sources = [str(folder / "main.c"), str(event_ram(*options))]
    subprocess.run([*command, "-o", str(made), *sources], check=True, timeout=60)
    return made


def environment(program: Path, **settings: str) -> dict[str, str]:
    """What it runs in: its capture is run.bin beside it."""
    return dict(os.environ) | {"KPROF_OUT": str(program.parent / "run.bin")} | settings


def run(program: Path, *arguments: str, **settings: str) -> Capture:
    """Its capture, after a run that ended well."""
    done = environment(program, **settings)
    subprocess.run([program, *arguments], check=True, timeout=60, env=done)
    return written(program.parent / "run.bin")


def written(path: Path) -> Capture:
    """The capture in a file that must be sound."""
    capture = open_capture(path, verify=True)
    assert capture.info.warnings == ()
    assert (np.diff(capture.ticks()) >= 0).all()
    return capture
