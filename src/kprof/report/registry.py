"""The reports: each one registers its name, its options, its text and its JSON here, once.

`kprof NAME` and ``kprof report --NAME`` are made from `REPORTS`: their help, their completion,
their man pages, and the messages about options that do not go together. A new report is one entry
here and the functions that the entry names.

No report is imported before it is asked for: `Report.text` and `Report.json` name their functions
as ``module:function``. Both take a capture, its names, a `kprof.report.request.Request` and
``known=``; `text` gives pieces of text, `json` an object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "flag", "count"]


@dataclass(frozen=True)
class Option:
    """An option of a report.

    Attributes
    ----------
    key
        The field of `kprof.report.request.Request`, or a parameter of the command line's own.
    flags
        As they are typed.
    metavar
        The placeholder of its value; "" for a flag.
    help
        One line.
    choices
        The values that it may have; empty for any.
    kind
        What its value is; ``count`` is a whole number from 1 on.
    repeated
        It may be given several times.
    needs
        Keys of options: one of them must be given too.
    why
        The sentence that says so.
    asks
        ``kprof report`` with this option prints the report without its name.
    """

    key: str
    flags: tuple[str, ...]
    metavar: str
    help: str
    choices: tuple[str, ...] = ()
    kind: Kind = "text"
    repeated: bool = False
    needs: tuple[str, ...] = ()
    why: str = ""
    asks: bool = False


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes
    ----------
    name
        The verb, and the option of ``kprof report``.
    help
        One line: what it shows.
    more
        The rest of the verb's help.
    examples
        Command lines.
    text, json
        ``module:function``; empty where the command line writes it in its own way.
    subject
        Placeholders of what it is about: a function, two triggers.
    optional
        It may do without the subject.
    options
        Its own.
    several
        It takes several captures and saved statistics.
    marked
        ftrace's marks go with it.
    paged
        A terminal gets it through the user's pager.
    target
        ``kprof report --NAME FILE`` writes it to this file; "" for a report that goes to stdout.
    """

    name: str
    help: str
    more: str
    examples: tuple[str, ...]
    text: str = ""
    json: str = ""
    subject: tuple[str, ...] = ()
    optional: bool = False
    options: tuple[Option, ...] = ()
    several: bool = False
    marked: bool = False
    paged: bool = False
    target: str = ""

    @property
    def shown(self) -> str:
        """How messages call it."""
        if self.target:
            return f"the page ({self.target} FILE)"
        return f"--{self.name}" if self.name != DEFAULT else f"the {self.name}"


DEFAULT = "summary"
_ANSWERS = "kprof.report.answers"

_IRQ = Option(
    "irqs", ("--irq",), "FUNC", "Treat FUNC as an interrupt handler.", repeated=True
)  # fmt: skip
_SAVE = Option(
    "save", ("--save",), "FILE", "Also write the statistics to FILE (.json), for kprof merge."
)
_INDENT = Option(
    "indent", ("--indent",), "", "Columns for each level of calls. [default: 4]",
    choices=("1", "2", "3", "4", "8"),
)  # fmt: skip
_MARKS = Option(
    "marks", ("--marks",), "", "Mark long calls as ftrace does: + ! # * @ $.", kind="flag"
)  # fmt: skip

