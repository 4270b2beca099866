"""`kprof sim`: a kernel on the simulated board."""

from __future__ import annotations

import click


@click.command("sim")
@click.argument("kernel", required=False, metavar="[KERNEL.ELF]")
@click.option(
    "--events",
    type=click.IntRange(1, 16384),
    default=16384,
    show_default=True,
    help="Record no more.",
)
@click.option("--seconds", type=float, default=60.0, show_default=True, help="Record no longer.")
@click.option("--start", type=float, default=0.1, show_default=True, help="Seconds before RUN.")
@click.option("--dump", metavar="FILE", help="Write the capture here and end, without an upload.")
@click.option("-f", "--force", is_flag=True, help="Replace the file of --dump.")
@click.option("--names", metavar="FILE", help="The name file that the kernel was built with.")
@click.option("--link", metavar="PATH", help="Make PATH a link to the upload line's pty.")
@click.option(
    "--eprom-bits",
    type=click.Choice(["8", "16", "32"]),
    default="8",
    show_default=True,
    help="Width of the EPROM's port.",
)
@click.option("--manual", is_flag=True, help="Leave it to the host to type the upload command.")
@click.option("--seed", type=int, default=1, show_default=True, help="Chooses the traffic.")
@click.option("--ppm", type=float, default=31, show_default=True, help="Error of the oscillator.")
def command(
    kernel: str | None,
    events: int,
    seconds: float,
    start: float,
    dump: str | None,
    force: bool,
    names: str | None,
    link: str | None,
    eprom_bits: str,
    manual: bool,
    seed: int,
    ppm: float,
) -> None:
    """Run a kernel on the simulated 68020 board, with the Profiler in its EPROM socket.

    The kernel boots, the Profiler is turned to RUN, and when it is full to READ; then the upload
    line is served until the host has the event RAM. What the kernel prints on its console goes to
    stdout. Without KERNEL.ELF it is the ready-built example kernel.

    \b
    Example:
      kprof sim kernel.elf
      kprof upload /dev/pts/5 -o dump.bin     (in another terminal, with the pty that sim names)
      kprof sim kernel.elf --dump dump.bin    (no upload)
    """
    from kprof.board.session import Plan
    from kprof.cli.simulate import Bench, simulate

    simulate(
        kernel,
        Plan(start_s=start, events=events, seconds=seconds),
        Bench(
            dump=dump,
            force=force,
            names=names,
            link=link,
            eprom_bits=int(eprom_bits),
            manual=manual,
            seed=seed,
            ppm=ppm,
        ),
    )
