"""The static call graph beside the capture's: what was never called, and what could have been.

The call knowledge beside the name file (`kprof.names.calls`) says who can call whom; the capture
says who did. Only functions that have triggers are counted: of others a capture cannot tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kprof.analysis.graph import Node
from kprof.errors import UsageError
from kprof.names.calls import CallKnowledge, FunctionFacts
from kprof.report.units import counted, safe_name

_MOST_CALLERS = 5


class StaticGraph:
    """What can call what among the functions with triggers, and how often it did.

    Parameters
    ----------
    names
        The names of the functions that have triggers, by their numbers.
    tree
        The capture's calls, see `kprof.analysis.graph.call_tree`.
    """

    def __init__(self, known: CallKnowledge, names: list[str], tree: Node) -> None:
        self.facts = {name: known.functions[name] for name in names if name in known.functions}
        self.unknown = [name for name in names if name not in known.functions]
        self.calls: Counter[str] = Counter()
        self.edges: Counter[tuple[str, str]] = Counter()
        self.callers: dict[str, list[str]] = {}
        for name in sorted(self.facts):
            for called in self.facts[name].calls & self.facts.keys():
                self.callers.setdefault(called, []).append(name)
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            for inside in node.inside.values():
                name = names[inside.function]
                self.calls[name] += inside.calls
                if node.function >= 0:
                    self.edges[names[node.function], name] += inside.calls
                waiting.append(inside)

    def never(self) -> list[FunctionFacts]:
        """The functions that were never called, by file and line."""
        facts = (fact for name, fact in self.facts.items() if not self.calls[name])
        return sorted(facts, key=lambda fact: (fact.file, fact.line, fact.name))

    def could(self, name: str) -> list[str]:
        """The functions that ran and could have called this one by its name."""
        return [caller for caller in self.callers.get(name, ()) if self.calls[caller]]

    def fact(self, name: str) -> FunctionFacts:
        """What is known of a function.

        Raises
        ------
        UsageError
            Nothing is: its source was not read.
        """
        if name not in self.facts:
            raise UsageError(
                f"{safe_name(name)} is not in the call knowledge; expected a function of a source "
                "that kprof cc or kprof instrument has read"
            )
        return self.facts[name]


def static_lines(graph: StaticGraph, function: str = "") -> Iterator[str]:
    """The functions that were never called, and by which that ran they could have been.

    With a function's name: who can call it and what it can call by name, with the calls made.
    """
    if function:
        yield from _of_function(graph, function)
        return
    never = graph.never()
    total = len(graph.facts)
    possible = [(a, b) for b, callers in graph.callers.items() for a in callers]
    made = sum(1 for edge in possible if graph.edges[edge])
    yield (
        f"{counted(total, 'function')}, {total - len(never)} called, {len(never)} never called; "
        f"{made} of {counted(len(possible), 'call')} in the sources made"
    )
    if graph.unknown:
        some = ", ".join(map(safe_name, graph.unknown[:_MOST_CALLERS]))
        more = "" if len(graph.unknown) <= _MOST_CALLERS else ", ..."
        yield f"not in the call knowledge: {counted(len(graph.unknown), 'function')} ({some}{more})"
    if not never:
        return
    yield ""
    names = [safe_name(fact.name) for fact in never]
    width = max(len("never called"), *map(len, names))
    places = [_place(fact) for fact in never]
    across = max(len("defined"), *map(len, places))
    yield f"{'never called':<{width}}  {'defined':<{across}}  could have been called"
    for fact, name, place in zip(never, names, places, strict=True):
        yield f"{name:<{width}}  {place:<{across}}  {_reason(graph, fact)}".rstrip()


def static_json(graph: StaticGraph, function: str = "") -> dict[str, Any]:
    """The same as an object; calls in the capture count from 0."""
    if function:
        fact = graph.fact(function)
        return {
            "name": function,
            "place": _place(fact),
            "signature": fact.signature,
            "address_taken": fact.address_taken,
            "indirect": fact.indirect,
            "called_from": [
                {"name": name, "calls": graph.edges[name, function]}
                for name in _callers(graph, function)
            ],
            "calls": [
                {"name": name, "calls": graph.edges[function, name]}
                for name in _called(graph, function)
            ],
        }
    return {
        "functions": len(graph.facts),
        "unknown": graph.unknown,
        "never_called": [
            {
                "name": fact.name,
                "place": _place(fact),
                "could_be_called_by": graph.could(fact.name),
                "address_taken": fact.address_taken,
            }
            for fact in graph.never()
        ],
        "calls": [
            {"caller": caller, "called": called, "calls": graph.edges[caller, called]}
            for called, callers in sorted(graph.callers.items())
            for caller in callers
        ],
    }


def _reason(graph: StaticGraph, fact: FunctionFacts) -> str:
    callers = graph.could(fact.name)
    if callers:
        some = ", ".join(map(safe_name, callers[:_MOST_CALLERS]))
        more = len(callers) - _MOST_CALLERS
        return f"by {some}{f' and {more} more' if more > 0 else ''}"
    if fact.address_taken:
        return "through a pointer: its address is taken"
    if graph.callers.get(fact.name):
        return "only by functions that were never called"
    return "by nothing in the sources that were read"


def _of_function(graph: StaticGraph, function: str) -> Iterator[str]:
    fact = graph.fact(function)
    yield f"# {safe_name(function)}: {_place(fact)}: {safe_name(fact.signature)}"
    yield ""
    yield f"{'calls':>9}  called from"
    for name in _callers(graph, function):
        aside = "" if function in graph.facts[name].calls else "  (not by its name)"
        yield f"{graph.edges[name, function]:>9}  {safe_name(name)}{aside}"
    if fact.address_taken:
        yield f"{'':>9}  its address is taken: calls through pointers may reach it"
    yield ""
    yield f"{'calls':>9}  calls"
    for name in _called(graph, function):
        aside = "" if name in fact.calls else "  (not by its name)"
        yield f"{graph.edges[function, name]:>9}  {safe_name(name)}{aside}"
    if fact.indirect:
        yield f"{'':>9}  it calls through pointers, or holds assembly"


def _callers(graph: StaticGraph, function: str) -> list[str]:
    seen = {caller for caller, called in graph.edges if called == function}
    names = (seen & graph.facts.keys()) | set(graph.callers.get(function, ()))
    return sorted(names, key=lambda name: (-graph.edges[name, function], name))


def _called(graph: StaticGraph, function: str) -> list[str]:
    seen = {called for caller, called in graph.edges if caller == function}
    names = seen | (graph.facts[function].calls & graph.facts.keys())
    return sorted(names, key=lambda name: (-graph.edges[function, name], name))


def _place(fact: FunctionFacts) -> str:
    return safe_name(f"{fact.file}:{fact.line}")
