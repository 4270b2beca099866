"""Which functions of several sources can be called, by any way, from some of them."""

from __future__ import annotations

from collections.abc import Sequence

from kprof.errors import UsageError
from kprof.instrument.functions import Function
from kprof.instrument.select import matches
from kprof.instrument.source import Scan
from kprof.instrument.verify import Verified, placeholder


def node(scan: Scan, function: Function) -> str:
    """What tells a function of a scan from those of other scans."""
    if function.head.static or function.outer is not None:
        return f"{scan.path}{placeholder(function.brace)}"
    return function.name


def reached_from(patterns: Sequence[str], sources: Sequence[Verified]) -> set[str] | None:
    """The nodes that functions of these names can call; None where there are no names.

    A function whose address is taken counts as called by who takes it; one in an initialiser at
    file scope as called by whoever calls through pointers.

    Raises
    ------
    UsageError
        No function has such a name.
    """
    if not patterns:
        return None
    edges: dict[str, set[str]] = {}
    indirect: set[str] = set()
    tables: set[str] = set()
    start: set[str] = set()
    for verified in sources:
        scan = verified.scan
        nodes = {placeholder(b): node(scan, f) for b, f in scan.functions.items()}
        for brace, function in scan.functions.items():
            if any(matches(pattern, function.name, scan.path) for pattern in patterns):
                start.add(nodes[placeholder(brace)])
        for facts in verified.facts:
            name = nodes.get(facts.name, facts.name)
            called = {nodes.get(other, other) for other in facts.calls | facts.addresses}
            if not facts.name:
                tables |= called
            edges.setdefault(name, set()).update(called)
            if facts.indirect:
                indirect.add(name)
    if not start:
        raise UsageError(
            f"--only-called-from {patterns[0]}: no such function; expected one of these sources"
        )
    reached: set[str] = set()
    waiting = list(start)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += edges.get(name, ())
            waiting += tables if name in indirect else ()
    return reached
