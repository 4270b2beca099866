"""`kprof demo`: the whole chain, once."""

from __future__ import annotations

import click


@click.command("demo")
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    default="kprof-demo",
    show_default=True,
    help="Folder for everything that the demonstration makes.",
)
@click.option(
    "--cross",
    metavar="PREFIX",
    default="m68k-linux-gnu-",
    show_default=True,
    help="Prefix of the cross compiler's commands.",
)
@click.option("--ready-built", is_flag=True, help="Use the ready-built kernel; compile nothing.")
@click.option(
    "--loan", is_flag=True, help="Use the kernel with loaned buffers (the paper's change)."
)
@click.option(
    "--lines",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    help="Lines of the trace to print.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Seed of the Ethernet traffic."
)
def command(output: str, cross: str, ready_built: bool, loan: bool, lines: int, seed: int) -> None:
    """Run the whole chain on the simulated board: C source to report.

    The demonstration plants triggers in the example kernel, compiles it (if it finds a cross
    compiler), boots it on the simulated 68020 board, and uploads the event RAM through a
    pseudo-terminal. It prints the summary and the beginning of the trace. All files stay in FOLDER.

    \b
    Example:
      kprof demo
      kprof demo --loan -o after
    """
    from pathlib import Path

    from kprof.cli.demonstrate import Demo, demonstrate
    from kprof.errors import UsageError

    if output == "-":
        raise UsageError("-o -: stdout takes no demonstration; expected the name of a folder")
    demo = Demo(Path(output), None if ready_built else cross, loan=loan, lines=lines, seed=seed)
    for part in demonstrate(demo):
        click.echo(part)
