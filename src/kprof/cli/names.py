"""`kprof names`: begin, check and list a name file, find the name of a tag."""

from __future__ import annotations

import click

from kprof.cli.output import say
from kprof.cli.tuning import tune


@click.group("names")
def command() -> None:
    """Begin, check, list and tune a name file.

    Each line of a name file is name/value, with a modifier for anything but a plain function:
    = inline trigger, $ switch-out, * switch-in, ! swtch(), @N task marks, % user mode, ~ idle,
    ^ interrupt.

    \b
    Example:
      kprof names init --first 4096 --last 0x7fff
      kprof names check kernel.names
      kprof names list kernel.names
      kprof names which kernel.names 1025 0x402
      kprof names tune dump.bin --overhead 5%
    """


@command.command("init")
@click.argument("file", default="kprof.names")
@click.option(
    "--first", default="1024", show_default=True, metavar="TAG", help="First tag; even, at least 2."
)
@click.option(
    "--last", default="65535", show_default=True, metavar="TAG", help="Last tag; at most 65535."
)
def init(file: str, first: str, last: str) -> None:
    """Begin the name file FILE (kprof.names) with a range of tags.

    Tags below 4096 fault in a kernel that leaves page 0 unmapped. On the 68k, tags up to 0x7fff
    make the short instruction. For both: --first 4096 --last 0x7fff.

    \b
    Example:
      kprof names init --first 4096 --last 0x7fff
      kprof names init ../kprof.names
    """
    from kprof.errors import UsageError
    from kprof.names.store import start_names

    try:
        tags = int(first, 0), int(last, 0)
    except ValueError:
        raise UsageError(
            f"the tags are to be {first} to {last}; expected numbers such as 4096 or 0x7fff"
        ) from None
    start_names(file, *tags)


@command.command("check")
@click.argument("file")
def check(file: str) -> None:
    """Print the problems of FILE and exit with 1, or describe it.

    \b
    Example:
      kprof names check kernel.names
    """
    from kprof.names import read_names
    from kprof.names.describe import advice, describe_names

    names = read_names(file)
    for sentence in advice(names, file):
        say(sentence)
    click.echo(describe_names(names, file), nl=False)


@command.command("list")
@click.argument("file")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the output.",
)
def list_(file: str, form: str) -> None:
    """List the names in FILE with their tags.

    \b
    Example:
      kprof names list kernel.names --format json
    """
    from kprof.names import read_names
    from kprof.names.describe import list_names, names_as_json

    names = read_names(file)
    if form == "json":
        import json

        click.echo(json.dumps(names_as_json(names, file), indent=2))
    else:
        click.echo(list_names(names), nl=False)


@command.command("which")
@click.argument("file")
@click.argument("tags", nargs=-1, required=True)
def which_(file: str, tags: tuple[str, ...]) -> None:
    """Show the trigger that fires each of TAGS.

    \b
    Example:
      kprof names which kernel.names 1025 0x402
    """
    from kprof.names import read_names
    from kprof.names.describe import which

    click.echo(which(read_names(file), tags), nl=False)


command.add_command(tune)
