"""Options that several verbs have: how to read captures, and which calls to look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

STATISTICS_ENDING = ".json"

_F = TypeVar("_F", bound=Callable[..., Any])


def statistics_name(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    """The name of a file of statistics: its ending tells it from a capture."""
    if name is not None and not name.endswith(STATISTICS_ENDING):
        from kprof.errors import UsageError

        raise UsageError(f"{name}: expected a name that ends in .json, to tell it from captures")
    return name


def force_option(*names: str) -> Callable[[_F], _F]:
    """``--force``, and what else it is called."""
    return click.option(
        *names,
        "--force",
        is_flag=True,
        help="Replace a file that kprof did not write in this form.",
    )


def capture_options(function: _F) -> _F:
    """The name file, and how to take a raw image."""
    for option in (
        click.option("--record-order", metavar="ORDER", help="Order of a raw image's bytes."),
        click.option("--previous", metavar="FILE", help="The image of the run before."),
        click.option("--valid", metavar="N|all", help="How many records of a raw image count."),
        click.option("--names", metavar="FILE", help="The name file; else the one beside."),
    ):
        function = option(function)
    return function


def filter_options(function: _F) -> _F:
    """The filters, named as in uftrace."""
    for option in (
        click.option(
            "--match",
            type=click.Choice(["regex", "glob"]),
            help="How patterns are written (regex).",
        ),
        click.option(
            "--task", "tasks", multiple=True, type=int, metavar="N", help="Only context N."
        ),
        click.option("-r", "--time-range", "span", metavar="A~B", help="Calls that began then."),
        click.option("-t", "--time-filter", "least", metavar="TIME", help="Calls that long."),
        click.option("-D", "--depth", type=click.IntRange(1), help="Only so many levels."),
        click.option("-H", "--hide", multiple=True, metavar="PATTERN", help="Not these calls."),
        click.option(
            "-C",
            "--caller-filter",
            "callers",
            multiple=True,
            metavar="PATTERN",
            help="Only these and their callers.",
        ),
        click.option(
            "-N",
            "--notrace",
            "without",
            multiple=True,
            metavar="PATTERN",
            help="Not these, nor what they call.",
        ),
        click.option(
            "-F",
            "--filter",
            "only",
            multiple=True,
            metavar="PATTERN",
            help="Only these and what they call.",
        ),
    ):
        function = option(function)
    return function
