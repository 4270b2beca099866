"""Ctrl-C while modules are still imported: no traceback, exit code 130."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.capture.traces import capture

from kprof.capture import write_capture

# Sends SIGINT to itself when the module that is named is first looked for.
PROGRAM = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), 2)
wanted = sys.argv.pop(1)
sys.meta_path.insert(0, Finder())
from kprof.__main__ import main
main()
"""
MODULES = [
    "signal",
    "enum",
    "kprof.cli",
    "kprof.cli.main",
    "click",
    "click.core",
    "kprof.errors",
    "kprof.cli.report",
    "kprof.cli.reporting",
    "kprof.analysis",
    "kprof.analysis.replay",
    "kprof.names",
    "numpy",
    "numpy._core",
    "numpy._core.multiarray",
    "numpy._core._multiarray_umath",
    "numpy.core._multiarray_umath",
    "numpy.random",
]


@pytest.mark.parametrize("module", MODULES)
def test_no_traceback(tmp_path: Path, module: str) -> None:
    write_capture(tmp_path / "k.kpd", capture(100))
    (tmp_path / "k.names").write_text("f/1024\n")
    command = [sys.executable, "-c", PROGRAM, module, "report", "k.kpd"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        assert module.startswith("numpy")  # this numpy has no such module, or imports it later
        return
    assert (done.returncode, done.stderr.strip()) == (130, "kprof: interrupted")
