"""Options that several verbs have, in the sections in which ``--help`` shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

STATISTICS_ENDING = ".json"
COST = "--trigger-cost"

_F = TypeVar("_F", bound=Callable[..., Any])


class Choice(click.Option):
    """An option with its place in the help.

    Attributes
    ----------
    places
        Section by section, what the help says there; the section "" is ``Options``.
    needs, why
        Parameters one of which must be given too, and the sentence that says so.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        section: str = "",
        needs: tuple[str, ...] = (),
        why: str = "",
        **settings: Any,
    ) -> None:
        super().__init__(names, **settings)
        self.places = {section: self.help or ""}
        self.needs = needs
        self.why = why

    def get_help_extra(self, ctx: click.Context) -> Any:
        """What click adds to the help, but no range that has only a least value."""
        extra = super().get_help_extra(ctx)
        if str(extra.get("range")).startswith("x>="):
            del extra["range"]
        return extra


class Verb(click.Command):
    """A command whose options are shown in sections, and checked against each other."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or isinstance(param, click.Argument):
                continue
            places = param.places if isinstance(param, Choice) else {"": record[1]}
            for section, text in places.items():
                extra = (
                    record[1].removeprefix(param.help or "") if isinstance(param, Choice) else ""
                )
                sections.setdefault(section or "Options", []).append((record[0], text + extra))
        sections["Options"] = sections.pop("Options", [])  # the last
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        self.check_needs(ctx)
        return super().invoke(ctx)

    def check_needs(self, ctx: click.Context) -> None:
        """Refuse an option without the option that it goes with."""
        from kprof.errors import UsageError

        for param in self.params:
            if not isinstance(param, Choice) or not is_given(ctx, param.name):
                continue
            if param.needs and not any(is_given(ctx, key) for key in param.needs):
                raise UsageError(param.why)


def is_given(ctx: click.Context, key: str | None) -> bool:
    """Was the parameter given on the command line, be it with an empty value?"""
    value = ctx.params.get(key or "")
    if value is None or value is False or value == ():
        return False
    return ctx.get_parameter_source(key or "") is not click.core.ParameterSource.DEFAULT


def statistics_name(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    """The name of a file of statistics: its ending tells it from a capture."""
    if name is not None and not name.endswith(STATISTICS_ENDING):
        from kprof.errors import UsageError

        raise UsageError(f"{name}: expected a name that ends in .json, to tell it from captures")
    return name


def force_choice() -> Choice:
    """``--force``."""
    return Choice(
        ["--force"], is_flag=True, help="Replace a file that kprof did not write in this form."
    )


def capture_choices() -> list[Choice]:
    """The name file, and how a raw image is read."""
    here = "Capture"
    return [
        Choice(
            ["--names"], metavar="FILE", section=here,
            help="The name file. [default: the one beside the capture]",
        ),
        Choice(
            ["--valid"], metavar="N|all", section=here,
            help="Number of valid records in a raw image.",
        ),
        Choice(
            ["--previous"], metavar="FILE", section=here,
            help="Raw image of the run before; records that differ from it are valid.",
        ),
        Choice(
            ["--record-order"], metavar="ORDER", section=here,
            help="Order of the bytes in a raw image's records, such as 01234.",
        ),
        cost_choice(),
    ]  # fmt: skip


def cost_choice() -> Choice:
    """``--trigger-cost``."""
    return Choice(
        [COST], metavar="TIME", section="Capture",
        help="Subtract TIME for each trigger, such as 0.3us.",
    )  # fmt: skip


def filter_choices() -> list[Choice]:
    """The filters, named as in uftrace."""

    def filter_(*names: str, **settings: Any) -> Choice:
        return Choice(names, section="Filters", **settings)

    return [
        filter_("-F", "--filter", "only", multiple=True, metavar="PATTERN",
                help="Only matching functions and what they call."),
        filter_("-N", "--notrace", "without", multiple=True, metavar="PATTERN",
                help="Leave out matching functions and what they call."),
        filter_("-C", "--caller-filter", "callers", multiple=True, metavar="PATTERN",
                help="Only matching functions and their callers."),
        filter_("-H", "--hide", multiple=True, metavar="PATTERN",
                help="Leave out matching functions; keep what they call."),
        filter_("--depth", type=click.IntRange(1), metavar="N",
                help="Only the N outermost levels of calls."),
        filter_("-t", "--time-filter", "least", metavar="TIME",
                help="Only calls of at least TIME, such as 500us."),
        filter_("-r", "--time-range", "span", metavar="A~B",
                help="Only calls that begin between A and B, such as 10ms~20ms."),
        filter_("--task", "tasks", multiple=True, type=int, metavar="N",
                help="Only calls in context N."),
        filter_("--match", type=click.Choice(["regex", "glob"]),
                help="Syntax of PATTERN. [default: regex]",
                needs=("only", "without", "callers", "hide"),
                why="--match is how patterns are written; expected one (-F, -N, -C or -H)"),
    ]  # fmt: skip


def colour_choice() -> Choice:
    """``--color``."""
    return Choice(
        ["--color"], type=click.Choice(["auto", "always", "never"]), default="auto",
        help="Use colours and links; auto: on a terminal. [default: auto]",
    )  # fmt: skip


def output_choice() -> Choice:
    """``-o`` of a verb that prints."""
    return Choice(
        ["-o", "--output"], metavar="FILE", default="-", help="Write to FILE instead of stdout."
    )


def format_choice(*forms: str) -> Choice:
    """``--format`` of a report."""
    return Choice(
        ["--format", "form"], type=click.Choice(forms), default=forms[0],
        help=f"Form of the output. [default: {forms[0]}]",
    )  # fmt: skip


def capture_options(function: _F) -> _F:
    """The name file, and how a raw image is read, but not the triggers' cost."""
    return _decorated(function, [one for one in capture_choices() if COST not in one.opts])


def filter_options(function: _F) -> _F:
    """The filters, named as in uftrace."""
    return _decorated(function, filter_choices())


def decorate(*choices: Choice) -> Callable[[_F], _F]:
    """A decorator that gives a command these options."""
    return lambda function: _decorated(function, choices)


def _decorated(function: _F, choices: Sequence[Choice]) -> _F:
    params = getattr(function, "__click_params__", None)
    if params is None:
        params = function.__click_params__ = []  # type: ignore[attr-defined]
    params.extend(reversed(choices))
    return function
