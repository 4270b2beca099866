"""`kprof sim`: a kernel on the simulated board."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    _Number = click.ParamType[int]
else:
    _Number = click.ParamType  # not generic before click 8.3


class Events(_Number):
    """A number of events: 10000, 64k, 10M."""

    name = "number"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The number."""
        match = re.fullmatch(r"(\d{1,12})([kKM]?)", str(value))
        if match is None:
            self.fail(
                f"{value!r} is not a number of events; expected 10000, 64k or 10M", param, ctx
            )
        return int(match[1]) * {"": 1, "k": 1000, "K": 1000, "M": 1_000_000}[match[2]]


class Size(_Number):
    """A number of bytes: 2M, 512k, 0x200000."""

    name = "bytes"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The number."""
        match = re.fullmatch(r"(0x[0-9a-fA-F]{1,12}|\d{1,12})([kKM]?)", str(value))
        if match is None:
            self.fail(f"{value!r} is not a size; expected 512k, 2M or 0x200000", param, ctx)
        return int(match[1], 0 if "x" in match[1] else 10) << {"": 0, "M": 20}.get(match[2], 10)


EVENTS = Events()


@click.command("sim")
@click.argument("kernel", required=False, metavar="[KERNEL.ELF]")
@click.option(
    "--events",
    type=EVENTS,
    default="16384",
    show_default=True,
    help="Stop after NUMBER events; past 16384 the Profiler has a larger RAM. 10M: ten million.",
)
@click.option(
    "--seconds",
    type=float,
    default=60.0,
    show_default=True,
    help="Stop recording after this time on the board.",
)
@click.option(
    "--start",
    type=float,
    default=0.1,
    show_default=True,
    help="Start recording at the first idle moment after so many seconds.",
)
@click.option("--run-at", metavar="MOMENT", help="Start recording at MOMENT instead.")
@click.option("--until", metavar="MOMENT", help="Record until this moment.")
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    default=1,
    help="Number of recordings, one after the other.",
)
@click.option(
    "--timeout",
    type=float,
    default=600.0,
    show_default=True,
    help="Seconds to wait for MOMENT, or for a byte of an upload; 0: no limit.",
)
@click.option(
    "--dump", metavar="FILE", help="Write the capture to FILE and end, without an upload."
)
@click.option("--force", is_flag=True, help="Replace the file of --dump.")
@click.option("--names", metavar="FILE", help="The name file that the kernel was built with.")
@click.option("--link", metavar="PATH", help="Make PATH a link to the upload line's pty.")
@click.option(
    "--eprom-bits",
    type=click.Choice(["8", "16", "32"]),
    help="Width of the EPROM's port, instead of the board's own.",
)
@click.option(
    "--board", metavar="NAME|FILE.toml", default="md20", show_default=True, help="The board."
)
@click.option("--list-boards", is_flag=True, help="Show the boards that come with kprof.")
@click.option("--manual", is_flag=True, help="Wait for the host to type the upload command.")
@click.option("--no-skip", is_flag=True, help="Emulate every turn of every polling loop.")
@click.option("--ram", type=Size(), metavar="BYTES", help="Size of the board's RAM (2M).")
@click.option(
    "--traffic",
    type=click.Choice(["stream", "tcp", "tcp-flood", "none"]),
    default="stream",
    show_default=True,
    help="The Ethernet's traffic: a stream of data, a TCP peer that answers, or none.",
)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Seed of the Ethernet traffic."
)
@click.option(
    "--ppm",
    type=float,
    default=31,
    show_default=True,
    help="Error of the oscillator, in parts per million.",
)
def command(
    kernel: str | None,
    events: int,
    seconds: float,
    start: float,
    run_at: str | None,
    until: str | None,
    runs: int,
    timeout: float,
    dump: str | None,
    force: bool,
    names: str | None,
    link: str | None,
    eprom_bits: str | None,
    board: str,
    list_boards: bool,
    manual: bool,
    no_skip: bool,
    ram: int | None,
    traffic: str,
    seed: int,
    ppm: float,
) -> None:
    """Run a kernel on a simulated 68k board, with the Profiler in its EPROM socket.

    The kernel boots and the Profiler records until its event RAM is full. Then the upload line is
    served until the host has read the event RAM. The kernel's console goes to stdout. Without
    KERNEL.ELF the board runs the ready-built example kernel. The dump is written in any case: also
    after a crash, the time limit or Ctrl-C.

    MOMENT is reset, idle, a time in seconds after the reset, pc=FUNCTION or write=VARIABLE (or an
    address instead of a name).

    \b
    Example:
      kprof sim kernel.elf
      kprof upload /dev/pts/5 -o dump.bin     (in another terminal, with the pty that sim names)
      kprof sim kernel.elf --dump dump.bin    (no upload)
      kprof sim kernel.elf --dump boot.bin --run-at reset --until idle
      kprof sim kernel.elf --dump dump.bin --board myboard.toml
    """
    from kprof.board.moments import parse_moment
    from kprof.board.session import Plan
    from kprof.cli.simulate import Bench, board_list, simulate

    if list_boards:
        click.echo(board_list(), nl=False)
        return
    simulate(
        kernel,
        Plan(
            start_s=start,
            events=events,
            seconds=seconds,
            run_at=parse_moment(run_at) if run_at is not None else None,
            until=parse_moment(until) if until is not None else None,
            wait_s=timeout or 86_400,
        ),
        Bench(
            dump=dump,
            force=force,
            runs=runs,
            names=names,
            link=link,
            timeout_s=timeout,
            board=board,
            eprom_bits=int(eprom_bits) if eprom_bits else None,
            manual=manual,
            skip=not no_skip,
            ram_bytes=ram,
            traffic=traffic,
            seed=seed,
            ppm=ppm,
        ),
    )