_ALL = (
    Report(
        DEFAULT,
        "Show every function: calls, total and net time, share of the run.",
        "Several captures, and saved statistics, are merged into one summary. DUMP may be a "
        "pattern ('runs/**/*.kpd'), a folder of capture files, or @LIST.",
        (
            "kprof summary dump.bin",
            "kprof summary dump.bin -f total,self-avg,p99,call -s p99",
            "kprof summary monday.bin tuesday.bin --format json",
        ),
        "kprof.report.choose:summary_text_parts",
        "kprof.report.choose:summary_object",
        options=(
            Option("fields", ("-f", "--output-fields"), "A,B",
                   "Columns of the table; +A,B adds to the default ones."),
            Option("sort", ("-s", "--sort"), "A,B", "Sort the rows by these columns."),
            Option("elf", ("--elf",), "FILE", "The linked program, for the column size."),
            Option("never", ("--never",), "", "List the functions that never ran.", kind="flag"),
            _SAVE,
            Option("strict", ("--strict",), "", "Stop at a capture that cannot be read.",
                   kind="flag"),
            Option("jobs", ("-j", "--jobs"), "N",
                   "Processes for many captures. [default: one for each core]", kind="count"),
            Option("on", ("--on",), "dask://HOST:PORT", "Measure many captures on a cluster."),
        ),
        several=True,
    ),
    Report(
        "trace",
        "Show every call in order, nested, with its times.",
        "The times are seconds:milliseconds microseconds since the first event.",
        (
            "kprof trace dump.bin",
            "kprof trace dump.bin -F ipintr --marks",
            "kprof trace dump.bin --slower-than 1ms",
            "kprof trace dump.bin --around 421ms -n 20",
        ),
        f"{_ANSWERS}:trace_text_parts",
        f"{_ANSWERS}:trace_object",
        options=(
            Option("slower", ("--slower-than",), "TIME",
                   "Only calls that take longer than TIME.", asks=True),
            Option("around", ("--around",), "TIME", "Only the events around TIME.", asks=True),
            Option("many", ("-n",), "N", "Events shown on each side of --around. [default: 5]",
                   kind="count", needs=("around",), why="-n is the context of --around"),
            _INDENT,
            _MARKS,
        ),
        marked=True,
        paged=True,
    ),
    Report(
        "graph",
        "Show the tree of calls; with FUNC its callers and callees.",
        "Each line shows the total time, the net time and the number of calls along that path.",
        ("kprof graph dump.bin", "kprof graph dump.bin in_cksum", "kprof graph dump.bin --static"),
        f"{_ANSWERS}:graph_text_parts",
        f"{_ANSWERS}:graph_object",
        subject=("FUNC",),
        optional=True,
        options=(
            Option("static", ("--static",), "",
                   "Show what the sources can call: what was never called, and could have been.",
                   kind="flag"),
        ),
        paged=True,
    ),
    Report(
        "hist",
        "Show the distribution of a function's times.",
        "Total (elapsed) and self (net) time have a histogram each.",
        ("kprof hist dump.bin lanisr",),
        f"{_ANSWERS}:hist_text_parts",
        f"{_ANSWERS}:hist_object",
        subject=("FUNC",),
    ),
    Report(
        "worst",
        "Show the trace of the slowest calls of a function.",
        "The slowest call comes first.",
        ("kprof worst dump.bin lanisr -n 1", "kprof worst dump.bin lanisr --by net"),
        f"{_ANSWERS}:worst_text_parts",
        f"{_ANSWERS}:worst_object",
        subject=("FUNC",),
        options=(
            Option("many", ("-n",), "N", "Number of calls shown. [default: 5]", kind="count"),
            Option("by", ("--by",), "", "Rank calls by total or by net time. [default: total]",
                   choices=("total", "net")),
            _INDENT,
            _MARKS,
        ),
        marked=True,
        paged=True,
    ),
    Report(
        "between",
        "Show the distribution of the times from inline trigger A to inline trigger B.",
        "An interval runs from A to the next B. Of several A before a B, the last one counts.",
        ("kprof between dump.bin RX MGET",),
        f"{_ANSWERS}:between_text_parts",
        f"{_ANSWERS}:between_object",
        subject=("A", "B"),
    ),
    Report(
        "tasks",
        "Show each context: run time, slices, a time line.",
        "A context is one flow of control with its own stack: a task, or the system.",
        ("kprof tasks dump.bin", "kprof tasks dump.bin --format json"),
        f"{_ANSWERS}:tasks_text_parts",
        f"{_ANSWERS}:tasks_object",
    ),
    Report(
        "interrupts",
        "Show each interrupt: duration, rate, and what it interrupted.",
        "Interrupt handlers are found by their behaviour; --irq names more.",
        ("kprof interrupts dump.bin", "kprof interrupts dump.bin --irq lanisr"),
        f"{_ANSWERS}:interrupts_text_parts",
        f"{_ANSWERS}:interrupts_object",
        options=(_IRQ,),
    ),
    Report(
        "page",
        "Write one HTML page: timeline, table, flame graph, worst calls.",
        "The page needs no server and no network.",
        ("kprof page dump.bin -o dump.html", "kprof page after.bin -o after.html "
         "--diff-with before.bin --sources"),
        options=(
            _IRQ,
            Option("diff_with", ("--diff-with",), "DUMP", "Compare with this earlier capture."),
            Option("sources", ("--sources",), "", "Put the source files into the page.",
                   kind="flag"),
            _SAVE,
        ),
        target="--html",
    ),
)  # fmt: skip
REPORTS: dict[str, Report] = {report.name: report for report in _ALL}


def owners(key: str) -> list[Report]:
    """The reports that have the option `key`."""
    return [report for report in _ALL if any(option.key == key for option in report.options)]
