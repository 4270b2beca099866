"""A value change dump (IEEE 1364), for GTKWave and others beside a logic analyser's capture.

A wire for each function that ran, 1 while a call of it is open in the context that runs: it is
high for the elapsed time, interrupts on top of it apart, while which `interrupt` is high. `depth`
and `context` are vectors, `task` the name of the context and `running` that of the function on top
(strings, which GTKWave shows and others ignore), inline triggers events. What lasts less than a
tick is not shown, inline triggers apart.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kprof.export.labels import context_name, plain
from kprof.export.running import CONTEXT, END, MARK, OPEN, REST, running
from kprof.export.units import Scale
from kprof.export.view import INTERRUPTS, View

_CONTEXT, _TASK, _INTERRUPT, _DEPTH, _TOP = range(5)  # codes of the first variables
_FIRST = 5
_SCOPE = "kprof"
_WIDTH = 5  # of the whole run at first, in GTKWave's frames of 200 pixels
_BIT, _DECIMAL, _TEXT = 28, 24, 820  # how GTKWave shows a signal


def write(view: View, out: BinaryIO) -> None:
    """Write the wires of the functions that ran."""
    _Writer(view, out).write()


def write_beside(view: View, target: Path, out: BinaryIO) -> None:
    """Write GTKWave's save file for the dump `target`: all signals shown, names as text.

    Paths stand in it as they are here: GTKWave looks for a file that was moved beside the save
    file. Format: GTKWave's manual, ``-S``, and the files that it writes.
    """
    run = Scale(view.info.clock_hz).whole(view.ledger.elapsed)
    zoom = -math.log2(max(1, run / _WIDTH))
    path = json.dumps(str(target.resolve()), ensure_ascii=False)
    lines = [
        "[*] written by kprof",
        f"[dumpfile] {path}",
        "[timestart] 0",
        f"*{zoom:.6f} 0" + " -1" * 26,  # the scale; where the markers are
        "[sst_width] 180",
        "[signals_width] 200",
        f"@{_TEXT}",
        *(f"{_SCOPE}.{name}" for name in ("task", "running")),
        f"@{_BIT}",
        f"{_SCOPE}.interrupt",
        f"@{_DECIMAL}",
        f"{_SCOPE}.depth[15:0]",
        f"@{_BIT}",
    ]
    ran = zip(view.functions, view.ran().tolist(), strict=True)
    lines += [f"{_SCOPE}.{_identifier(entry.name)}" for entry, shown in ran if shown]
    out.write(("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))


class _State(NamedTuple):
    """What the first variables show."""

    context: int
    interrupt: bool
    depth: int
    top: str


class _Writer:
    def __init__(self, view: View, out: BinaryIO) -> None:
        self._view = view
        self._out = out
        self._scale = Scale(view.info.clock_hz)
        self._names = [_identifier(entry.name) for entry in view.functions]
        self._texts = [_string(entry.name) for entry in view.functions] + list(REST)
        self._levels = [0] * len(view.functions)
        self._pile: list[int] = []
        self._context = view.first
        self._interrupt = False
        self._lines: list[str] = []
        self._fired: list[str] = []
        self._was: dict[int, bool] = {}
        self._shown: _State | None = None
        base = _FIRST + len(view.functions)
        self._codes = [_code(_FIRST + k) for k in range(len(view.functions))]
        self._marks = [_code(base + k) for k in range(len(view.inlines))]

    def write(self) -> None:
        self._head()
        now, functions = 0, len(self._names)
        for actions in running(self._view):
            for kind, value, time in actions:
                if time != now:
                    self._flush(now)
                    now = time
                if kind == MARK:
                    self._fired.append(f"1{self._marks[value]}")
                elif kind == CONTEXT and value != END:
                    self._interrupt = value == INTERRUPTS
                    self._context = self._context if self._interrupt else value
                elif kind != CONTEXT:
                    if value < functions:
                        self._was.setdefault(value, self._levels[value] > 0)
                        self._levels[value] += 1 if kind == OPEN else -1
                    if kind == OPEN:
                        self._pile.append(value)
                    else:
                        self._pile.pop()
            self._write_out()
        self._flush(now)
        self._write_out()

    def _write_out(self) -> None:
        if self._lines:
            self._out.write(("\n".join(self._lines) + "\n").encode("utf-8", "backslashreplace"))
            self._lines.clear()

    def _head(self) -> None:
        lines = [
            "$version kprof $end",
            f"$timescale 1 {self._scale.unit} $end",
            f"$scope module {_SCOPE} $end",
            f"$var wire 32 {_code(_CONTEXT)} context $end",
            f"$var string 1 {_code(_TASK)} task $end",
            f"$var wire 1 {_code(_INTERRUPT)} interrupt $end",
            f"$var wire 16 {_code(_DEPTH)} depth $end",
            f"$var string 1 {_code(_TOP)} running $end",
        ]
        counts = self._view.stream.tag_counts()
        initial = []
        columns = (self._names, self._codes, self._view.ran().tolist())
        for name, code, ran in zip(*columns, strict=True):
            if ran:
                lines.append(f"$var wire 1 {code} {name} $end")
                initial.append(f"0{code}")
        for entry, code in zip(self._view.inlines, self._marks, strict=True):
            if counts[entry.value]:
                lines.append(f"$var event 1 {code} {_identifier(entry.name)} $end")
        lines += ["$upscope $end", "$enddefinitions $end", "#0", "$dumpvars", *initial]
        lines += [f"b0 {_code(_CONTEXT)}", f"0{_code(_INTERRUPT)}", f"b0 {_code(_DEPTH)}", "$end"]
        self._lines = lines

    def _flush(self, now: int) -> None:
        """Write what has changed at the time `now`."""
        lines = [
            f"{int(not was)}{self._codes[fn]}"
            for fn, was in self._was.items()
            if (self._levels[fn] > 0) != was
        ]
        self._was.clear()
        top = self._texts[self._pile[-1]] if self._pile else "-"  # the end
        depth = len(self._pile) - (bool(self._pile) and self._pile[-1] >= len(self._names))
        shown, before = _State(self._context, self._interrupt, depth, top), self._shown
        if before is None or shown.context != before.context:
            lines.append(f"b{shown.context:b} {_code(_CONTEXT)}")
            lines.append(f"s{_string(context_name(self._view, shown.context))} {_code(_TASK)}")
        if before is None or shown.interrupt != before.interrupt:
            lines.append(f"{int(shown.interrupt)}{_code(_INTERRUPT)}")
        if before is None or depth != before.depth:
            lines.append(f"b{depth:b} {_code(_DEPTH)}")
        if before is None or top != before.top:
            lines.append(f"s{top} {_code(_TOP)}")
        self._shown = shown
        lines += self._fired
        self._fired.clear()
        if lines:
            if now:
                self._lines.append(f"#{self._scale.whole(now)}")
            self._lines += lines


def _code(number: int) -> str:
    """The identifier code of a variable: printable characters from ``!`` to ``~``."""
    digits = ""
    while True:
        number, digit = divmod(number, 94)
        digits += chr(33 + digit)
        if not number:
            return digits
        number -= 1


def _string(name: str) -> str:
    """A name as the value of a string variable: a blank would end it."""
    return plain(name, " ")


def _identifier(name: str) -> str:
    """A name without what ends a token, or looks like a range."""
    return plain(name, " $[]").replace("\\", "_")
