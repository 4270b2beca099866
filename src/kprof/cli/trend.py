"""`kprof trend`: how functions went over the runs of a history, and where they changed."""

from __future__ import annotations

import click

from kprof.cli.choices import decorate, format_choice


@click.command()
@click.argument("folder", metavar="DIR")
@click.argument("function", required=False, metavar="[FUNC]")
@click.option("--figure", default="self-avg", metavar="FIGURE",
              help="self-avg, p99, total-max, call, ... [default: self-avg]")  # fmt: skip
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="Only runs with this tag.")
@click.option("--fail-on-change", is_flag=True,
              help="Exit with 1 where a figure is larger since one of the last runs.")  # fmt: skip
@click.option("--within", type=click.IntRange(1), default=10, metavar="N",
              help="How many the last runs are. [default: 10]")  # fmt: skip
@decorate(format_choice("text", "json"))
def command(
    folder: str,
    function: str | None,
    figure: str,
    tags: tuple[str, ...],
    fail_on_change: bool,
    within: int,
    form: str,
) -> int:
    """Show how a figure of a function, or of all, went over the runs of a history.

    A change point is a run from which on the figure has another level, beyond the noise of the
    runs; it takes 5 runs on each side. Its tags say which commit it came with.

    \b
    Example:
      kprof trend DIR
      kprof trend DIR in_cksum --figure p99 --tag board=7
      kprof trend DIR --fail-on-change --within 5
    """
    import json
    from pathlib import Path

    from kprof.cli.history import tags_of
    from kprof.cli.output import say
    from kprof.errors import UsageError
    from kprof.fleet.history import read_runs
    from kprof.fleet.trend import checked_figure, table_lines, trend_lines, trend_object, trends

    figure = checked_figure(figure)
    every = trends(read_runs(Path(folder), function), figure, tags_of(tags))
    if not every:
        what = f"no run has the function {function}" if function else "no run has these tags"
        raise UsageError(f"{folder}: {what}")
    if form == "json":
        click.echo(json.dumps([trend_object(one) for one in every], indent=1))
    else:
        lines = trend_lines(every[0]) if function else table_lines(every)
        click.echo("\n".join(lines))
    worse = [one for one in every if (last := one.newest(within)) and last.after > last.before]
    for one in worse if fail_on_change else ():
        say(f"{one.name}: {figure} is larger since one of the last {within} runs")
    return 1 if worse and fail_on_change else 0
