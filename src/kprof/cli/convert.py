"""`kprof convert`: one form of a capture into another."""

from __future__ import annotations

import click

from kprof.cli.output import say


@click.command("convert")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="OUT", help="The file to write.")
@click.option(
    "--to",
    "form",
    type=click.Choice(["kpd", "kpd3", "raw", "banks"]),
    help="Form of OUT. [default: by its ending: .kpd, or .bin for raw]",
)
@click.option(
    "--names", metavar="FILE", help="Name file; the capture keeps it, and it helps to order banks."
)
@click.option(
    "--elf", metavar="FILE", help="The linked program; the capture records its name file's digest."
)
@click.option("--valid", metavar="N|all", help="Number of valid records, if the capture lacks it.")
@click.option(
    "--previous",
    metavar="FILE",
    help="Raw image of the run before; records that differ from it are valid.",
)
@click.option("--record-order", metavar="ORDER", help="Bank of each byte or file, such as 01234.")
@click.option("--force", is_flag=True, help="Replace OUT.")
@click.option("--damaged-ok", is_flag=True, help="Accept data with wrong checksums.")
def command(
    files: tuple[str, ...],
    output: str,
    form: str | None,
    names: str | None,
    elf: str | None,
    valid: str | None,
    previous: str | None,
    record_order: str | None,
    force: bool,
    damaged_ok: bool,
) -> None:
    """Write a capture in another form.

    FILE is a capture file, a raw image, or the images of the five RAM banks in any order. OUT is a
    capture file (kpd: records of 5 bytes; kpd3: unwrapped time), a raw image, or five bank images
    OUT.0 to OUT.4 (time 23-16, 15-8, 7-0, tag 15-8, 7-0). Only --force replaces an existing file.

    \b
    Example:
      kprof convert dump.bin -o dump.kpd --valid 9000
      kprof convert u1.bin u2.bin u3.bin u4.bin u5.bin -o dump.kpd --names kernel.names
      kprof convert dump.kpd -o ram --to banks
    """
    from kprof.capture import open_banks, open_capture
    from kprof.capture.convert import convert, form_of, paths_of
    from kprof.capture.match import names_mismatch, planted_mismatch
    from kprof.errors import UsageError
    from kprof.files import spare_existing, spare_inputs
    from kprof.names import read_names
    from kprof.symbols import planted_digest

    known = read_names(names) if names else None
    planted = planted_digest(elf) if elf else None
    if len(files) == 1:
        capture = open_capture(
            files[0],
            valid=valid,
            previous=previous,
            record_order=record_order,
            names=known,
            damaged_ok=damaged_ok,
        )
    elif len(files) == 5:
        capture = open_banks(
            files, valid=valid, previous=previous, record_order=record_order, names=known
        )
    else:
        raise UsageError(f"{len(files)} files given; expected one capture, or five bank images")
    other = None
    if known and planted:
        other = planted_mismatch(known, str(names), planted, str(elf))
    elif known:
        other = names_mismatch(capture, known, str(names))
    for warning in (*capture.info.warnings, *((other,) if other else ())):
        say(warning)
    form = form_of(output, form, capture)
    if output == "-" and form == "banks":
        raise UsageError("-: five bank images are five files; expected a name for them")
    for path in paths_of(output, form):
        spare_inputs(path, (*files, names, previous, elf))
    for path in paths_of(output, form):
        spare_existing(path, force)
    say(convert(capture, output, form, known, planted), prefix="")
