"""Moments of a run at which the Profiler's switch is turned: what a person at the bench waits for.

========================== ===========================================================
text                       the moment
========================== ===========================================================
``reset``                  before the first instruction
``idle``                   the CPU waits for an interrupt, with none masked
``0.25``                   so many seconds after the reset
``pc=tcp_input``           before the instruction at that function, or at an address
``write=0x101000``         behind a write to that byte, or to a variable of that name
========================== ===========================================================
"""

from __future__ import annotations

from dataclasses import dataclass

from kprof.board.elf import KernelImage
from kprof.errors import UsageError

DAY_S = 86_400
_FORMS = "reset, idle, seconds, pc=FUNCTION or write=VARIABLE"


@dataclass(frozen=True)
class Moment:
    """One moment.

    Attributes
    ----------
    kind
        ``reset``, ``idle``, ``time``, ``pc`` or ``write``.
    seconds
        After the reset; for ``time``.
    place
        A symbol or an address; for ``pc`` and ``write``.
    """

    kind: str
    seconds: float = 0.0
    place: str = ""

    def address(self, kernel: KernelImage) -> int:
        """The address of `place` in this kernel.

        Raises
        ------
        UsageError
            The kernel has no such symbol.
        """
        symbol = kernel.symbols.get(self.place)
        if symbol is not None:
            return symbol.address
        try:
            return int(self.place, 0) & 0xFFFF_FFFF
        except ValueError:
            raise UsageError(
                f"{self.kind}={self.place}: the kernel has no symbol of that name, and it is no "
                "address (give one as 0x1012e4)"
            ) from None


def parse_moment(text: str) -> Moment:
    """The moment that `text` names.

    Raises
    ------
    UsageError
        It is none of the forms, or a time past a day.
    """
    if text in ("reset", "idle"):
        return Moment(text)
    kind, equals, place = text.partition("=")
    if equals and kind in ("pc", "write") and place:
        return Moment(kind, place=place)
    try:
        seconds = float(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a moment of a run; expected {_FORMS}") from None
    if not 0 <= seconds <= DAY_S:
        raise UsageError(f"a moment after {seconds:g} s; expected 0 to {DAY_S}")
    return Moment("time", seconds)
