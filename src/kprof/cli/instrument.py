"""`kprof instrument`: triggers into C sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from kprof.cli.choices import decorate, force_choice


def preprocessor_option(name: str, metavar: str) -> Callable[[Any], Any]:
    """An option that is kept, in its place among its like, for the preprocessor."""

    def keep(ctx: click.Context, _: click.Parameter, values: tuple[str, ...]) -> None:
        ctx.meta.setdefault("preprocessor", []).extend(w for v in values for w in (name, v))

    return click.option(
        name,
        multiple=True,
        metavar=metavar,
        expose_value=False,
        callback=keep,
        help="Passed to the preprocessor, as for the compiler.",
    )


@click.command("instrument")
@click.argument("files", nargs=-1, type=click.Path())
@click.option("-o", "--output", metavar="FOLDER", help="Folder for the copies.")
@click.option(
    "--names",
    metavar="FILE",
    envvar="KPROF_NAMES",
    show_envvar=True,
    help="The name file; new functions are appended. [default: the nearest kprof.names in a "
    "folder above the sources]",
)
@click.option("--target", default="m68k", show_default=True, help="Kind of trigger.")
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
@click.option(
    "--min-statements",
    type=int,
    default=0,
    metavar="N",
    help="Only functions of at least N statements.",
)
@click.option("--leaf", type=click.Choice(["keep", "skip"]), default="keep",
              help="Keep or skip functions that call nothing. [default: keep]")  # fmt: skip
@click.option("--no-inline", is_flag=True, help="Leave out functions that are declared inline.")
@click.option("--only-called-from", multiple=True, metavar="PATTERN",
              help="Only matching functions and all that they can reach.")  # fmt: skip
@click.option(
    "--first-tag", type=int, default=1024, show_default=True, help="First tag in a new name file."
)
@click.option("--header", metavar="FILE", help="Write the header with PROFILE(name) to FILE.")
@preprocessor_option("-I", "FOLDER")
@preprocessor_option("-D", "NAME[=VALUE]")
@preprocessor_option("-U", "NAME")
@preprocessor_option("-include", "FILE")
@preprocessor_option("-isystem", "FOLDER")
@preprocessor_option("-iquote", "FOLDER")
@click.option(
    "--compile-commands",
    metavar="FILE",
    help="A compile_commands.json with the options of each file.",
)
@click.option(
    "--cc", metavar="COMMAND", help="Preprocessor that checks the result; none: do not check."
)
@decorate(force_choice())
@click.option("--diff", is_flag=True, help="Print the changes; write nothing.")
@click.option("--un-instrument", is_flag=True, help="Turn copies back into the sources.")
@click.option("--strict", is_flag=True, help="Exit with 1 if a function could not get triggers.")
def command(
    files: tuple[str, ...],
    output: str | None,
    names: str | None,
    target: str,
    targets: str | None,
    base: str | None,
    shift: int | None,
    strategy: str | None,
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    min_statements: int,
    leaf: str,
    no_inline: bool,
    only_called_from: tuple[str, ...],
    first_tag: int,
    header: str | None,
    compile_commands: str | None,
    cc: str | None,
    force: bool,
    diff: bool,
    un_instrument: bool,
    strict: bool,
) -> int:
    """Write copies of C sources with triggers in them.

    Each function gets an entry trigger before its declarations and an exit trigger on every way
    out. The name file holds the tags; new functions are appended to it.

    \b
    Example:
      kprof instrument src/*.c -o build/ --names kernel.names
      kprof instrument src/*.c --diff
      kprof instrument build/*.c --un-instrument -o src/
      kprof instrument --header kprof_profile.h --names kernel.names
    """
    from pathlib import Path

    from kprof.cli.meter import Meter
    from kprof.cli.output import check_output, say
    from kprof.errors import UsageError
    from kprof.instrument.job import Job, run
    from kprof.instrument.select import Selection
    from kprof.names import project_names

    names = names or str(project_names(files))
    if header is not None:
        if header == "-" and output == "-":
            raise UsageError("-o - and --header - both go to stdout; expected a file for one")
        read = (*files, names, targets, compile_commands)
        check_output(header, "header", read, force=force)
    meter = Meter()
    job = Job(
        files=[Path(file) for file in files],
        output=output,
        names=Path(names),
        target=target,
        targets=targets,
        base=base,
        shift=shift,
        strategy=strategy,
        selection=Selection(
            only, exclude, min_statements, leaf == "keep", not no_inline, only_called_from
        ),
        first_tag=first_tag,
        header=header,
        compiler=cc,
        options=click.get_current_context().meta.get("preprocessor", []),
        compile_commands=compile_commands,
        force=force,
        diff=diff,
        un_instrument=un_instrument,
        progress=lambda what, done, total: meter.show(
            what, done, total, f"{done} of {total} files"
        ),
    )
    with meter:
        result = run(job)
    click.echo(result.output, nl=False)
    for line in result.notices:
        say(line)
    return 1 if result.refused or (strict and result.missed) else 0
