"""A value change dump (IEEE 1364), for GTKWave and others beside a logic analyser's capture.

A wire for each function that ran, 1 while a call of it is open in the context that runs: it is
high for the elapsed time. `depth` and `context` are vectors, `running` the name of the function on
top (a string, which GTKWave shows and others ignore), inline triggers events. What lasts less than
a tick is not shown, inline triggers apart.
"""

from __future__ import annotations

from typing import BinaryIO

from kprof.analysis.stream import Stream
from kprof.export.labels import IDLE, UNATTRIBUTED, plain
from kprof.export.running import CONTEXT, MARK, OPEN, running
from kprof.export.units import Scale

_CONTEXT, _DEPTH, _TOP = 0, 1, 2  # codes of the first variables
_FIRST = 3


def write(stream: Stream, out: BinaryIO) -> None:
    """Write the wires of the functions that ran."""
    _Writer(stream, out).write()


class _Writer:
    def __init__(self, stream: Stream, out: BinaryIO) -> None:
        self._stream = stream
        self._out = out
        self._scale = Scale(stream.info.clock_hz)
        self._names = [_identifier(entry.name) for entry in stream.functions]
        self._levels = [0] * len(stream.functions)
        self._pile: list[int] = []
        self._context = stream.first
        self._lines: list[str] = []
        self._fired: list[str] = []
        self._was: dict[int, bool] = {}
        self._shown = (-1, -1, "")
        base = _FIRST + len(stream.functions)
        self._codes = [_code(_FIRST + k) for k in range(len(stream.functions))]
        self._marks = [_code(base + k) for k in range(len(stream.inlines))]

    def write(self) -> None:
        self._head()
        now = 0
        for actions in running(self._stream):
            for kind, value, time in actions:
                if time != now:
                    self._flush(now)
                    now = time
                if kind == MARK:
                    self._fired.append(f"1{self._marks[value]}")
                elif kind == CONTEXT:
                    self._context = value
                else:
                    self._was.setdefault(value, self._levels[value] > 0)
                    self._levels[value] += 1 if kind == OPEN else -1
                    if kind == OPEN:
                        self._pile.append(value)
                    else:
                        self._pile.pop()
            self._write_out()
        self._flush(now)
        if self._stream.ledger.elapsed > now:
            self._lines.append(f"#{self._scale.whole(self._stream.ledger.elapsed)}")
        self._write_out()

    def _write_out(self) -> None:
        if self._lines:
            self._out.write(("\n".join(self._lines) + "\n").encode("utf-8", "backslashreplace"))
            self._lines.clear()

    def _head(self) -> None:
        lines = [
            "$version kprof $end",
            f"$timescale 1 {self._scale.unit} $end",
            "$scope module kprof $end",
            f"$var wire 32 {_code(_CONTEXT)} context $end",
            f"$var wire 16 {_code(_DEPTH)} depth $end",
            f"$var string 1 {_code(_TOP)} running $end",
        ]
        counts = self._stream.tag_counts()
        initial = []
        for entry, name, code in zip(self._stream.functions, self._names, self._codes, strict=True):
            if counts[entry.value] or counts[entry.value + 1]:
                lines.append(f"$var wire 1 {code} {name} $end")
                initial.append(f"0{code}")
        for entry, code in zip(self._stream.inlines, self._marks, strict=True):
            if counts[entry.value]:
                lines.append(f"$var event 1 {code} {_identifier(entry.name)} $end")
        lines += ["$upscope $end", "$enddefinitions $end", "#0", "$dumpvars", *initial]
        lines += [f"b0 {_code(_CONTEXT)}", f"b0 {_code(_DEPTH)}", "$end"]
        self._lines = lines

    def _flush(self, now: int) -> None:
        """Write what has changed at the time `now`."""
        lines = [
            f"{int(not was)}{self._codes[fn]}"
            for fn, was in self._was.items()
            if (self._levels[fn] > 0) != was
        ]
        self._was.clear()
        empty = IDLE if self._context == 0 else UNATTRIBUTED
        top = self._names[self._pile[-1]] if self._pile else empty
        context, depth, before = self._shown
        if self._context != context:
            lines.append(f"b{self._context:b} {_code(_CONTEXT)}")
        if len(self._pile) != depth:
            lines.append(f"b{len(self._pile):b} {_code(_DEPTH)}")
        if top != before:
            lines.append(f"s{top} {_code(_TOP)}")
        self._shown = (self._context, len(self._pile), top)
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


def _identifier(name: str) -> str:
    """A name without what ends a token, or looks like a range."""
    return plain(name, " $[]").replace("\\", "_")
