"""`kprof diff`: what changed between two runs, or two sides of several runs."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.choices import capture_options, colour_choice, cost_choice, decorate, force_choice
from kprof.errors import UsageError

_BETWEEN = "\0--"  # stands for the ``--`` between the sides: options may follow it


class _TwoSides(click.Command):
    """A command whose captures may have a ``--`` between those before and those after."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_BETWEEN if arg == "--" else arg for arg in args])


def _sides(dumps: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The captures before and after."""
    if _BETWEEN in dumps:
        at = dumps.index(_BETWEEN)
        before, after = list(dumps[:at]), list(dumps[at + 1 :])
        if before and after and _BETWEEN not in after:
            return before, after
    elif len(dumps) == 2:
        return [dumps[0]], [dumps[1]]
    raise UsageError(
        f"{len([dump for dump in dumps if dump != _BETWEEN])} captures; expected two, or several a "
        "side: kprof diff BEFORE... -- AFTER..."
    )


@click.command(cls=_TwoSides)
@click.argument("dumps", nargs=-1, metavar="BEFORE... [--] AFTER...")
@capture_options
@click.option("--after-names", metavar="FILE", help="The name file of AFTER. [default: --names]")
@decorate(cost_choice())
@click.option(
    "-a", "--all", "everything", is_flag=True, help="Also show functions that did not change."
)
@click.option("--fail-on-change", is_flag=True, help="Exit with 1 if a function changed.")
@click.option(
    "--fail-above",
    metavar="SHARE",
    help="Exit with 1 if a function got worse by more than SHARE, such as 5%.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "folded"]),
    default="text",
    help="Form of the output. [default: text]",
)
@click.option(
    "-o", "--output", metavar="FILE", default="-", help="Write to FILE instead of stdout."
)
@decorate(colour_choice(), force_choice())
def command(dumps: tuple[str, ...], **options: Any) -> int:
    """Show which functions and call paths changed between two runs beyond chance.

    Several captures on each side make the noise between runs known. On hosts, take five.

    \b
    Example:
      kprof diff before.bin after.bin
      kprof diff b1.bin b2.bin b3.bin -- a1.bin a2.bin a3.bin --fail-above 5%
      kprof diff before.bin after.bin --format folded | flamegraph.pl > diff.svg
    """
    sides = _sides(dumps)
    from kprof.cli.comparing import run_diff

    return run_diff(*sides, options)
