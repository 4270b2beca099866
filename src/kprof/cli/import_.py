"""`kprof import`: captures from logic analysers."""

from __future__ import annotations

import click

from kprof.cli.output import say


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="OUT", help="The capture file to write.")
@click.option("--map", "mapping", metavar="MAP", help="Channels, such as A0-A15=D0-D15,CE=D16.")
@click.option(
    "--settle", metavar="TIME", help="From /CE falling to the address; 50ns; us without a unit."
)
@click.option(
    "--tag-bits",
    type=click.IntRange(1, 16),
    default=16,
    show_default=True,
    help="Bits of the address that make the tag.",
)
@click.option(
    "--tag-shift",
    type=click.IntRange(0, 15),
    default=0,
    show_default=True,
    help="Address lines below the tag: 1 on a 16-bit bus, 2 on a 32-bit bus.",
)
@click.option("--ignore", metavar="TAGS", help="Tags that are no events, such as 0-3ff (hex).")
@click.option("--samplerate", metavar="HZ", help="Where the file does not say it; such as 24MHz.")
@click.option("--kind", type=click.Choice(["sigrok", "vcd", "csv", "saleae"]), help="Of the file.")
@click.option("--force", is_flag=True, help="Replace OUT.")
@click.option("--names", metavar="FILE", help="Name file of the code; its entries are kept.")
@click.option("--elf", metavar="FILE", help="The linked program: it knows its name file's digest.")
def command(
    files: tuple[str, ...],
    output: str,
    mapping: str | None,
    settle: str | None,
    tag_bits: int,
    tag_shift: int,
    ignore: str | None,
    samplerate: str | None,
    kind: str | None,
    force: bool,
    names: str | None,
    elf: str | None,
) -> None:
    """Make a capture of a logic analyser's recording of the EPROM socket.

    FILE is a sigrok session (.sr), a VCD, a CSV table (sigrok, DSView, Saleae), or all files of a
    Saleae binary export. The address lines and /CE are found by their channels' names (A0 to A15,
    CE), or told with --map; CE=!D16 for a select that is active high.

    \b
    Example:
      kprof import run.sr -o dump.kpd --map A0-A15=D0-D15,CE=D16
      kprof import digital_*.bin -o dump.kpd --map A0-A15=D0-D15,CE=D16 --ignore 0-3ff
    """
    from kprof.capture.importers.run import ImportOptions, import_recording
    from kprof.capture.match import planted_mismatch
    from kprof.cli.meter import Meter
    from kprof.files import spare_existing, spare_inputs
    from kprof.names import read_names
    from kprof.symbols import planted_digest

    spare_inputs(output, (*files, names, elf))
    spare_existing(output, force)
    code = read_names(names) if names else None
    planted = planted_digest(elf) if elf else None
    if code and planted and (said := planted_mismatch(code, str(names), planted, str(elf))):
        say(said)
    options = ImportOptions(
        mapping, settle, tag_bits, tag_shift, ignore, samplerate, kind, code, planted
    )
    with Meter() as meter:
        result = import_recording(
            files, output, options, lambda events: meter.count("importing", events)
        )
    for warning in result.warnings:
        say(warning)
    say(result.sentence(output), prefix="")
