"""What `tests.faults` runs: uploads whose k-th write, fsync or rename fails or kills."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.upload.agent import Agent
from tests.upload.rams import run_ram
from tests.upload.simline import Faults, SimLine

from kprof.capture import open_capture
from kprof.upload.failures import TransferError
from kprof.upload.session import UploadOptions, fetch_over

RAM = run_ram(700)


def prepare(folder: Path) -> None:
    """An unfinished upload, and one that is complete, of earlier."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    fetch_over(SimLine(Agent(run_ram(20))), folder / "old.bin")
    cut = SimLine(Agent(RAM), baud=115200, faults=Faults(cuts=((0.12, 60.0),)))
    try:
        fetch_over(cut, folder / "begun.bin")
    except TransferError:
        return
    raise AssertionError("the cut line has not stopped the upload")


def upload(folder: Path) -> None:
    """Replace a capture."""
    fetch_over(SimLine(Agent(RAM)), folder / "old.bin", UploadOptions(force=True))


def resumed_upload(folder: Path) -> None:
    """Go on with an upload."""
    fetch_over(SimLine(Agent(RAM)), folder / "begun.bin", UploadOptions(resume=True))


def check(folder: Path, done: bool) -> None:  # noqa: ARG001
    """The old file or the new one; and a further upload succeeds."""
    assert open_capture(folder / "old.bin").records.tobytes() in (RAM, run_ram(20))
    begun = folder / "begun.bin"
    if begun.exists():
        assert open_capture(begun).records.tobytes() == RAM
    options = UploadOptions(resume=True, force=True)
    fetch_over(SimLine(Agent(RAM)), begun, options)
    assert open_capture(begun).records.tobytes() == RAM
