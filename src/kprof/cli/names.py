"""`kprof names`: check and list a name file, find the name of a tag."""

from __future__ import annotations

import click

from kprof.cli.output import say
from kprof.cli.tuning import tune


@click.group("names")
def command() -> None:
    """Check, list and explain a name file.

    A name file has one trigger a line: name/value, and after the value nothing for a function,
    = for an inline trigger, $ for a switch-out, * for a switch-in, ! for a swtch() function.

    \b
    Example:
      kprof names check kernel.names
      kprof names list kernel.names
      kprof names which kernel.names 1025 0x402
      kprof names tune dump.bin --budget 5%
    """


@command.command("check")
@click.argument("file")
def check(file: str) -> None:
    """Print the problems of FILE and exit with 1, or say what it holds.

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
    help="Text for people, JSON for programs.",
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
    """Say what fires each of TAGS.

    \b
    Example:
      kprof names which kernel.names 1025 0x402
    """
    from kprof.names import read_names
    from kprof.names.describe import which

    click.echo(which(read_names(file), tags), nl=False)


command.add_command(tune)
