"""The summary report: the paper's layout (section 4.3), and the same values as JSON.

max, avg and min are of the net time of complete calls; avg is truncated, the percentages are
rounded, `% real` is of the elapsed time of the run and `% net` of the time that it was not idle.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from kprof.analysis.summary import Summary
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units, counted, percent, safe_name

_RULE = 72  # columns
_DROPPED = (3, 4, 0, 2, 5)  # columns that a narrow terminal does without, in this order
_MOST_TAGS = 8
_USUAL_COST = Fraction(3, 10)  # us: tst.b on a 68020 at 20 MHz takes 6 clocks
_DEEP = 256  # calls open at once in a context: more than the stacks of kernels hold
_SHORT = 0.03  # of the intervals shorter than a trigger: worth a word


MOSTLY_UNKNOWN = (
    "most events have tags that the name file does not know: is it the one that the code "
    "was built with, and is this a capture? (kprof info tells more)"
)


def summary_text(summary: Summary, table: Sequence[str] | None = None, style: Style = PLAIN) -> str:
    """The summary as the paper prints it, with what was odd in the data below.

    Parameters
    ----------
    table
        Lines to print instead of the paper's table.
    """
    lines = [capture_line(summary), ""]
    lines += _header(summary, style)
    lines += [style.strip] if style.strip else []
    lines.append(style.rule(_RULE))
    lines += _table(summary, style) if table is None else table
    lines += _footer(summary)
    return "\n".join(lines) + "\n"


def capture_line(summary: Summary) -> str:
    """How many records were used, and why: the report's first line."""
    info = summary.info
    full = ", event RAM full" if info.full else ""
    full += f", {counted(info.lost, 'event')} lost" if info.lost else ""
    return f"{safe_name(info.source)}: {counted(summary.events, 'event')}{full} ({info.valid_from})"


def summary_json(summary: Summary) -> dict[str, Any]:
    """The summary as a JSON object; times in microseconds."""
    units = Units(summary.info.clock_hz)
    ledger = summary.ledger
    hz = summary.info.clock_hz / summary.info.step
    odd = summary.anomalies
    near = summary.doubts.near_wrap
    return {
        "capture": {
            "events": summary.events,
            "full": summary.info.full,
            "clock_hz": int(hz) if hz.denominator == 1 else float(hz),
            "valid_from": summary.info.valid_from,
        },
        "elapsed_us": units.value(ledger.elapsed),
        "run_us": units.value(ledger.run),
        "idle_us": units.value(ledger.idle),
        "user_us": units.value(ledger.user),
        "unattributed_us": units.value(ledger.unattributed),
        "left_out_us": units.value(ledger.left_out),
        "trigger_cost_us": round(units.us(float(summary.trigger_cost)), 6),
        "taken_us": units.value(summary.taken),
        "short_intervals": summary.short,
        "longest_gap_us": units.value(summary.longest),
        "near_wrap_us": near and [units.value(ticks) for ticks in near],
        "missing": summary.doubts.missing,
        "functions": [
            {
                "name": row.entry.name,
                "tag": row.entry.value,
                "calls": row.calls,
                "elapsed_us": units.value(row.elapsed),
                "net_us": units.value(row.net),
                "max_us": units.value(row.max),
                "avg_us": units.value(row.avg),
                "min_us": units.value(row.min),
                "pct_real": percent(row.net, ledger.elapsed),
                "pct_net": percent(row.net, ledger.run),
                "wall_us": units.value(row.wall),
                "complete": row.complete,
            }
            for row in summary.functions
        ],
        "inline": [
            {"name": entry.name, "tag": entry.value, "count": count}
            for entry, count in summary.inlines
        ],
        "anomalies": {
            "orphan_exits": odd.orphan_exits,
            "open_calls": odd.open_calls,
            "unwound_calls": odd.unwound_calls,
            "unknown_tags": {str(tag): count for tag, count in odd.unknown_tags.items()},
            "context_switches": odd.context_switches,
            "contexts": odd.contexts,
            "ambiguous_switches": odd.ambiguous_switches,
            "restarts": odd.restarts,
        },
        "evidence": list(summary.evidence),
    }


def _header(summary: Summary, style: Style) -> list[str]:
    units = Units(summary.info.clock_hz)
    ledger = summary.ledger
    lines = [f"Elapsed time = {style.title(units.seconds(ledger.elapsed))}"]
    for label, ticks in (
        ("Accumulated run time", ledger.run),
        ("Idle time", ledger.idle),
    ):
        time = style.title(units.seconds(ticks))
        lines.append(f"{label} = {time} ({percent(ticks, ledger.elapsed):.2f}%)")
    if ledger.user:
        share = percent(ledger.user, ledger.elapsed)
        lines.append(f"User time = {units.seconds(ledger.user)} ({share:.2f}%)")
    if ledger.unattributed:
        share = percent(ledger.unattributed, ledger.elapsed)
        lines.append(
            f"Unattributed = {units.seconds(ledger.unattributed)} ({share:.2f}%), "
            "below the calls that were seen entering"
        )
    if ledger.left_out:
        share = percent(ledger.left_out, ledger.elapsed)
        lines.append(f"Left out by filters = {units.seconds(ledger.left_out)} ({share:.2f}%)")
    return lines


