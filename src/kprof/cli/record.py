"""`kprof record`: build a host program with triggers, run it, and report its run."""

from __future__ import annotations

import click

from kprof.cli.choices import Choice, Verb, decorate, force_choice
from kprof.cli.running import recording_choices


class _Words(Verb):
    """A command whose ``--`` is kept: what follows it goes to the program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta["program"] = args[at + 1 :]
        return super().parse_args(ctx, args[:at])


@click.command("record", cls=_Words)
@decorate(*recording_choices())
@decorate(
    Choice(["--cc"], metavar="COMMAND", default="cc -O2",
           help="The compiler and its options. [default: cc -O2]"),
    Choice(["--program"], metavar="FILE",
           help="The program to build. [default: the first source's name with .kprof]"),
    Choice(["--build"], metavar="COMMAND",
           help="Build with COMMAND instead, such as make; $CC plants the triggers."),
    Choice(["--names"], metavar="FILE", help="The name file. [default: kprof.names]"),
    force_choice(),
)  # fmt: skip
@click.argument("sources", nargs=-1, metavar="[SOURCE.c]... [-- ARGS...]")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    sources: tuple[str, ...],
    output: str,
    events: int | None,
    keep: str | None,
    no_report: bool,
    cc: str,
    program: str | None,
    build: str | None,
    names: str | None,
    force: bool,
) -> int:
    """Build a program with triggers, run it, and show the summary of its run.

    ARGS go to the program. With --build the program and its arguments follow the --.

    \b
    Example:
      kprof record prog.c
      kprof record --cc 'gcc -O2 -Iinclude -lm' main.c util.c -- input.txt
      kprof record --build make -- ./prog input.txt
    """
    from kprof.cli.running import Recording, build_program, run_build, run_program

    words = ctx.meta["program"]
    recording = Recording(output, events, keep, names, report=not no_report, force=force)
    if build is not None:
        built = run_build(build, sources, words, cc, recording)
    else:
        built = [build_program(sources, program, cc, recording), *words]
    return run_program(built, recording)
