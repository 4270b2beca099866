"""`kprof cc`: a compiler that plants triggers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kprof.cli.output import say

if TYPE_CHECKING:
    from kprof.instrument.running import Running


@click.command("cc", context_settings={"allow_interspersed_args": False})
@click.option("--names", metavar="FILE", envvar="KPROF_NAMES", show_envvar=True,
              help="The name file; new functions are appended. [default: the nearest kprof.names "
              "in a folder above the source]")  # fmt: skip
@click.option("--target", envvar="KPROF_TARGET", show_envvar=True,
              help="Kind of trigger. [default: chosen by the compiler]")  # fmt: skip
@click.option("--targets", metavar="FILE", help="A file with more targets.")
@click.option("--base", help="Address of tag 0: a number or a symbol.")
@click.option(
    "--shift", type=int, help="Bits to shift a tag: 1 on a 16-bit bus, 2 on a 32-bit bus."
)
@click.option(
    "--strategy",
    type=click.Choice(["cleanup", "returns"]),
    help="How triggers reach all exits of a function.",
)
@click.option(
    "--only", multiple=True, metavar="PATTERN", help="Only matching functions get triggers."
)
@click.option(
    "--exclude", multiple=True, metavar="PATTERN", help="Matching functions get no triggers."
)
@click.option("--header", metavar="FILE", help="Write the header with PROFILE(name) to FILE.")
@click.option(
    "--first-tag", type=int, default=1024, show_default=True, help="First tag in a new name file."
)
@click.option("--strict", is_flag=True, help="Exit with 1 if a function could not get triggers.")
@click.argument("compiler", nargs=-1, type=click.UNPROCESSED)
@click.pass_obj
def command(
    running: Running | None,
    names: str | None,
    target: str | None,
    targets: str | None,
    base: str | None,
    shift: int | None,
    strategy: str | None,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    header: str | None,
    first_tag: int,
    strict: bool,
    compiler: tuple[str, ...],
) -> int:
    """Compile C with triggers: COMPILER and its arguments follow the --.

    Commands that compile no C (-E, assembler files) and the trial runs of build systems are passed
    on unchanged. Linking adds the digest of the name file and, with --target soft, the event RAM.

    \b
    Example:
      kprof cc -- m68k-linux-gnu-gcc -O2 -c x.c
      make CC="kprof cc --target soft -- gcc"
      cmake -DCMAKE_C_COMPILER_LAUNCHER="kprof;cc;--target;soft;--" \\
        -DCMAKE_C_LINKER_LAUNCHER="kprof;cc;--target;soft;--" ..
    """
    from pathlib import Path

    from kprof.errors import UsageError
    from kprof.instrument.compiler_settings import Compiling, guess_target
    from kprof.instrument.compiling import compile_with_triggers
    from kprof.instrument.select import Selection
    from kprof.instrument.targets import find_target
    from kprof.names.find import PROJECT_NAMES

    if not compiler and not header:
        raise UsageError("no compiler; expected one behind a --, such as: kprof cc -- gcc -c x.c")
    chosen = find_target(
        target or guess_target(compiler or ("cc",)),
        base=base,
        shift=shift,
        strategy=strategy,
        file=targets,
    )
    selection = Selection(only, exclude)
    path = Path(names or PROJECT_NAMES)
    options = Compiling(chosen, path, selection, first_tag, bool(names), header or "")
    outcome = compile_with_triggers(compiler, options, running)
    for line in outcome.notices:
        say(line)
    return outcome.code or (1 if strict and outcome.missed else 0)
