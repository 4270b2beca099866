"""The ways through the ``#if`` alternatives of source text.

Most groups of alternatives hold whole declarations or whole statements each: their branches can all
be read, one after the other. Where a branch has only a part of something, ways are taken: one way
takes one branch of each such group, as a compiler would, with conditions of the same text answered
the same, and as many ways are taken as it needs for every branch to be on one of them. What ``#if
0`` leaves out, and what is for C++ only, is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kprof.instrument.shadow import Shadow

_DIRECTIVE = re.compile(
    r"\s*(?:#|%:|\?\?=)\s*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(.*)", re.S
)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_DEFINED = re.compile(r"(!?)\s*defined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_BRACE = re.compile(r"[{}]")
_MOST_WAYS = 256


@dataclass(eq=False)
class Branch:
    """One alternative: its condition as (atom, wanted answer), and where its text is.

    `atom` "" is a constant, with its answer in `wanted`.
    """

    atom: str
    wanted: bool
    start: int
    group: Group
    end: int = 0
    groups: list[Group] = field(default_factory=list)


@dataclass(eq=False)
class Group:
    """From an ``#if`` to its ``#endif``; `whole` where its branches can be read one by one."""

    parent: Branch | None
    start: int
    branches: list[Branch] = field(default_factory=list)
    whole: bool = False


class Branches:
    """The conditional structure of a text.

    Attributes
    ----------
    balanced
        Each ``#if`` has its ``#endif``, and the reverse.
    """

    def __init__(self, shadow: Shadow) -> None:
        self._code = shadow.code
        self._top: list[Group] = []
        self._all: list[Branch] = []
        self.balanced = True
        self._read(shadow)
        self._weigh(self._top)

    def ways(self) -> Iterator[str]:
        """The shadow text, one way after another, until each branch was on one."""
        open_branches = {b for b in self._all if not b.group.whole and self._possible(b)}
        first = True
        for _ in range(_MOST_WAYS):
            if not first and not open_branches:
                return
            target = None if first else min(open_branches, key=lambda branch: branch.start)
            first = False
            answers = dict(_answers_for(target)) if target else {}
            chosen: set[Branch] = set()
            blanks: list[tuple[int, int]] = []
            self._walk(self._top, answers, open_branches, target, chosen, blanks)
            if target:
                open_branches.discard(target)
            open_branches -= chosen
            yield _blanked(self._code, blanks)

    def offsets(self) -> list[int]:
        """Where branches begin and end that are not on every way, sorted."""
        partial = [branch for branch in self._all if not branch.group.whole]
        return sorted({at for branch in partial for at in (branch.start, branch.end)})

    def chain(self, offset: int) -> tuple[Branch, ...]:
        """The branches that an offset is in, outermost first."""
        chain: list[Branch] = []
        groups = self._top
        while True:
            inside = next(
                (b for g in groups for b in g.branches if b.start <= offset < b.end), None
            )
            if inside is None:
                return tuple(chain)
            chain.append(inside)
            groups = inside.groups

    def _read(self, shadow: Shadow) -> None:
        current: Branch | None = None
        for start, end in shadow.directives:
            match = _DIRECTIVE.match(shadow.joined, start, end)
            if match is None:
                continue
            word, condition = match[1], _COMMENT.sub(" ", match[2])
            if word in ("if", "ifdef", "ifndef"):
                group = Group(current, start)
                (current.groups if current else self._top).append(group)
                current = self._branch(group, word, condition, end)
            elif current is None:
                self.balanced = False
            else:
                current.end = start
                group = current.group
                if word == "endif":
                    current = group.parent
                else:
                    current = self._branch(group, word, condition, end)
        while current is not None:
            self.balanced = False
            current.end = len(shadow.joined)
            current = current.group.parent

    def _branch(self, group: Group, word: str, condition: str, start: int) -> Branch:
        atom, wanted = ("", True) if word == "else" else _atom(word, condition)
        branch = Branch(atom, wanted, start, group)
        group.branches.append(branch)
        self._all.append(branch)
        return branch

    def _possible(self, branch: Branch | None) -> bool:
        while branch is not None:
            if not branch.atom and not branch.wanted:
                return False
            earlier = branch.group.branches[: branch.group.branches.index(branch)]
            if any(not other.atom and other.wanted for other in earlier):
                return False
            branch = branch.group.parent
        return True

    def _weigh(self, groups: list[Group]) -> None:
        earlier: Group | None = None
        for group in groups:
            for branch in group.branches:
                self._weigh(branch.groups)
            before = _last(self._code, 0, group.start)
            group.whole = (before == "" or before in ";{}:,") and all(
                all(inner.whole for inner in branch.groups) and self._is_whole(branch)
                for branch in group.branches
                if self._possible(branch)
            )
            if earlier and not earlier.whole:
                # Two that follow each other directly may each have a part of one thing.
                between = self._code[earlier.branches[-1].end : group.start]
                group.whole = group.whole and bool(between.strip())
            earlier = group

    def _is_whole(self, branch: Branch) -> bool:
        code, start, end = self._code, branch.start, branch.end
        last = _last(code, start, end)
        if last and last not in ";}:,":
            return False
        if code.count("(", start, end) != code.count(")", start, end):
            return False
        if code.find("{", start, end) < 0:
            return code.find("}", start, end) < 0
        depth = 0
        for match in _BRACE.finditer(code, start, end):
            depth += 1 if match[0] == "{" else -1
            if depth < 0:
                return False
        return depth == 0

    def _walk(
        self,
        groups: list[Group],
        answers: dict[str, bool],
        open_branches: set[Branch],
        target: Branch | None,
        chosen: set[Branch],
        blanks: list[tuple[int, int]],
    ) -> None:
        for group in groups:
            if group.whole:
                for branch in group.branches:
                    if self._possible(branch):
                        self._walk(branch.groups, answers, open_branches, target, chosen, blanks)
                    else:
                        blanks.append((branch.start, branch.end))
                continue
            taken = _choose(group, answers, open_branches, target)
            for branch in group.branches:
                if branch is not taken:
                    blanks.append((branch.start, branch.end))
            if taken is None:
                continue
            answers.update(_own_answers(taken))
            chosen.add(taken)
            self._walk(taken.groups, answers, open_branches, target, chosen, blanks)


