"""The text of the trace's lines, one rule in two forms: `text_lines`, and `Writer`, which is fast.

A block of lines is a table of int64, shape (6, lines): its rows are the fields below. ``depth`` is
4 columns a level, or as many as were asked for; beyond `MOST_INDENTS` levels the depth stands there
as a number instead.

========  ==========================================================================================
SHAPE     which line it is, see below; NOTHING makes none
TIME      ticks, the stamp
DEPTH     levels of indent
NAME      the number of a function, or of an inline trigger
FIRST     ticks, the figure before ``us``
TOTAL     ticks, the figure before ``total``
========  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import MARK_IN, MARK_INLINE, OPEN, ORPHAN, RESUMED, UNWOUND
from kprof.names import NameEntry
from kprof.report.style import PLAIN, Style
from kprof.report.units import Units, safe_name

Table = NDArray[np.int64]

SHAPE, TIME, DEPTH, NAME, FIRST, TOTAL = range(6)
FIELDS = 6

NOTHING = 0
LEAF = 1  # -> name (1 us)
CALL = 2  # -> name (1 us, 2 total)
OPENED = 3  # -> name (1 us, 2 total) open
LEFT = 4  # <-
RETURNED = 5  # <- name (1 us, 2 total)
LEFT_UNWOUND = 6
RETURNED_UNWOUND = 7
TRIGGER = 8  # == name (1 us)
SWITCHED_IN = 9
SWITCHED_OUT = 10

INDENT = 4
MOST_INDENTS = 100
_MILLI = [f"{n:03d}" for n in range(1000)]
_WORDS = (
    b"-> ", b"<-", b" ", b"== ", b" (", b" us", b", ", b" total", b")", b" open", b" unwound",
    b"---- Context switch in ----", b"---- Context switch out ----",
)  # fmt: skip
(
    _INTO, _BACK, _SPACE, _INLINE, _OPENING, _US, _COMMA, _TOTAL, _CLOSING, _OPEN, _UNWOUND,
    _IN, _OUT,
) = range(len(_WORDS))  # fmt: skip
_LINE = 160  # bytes of the longest line without its indent and its name


def entry_shape(flags: NDArray[Any], closing: NDArray[Any]) -> Table:
    """The lines that begin calls, by the flags of these and whether they have a closing line."""
    return np.where((flags & OPEN) != 0, OPENED, np.where(closing, CALL, LEAF))


def exit_shape(flags: NDArray[Any]) -> Table:
    """The lines that end calls, by the flags of these."""
    named = (flags & (RESUMED | ORPHAN)) != 0
    unwound = (flags & UNWOUND) != 0
    return np.where(
        named,
        np.where(unwound, RETURNED_UNWOUND, RETURNED),
        np.where(unwound, LEFT_UNWOUND, LEFT),
    )


def mark_shape(kind: NDArray[Any]) -> Table:
    """The lines of inline triggers and switches, by their kind."""
    return np.where(
        kind == MARK_INLINE, TRIGGER, np.where(kind == MARK_IN, SWITCHED_IN, SWITCHED_OUT)
    )


def styled_lines(
    table: Table,
    functions: Sequence[str],
    inlines: Sequence[str],
    units: Units,
    style: Style,
    indent: int = INDENT,
) -> Iterator[str]:
    """The same lines as `text_lines` makes, drawn in a style."""
    stamp = stamper(units)

    def figures(first: int, total: int | None = None) -> str:
        own = f"{style.time(units.text(first), units.us(first))} us"
        if total is None:
            return f"({own})"
        return f"({own}, {style.time(units.text(total), units.us(total))} total)"

    for shape, time, depth, name, first, total in table.T.tolist():
        if shape == NOTHING:
            continue
        longest = units.us(0 if shape in (TRIGGER, LEFT, LEFT_UNWOUND) else max(first, total))
        if shape >= SWITCHED_IN:
            switch = f"---- Context switch {'in' if shape == SWITCHED_IN else 'out'} ----"
            yield f"{style.mark(0)}{style.dim(stamp(time))} {style.event(switch)}"
            continue
        space = " " * (indent * min(depth, MOST_INDENTS))
        head = f"{style.mark(longest)}{style.dim(stamp(time))} {space}"
        if depth > MOST_INDENTS:
            head = f"{head}[{depth}] "
        if shape == TRIGGER:
            yield f"{head}{style.dim('==')} {style.event(inlines[name])} {figures(first)}"
        elif shape in (LEFT, LEFT_UNWOUND):
            yield f"{head}{style.dim('<-')}{' unwound' if shape == LEFT_UNWOUND else ''}"
        else:
            arrow = style.dim("->" if shape <= OPENED else "<-")
            ending = {OPENED: " open", RETURNED_UNWOUND: " unwound"}.get(shape, "")
            times = figures(first, None if shape == LEAF else total)
            yield f"{head}{arrow} {style.name(functions[name])} {times}{ending}"


def text_lines(
    table: Table,
    functions: Sequence[str],
    inlines: Sequence[str],
    units: Units,
    indent: int = INDENT,
) -> Iterator[str]:
    """The lines of a table, without line feeds; the rule in its simple form.

    Parameters
    ----------
    functions, inlines
        Names that are safe to print.
    indent
        Columns a level.
    """
    stamp = stamper(units)
    text = str if units.whole else units.text
    indents = [" " * (indent * level) for level in range(MOST_INDENTS + 1)]
    for shape, time, depth, name, first, total in table.T.tolist():
        if shape == NOTHING:
            continue
        head = stamp(time)
        if shape >= SWITCHED_IN:
            yield f"{head} ---- Context switch {'in' if shape == SWITCHED_IN else 'out'} ----"
            continue
        if depth <= MOST_INDENTS:
            head = f"{head} {indents[depth]}"
        else:
            head = f"{head} {indents[MOST_INDENTS]}[{depth}] "
        if shape == LEAF:
            yield f"{head}-> {functions[name]} ({text(first)} us)"
        elif shape == CALL:
            yield f"{head}-> {functions[name]} ({text(first)} us, {text(total)} total)"
        elif shape == OPENED:
            yield f"{head}-> {functions[name]} ({text(first)} us, {text(total)} total) open"
        elif shape == TRIGGER:
            yield f"{head}== {inlines[name]} ({text(first)} us)"
        else:
            ending = " unwound" if shape >= LEFT_UNWOUND else ""
            if shape in (RETURNED, RETURNED_UNWOUND):
                ending = f" {functions[name]} ({text(first)} us, {text(total)} total){ending}"
            yield f"{head}<-{ending}"


def stamper(units: Units) -> Callable[[int], str]:
    """How a time is written: ``S:mmm uuu``, with nanoseconds for a clock faster than 1 MHz."""
    last, prefix = -1, ""

    def whole(us: int) -> str:
        nonlocal last, prefix
        ms = us // 1000
        if ms != last:  # most lines share their millisecond with the line before
            last, prefix = ms, f"{ms // 1000}:{ms % 1000:03d} "
        return prefix + _MILLI[us - 1000 * ms]

    def fine(ticks: int) -> str:
        us, rest = divmod(units.nanoseconds(ticks), 1000)
        return f"{whole(us)}.{rest:03d}"

    return whole if units.whole else fine


class Writer:
    """Tables of lines to text.

    Parameters
    ----------
    fast
        By the compiled form of the rule, which gives the same text.
    style
        How the lines are drawn.
    indent
        Columns a level of calls.
    """

    def __init__(
        self,
        functions: Sequence[NameEntry],
        inlines: Sequence[NameEntry],
        clock_hz: Fraction,
        *,
        fast: bool = False,
        style: Style = PLAIN,
        indent: int = INDENT,
    ) -> None:
        self._style, self._indent = style, indent
        self._functions = [safe_name(entry.name) for entry in functions]
        self._inlines = [safe_name(entry.name) for entry in inlines]
        self._units = Units(clock_hz)
        scale = Fraction(1_000_000_000) / clock_hz
        self._scale = (scale.numerator, scale.denominator)
        self._fill: Any = None
        if fast and style.plain and self._fits(scale):
            from kprof.analysis.replay.compiled import compiled_entry

            self._fill = compiled_entry(fill, _nanoseconds, _figure, _number, _three, _word)
            words = [*_WORDS, *(name.encode() for name in (*self._functions, *self._inlines))]
            self._words = np.frombuffer(b"".join(words), np.uint8)
            self._starts = np.cumsum([0, *map(len, words)], dtype=np.int64)
            self._longest = max(map(len, words))
            self._room = np.empty(0, np.uint8)

    def lines(self, table: Table) -> Iterator[str]:
        """The lines, without line feeds."""
        names = (self._functions, self._inlines)
        if self._style.plain:
            return text_lines(table, *names, self._units, self._indent)
        return styled_lines(table, *names, self._units, self._style, self._indent)

    def text(self, table: Table) -> str:
        """The lines, each with its line feed."""
        if self._fill is None:
            return "".join([line + "\n" for line in self.lines(table)])
        wanted = table.shape[1] * (_LINE + self._indent * MOST_INDENTS + self._longest)
        if wanted > len(self._room):
            self._room = np.empty(wanted, np.uint8)
        names = (len(_WORDS), len(_WORDS) + len(self._functions))
        size = self._fill(
            np.ascontiguousarray(table), self._words, self._starts, names, self._scale,
            self._units.whole, self._indent, self._room,
        )  # fmt: skip
        return self._room[:size].tobytes().decode()

    @staticmethod
    def _fits(scale: Fraction) -> bool:
        """Can the compiled form reckon nanoseconds in 64 bits?"""
        return scale.numerator * scale.denominator < 1 << 62 and scale < 1 << 20


def fill(
    table: Any,
    words: Any,
    starts: Any,
    names: Any,
    scale: Any,
    whole: bool,
    indent: int,
    out: Any,
) -> int:
    """Write the lines of a table into `out` as UTF-8; how many bytes they are.

    Parameters
    ----------
    words, starts
        All texts one after another, and where each begins: the fixed ones, the names of functions
        and those of inline triggers, which begin at the numbers in `names`.
    scale
        Nanoseconds a tick, as a numerator and a denominator.
    """
    at = 0
    for i in range(table.shape[1]):
        shape = table[SHAPE, i]
        if shape == NOTHING:
            continue
        us = table[TIME, i]
        rest = 0
        if not whole:
            ns = _nanoseconds(us, scale)
            us = ns // 1000
            rest = ns - 1000 * us
        ms = us // 1000
        seconds = ms // 1000
        at = _number(out, at, seconds)
        out[at] = 58
        at = _three(out, at + 1, ms - 1000 * seconds)
        out[at] = 32
        at = _three(out, at + 1, us - 1000 * ms)
        if not whole:
            out[at] = 46
            at = _three(out, at + 1, rest)
        out[at] = 32
        at += 1
        if shape >= SWITCHED_IN:
            at = _word(out, at, words, starts, _IN if shape == SWITCHED_IN else _OUT)
            out[at] = 10
            at += 1
            continue
        depth = table[DEPTH, i]
        for _ in range(indent * min(depth, MOST_INDENTS)):
            out[at] = 32
            at += 1
        if depth > MOST_INDENTS:
            out[at] = 91
            at = _number(out, at + 1, depth)
            out[at] = 93
            out[at + 1] = 32
            at += 2
        name = table[NAME, i] + names[0]
        if shape <= OPENED:
            at = _word(out, at, words, starts, _INTO)
        elif shape == TRIGGER:
            at = _word(out, at, words, starts, _INLINE)
            name = table[NAME, i] + names[1]
        else:
            at = _word(out, at, words, starts, _BACK)
        named = shape != LEFT and shape != LEFT_UNWOUND
        if named:
            if shape in (RETURNED, RETURNED_UNWOUND):
                at = _word(out, at, words, starts, _SPACE)
            at = _word(out, at, words, starts, name)
            at = _word(out, at, words, starts, _OPENING)
            at = _figure(out, at, table[FIRST, i], scale, whole)
            at = _word(out, at, words, starts, _US)
            if shape not in (LEAF, TRIGGER):
                at = _word(out, at, words, starts, _COMMA)
                at = _figure(out, at, table[TOTAL, i], scale, whole)
                at = _word(out, at, words, starts, _TOTAL)
            at = _word(out, at, words, starts, _CLOSING)
        if shape == OPENED:
            at = _word(out, at, words, starts, _OPEN)
        elif shape in (LEFT_UNWOUND, RETURNED_UNWOUND):
            at = _word(out, at, words, starts, _UNWOUND)
        out[at] = 10
        at += 1
    return at


def _nanoseconds(ticks: int, scale: tuple[int, int]) -> int:
    """Ticks as whole nanoseconds, halves to the even one."""
    many = ticks // scale[1]
    part = (ticks - many * scale[1]) * scale[0]
    above = part // scale[1]
    twice = 2 * (part - above * scale[1])
    result = many * scale[0] + above
    if twice > scale[1] or (twice == scale[1] and result & 1):
        result += 1
    return result


def _figure(out: Any, at: int, ticks: int, scale: Any, whole: bool) -> int:
    """A time in microseconds, with the decimals that it has."""
    rest = 0
    us = ticks
    if not whole:
        us = _nanoseconds(ticks, scale)
    if us < 0:
        out[at] = 45
        at += 1
        us = -us
    if not whole:
        rest = us % 1000
        us //= 1000
    at = _number(out, at, us)
    if rest:
        out[at] = 46
        at = _three(out, at + 1, rest)
        while out[at - 1] == 48:
            at -= 1
    return at


def _number(out: Any, at: int, number: int) -> int:
    end = at + 1
    bound = 10
    while number >= bound and end - at < 19:
        end += 1
        bound *= 10
    for k in range(end - 1, at - 1, -1):
        out[k] = 48 + number % 10
        number //= 10
    return end


def _three(out: Any, at: int, number: int) -> int:
    out[at] = 48 + number // 100
    out[at + 1] = 48 + number // 10 % 10
    out[at + 2] = 48 + number % 10
    return at + 3


def _word(out: Any, at: int, words: Any, starts: Any, word: int) -> int:
    for k in range(starts[word], starts[word + 1]):
        out[at] = words[k]
        at += 1
    return at
