"""`kprof import`: captures from logic analysers."""

from __future__ import annotations

import click

from kprof.cli.output import say


@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="OUT", help="The capture file to write.")
@click.option("--map", "mapping", metavar="MAP", help="Channels, such as A0-A15=D0-D15,CE=D16.")
@click.option(
    "--settle", metavar="TIME", help="Delay from /CE falling to a valid address, such as 50ns."
)
@click.option(
    "--tag-bits",
    type=click.IntRange(1, 16),
    default=16,
    show_default=True,
    help="Address bits that form the tag.",
)
@click.option(
    "--tag-shift",
    type=click.IntRange(0, 15),
    default=0,
    show_default=True,
    help="Address lines below the tag: 1 on a 16-bit bus, 2 on a 32-bit bus.",
)
@click.option("--ignore", metavar="TAGS", help="Tags to leave out, such as 0-3ff (hex).")
@click.option(
    "--samplerate", metavar="HZ", help="Sample rate, if the file lacks it, such as 24MHz."
)
@click.option(
    "--kind",
    type=click.Choice(["sigrok", "vcd", "csv", "saleae"]),
    help="Kind of the recording. [default: recognised]",
)
@click.option("--force", is_flag=True, help="Replace OUT.")
@click.option(
    "--names", metavar="FILE", help="Name file of the code; the capture keeps its entries."
)
@click.option(
    "--elf", metavar="FILE", help="The linked program; the capture records its name file's digest."
)
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
    """Convert a logic analyser's recording of the EPROM socket into a capture file.

    FILE is a sigrok session (.sr), a VCD, a CSV table (sigrok, DSView, Saleae), or all files of a
    Saleae binary export. Channels named A0 to A15 and CE are found; --map names others, and
    CE=!D16 is a select that is active high.

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
