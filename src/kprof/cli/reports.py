"""The verbs of the reports, and `kprof report`: made from `kprof.report.registry`."""

from __future__ import annotations

from typing import Any

import click

from kprof.cli.choices import (
    Choice,
    Verb,
    capture_choices,
    colour_choice,
    filter_choices,
    force_choice,
    format_choice,
    is_given,
    output_choice,
    statistics_name,
)
from kprof.errors import UsageError
from kprof.report.registry import DEFAULT, REPORTS, Option, Report, owners

_OPTIONAL = ""  # the value of a subject that may be left out


def report_command(name: str) -> click.Command:
    """The verb of a report: its subject, its own options, and those that all reports have."""
    report = REPORTS[name]
    params: list[click.Parameter] = [
        click.Argument(["dumps"], nargs=-1, required=True, metavar="DUMP...")
        if report.several
        else click.Argument(["dump"], metavar="DUMP")
    ]
    params += [
        click.Argument([f"subject{at}"], required=not report.optional, metavar=_shown(one, report))
        for at, one in enumerate(report.subject)
    ]
    params += [_choice(option, report.name.capitalize()) for option in report.options]

    def call(**options: Any) -> None:
        from kprof.cli.reporting import run_report

        subject = [options.pop(f"subject{at}") for at in range(len(report.subject))]
        dumps = options.pop("dumps", None) or (options.pop("dump"),)
        options = {**_nothing(), **options, "dumps": dumps}
        if report.target:
            options["page"] = options["output"] or f"{_stem(dumps[0])}.html"
        run_report(report, tuple(one for one in subject if one is not None), options)

    return _ReportVerb(
        name,
        params=[*params, *_common(report)],
        callback=call,
        help=f"{report.help}\n\n{report.more}\n\n\b\nExample:\n"
        + "\n".join(f"  {example}" for example in report.examples),
        short_help=report.help,
    )


def all_reports() -> list[Choice]:
    """The options of `kprof report`: every report, and the options of each."""
    first: list[Choice] = []
    found: dict[str, Choice] = {}
    for report in REPORTS.values():
        if report.name != DEFAULT:
            first.append(_asking(report))
        for option in report.options:
            section = report.name.capitalize()
            if option.key in found:
                found[option.key].places[section] = option.help
                continue
            found[option.key] = _choice(option, section)
            found[option.key].needs = ()  # it may be another report's: checked with the report
    return [*first, *found.values(), *_common(None)]


def chosen_report(ctx: click.Context) -> tuple[Report, tuple[str, ...]]:
    """The report that the options of `kprof report` ask for, and what it is about.

    Raises
    ------
    UsageError
        They ask for several, or an option is of another report.
    """
    asked = {r.name: _flag(r) for r in REPORTS.values() if is_given(ctx, _key(r))}
    for report in REPORTS.values():
        for option in report.options:
            if option.asks and is_given(ctx, option.key) and len(asked) < 2:
                asked.setdefault(report.name, option.flags[0])
    if len(asked) > 1:
        raise UsageError(
            f"{' and '.join(asked.values())} are different reports; expected one of them"
        )
    report = REPORTS[next(iter(asked), DEFAULT)]
    own = {option.key for option in report.options}
    for other in REPORTS.values():
        for option in other.options:
            if option.key not in own and is_given(ctx, option.key):
                raise UsageError(
                    f"{option.flags[0]} is for {_listed(option.key)}, not for {report.shown}"
                    + " (kprof diff compares two runs in text)" * (option.key == "diff_with")
                )
    for option in report.options:
        missing = option.needs and not any(is_given(ctx, key) for key in option.needs)
        if missing and is_given(ctx, option.key):
            raise UsageError(option.why)
    value = ctx.params[_key(report)] if report.name != DEFAULT and not report.target else None
    if isinstance(value, str):
        return report, (value,) if value else ()
    return report, value if isinstance(value, tuple) else ()


class _ReportVerb(Verb):
    """Says of an option that it lacks which report has it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            found = [
                report.name
                for report in REPORTS.values()
                if any(error.option_name in option.flags for option in report.options)
            ]
            if found:
                verbs = " and ".join(f"kprof {name}" for name in found)
                raise click.UsageError(
                    f"No such option '{error.option_name}'. It is an option of {verbs}.", ctx
                ) from error
            raise


def _common(report: Report | None) -> list[Choice]:
    """The options that all reports have; those of the verb `report`, or of `kprof report`."""
    page = report is not None and bool(report.target)
    output = output_choice()
    if page:
        output = Choice(["-o", "--output"], metavar="FILE",
                        help="The page. [default: the name of DUMP with .html]")  # fmt: skip
    choices = [*filter_choices(), *capture_choices()]
    if not page:
        choices += [format_choice("text", "json"), colour_choice()]
    return [*choices, output, force_choice()]


def _nothing() -> dict[str, Any]:
    """What the options are that the verb of a report has not got."""
    others = {option.key: None for one in REPORTS.values() for option in one.options}
    return {**others, "page": None, "form": "text", "color": "never"}


def _choice(option: Option, section: str) -> Choice:
    settings: dict[str, Any] = {"metavar": option.metavar or None, "help": option.help}
    if option.kind == "flag":
        settings = {"is_flag": True, "help": option.help}
    elif option.kind == "count":
        settings["type"] = click.IntRange(1)
    elif option.choices:
        settings["type"] = click.Choice(option.choices)
    if option.key == "save":
        settings["callback"] = statistics_name
    return Choice(
        [*option.flags, option.key],
        section=section,
        multiple=option.repeated,
        needs=option.needs,
        why=option.why,
        **settings,
    )


def _asking(report: Report) -> Choice:
    """The option of `kprof report` that asks for a report."""
    settings: dict[str, Any] = {"is_flag": True}
    if report.target:
        settings = {"metavar": "FILE"}
    elif len(report.subject) > 1:
        settings = {"nargs": len(report.subject), "metavar": " ".join(report.subject)}
    elif report.optional:
        settings = {"is_flag": False, "flag_value": _OPTIONAL, "metavar": f"[{report.subject[0]}]"}
    elif report.subject:
        settings = {"metavar": report.subject[0]}
    return Choice([_flag(report), _key(report)], section="Reports", help=report.help, **settings)


def _flag(report: Report) -> str:
    return report.target or f"--{report.name}"


def _key(report: Report) -> str:
    return "page" if report.target else f"report_{report.name}"


def _shown(subject: str, report: Report) -> str:
    return f"[{subject}]" if report.optional else subject


def _listed(key: str) -> str:
    return " or ".join(report.shown for report in owners(key))


def _stem(dump: str) -> str:
    return dump.rpartition(".")[0] or dump
