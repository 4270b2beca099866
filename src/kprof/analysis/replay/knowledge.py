"""What can run directly above what: the call knowledge of a program, as the replay reads it.

Functions without triggers leave no events, so a call through them looks direct: what they can call
counts as called by their callers. A function of the name file that was not read may call anything
and be called from anywhere. So may one that nothing is known to call, such as an interrupt's
handler. Of a library that was not read nothing is expected: what it calls back is known by pointer.
A function that only pointers reach may be a handler too, its address in a table of vectors: it is
taken for one where the capture shows it directly above a function that cannot call it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kprof.names import Modifier, NameEntry
from kprof.names.calls import CallKnowledge, FunctionFacts


@dataclass(frozen=True, eq=False)
class KnownCalls:
    """Who can call whom, by the numbers of the functions in the tag table.

    Attributes
    ----------
    can
        uint8, shape (functions * stride,): bit ``callee & 7`` of byte ``caller * stride + (callee
        >> 3)``.
    stride
        Bytes of a row.
    calls_setjmp
        The functions that call setjmp, itself or by one without a trigger.
    by_pointer
        The functions that only pointers reach.
    """

    can: NDArray[np.uint8]
    stride: int
    calls_setjmp: NDArray[np.int64]
    by_pointer: NDArray[np.int64]

    def allowing(self, handlers: NDArray[np.int64]) -> NDArray[np.uint8]:
        """`can` with these functions called from anywhere."""
        can = self.can.reshape(-1, self.stride).copy()
        for number in handlers.tolist():
            can[:, number >> 3] |= np.uint8(1 << (number & 7))
        return np.ravel(can)


def known_calls(knowledge: CallKnowledge, functions: tuple[NameEntry, ...]) -> KnownCalls:
    """The knowledge about these functions of a name file."""
    numbers = {entry.name: number for number, entry in enumerate(functions)}
    facts = knowledge.functions
    taken = {name for name, fact in facts.items() if fact.address_taken}
    for scope in knowledge.scopes.values():
        taken |= scope
    reach = _Reach(numbers, facts, taken)
    allowed = np.zeros((max(1, len(functions)), max(1, len(functions))), np.bool_)
    jumps = []
    called: set[int] = set()
    for number, entry in enumerate(functions):
        if entry.name not in facts:
            allowed[number] = True
            continue
        callees, pointers, jump = reach.of(entry.name)
        allowed[number, list(callees | (reach.by_pointer() if pointers else set()))] = True
        called |= callees
        if jump:
            jumps.append(number)
    free = []
    by_pointer = []
    for number, entry in enumerate(functions):
        plain = entry.modifier in (Modifier.FUNCTION, Modifier.IDLE) and entry.name in facts
        if plain and number not in called and entry.name in taken:
            by_pointer.append(number)
        elif not plain or number not in called:
            free.append(number)
    allowed[:, free] = True
    bits = np.packbits(allowed, axis=1, bitorder="little")
    return KnownCalls(
        bits.reshape(-1),
        bits.shape[1],
        np.array(jumps, np.int64),
        np.array(by_pointer, np.int64),
    )


class _Reach:
    """Which functions with triggers each function calls, through those without."""

    def __init__(
        self, numbers: Mapping[str, int], facts: Mapping[str, FunctionFacts], taken: set[str]
    ) -> None:
        self._numbers = numbers
        self._facts = facts
        self._taken = taken
        self._by_pointer: set[int] | None = None

    def of(self, name: str) -> tuple[set[int], bool, bool]:
        """What `name` calls, whether it calls by pointers too, and whether it calls setjmp."""
        found: set[int] = set()
        seen = {name}
        waiting = [name]
        pointers = jump = False
        while waiting:
            fact = self._facts.get(waiting.pop())
            if fact is None:
                continue
            pointers = pointers or fact.indirect
            jump = jump or fact.setjmp
            for callee in fact.calls:
                if callee in self._numbers:
                    found.add(self._numbers[callee])
                elif callee not in seen:
                    seen.add(callee)
                    waiting.append(callee)
        return found, pointers, jump

    def by_pointer(self) -> set[int]:
        """What a call through a pointer can reach."""
        if self._by_pointer is None:
            self._by_pointer = {self._numbers[n] for n in self._taken if n in self._numbers}
            for name in self._taken:
                if name not in self._numbers and name in self._facts:
                    self._by_pointer |= self.of(name)[0]
        return self._by_pointer
