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
    "irqs": ("--irq", ("--interrupts", _PAGE)),
    "marks": ("--marks", ("--trace", "--slower-than", "--worst", "--around")),
    "diff_with": ("--diff-with", (_PAGE,)),
    "sources": ("--sources", (_PAGE,)),
}
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
        if options[key] and report not in reports:
            wanted = " or ".join(reports)
            raise UsageError(f"{option} is for {wanted}, not for {report}{_HINTS.get(key, '')}")
    if report == _PAGE:
        if options["output"] != "-":
            raise UsageError("-o and --html both name the file to write; expected one of them")
        if options["form"] != "text":
            raise UsageError("--format is not for the page; expected --html without it")
    if several and report != _SUMMARY:
        raise UsageError(
            f"{report} is of one capture; several captures, and saved statistics, have only a "
            "summary"
        )


def report_name(what: str, options: dict[str, Any]) -> str:
    """What the report is called in messages.

    Raises
    ------
    UsageError
        A page was asked for, and something else.
    """
    if options["html"] is not None:
        if what != "summary":
            asked = "slower-than" if options["slower_than"] else what
            raise UsageError(f"--{asked} and --html are different reports; expected one of them")
        return _PAGE
    if what == "summary":
        return _SUMMARY
    return "--slower-than" if options["slower_than"] else f"--{what}"
