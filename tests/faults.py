"""Every k-th call that changes a file failing, or killing the process: a driver for tests.

`tests/faults.c` is preloaded into a Python that imports the code once and forks for each k, so that
all k take seconds. Run as a script: ``faults.py FOLDER MODULE FUNCTION``: for each fault,
``MODULE.prepare(folder)`` makes the old state, ``MODULE.FUNCTION(folder)`` is hit by the fault, and
``MODULE.check(folder, done)`` raises where what is left is not allowed (`done`: it returned).
"""

from __future__ import annotations

import ctypes
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

MODES = ("fails", "kills", "kills half way", "fails after half")
_LIMIT = 400


def run_with_faults(folder: Path, module: str, function: str) -> int:
    """Run ``module.function`` with every fault in turn; the number of faults that were tried."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: the fault injection is a preloaded library")
    library = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    target = folder / "target"
    target.mkdir()
    done = subprocess.run(
        [sys.executable, __file__, str(target), module, function],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.split()[-1])


def _drive(folder: Path, module: str, function: str) -> int:
    code = importlib.import_module(module)
    library = ctypes.CDLL(None)
    tried = 0
    for mode in range(len(MODES)):
        for k in range(1, _LIMIT):
            code.prepare(folder)
            child = os.fork()
            if child == 0:
                library.fault_arm(str(folder).encode(), ctypes.c_long(k), mode)
                os._exit(_attempt(getattr(code, function), folder, library, k))
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status not in (0, 3, 4, -9):
                raise AssertionError(f"call {k} {MODES[mode]}: ended with {status}")
            try:
                code.check(folder, status in (0, 4))
            except BaseException as error:
                raise AssertionError(f"call {k} {MODES[mode]}: {error!r}") from error
            if status == 4:  # it has fewer than k calls: every fault was tried
                break
            tried += 1
        else:
            raise AssertionError("too many calls to try them all")
    return tried


def _attempt(function: Callable[[Path], object], folder: Path, library: ctypes.CDLL, k: int) -> int:
    """3: it said that it failed; 4: done, and the fault lies past its last call; 0: done."""
    from kprof.errors import KprofError

    try:
        function(folder)
    except KprofError:
        return 3
    except BaseException:
        import traceback

        traceback.print_exc()
        return 1
    return 4 if library.fault_calls() < k else 0


if __name__ == "__main__":
    print(_drive(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
