"""The kernel's own call counts, to hold a profile against.

A kernel built with counters increments ``calls_NAME`` once in each call of NAME (the example
kernel's COUNT macro; the compiler may append ``.N`` to the symbol). A counter is incremented a few
instructions after the entry trigger, and an interrupt may come between the two. So that the figures
are exact, the counters are read only while the CPU waits in its idle loop, where no call is between
trigger and counter; what ran after the last stored event, up to that moment, is subtracted by the
triggers that the socket still saw.
"""

from __future__ import annotations

from collections import Counter

from kprof.board.board import Board
from kprof.names import Modifier, NameFile

_PREFIX = "calls_"


class CallAudit:
    """Counts the calls that one recording must hold.

    Create it where the Profiler is turned to RUN, with the board idle; call `finish` with the board
    idle again, after the last stored event.
    """

    def __init__(self, board: Board) -> None:
        self._board = board
        self._symbols = {
            symbol[len(_PREFIX) :].partition(".")[0]: symbol
            for symbol in board.kernel.symbols
            if symbol.startswith(_PREFIX)
        }
        self._before = self._read()
        self._after: dict[str, int] = {}
        self._tail: list[int] = []
        self.exact = board.idle

    def finish(self) -> None:
        """Read the counters again."""
        board = self._board
        self._after = self._read()
        self._tail = [address for _, address in board.log[board.profiler.count :]]
        self.exact = self.exact and board.idle

    def calls(self, names: NameFile) -> dict[str, int]:
        """Calls of each counted function of the name file that began in the recording."""
        tail = Counter(self._tail)
        return {
            entry.name: self._after[entry.name] - self._before[entry.name] - tail[entry.value]
            for entry in names.entries
            if entry.value and entry.modifier is not Modifier.INLINE and entry.name in self._after
        }

    def _read(self) -> dict[str, int]:
        return {name: self._board.peek(symbol) for name, symbol in self._symbols.items()}
