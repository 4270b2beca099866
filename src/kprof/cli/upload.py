"""`kprof upload`: the event RAM from a board into a capture file."""

from __future__ import annotations

import click

from kprof.upload.protocols import PROTOCOLS


@click.command("upload")
@click.argument("port", required=False)
@click.option("-o", "--output", metavar="FILE", help="The capture file to write.")
@click.option("--force", is_flag=True, help="Replace FILE, or an unfinished upload of it.")
@click.option("--resume", is_flag=True, help="Continue an unfinished upload of FILE.")
@click.option(
    "--start-baud",
    type=click.IntRange(50, 4_000_000),
    default=115200,
    show_default=True,
    help="Baud rate of the first contact.",
)
@click.option(
    "--baud",
    type=click.IntRange(50, 4_000_000),
    help="Faster baud rate to change to; falls back if it does not work.",
)
@click.option(
    "--proto",
    type=click.Choice(PROTOCOLS),
    default="kpr1",
    show_default=True,
    help="Protocol of the board.",
)
@click.option("--raw", is_flag=True, help="Transfer without the delta coding.")
@click.option("--verify", is_flag=True, help="Read everything twice if the board has no checksums.")
@click.option(
    "--valid-only",
    is_flag=True,
    help="Read only the records of the last run, if the board knows them.",
)
@click.option(
    "--stay", is_flag=True, help="Leave the agent running, or the gdb stub attached, at the end."
)
@click.option(
    "--names", metavar="FILE", help="Name file of the code; the capture records its digest."
)
@click.option("--elf", metavar="FILE", help="The linked program: it knows its name file's digest.")
@click.option("--send", multiple=True, metavar="TEXT", help=r"Type this first, such as 'G 2000\r'.")
@click.option("--expect", multiple=True, metavar="TEXT", help="Then wait for this.")
@click.option(
    "--send-delay",
    default="0",
    metavar="TIME",
    help="Pause a typed character, such as 2ms; us without a unit.",
)
@click.option(
    "--ask",
    default="",
    metavar="TEXT",
    help="Dumps: type this for each missing part; {addr}, {count}, {end} (the last byte), {stop}.",
)
@click.option("--addr", metavar="N", default="0", help="Without the agent: address of the RAM.")
@click.option("--banks", metavar="N,N,N,N,N", help="Its five banks' addresses.")
@click.option("--stride", type=click.IntRange(1, 64), default=1, help="From a byte to the next.")
@click.option(
    "--records",
    type=click.IntRange(1, 1 << 24),
    help="How many; default 16384, or what a file holds.",
)
@click.option("--valid", type=click.IntRange(0), help="Records of the last run.")
@click.option("--hz", type=click.IntRange(1), default=1_000_000, help="The Profiler's clock.")
@click.option("--little", is_flag=True, help="hexdump: words of a little-endian board.")
@click.option("--no-dtr", is_flag=True, help="Hold DTR low: some boards reset on it.")
@click.option("--no-rts", is_flag=True, help="Hold RTS low.")
@click.option("--trace-line", metavar="FILE", help="Log every byte that passes, with its time.")
def command(**options: object) -> None:
    """Read the event RAM of the board at PORT into a capture file.

    PORT is a device or a URL of pyserial (socket://, rfc2217://, loop://). Without PORT the command
    lists the serial ports of this machine. Damaged parts are read again. An upload that cannot be
    finished is kept in FILE.part; --resume continues it.

    In TEXT \\r, \\n, \\t, \\e (escape), \\xHH and \\\\ stand for characters. An option that the
    protocol does not use is refused.

    Exit code: 0 done, 1 FILE cannot be written there, 2 misused, 3 the port cannot be opened, 4
    nobody answers, 5 failed (what arrived is kept), 6 verification failed, 129 hung up (SIGHUP),
    130 interrupted, 143 terminated (SIGTERM).

    \b
    Example:
      kprof upload /dev/ttyUSB0 -o dump.bin
      kprof upload /dev/ttyUSB0 -o dump.bin --baud 921600 --verify
      kprof upload /dev/ttyUSB0 -o dump.bin --send 'G 2000\\r' --expect READY
      kprof upload socket://localhost:3333 -o dump.bin --proto gdb --addr 0x20000000
      kprof upload /dev/ttyUSB0 -o dump.bin --proto hexdump --ask 'd {addr:x} {end:x}\\r'
    """
    from click.core import ParameterSource

    from kprof.cli.uploading import upload

    source = click.get_current_context().get_parameter_source
    upload(options, {name for name in options if source(name) is not ParameterSource.DEFAULT})