def _table(summary: Summary, style: Style) -> list[str]:
    units = Units(summary.info.clock_hz)
    ledger = summary.ledger
    rows = [("Elapsed", "Net", "# calls", "(max/avg/min)", "% real", "% net", "name")]
    for row in summary.functions:
        rows.append(
            (
                units.text(row.elapsed),
                units.text(row.net),
                str(row.calls),
                f"({units.text(row.max)}/{units.text(row.avg)}/{units.text(row.min)})",
                f"{percent(row.net, ledger.elapsed):.2f}%",
                f"{percent(row.net, ledger.run):.2f}%",
                safe_name(row.entry.name),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    columns, room = _fitting(widths, max(len(row[6]) for row in rows), style.width)
    lines = []
    for place, row_ in enumerate(rows):
        cells = [
            row_[column].ljust(widths[column])
            if column == 3
            else row_[column].rjust(widths[column])
            for column in range(6)
        ]
        name = row_[6] if room is None else style.cut(row_[6], room)
        if not place:
            lines.append(style.title("  ".join([*(cells[column] for column in columns), name])))
            continue
        of = summary.functions[place - 1]
        cells[0] = style.share(cells[0], of.elapsed, ledger.elapsed)
        for column, whole in ((1, ledger.run), (4, ledger.elapsed), (5, ledger.run)):
            cells[column] = style.share(cells[column], of.net, whole)
        shown = [*(cells[column] for column in columns), style.name(row_[6], name)]
        lines.append("  ".join(shown))
    return lines


def _fitting(
    widths: Sequence[int], longest: int, terminal: int | None
) -> tuple[list[int], int | None]:
    """The columns that a narrow terminal has room for, and what is left for names; None: all."""
    columns = list(range(len(widths)))
    if terminal is None or terminal >= _RULE:
        return columns, None
    for dropped in _DROPPED:
        if sum(widths[column] + 2 for column in columns) + min(longest, 20) <= terminal:
            break
        columns.remove(dropped)
    return columns, terminal - sum(widths[column] + 2 for column in columns)


def _footer(summary: Summary) -> list[str]:
    lines = []
    if summary.inlines:
        lines.append("")
        lines.append("Inline triggers:")
        width = max(len(str(count)) for _, count in summary.inlines)
        lines += [f"  {count:>{width}}  == {safe_name(e.name)}" for e, count in summary.inlines]
    odd = summary.anomalies
    found = [
        (odd.context_switches, "context switch", "es"),
        (odd.orphan_exits, "orphan exit", "s"),
        (odd.open_calls, "open call", "s"),
        (odd.unwound_calls, "unwound call", "s"),
    ]
    said = [counted(count, what, ending) for count, what, ending in found if count]
    if odd.restarts:
        said.append(f"{counted(odd.restarts, 'longjmp')} seen by the next call")
    if odd.unknown_tags:
        total = sum(odd.unknown_tags.values())
        tags = sorted(odd.unknown_tags.items(), key=lambda item: -item[1])
        shown = ", ".join(f"{tag} ({count})" for tag, count in tags[:_MOST_TAGS])
        more = f" and {len(tags) - _MOST_TAGS} more" if len(tags) > _MOST_TAGS else ""
        said.append(
            f"{counted(total, 'event')} with tags that the name file does not know: {shown}{more}"
        )
    if said:
        lines += ["", "; ".join(said)]
    return [*lines, "", *_honesty(summary)]


def _honesty(summary: Summary) -> list[str]:
    """What part of the run the triggers were, and where the figures may be wrong."""
    units = Units(summary.info.clock_hz)
    elapsed = summary.ledger.elapsed
    cost = summary.trigger_cost
    if cost:
        share = percent(summary.taken, summary.taken + elapsed)
        each = units.us(float(cost))
        lines = [
            f"{summary.events} triggers of {each:g} us were {share:.2f}% of the run; "
            "they are taken out"
        ]
        if summary.short > _SHORT * summary.events:
            were = "interval was" if summary.short == 1 else "intervals were"
            lines.append(
                f"{summary.short} {were} shorter than that by more than a tick "
                f"({percent(summary.short, summary.events):.2f}%) and became negative, so short "
                "calls have too little time (does a trigger cost so much?)"
            )
    else:
        usual = summary.events * _USUAL_COST
        if usual < units.exact(elapsed):
            share = percent(usual, units.exact(elapsed))
            what = f"of {float(_USUAL_COST):g} us each they would be {share:.2f}% of the run"
        else:
            what = f"one every {units.us(elapsed) / max(summary.events, 1):.3g} us"
        lines = [f"{counted(summary.events, 'trigger')}; {what} (--trigger-cost takes them out)"]
    lines += _contexts(summary)
    if summary.doubts.near_wrap:
        longest, wrap = summary.doubts.near_wrap
        lines.append(
            f"the longest time between two events was {units.seconds(longest)}, near the wrap at "
            f"{units.seconds(wrap)}: longer ones would be seen too short"
        )
    if summary.anomalies.mostly_unknown(summary.events):
        lines.append(MOSTLY_UNKNOWN)
    if summary.doubts.missing:
        lines.append("events are missing from this capture: calls and contexts may be wrong")
    return lines


def uncertain_switches(ambiguous: int, switches: int) -> list[str]:
    """What to say of ambiguous switches; nothing where there are none."""
    could = "could be to either of several tasks; --tasks and --graph are uncertain"
    return [f"{ambiguous} of {switches} switches {could}"] if ambiguous else []


def _contexts(summary: Summary) -> list[str]:
    """How tasks were told apart, and how far that and the depth of calls can be trusted."""
    odd = summary.anomalies
    lines = uncertain_switches(odd.ambiguous_switches, odd.context_switches)
    if summary.evidence:
        lines.append(f"tasks are told apart by {' and by '.join(summary.evidence)}")
    if odd.open_calls > _DEEP * (odd.contexts + 1):
        lines.append(
            f"{odd.open_calls} calls were open at the end: depth grew without bound, as where "
            "functions are left without their exit trigger (longjmp, lost events)"
        )
    return lines