def _last(code: str, start: int, end: int) -> str:
    """The last character in ``code[start:end]`` that is not blank, or ""."""
    step = 64
    while end > start:
        found = code[max(start, end - step) : end].rstrip()
        if found:
            return found[-1]
        end -= step
        step *= 4
    return ""


def _choose(
    group: Group, answers: dict[str, bool], open_branches: set[Branch], target: Branch | None
) -> Branch | None:
    feasible = [b for b in group.branches if _agrees(b, answers)]
    on_the_way = [b for b in feasible if target and _holds(b, target)]
    wanted = [b for b in feasible if any(_holds(b, other) for other in _within(b, open_branches))]
    return next(iter(on_the_way or wanted or feasible), None)


def _within(branch: Branch, branches: set[Branch]) -> Iterator[Branch]:
    if branch in branches:
        yield branch
    for group in branch.groups:
        for inner in group.branches:
            yield from _within(inner, branches)


def _holds(outer: Branch, inner: Branch | None) -> bool:
    while inner is not None:
        if inner is outer:
            return True
        inner = inner.group.parent
    return False


def _agrees(branch: Branch, answers: dict[str, bool]) -> bool:
    if not branch.atom and not branch.wanted:
        return False
    return all(
        answers.get(atom, answer) == answer for atom, answer in _own_answers(branch)
    ) and all(
        other.atom or not other.wanted
        for other in branch.group.branches[: branch.group.branches.index(branch)]
    )


def _own_answers(branch: Branch) -> Iterator[tuple[str, bool]]:
    """The answers that lead to this branch of its group."""
    if branch.atom:
        yield branch.atom, branch.wanted
    for other in branch.group.branches:
        if other is branch:
            return
        if other.atom and other.atom != branch.atom:
            yield other.atom, not other.wanted


def _answers_for(branch: Branch) -> Iterator[tuple[str, bool]]:
    step: Branch | None = branch
    while step is not None:
        yield from _own_answers(step)
        step = step.group.parent


def _atom(word: str, condition: str) -> tuple[str, bool]:
    text = " ".join(condition.split())
    if word in ("ifdef", "ifndef", "elifdef", "elifndef"):
        name, wanted = text.split(" ")[0], not word.endswith("ndef")
    else:
        defined = _DEFINED.fullmatch(text)
        if defined is None:
            return _plain_atom(text)
        name, wanted = defined[2] or defined[3], not defined[1]
    if name == "__cplusplus":
        return "", not wanted
    return f"defined {name}", wanted


def _plain_atom(text: str) -> tuple[str, bool]:
    wanted = True
    if re.fullmatch(r"!\s*(\w+|\(.*\))", text):
        text, wanted = text[1:].strip(), False
    if re.fullmatch(r"\(?\d+[uUlL]*\)?", text):
        return "", (int(re.sub(r"\D", "", text)) != 0) == wanted
    return text, wanted


def _blanked(code: str, blanks: list[tuple[int, int]]) -> str:
    if not blanks:
        return code
    parts: list[str] = []
    last = 0
    for start, end in sorted(blanks):
        if end <= last:
            continue
        parts.append(code[last:start])
        parts.append(" " * (end - start))
        last = end
    parts.append(code[last:])
    return "".join(parts)
