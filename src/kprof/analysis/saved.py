"""Statistics in a file, to be merged later: JSON, nothing lost.

``{"kprof_statistics": 2, "clock_hz": "N/D", "captures": [...], "ledger": [...], "functions":
{name: {"tag", "modifier", counts..., "own": {"count", "total", "squares", "least", "most",
"histogram": {bucket: count}}, "whole", "real", "blocked"}}, "inlines", "anomalies", "never",
"evidence"}``; times are in ticks. Names may hold any character; JSON escapes them.

Version 1 had no ``taken, short, near_wrap, missing, time_bits, unwrapped, lost, some_lost, holes``:
nothing is said to be missing then, and the counter is taken for one of 24 bits.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from kprof.analysis.doubts import Doubts, doubts_of
from kprof.analysis.measures import Measure
from kprof.analysis.replay.clock import PARTS
from kprof.analysis.statistics import FunctionStatistics, Statistics
from kprof.analysis.stream import Ledger
from kprof.analysis.summary import Anomalies
from kprof.capture.model import CaptureInfo
from kprof.errors import FileAccessError, KprofError
from kprof.files import read_bytes, write_text
from kprof.names import Modifier, NameEntry

_KEY = "kprof_statistics"
_VERSION = 2
_READ = (1, 2)
_FACTS = ("time_bits", "unwrapped", "full", "lost", "some_lost", "holes")
_COUNTS = ("calls", "complete", "orphans", "opens", "unwound", "elapsed", "net", "wall")
_MEASURES = ("own", "whole", "real", "blocked")
_OF_MEASURE = ("count", "total", "squares", "least", "most", "histogram")


class SavedStatisticsError(KprofError):
    """A file that is no saved statistics, or of another version."""


def write_statistics(path: Path, statistics: Statistics) -> None:
    """Keep statistics in a file."""
    value = {
        _KEY: _VERSION,
        "clock_hz": str(statistics.info.clock_hz),
        "source": statistics.info.source,
        "valid_from": statistics.info.valid_from,
        **{name: getattr(statistics.info, name) for name in _FACTS},
        **statistics.doubts._asdict(),
        "captures": statistics.captures,
        "ledger": list(statistics.ledger),
        "longest": statistics.longest,
        "trigger_cost": str(statistics.trigger_cost),
        "taken": statistics.taken,
        "short": statistics.short,
        "functions": {
            name: {
                **_entry(one.entry),
                **{key: getattr(one, key) for key in _COUNTS},
                **{key: _figures(getattr(one, key)) for key in _MEASURES},
            }
            for name, one in statistics.functions.items()
        },
        "inlines": {
            name: {**_entry(entry), "count": count}
            for name, (entry, count) in statistics.inlines.items()
        },
        "anomalies": statistics.anomalies._asdict(),
        "evidence": statistics.evidence,
        "never": {entry.name: _entry(entry) for entry in statistics.never},
    }
    write_text(path, json.dumps(value, separators=(",", ":")) + "\n")


def read_statistics(path: Path) -> Statistics:
    """The statistics in a file.

    Raises
    ------
    FileAccessError
        It cannot be read.
    SavedStatisticsError
        It is none, damaged, or of another version.
    """
    try:
        value = json.loads(read_bytes(path))
        version = value[_KEY]
        if version not in _READ:
            raise SavedStatisticsError(
                f"{path}: is version {version} of saved statistics; this kprof reads 1 and 2"
            )
        return _statistics(_as_new(value) if version == 1 else value)
    except (FileAccessError, SavedStatisticsError):
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        ZeroDivisionError,
        RecursionError,
    ) as error:
        raise SavedStatisticsError(
            f"{path}: is not a file of statistics as kprof report --save writes them"
        ) from error


def _as_new(old: dict[str, Any]) -> dict[str, Any]:
    """What version 1 kept, with what is to be taken for the rest."""
    cost = Fraction(old["trigger_cost"])
    plain = replace(CaptureInfo(), step=PARTS if cost else 1, full=bool(old["full"]))
    return {
        **{name: getattr(plain, name) for name in _FACTS},
        **doubts_of(plain, int(old["longest"]))._asdict(),
        "taken": round(sum(int(events) for _, events, _, _ in old["captures"]) * cost),
        "short": 0,
        **old,
    }


def _statistics(value: dict[str, Any]) -> Statistics:
    cost = Fraction(value["trigger_cost"])
    info = replace(
        CaptureInfo(),
        source=str(value["source"]),
        clock_hz=Fraction(value["clock_hz"]),
        step=PARTS if cost else 1,
        valid_from=str(value["valid_from"]),
        time_bits=int(value["time_bits"]),
        unwrapped=bool(value["unwrapped"]),
        full=bool(value["full"]),
        lost=None if value["lost"] is None else int(value["lost"]),
        some_lost=bool(value["some_lost"]),
        holes=bool(value["holes"]),
    )
    functions = {}
    for name, row in value["functions"].items():
        one = FunctionStatistics(_name_entry(name, row))
        for key in _COUNTS:
            setattr(one, key, int(row[key]))
        for key in _MEASURES:
            setattr(one, key, _measure(row[key]))
        functions[name] = one
    tags = {int(tag): int(count) for tag, count in value["anomalies"]["unknown_tags"].items()}
    others = {
        key: int(value["anomalies"].get(key, 0))
        for key in Anomalies._fields
        if key != "unknown_tags"
    }
    return Statistics(
        info=info,
        captures=[(str(s), int(n), int(e), int(i)) for s, n, e, i in value["captures"]],
        ledger=Ledger(*(int(part) for part in value["ledger"])),
        functions=functions,
        inlines={
            name: (_name_entry(name, row), int(row["count"]))
            for name, row in value["inlines"].items()
        },
        anomalies=Anomalies(unknown_tags=tags, **others),
        never=tuple(_name_entry(name, row) for name, row in value["never"].items()),
        longest=int(value["longest"]),
        trigger_cost=cost,
        taken=int(value["taken"]),
        short=int(value["short"]),
        evidence=tuple(str(one) for one in value.get("evidence", ())),
        doubts=Doubts(_near_wrap(value["near_wrap"]), bool(value["missing"])),
    )


def _near_wrap(value: list[Any] | None) -> tuple[int, int] | None:
    if value is None:
        return None
    longest, wrap = value
    return int(longest), int(wrap)


def _figures(measure: Measure) -> dict[str, Any]:
    return {name: getattr(measure, name) for name in _OF_MEASURE}


def _measure(value: dict[str, Any]) -> Measure:
    known = {name: value[name] for name in _OF_MEASURE}
    known["histogram"] = {int(k): int(v) for k, v in known["histogram"].items()}
    return Measure(**known)


def _entry(entry: NameEntry) -> dict[str, Any]:
    return {"tag": entry.value, "modifier": entry.modifier.value}


def _name_entry(name: str, row: dict[str, Any]) -> NameEntry:
    return NameEntry(name, int(row["tag"]), Modifier(row["modifier"]))
