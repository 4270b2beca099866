"""Several captures on a command line: which they are, measuring them, saying what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kprof.cli.choices import STATISTICS_ENDING, Choice
from kprof.cli.output import say
from kprof.errors import KprofError, UsageError

if TYPE_CHECKING:
    from kprof.cli.meter import Meter
    from kprof.fleet.measure import Measured, Unread
    from kprof.fleet.pool import Tell
    from kprof.report.request import Request

SHOWN = 10  # captures of which a sentence is printed
_APART = 8  # captures that are kept apart, a column each


def fleet_choices() -> list[Choice]:
    """``--strict``, ``--jobs`` and ``--on``."""
    import click

    return [
        Choice(["--strict"], is_flag=True, help="Stop at a capture that cannot be read."),
        Choice(["-j", "--jobs"], type=click.IntRange(1), metavar="N",
               help="Processes. [default: one for each core]"),
        Choice(["--on"], metavar="dask://HOST:PORT", help="Measure on a cluster."),
    ]  # fmt: skip


def meant(given: Sequence[str]) -> list[str]:
    """The captures that are meant: patterns, folders and lists are taken apart."""
    from kprof.fleet.captures import captures_of

    if len(given) == 1 and given[0].isprintable() and not set(given[0]) & set("*?[@/:"):
        from pathlib import Path

        if not Path(given[0]).is_dir():
            return list(given)  # one capture: nothing need be imported
    return captures_of(given)


def is_saved(dump: str) -> bool:
    """Is it saved statistics?"""
    return dump.endswith(STATISTICS_ENDING)


def load_many(
    dumps: Sequence[str], options: Mapping[str, Any], request: Request
) -> tuple[list[Measured], tuple[Unread, ...]]:
    """What was found in each of a few captures, or in all of many as one; and those left out.

    What there is to say of them goes to stderr.

    Raises
    ------
    KprofError
        None can be read, or with ``--strict`` one; they cannot be merged.
    """
    from kprof.cli.meter import Meter
    from kprof.fleet.measure import Plan, measure
    from kprof.fleet.pool import measure_all
    from kprof.report.choose import has_filter

    saved = [dump for dump in dumps if is_saved(dump)]
    if saved and (has_filter(request) or request.trigger_cost is not None):
        raise UsageError(
            f"{saved[0]}: is saved statistics: filters and --trigger-cost come too late for it; "
            "expected the capture"
        )
    for option in ("names", "valid", "previous", "record_order"):
        if options[option] is not None and len(saved) == len(dumps):
            raise UsageError(
                f"--{option.replace('_', '-')} is for captures; {saved[0]} is saved statistics"
            )
    plan = Plan(
        request,
        options["names"],
        options["valid"],
        options["previous"],
        options["record_order"],
        strict=bool(options["strict"]),
    )
    if options["on"]:
        from kprof.fleet.cluster import measure_on

        with Meter() as meter:
            found = [measure_on(options["on"], dumps, plan, tell=_shown(meter))]
    elif len(dumps) <= _APART:
        found = [measure([dump], plan) for dump in dumps]
    else:
        with Meter() as meter:
            found = [measure_all(dumps, plan, processes=options["jobs"], tell=_shown(meter))]
    unread = tuple(one for part in found for one in part.unread)
    _say_all([notice for part in found for notice in part.notices], "notices")
    parts = [part for part in found if part.statistics is not None]
    if not parts:
        more = f" (and {len(unread) - 1:,} more captures)" if len(unread) > 1 else ""
        raise KprofError(f"{unread[0].why}{more}")
    _say_all([one.why for one in unread], "captures")
    if unread:
        say(f"{len(unread):,} of {len(dumps):,} captures could not be read and are left out")
    return parts, unread


def _shown(meter: Meter) -> Tell:
    return lambda done, total, note: meter.show("measuring", done, total, note)


def _say_all(sentences: Sequence[str], what: str) -> None:
    for sentence in sentences[:SHOWN]:
        say(sentence)
    if len(sentences) > SHOWN:
        say(f"and {len(sentences) - SHOWN:,} more {what}")
