"""Start-up is measured as users have it: pip compiles what it installs, a working copy may not."""

from __future__ import annotations

import compileall
from pathlib import Path

import kprof


def compile_as_installed() -> None:
    """Write the bytecode of kprof, even where Python was told to write none."""
    compileall.compile_dir(Path(kprof.__file__).parent, quiet=1)
