"""What a user asks of `kprof report`: one value for all options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kprof.errors import UsageError
from kprof.report.style import PLAIN, Style


@dataclass(frozen=True)
class Request:
    """The options of a report as they were written; times and fields are still text.

    Attributes
    ----------
    what
        The name of a report in `kprof.report.registry`.
    subject
        The function or the triggers that `what` is about.
    many
        How many calls, or how many events on each side of `around`.
    around
        The time that the trace is shown around.
    by
        What the worst calls have most of: ``total`` (elapsed) or ``net``.
    indent
        Columns for each level of calls in a trace, a number.
    slower
        A filter: calls that took longer than this time.
    only, without, callers, hide, depth, least, span, tasks, match
        The filters, see `kprof.analysis.filters.Filter`.
    fields, sort, never
        Of the summary.
    static
        The call graph is that of the sources beside the capture's.
    elf
        The program, for the sizes of its functions.
    irqs
        Functions named as interrupts.
    style
        How its text is drawn.
    """

    what: str = "summary"
    subject: tuple[str, ...] = ()
    many: int = 5
    by: str = "total"
    around: str | None = None
    indent: str = "4"
    slower: str | None = None
    form: str = "text"
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    depth: int | None = None
    least: str | None = None
    span: str | None = None
    tasks: tuple[int, ...] = ()
    match: str = "regex"
    fields: str | None = None
    sort: str | None = None
    never: bool = False
    static: bool = False
    elf: str | None = None
    trigger_cost: str | None = None
    irqs: tuple[str, ...] = field(default=())
    style: Style = PLAIN


PATTERNS = ("only", "without", "callers", "hide")
FILTERS = (*PATTERNS, "depth", "least", "span", "tasks")


def make_request(what: str, subject: tuple[str, ...], options: Mapping[str, object]) -> Request:
    """The request of the command line's options, each by the name of its field.

    Raises
    ------
    UsageError
        A program was given that nothing needs.
    """
    if options.get("elf") is not None and "size" not in f"{options['fields']},{options['sort']}":
        raise UsageError("--elf is for the functions' sizes; expected -f +size with it")
    return Request(
        **{**_given(options, Request.__dataclass_fields__), "what": what, "subject": subject}
    )


def filter_request(options: Mapping[str, object]) -> Request:
    """The request of a command that takes filters, a trigger's cost and interrupts alone."""
    return Request(**_given(options, (*FILTERS, "match", "trigger_cost", "irqs")))


def _given(options: Mapping[str, object], names: Iterable[str]) -> dict[str, Any]:
    return {name: options[name] for name in names if options.get(name) is not None}
