"""Which options of `kprof report` go with which report: none is taken and then ignored."""

from __future__ import annotations

from typing import Any

from kprof.errors import UsageError

_PAGE = "the page (--html FILE)"
_SUMMARY = "the summary"

# Option: its name in the message, and the reports that it is for.
_FOR = {
    "fields": ("-f", (_SUMMARY,)),
    "sort": ("-s", (_SUMMARY,)),
    "never": ("--never", (_SUMMARY,)),
    "many": ("-n", ("--worst", "--around")),
    "by": ("--by", ("--worst",)),
    "irqs": ("--irq", ("--interrupts", _PAGE)),
    "marks": ("--marks", ("--trace", "--slower-than", "--worst", "--around")),
    "diff_with": ("--diff-with", (_PAGE,)),
    "sources": ("--sources", (_PAGE,)),
}
_PATTERNS = ("only", "without", "callers", "hide")
_HINTS = {"diff_with": " (kprof diff compares two runs in text)"}


def check_options(options: dict[str, Any], report: str, *, several: bool) -> None:
    """Refuse options that `report`, as `report_name` has it, has no use for.

    Parameters
    ----------
    several
        The report is of several captures or of saved statistics.

    Raises
    ------
    UsageError
        There is one; the message says what it is for.
    """
    for key, (option, reports) in _FOR.items():
        if _given(options[key]) and report not in reports:
            wanted = " or ".join(reports)
            raise UsageError(f"{option} is for {wanted}, not for {report}{_HINTS.get(key, '')}")
    if options["match"] is not None and not any(options[key] for key in _PATTERNS):
        raise UsageError("--match is how patterns are written; expected one (-F, -N, -C or -H)")
    if report == _PAGE:
        if options["output"] != "-":
            raise UsageError("-o and --html both name the file to write; expected one of them")
        if options["form"] != "text":
            raise UsageError("--format is not for the page; expected --html without it")
    _check_look(options, report, several=several)
    if several and report != _SUMMARY:
        raise UsageError(
            f"{report} is of one capture; several captures, and saved statistics, have only a "
            "summary"
        )


def _check_look(options: dict[str, Any], report: str, *, several: bool) -> None:
    """Refuse a look for what is not dressed."""
    coloured = options["color"] == "always"
    if options["form"] == "json" and (coloured or options["marks"]):
        look = "--color always" if coloured else "--marks"
        raise UsageError(f"{look} is for text, not for --format json; expected one of the two")
    if coloured and report == _PAGE:
        raise UsageError(f"--color is for text, not for {_PAGE}; expected --html without it")
    if coloured and several:
        raise UsageError(
            "--color always is for one capture; the summary of several, and of saved statistics, "
            "has no colours"
        )


def _given(value: object) -> bool:
    """Was the option given, be it with an empty value?"""
    return value is not None and value is not False and value != ()


def report_name(what: str, options: dict[str, Any]) -> str:
    """What the report is called in messages.

    Raises
    ------
    UsageError
        A page was asked for, and something else.
    """
    asked = "--slower-than" if options["slower_than"] is not None else f"--{what}"
    if options["html"] is not None:
        if what != "summary":
            raise UsageError(f"{asked} and --html are different reports; expected one of them")
        return _PAGE
    return _SUMMARY if what == "summary" else asked
