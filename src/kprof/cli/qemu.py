"""`kprof qemu`: the triggers of a system that QEMU emulates."""

from __future__ import annotations

from itertools import pairwise

import click

from kprof.cli.sim import EVENTS


@click.command("qemu", context_settings={"ignore_unknown_options": True})
@click.argument("command_line", nargs=-1, type=click.UNPROCESSED, metavar="[--] QEMU...")
@click.option("-o", "--output", required=True, metavar="OUT", help="The capture file to write.")
@click.option("--force", is_flag=True, help="Replace OUT.")
@click.option(
    "--names", metavar="FILE", help="The name file of the code; other tags are no events then."
)
@click.option("--base", default="0", metavar="ADDRESS", help="Address of tag 0.")
@click.option("--shift", type=int, default=0, help="1 or 2 where the code has a --shift.")
@click.option("--events", type=EVENTS, help="End QEMU after so many events: 10000, 64k, 10M.")
@click.option(
    "--seconds", type=float, help="End QEMU at the first event that is later, in its own time."
)
def command(
    command_line: tuple[str, ...],
    output: str,
    force: bool,
    names: str | None,
    base: str,
    shift: int,
    events: int | None,
    seconds: float | None,
) -> None:
    """Run a system in QEMU and record its triggers.

    QEMU and its arguments follow a --. The Profiler is a plugin of the QEMU of the distribution
    (6.0 to 8.2), compiled with this machine's C compiler. The time is QEMU's virtual time:
    instructions, of 32 ns each unless -icount says otherwise. It has no cache and no bus.

    \b
    Example:
      kprof qemu --names kernel.names -o boot.kpd -- \\
        qemu-system-m68k -M virt -nographic -kernel vmlinux
      kprof report boot.kpd --names kernel.names
    """
    from kprof.cli.meter import Meter
    from kprof.cli.output import check_output, inputs_of, say
    from kprof.errors import UsageError
    from kprof.names import read_names
    from kprof.qemu.recording import Recording, record

    program = _kernel(command_line)
    check_output(output, "capture", inputs_of([], [names], program), force=force)
    try:
        address = int(base, 0)
    except ValueError as error:
        raise UsageError(f"--base {base}: expected a number such as 0x4000") from error
    code = read_names(names) if names else None
    planted = _planted(program)
    recording = Recording(command_line, code, planted, address, shift, events, seconds)
    with Meter() as meter:
        outcome = record(
            recording, output, lambda count: meter.show("recording", count, None, f"{count} events")
        )
    how = "stopped" if outcome.stopped else f"ended with exit code {outcome.exit_code}"
    say(f"QEMU {how}: {outcome.events} events in {outcome.seconds:.6f} s of its time in {output}")


def _kernel(command_line: tuple[str, ...]) -> str | None:
    """The file behind ``-kernel``."""
    pairs = pairwise(command_line)
    return next((value for option, value in pairs if option in ("-kernel", "--kernel")), None)


def _planted(program: str | None) -> bytes | None:
    """The digest of the name file that the kernel was built with."""
    from kprof.errors import KprofError
    from kprof.symbols import planted_digest

    try:
        return planted_digest(program) if program else None
    except KprofError:  # an image that is no ELF file
        return None
