"""What a replay gives and a simulated kernel knows: calls, contexts, ledger; and to compare two."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SYSTEM = 0

# How a switch to a task was decided.
MARK = "mark"  # a task mark
ONLY = "only"  # one suspended context explains the events that follow
NEW = "new"  # none does
SEEN = "seen"  # of several, one has been seen to make these calls
UNWOUND = "unwound"  # only by a longjmp out of what it slept in
AMBIGUOUS = "ambiguous"  # several remain; the one suspended longest is taken
BARE = "bare"  # one is not ruled out, but nothing of it is seen to go on either


@dataclass(eq=False)
class Call:
    """One call; `entry` and `exit` are event numbers.

    `entry` of an orphan is the event of the switch in (or 0), None only for a frame that the
    simulation knows and the capture does not. `exit` is None while it is open. `own` is what a
    function's net time counts as: its kind. `silent`: closed without a trigger of its own.
    """

    name: str
    entry: int | None
    context: int
    parent: Call | None = None
    own: str = "net"
    exit: int | None = None
    net: int = 0
    elapsed: int = 0
    unwound: bool = False
    orphan: bool = False
    silent: bool = False


@dataclass(eq=False)
class Context:
    """A stack. `pending` is the time below its known calls since it was switched in."""

    number: int
    stack: list[Call] = field(default_factory=list)
    pending: int = 0
    since: int = 0
    since_event: int = 0
    suspended: int = -1
    tainted: bool = False
    seen: set[tuple[str, str]] = field(default_factory=set)


@dataclass(frozen=True)
class Switch:
    """A switch to a task at `event`. `certain`: nothing that led to it was a guess."""

    event: int
    context: int
    verdict: str
    certain: bool


@dataclass
class Books:
    """What the replay of a capture gives, or what a simulated kernel knows of itself.

    `running` is the context that runs from each event on. `first` is the time of the first slice
    below its calls: what it was is known from what follows alone.
    """

    calls: list[Call] = field(default_factory=list)
    orphans: list[Call] = field(default_factory=list)
    running: list[int] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    elapsed: int = 0
    idle: int = 0
    user: int = 0
    unattributed: int = 0
    inlines: int = 0
    unknown: int = 0
    first: int = 0

    @property
    def ambiguous(self) -> int:
        """How many switches could be to either of several tasks."""
        return sum(switch.verdict == AMBIGUOUS for switch in self.switches)

    @property
    def certain(self) -> bool:
        """Was no switch a guess?"""
        return all(switch.certain for switch in self.switches)

    def balance(self) -> int:
        """What the ledger is off by."""
        net = sum(c.net for c in self.calls + self.orphans if c.own == "net")
        return self.elapsed - net - self.idle - self.user - self.unattributed


@dataclass(frozen=True)
class Knowledge:
    """Who can call whom: direct calls by caller, callers through pointers, addresses taken.

    A function that `calls` does not have was not read: it may call whatever has its address taken.
    One that nothing calls and whose address is not taken is entered by the machine: an interrupt.
    """

    calls: dict[str, frozenset[str]]
    indirect: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()

    def can(self, caller: str, callee: str) -> bool:
        """Can `caller` enter `callee`?"""
        if callee in self.calls.get(caller, ()):
            return True
        if callee in self.taken:
            return caller in self.indirect or caller not in self.calls
        return not any(callee in names for names in self.calls.values())


Row = tuple[Any, ...]


def differences(
    found: Books, expected: Books, *, contexts: bool = True, first: bool = True
) -> list[str]:
    """How `found` differs from `expected`, in sentences; none: they agree.

    Contexts are compared by which of them are one, not by number. Not compared: when a call without
    an exit trigger of its own ended, and calls of user mode as callers.

    Parameters
    ----------
    contexts
        Compare the contexts as well.
    first
        What ran first is known: its time below calls must be of the right kind.
    """
    silent = {call.entry for call in [*found.calls, *expected.calls] if call.silent}
    said = _rows("call", _calls(found, silent), _calls(expected, silent))
    said += _rows("orphan", _orphans(found), _orphans(expected))
    if contexts:
        ours = {(call.entry, call.name): call.context for call in expected.calls}
        theirs = {(call.entry, call.name): call.context for call in found.calls}
        pairs = {(ours[key], theirs[key]) for key in ours.keys() & theirs.keys()}
        for side, other in ((0, 1), (1, 0)):
            for number in {pair[side] for pair in pairs}:
                same = sorted(pair[other] for pair in pairs if pair[side] == number)
                if len(same) > 1:
                    whose = ("expected", "found")
                    said.append(f"{whose[side]} context {number} is {whose[other]} {same}")
    for name in ("elapsed", "user"):
        if getattr(found, name) != getattr(expected, name):
            said.append(f"{name}: found {getattr(found, name)}, is {getattr(expected, name)}")
    idle = found.idle - expected.idle
    unattributed = found.unattributed - expected.unattributed
    if idle or unattributed:
        early = not first and idle + unattributed == 0 and abs(idle) == expected.first
        if not early:
            said.append(f"idle {idle:+}, unattributed {unattributed:+}")
    if found.balance():
        said.append(f"the ledger is off by {found.balance()}")
    return said


def _calls(books: Books, silent: set[int | None]) -> dict[Any, Row]:
    rows = {}
    for call in books.calls:
        if call.own == "user":
            continue
        end: Row = ("silent",) if call.entry in silent else (call.exit, call.unwound)
        parent = call.parent
        while parent and (parent.orphan or parent.own == "user"):
            parent = parent.parent
        above = (parent.name, parent.entry) if parent else None
        net = call.net if call.own == "net" else None
        rows[call.entry, call.name] = (net, call.elapsed, *end, "in", above)
    return rows


def _orphans(books: Books) -> dict[Any, Row]:
    return {
        (call.exit, call.name): (call.net, call.elapsed)
        for call in books.orphans
        if call.own == "net"
    }


def _rows(what: str, found: dict[Any, Row], expected: dict[Any, Row]) -> list[str]:
    said = []
    for key in sorted(found.keys() | expected.keys()):
        if found.get(key) != expected.get(key):
            said.append(f"{what} {key}: found {found.get(key)}, is {expected.get(key)}")
    return said
