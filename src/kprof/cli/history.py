"""`kprof history`: runs over months, in a Parquet dataset."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.captures import fleet_choices
from kprof.cli.choices import capture_options, decorate


@click.group("history")
def command() -> None:
    """Keep the statistics of runs, and ask for them.

    A history is a folder of Parquet files (extra kprof[history]): one for each run, a row for each
    function. DuckDB, Polars, pandas and Spark read it as it is.

    \b
    Example:
      kprof history add DIR dump.bin --tag commit=abc --tag board=7
      kprof history sql DIR "select function, sum(calls) from history group by function"
      kprof trend DIR in_cksum
    """


@command.command("add")
@click.argument("folder", metavar="DIR")
@click.argument("dumps", nargs=-1, required=True, metavar="DUMP...")
@click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", help="What the run is of.")
@click.option("--time", metavar="TIME", help="When it was, as 2026-11-22T10:00. [default: now]")
@capture_options
@decorate(*fleet_choices())
def add(
    folder: str, dumps: tuple[str, ...], tags: tuple[str, ...], time: str | None, **options: Any
) -> None:
    """Append the captures, merged, as one run.

    DUMP may be a pattern ('runs/**/*.kpd'), a folder of capture files, @LIST, or saved statistics.

    \b
    Example:
      kprof history add DIR dump.bin --tag commit=abc --tag board=7
      kprof history add DIR 'night/*.kpd' --tag commit=abc -j 4
    """
    from pathlib import Path

    from kprof.analysis.statistics import merge_statistics
    from kprof.cli.captures import load_many, meant
    from kprof.cli.output import say
    from kprof.fleet.history import add_run
    from kprof.report.request import Request

    when, what = _time(time), tags_of(tags)
    found, _ = load_many(meant(dumps), options, Request())
    parts = [part.statistics for part in found if part.statistics is not None]
    say(f"{add_run(Path(folder), merge_statistics(parts), what, when)}: added")


@command.command("sql")
@click.argument("folder", metavar="DIR")
@click.argument("query")
@click.option(
    "--format", "form", type=click.Choice(["text", "csv", "json"]), default="text",
    help="Form of the answer. [default: text]",
)  # fmt: skip
def sql(folder: str, query: str, form: str) -> None:
    """Ask DuckDB: the history is the table `history`.

    \b
    Example:
      kprof history sql DIR "select function, sum(calls) from history group by function"
      kprof history sql DIR "select tags['commit'], max(own_most) from history group by 1"
    """
    from pathlib import Path

    from kprof.fleet import history

    columns, rows = history.query(Path(folder), query)
    click.echo("".join(_table(columns, rows, form)), nl=False)


def tags_of(given: tuple[str, ...]) -> dict[str, str]:
    """Tags of a run from ``key=value``.

    Raises
    ------
    UsageError
        One is written in another way, or given twice.
    """
    from kprof.errors import UsageError

    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UsageError(f"--tag {text}: expected KEY=VALUE, such as commit=abc")
        if key in found:
            raise UsageError(f"--tag {text}: {key} is given twice")
        found[key] = value
    return found


def _time(text: str | None) -> Any:
    """When a run was; a time without a zone is local."""
    import datetime

    from kprof.errors import UsageError

    if text is None:
        return datetime.datetime.now(datetime.timezone.utc)
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError as error:
        raise UsageError(f"--time {text}: is no time; expected one as 2026-11-22T10:00") from error


def _table(columns: list[str], rows: list[tuple[Any, ...]], form: str) -> list[str]:
    """An answer as text."""
    import csv
    import io
    import json

    if form == "json":
        objects = [dict(zip(columns, row, strict=True)) for row in rows]
        return [json.dumps(objects, indent=1, default=str) + "\n"]
    if form == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([columns, *rows])
        return [out.getvalue()]
    from kprof.names import display_name

    cells = [[display_name(str(cell)) for cell in row] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)) for row in cells)
    return [line.rstrip() + "\n" for line in lines]
