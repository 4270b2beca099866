"""`kprof run`: a host program with triggers, and the report of its run."""

from __future__ import annotations

import click

from kprof.cli.choices import Choice, Verb, decorate, force_choice
from kprof.cli.running import recording_choices


@click.command("run", cls=Verb, context_settings={"allow_interspersed_args": False})
@decorate(*recording_choices())
@decorate(
    Choice(["--names"], metavar="FILE", help="The name file. [default: the one of the build]"),
    force_choice(),
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED,
                metavar="-- PROGRAM [ARGS]...")  # fmt: skip
def command(
    program: tuple[str, ...],
    output: str,
    events: int | None,
    keep: str | None,
    no_report: bool,
    names: str | None,
    force: bool,
) -> int:
    """Run a program that has triggers and show the summary of its run.

    PROGRAM was built with `kprof cc --target soft`, or by `kprof record`. An earlier capture of the
    same name is kept as CAPTURE.old. The exit code is that of PROGRAM.

    \b
    Example:
      kprof run -- ./prog input.txt
      kprof run -o slow.bin -- ./prog --slow
    """
    from kprof.cli.running import Recording, run_program

    recording = Recording(output, events, keep, names, report=not no_report, force=force)
    return run_program(program, recording)
