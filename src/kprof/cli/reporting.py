"""What `kprof report` does with its options: open, ask, write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kprof.cli.applies import check_options, report_name
from kprof.cli.choices import STATISTICS_ENDING
from kprof.cli.output import check_output, inputs_of, write_product
from kprof.cli.source import Opened, open_with_names
from kprof.errors import UsageError
from kprof.report.choose import has_filter, merged_parts, report_parts, statistics_of
from kprof.report.request import Request, make_request

if TYPE_CHECKING:
    from kprof.analysis.statistics import Statistics

_PAGED = ("trace", "graph", "worst", "around")


def run_report(options: dict[str, Any]) -> None:
    """One report, from the options of the command line."""
    contexts = options.pop("contexts")
    chosen = options.pop("tasks")
    request = make_request({**options, "tasks": contexts})
    request = _with_tasks(request, chosen)
    dumps: Sequence[str] = options["dumps"]
    target = Path(options["output"])
    several = len(dumps) > 1 or _is_saved(dumps[0])
    check_options(options, report_name(request.what, options), several=several)
    _check_outputs(options)
    if several:
        parts = load_many(dumps, options, request)
        _save(parts, options["save"])
        write_product(target, merged_parts(parts, request))
        return
    run = open_one(dumps[0], options)
    if options["save"] is not None:
        _save([_statistics(run, request)], options["save"])
    if options["html"] is not None:
        from kprof.cli.page import write_page

        write_page(
            options["html"],
            run,
            dumps[0],
            options["names"],
            options["diff_with"],
            request,
            with_sources=options["sources"],
        )
        return
    paged = request.form == "text" and request.what in _PAGED
    report = report_parts(run.capture, run.names, request, known=run.known)
    write_product(target, _dressed(report, run, request, options), paged=paged)


def _check_outputs(options: dict[str, Any]) -> None:
    """Refuse outputs over inputs, over foreign files, and two in one file."""
    dumps = [*options["dumps"], *filter(None, (options["diff_with"],))]
    read = inputs_of(dumps, [options["names"]], options["previous"], options["elf"])
    for name, form in (("output", "report"), ("html", "page"), ("save", "statistics")):
        check_output(options[name], form, read, force=options["force"])
    target = options["html"] or options["output"]
    if options["save"] is not None and Path(options["save"]).resolve() == Path(target).resolve():
        raise UsageError(f"{target}: is named for two outputs; expected two files")


def _dressed(
    parts: Iterable[str],
    run: Opened,
    request: Request,
    options: dict[str, Any],
) -> Iterable[str]:
    from kprof.cli.terminal import dressed, wants_colour

    return dressed(
        parts,
        run,
        options["names"],
        colour=request.form == "text" and wants_colour(options["color"], options["output"]),
        marks=request.form == "text" and options["marks"],
        summary=request.what == "summary",
    )


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


def load_many(dumps: Sequence[str], options: dict[str, Any], request: Request) -> list[Statistics]:
    """The statistics of captures, and of saved statistics, in their order.

    Raises
    ------
    UsageError
        Saved statistics were to be made in another way than they are.
    """
    from kprof.analysis.saved import read_statistics

    saved = [dump for dump in dumps if _is_saved(dump)]
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
    return [
        read_statistics(Path(dump))
        if _is_saved(dump)
        else _statistics(open_one(dump, options), request)
        for dump in dumps
    ]


def _statistics(run: Opened, request: Request) -> Statistics:
    return statistics_of(run.capture, run.names, request, known=run.known)


def _with_tasks(request: Request, chosen: tuple[int, ...]) -> Request:
    from dataclasses import replace

    return replace(request, tasks=chosen)


def _is_saved(dump: str) -> bool:
    return dump.endswith(STATISTICS_ENDING)


def _save(parts: Sequence[Statistics], target: str | None) -> None:
    if target is None:
        return
    from kprof.analysis.saved import write_statistics
    from kprof.analysis.statistics import merge_statistics

    write_statistics(Path(target), merge_statistics(parts))
