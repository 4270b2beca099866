"""What `kprof report` does with its options: open, ask, write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kprof.cli.captures import is_saved, load_many, meant
from kprof.cli.output import check_output, inputs_of, write_product
from kprof.cli.source import Opened, open_with_names
from kprof.cli.terminal import full_style, style_for
from kprof.errors import UsageError
from kprof.report.choose import merged_parts, report_parts, statistics_of
from kprof.report.registry import DEFAULT, Report
from kprof.report.request import PATTERNS, Request, make_request

if TYPE_CHECKING:
    from kprof.analysis.statistics import Statistics


def run_report(report: Report, subject: tuple[str, ...], options: dict[str, Any]) -> None:
    """Write one report, or the page, from the options of the command line.

    Raises
    ------
    UsageError
        The report cannot be made of these captures, in this form.
    """
    request = make_request(report.name, subject, options)
    if request.form == "text" and not report.target:
        marks, output = bool(options["marks"]), options["output"]
        style = style_for(options["color"], output, marks=marks, paged=report.paged)
        request = replace(request, style=style)
    dumps = options["dumps"] = meant(options["dumps"])
    several = len(dumps) > 1 or is_saved(dumps[0]) or "://" in dumps[0] or bool(options["on"])
    _check_form(report, options, several=several)
    _check_outputs(options)
    if several:
        found, unread = load_many(dumps, options, request)
        parts = [part.statistics for part in found if part.statistics is not None]
        _save(parts, options["save"])
        left_out = [(one.capture, one.why) for one in unread]
        write_product(Path(options["output"]), merged_parts(parts, request, left_out))
        return
    run = open_one(dumps[0], options)
    if options["save"] is not None:
        _save([_statistics(run, request)], options["save"])
    if options["page"] is not None:
        from kprof.cli.page import write_page

        write_page(
            options["page"],
            run,
            dumps[0],
            options["names"],
            options["diff_with"],
            request,
            with_sources=bool(options["sources"]),
        )
        return
    paged = request.form == "text" and report.paged
    if request.form == "text":
        style = full_style(
            request.style, run, options["names"], paged=paged, strip=report.name == DEFAULT
        )
        request = replace(request, style=style)
    text = report_parts(run.capture, run.names, request, known=run.known)
    write_product(Path(options["output"]), text, paged=paged)


def _check_form(report: Report, options: dict[str, Any], *, several: bool) -> None:
    """Refuse a form or a look that the report has not got."""
    coloured = options["color"] == "always"
    if options["match"] is not None and not any(options[key] for key in PATTERNS):
        raise UsageError("--match is how patterns are written; expected one (-F, -N, -C or -H)")
    if report.target:
        if options["output"] not in ("-", None, options["page"]):
            raise UsageError("-o and --html both name the file to write; expected one of them")
        if options["form"] != "text":
            raise UsageError("--format is not for the page; expected --html without it")
        if coloured:
            raise UsageError(f"--color is for text, not for {report.shown}; expected one of them")
    if options["form"] == "json" and (coloured or options["marks"]):
        look = "--color always" if coloured else "--marks"
        raise UsageError(f"{look} is for text, not for --format json; expected one of the two")
    if several and not report.several:
        raise UsageError(
            f"{report.shown} is of one capture; several captures, and saved statistics, have only "
            "a summary"
        )


def _check_outputs(options: dict[str, Any]) -> None:
    """Refuse outputs over inputs, over foreign files, and two in one file."""
    dumps = [*options["dumps"], *filter(None, (options["diff_with"],))]
    read = inputs_of(dumps, [options["names"]], options["previous"], options["elf"])
    for name, form in (("output", "report"), ("page", "page"), ("save", "statistics")):
        if name != "output" or options["output"] != options["page"]:
            check_output(options[name], form, read, force=options["force"])
    target = options["page"] or options["output"]
    if options["save"] is not None and Path(options["save"]).resolve() == Path(target).resolve():
        raise UsageError(f"{target}: is named for two outputs; expected two files")


def open_one(dump: str, options: dict[str, Any], *, strict: bool = False) -> Opened:
    """A capture and its name file by the options of `kprof.cli.choices.capture_options`."""
    return open_with_names(
        dump,
        options["names"],
        valid=options["valid"],
        previous=options["previous"],
        record_order=options["record_order"],
        strict=strict,
    )


def _statistics(run: Opened, request: Request) -> Statistics:
    return statistics_of(run.capture, run.names, request, known=run.known)


def _save(parts: Sequence[Statistics], target: str | None) -> None:
    if target is None:
        return
    from kprof.analysis.saved import write_statistics
    from kprof.analysis.statistics import merge_statistics

    write_statistics(Path(target), merge_statistics(parts))
