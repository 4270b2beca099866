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
        help="As for the compiler.",
    )


@click.command("instrument")
@click.argument("files", nargs=-1, type=click.Path())
@click.option("-o", "--output", metavar="FOLDER", help="Where the instrumented copies go.")
@click.option(
    "--names",
    metavar="FILE",
    envvar="KPROF_NAMES",
    show_envvar=True,
    help="The name file; functions that it lacks are appended. Default: the kprof.names above the "
    "sources, as git finds its .git.",
)
@click.option("--target", default="m68k", show_default=True, help="What fires a trigger.")
@click.option("--targets", metavar="FILE", help="Targets of your own.")
@click.option("--base", help="Address of tag 0, or a symbol.")
@click.option("--shift", type=int, help="1 on a 16-bit bus, 2 on a 32-bit bus.")
@click.option("--strategy", type=click.Choice(["cleanup", "returns"]), help="How exits are found.")
@click.option("--only", multiple=True, metavar="PATTERN", help="Only these functions.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Not these functions.")
@click.option("--min-statements", type=int, default=0, metavar="N", help="Not smaller functions.")
@click.option("--leaf", type=click.Choice(["keep", "skip"]), default="keep",
              help="Whether functions that call nothing have triggers.")  # fmt: skip
@click.option("--no-inline", is_flag=True, help="Not functions that are declared inline.")
@click.option("--only-called-from", multiple=True, metavar="PATTERN",
              help="Only what these can call, by any way, and these.")  # fmt: skip
@click.option("--first-tag", type=int, default=1024, show_default=True, help="In a new name file.")
@click.option("--header", metavar="FILE", help="Write the header with PROFILE(name) here.")
@preprocessor_option("-I", "FOLDER")
@preprocessor_option("-D", "NAME[=VALUE]")
@preprocessor_option("-U", "NAME")
@preprocessor_option("-include", "FILE")
@preprocessor_option("-isystem", "FOLDER")
@preprocessor_option("-iquote", "FOLDER")
@click.option("--compile-commands", metavar="FILE", help="A compile_commands.json.")
@click.option("--cc", metavar="COMMAND", help="Preprocessor to check with; none for none.")
@decorate(force_choice())
@click.option("--diff", is_flag=True, help="Print what would change; write nothing.")
@click.option("--un-instrument", is_flag=True, help="Get the sources back from copies.")
@click.option("--strict", is_flag=True, help="Exit with 1 where a function has no triggers.")
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
    """Put triggers into copies of C sources.

    Each function gets an entry trigger before its declarations and an exit trigger on every way
    out. Its tags come from the name file; functions that are not in it are appended.

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
