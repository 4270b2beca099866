"""The example kernel: where its files are, what is ready-built, how it is compiled."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import kprof
from kprof.errors import BoardError

CROSS = "m68k-linux-gnu-"
PROFILE_HEADER = "kprof_profile.h"


def examples_folder() -> Path:
    """The folder ``examples`` of the source tree, or of the installed package.

    Raises
    ------
    BoardError
        Neither is there.
    """
    package = Path(kprof.__file__).resolve().parent
    for folder in (package / "examples", package.parent.parent / "examples"):
        if (folder / "minikernel" / "src").is_dir():
            return folder
    raise BoardError(
        f"the example kernel is not beside {package}; install kprof from its wheel or source tree"
    )


def sources() -> list[Path]:
    """The kernel's C files, in the order in which tags are given."""
    return sorted((examples_folder() / "minikernel" / "src").glob("*.c"))


def include_folders() -> tuple[Path, Path]:
    """Where the kernel's own headers and the agent's are."""
    return examples_folder() / "minikernel" / "src", examples_folder() / "agent"


def seed_names() -> Path:
    """The name file before the first build."""
    return examples_folder() / "minikernel" / "seed.names"


def ready_built(variant: str = "kernel") -> tuple[Path, Path]:
    """(image, name file) of a ready-built kernel: ``kernel``, ``loan`` or ``swtch``."""
    folder = examples_folder() / "minikernel" / "prebuilt"
    return folder / f"{variant}.elf", folder / "kernel.names"


def cross_compiler(prefix: str = CROSS) -> str | None:
    """The path of the cross compiler, or None."""
    return shutil.which(f"{prefix}gcc")


def compile_command(
    compiler: str,
    files: Sequence[Path],
    output: Path,
    *,
    includes: Sequence[Path] = (),
    defines: Sequence[str] = ("COUNT_CALLS",),
) -> list[str]:
    """The one command that compiles and links a kernel from these C files.

    Parameters
    ----------
    files
        The kernel's C files, instrumented or not; assembler, agent and linker script come from the
        examples.
    includes
        Folders that are searched before the kernel's own.
    """
    flags = examples_folder() / "minikernel" / "compile.flags"
    kernel, agent = include_folders()
    return [
        compiler,
        f"@{flags}",
        *(f"-D{define}" for define in defines),
        *(f"-I{folder}" for folder in (*includes, kernel, agent)),
        *map(str, (kernel / "boot.S", kernel / "lib.S", *files, agent / "kpr_agent.c")),
        *("-T", str(kernel / "kernel.ld"), "-lgcc", "-o", str(output)),
    ]


def run_compiler(command: Sequence[str]) -> None:
    """Run it.

    Raises
    ------
    BoardError
        It failed; the message holds what the compiler said.
    """
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BoardError(f"{command[0]}: cannot run it: {error.strerror}") from error
    if result.returncode:
        raise BoardError(f"the example kernel does not compile:\n{result.stderr.strip()}")
