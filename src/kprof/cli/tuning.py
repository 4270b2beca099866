"""`kprof names tune`: which functions to leave without triggers, by a first capture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from kprof.cli.choices import capture_options, decorate, force_choice

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%")
_MOST_LISTED = 20


@dataclass(frozen=True)
class Cost:
    """A function's triggers in a capture: what they cost, and what they tell.

    Attributes
    ----------
    name
        As in the name file.
    calls
        Calls that began.
    net
        Its own time, in ticks.
    """

    name: str
    calls: int
    net: int


def choose(costs: Sequence[Cost], trigger: float, others: float, most: float) -> list[Cost]:
    """The functions to leave without triggers so that all triggers together cost at most `most`.

    Those go first that are called most for the least time of their own in a call: their triggers
    cost most and tell least.

    Parameters
    ----------
    trigger
        What one trigger costs, in ticks; a call has two.
    others
        What the triggers cost that stay in any case, in ticks.
    most
        What all may cost, in ticks.
    """
    left_out: list[Cost] = []
    total = others + sum(2 * trigger * cost.calls for cost in costs)
    for cost in sorted(costs, key=lambda c: (-c.calls * c.calls / (c.net + 1), c.name)):
        if total <= most:
            break
        if cost.calls:
            left_out.append(cost)
            total -= 2 * trigger * cost.calls
    return left_out


@click.command("tune")
@click.argument("dump")
@capture_options
@click.option("--overhead", required=True, metavar="PERCENT",
              help="Share of the run time that triggers may take, such as 5%.")  # fmt: skip
@click.option("--trigger-cost", default="0.3us", show_default=True, metavar="TIME",
              help="Time of one trigger.")  # fmt: skip
@click.option(
    "-o", "--output", metavar="FILE", help="The name file to write. [default: the one that is read]"
)
@decorate(force_choice())
def tune(
    dump: str,
    overhead: str,
    trigger_cost: str,
    output: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Remove the triggers of the functions that are called most for the least time.

    Their value becomes 0 in the name file, so the next build leaves them out. Inline triggers,
    context switches and interrupts keep their triggers.

    \b
    Example:
      kprof names tune dump.bin --overhead 5%
      kprof names tune dump.bin --overhead 5% -o tuned.names
    """
    from kprof.analysis.summary import summarise
    from kprof.cli.source import open_with_names
    from kprof.errors import UsageError
    from kprof.files import spare_existing, spare_inputs
    from kprof.names import Modifier, display_name, find_names
    from kprof.names.store import silence
    from kprof.times import parse_time, to_ticks

    share = _PERCENT.fullmatch(overhead.strip())
    if share is None or not 0 < float(share[1]) <= 100:
        raise UsageError(f"--overhead {overhead}: expected a share of the run time, such as 5%")
    capture, names, known = open_with_names(dump, **options, strict=True)
    path = options["names"] or find_names(Path(dump), capture.info.names_sha256)
    if path is None or str(path) == "-":
        raise UsageError("--names: expected a file to write the values into")
    if output is not None:
        spare_inputs(output, [dump, path, options["previous"]])
        spare_existing(output, force)
    clock = capture.info.clock_hz
    trigger = float(to_ticks(parse_time(trigger_cost, "--trigger-cost"), clock))
    summary = summarise(capture, names, known=known)
    costs = [
        Cost(figures.entry.name, figures.calls, figures.net)
        for figures in summary.functions
        if figures.entry.modifier is Modifier.FUNCTION
    ]
    total = trigger * summary.events
    others = total - sum(2 * trigger * cost.calls for cost in costs)
    run = max(1, summary.ledger.run)
    chosen = choose(costs, trigger, others, run * float(share[1]) / 100)
    saved = sum(2 * trigger * cost.calls for cost in chosen)
    silence(path, [cost.name for cost in chosen], output)
    for cost in chosen[:_MOST_LISTED]:
        each = cost.net / cost.calls * 1e6 / clock
        click.echo(f"{display_name(cost.name)}: {cost.calls} calls, {each:.1f} us net in each")
    if len(chosen) > _MOST_LISTED:
        click.echo(f"and {len(chosen) - _MOST_LISTED} more")
    click.echo(
        f"{output or path}: {len(chosen)} functions have value 0 now: triggers take "
        f"{(total - saved) / run:.1%} of the run time, not {total / run:.1%}"
        + (" (build again)" if chosen else "")
    )
    if chosen and total - saved > run * float(share[1]) / 100:
        click.echo("kprof: the other triggers alone take more than that", err=True)
