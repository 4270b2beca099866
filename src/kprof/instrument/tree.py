"""What a function's tree says: its calls, its returns, how large it is.

`FunctionReader` has pycparser parse one function after another, each by itself, so that an error
stays in one function. What is kept of a tree is a `Reading`, a small value that can be remembered.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pycparser import CParser, c_ast
from pycparser.c_parser import ParseError

from kprof.instrument.feed import Feed, tokens_of
from kprof.instrument.reading import NoTree, Reading
from kprof.instrument.tokens import NotFed

_COORDINATES = re.compile(r"[^:]*:\d+:(\d+): (.*)", re.S)
_DEPTH = 6000
"""Python frames that the parser may take: 400 blocks or parentheses inside each other."""


class FunctionReader:
    """Reads the functions of one text."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._parser = CParser(lexer=Feed)

    def tree(self, spans: Sequence[tuple[int, int]], types: Collection[str]) -> Any | NoTree:
        """The ``FuncDef`` of the function in these spans; a node's column is its offset + 1."""
        return self._parsed(spans, types)[0]

    def read(self, spans: Sequence[tuple[int, int]], types: Collection[str]) -> Reading | NoTree:
        """What the tree of the function in these spans says, with these names of types."""
        tree, assembly = self._parsed(spans, types)
        if isinstance(tree, NoTree):
            return tree
        return _Walk(tree, spans[0][0]).reading(assembly)

    def _parsed(
        self, spans: Sequence[tuple[int, int]], types: Collection[str]
    ) -> tuple[Any | NoTree, list[str]]:
        start = spans[0][0]
        try:
            tokens, assembly = tokens_of(self._code, spans, types)
            self._parser.clex.tokens = iter(tokens)
            limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(limit, _DEPTH))
            try:
                unit = self._parser.parse("")
            finally:
                sys.setrecursionlimit(limit)
        except ParseError as error:
            found = _COORDINATES.fullmatch(str(error))
            last = tokens[-1].column if tokens else start + 1
            offset = int(found[1]) if found else last
            return NoTree(found[2] if found else "the function has no end", offset - 1), []
        except NotFed as error:
            return NoTree(str(error), start), []
        except (AssertionError, AttributeError, RecursionError) as error:
            # Not its way to refuse C, but it has happened.
            return NoTree(f"the parser failed ({type(error).__name__})", start), []
        ours = [node for node in unit.ext if not isinstance(node, c_ast.Typedef)]
        if len(ours) == 1 and isinstance(ours[0], c_ast.FuncDef):
            return ours[0], assembly
        other = next((node for node in ours if not isinstance(node, c_ast.FuncDef)), None)
        offset = other.coord.column - 1 if other is not None and other.coord else start
        return NoTree("it is not one function", offset), []


_END = object()
_STATEMENTS = """
    If For While DoWhile Switch Return Break Continue Goto Label Case Default Compound
    EmptyStatement Decl DeclList Typedef Pragma
""".split()  # noqa: SIM905
_NOT_EXPRESSIONS = frozenset(getattr(c_ast, name) for name in _STATEMENTS)


class _Walk:
    """One pass over a tree, with the names that are known in each scope."""

    def __init__(self, tree: Any, start: int) -> None:
        self._tree, self._start = tree, start
        self._scopes: list[set[str]] = [set()]
        self._calls: set[str] = set()
        self._mentions: set[str] = set()
        self._labels: set[str] = set()
        self._gotos: set[str] = set()
        self._returns: list[int] = []
        self._indirect = False
        self._statements = 0
        self._stack: list[Any] = []
        self._visits: dict[type, Callable[[Any], None]] = {
            c_ast.ID: self._id,
            c_ast.FuncCall: self._call,
            c_ast.StructRef: self._member,
            c_ast.NamedInitializer: self._named,
            c_ast.Decl: self._declaration,
            c_ast.Typedef: self._typedef,
            c_ast.Typename: self._nothing,
            c_ast.Constant: self._nothing,
            c_ast.EmptyStatement: self._nothing,
            c_ast.Compound: self._compound,
            c_ast.For: self._for,
            c_ast.UnaryOp: self._unary,
            c_ast.Return: self._return,
            c_ast.Goto: self._goto,
            c_ast.Label: self._label,
            c_ast.If: self._branching,
            c_ast.While: self._branching,
            c_ast.DoWhile: self._branching,
            c_ast.Switch: self._branching,
            c_ast.Break: self._branching,
            c_ast.Continue: self._branching,
            c_ast.Case: self._case,
            c_ast.Default: self._case,
        }

    def reading(self, assembly: Sequence[str]) -> Reading:
        tree = self._tree
        kind = tree.decl.type
        parameters = kind.args.params if kind.args else []
        for parameter in [*parameters, *(tree.param_decls or ())]:
            name = getattr(parameter, "name", None)
            if name:
                self._scopes[0].add(name)
        self._push([tree.body])
        self._run()
        mentions = self._mentions.union(assembly)
        return Reading(
            tree.decl.name,
            "static" in tree.decl.storage,
            "inline" in tree.decl.funcspec,
            self._returns_nothing(kind.type),
            tuple(sorted(self._returns)),
            self._statements,
            tuple(sorted(self._calls)),
            tuple(sorted(mentions)),
            self._indirect or bool(assembly),
            tuple(sorted(self._gotos - self._labels)),
        )

    def _returns_nothing(self, kind: Any) -> bool:
        inner = getattr(kind, "type", None)
        return isinstance(kind, c_ast.TypeDecl) and getattr(inner, "names", None) == ["void"]

    def _run(self) -> None:
        stack, visits = self._stack, self._visits
        while stack:
            node = stack.pop()
            if node is _END:
                self._scopes.pop()
                continue
            visit = visits.get(type(node))
            if visit is not None:
                visit(node)
            else:
                self._push(list(node))

    def _push(self, nodes: Sequence[Any]) -> None:
        self._stack.extend(node for node in reversed(nodes) if node is not None)

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self._scopes)

    def _nothing(self, node: Any) -> None:
        pass

    def _id(self, node: Any) -> None:
        if not self._is_local(node.name):
            self._mentions.add(node.name)

    def _call(self, node: Any) -> None:
        called = node.name
        while isinstance(called, c_ast.UnaryOp) and called.op in ("*", "&"):
            called = called.expr
        if isinstance(called, c_ast.ID) and not self._is_local(called.name):
            self._calls.add(called.name)
            self._push([node.args])
            return
        self._indirect = True
        self._push([called, node.args])

    def _member(self, node: Any) -> None:
        self._push([node.name])

    def _named(self, node: Any) -> None:
        places = [place for place in node.name if not isinstance(place, c_ast.ID)]
        self._push([*places, node.expr])

    def _declaration(self, node: Any) -> None:
        kind = node.type
        while isinstance(kind, (c_ast.PtrDecl, c_ast.ArrayDecl)):
            if isinstance(kind, c_ast.ArrayDecl):
                self._push([kind.dim])
            kind = kind.type
        if node.name and not isinstance(node.type, c_ast.FuncDecl):
            self._scopes[-1].add(node.name)
        if isinstance(kind, c_ast.TypeDecl):
            kind = kind.type
        if isinstance(kind, c_ast.Enum) and kind.values:
            self._scopes[-1].update(item.name for item in kind.values.enumerators)
        if node.init is not None:
            self._statements += 1
            self._push([node.init])

    def _typedef(self, node: Any) -> None:
        self._scopes[-1].add(node.name)

    def _count(self, nodes: Sequence[Any]) -> None:
        """Count what stands in a statement's place and is an expression."""
        self._statements += sum(
            1 for node in nodes if node is not None and type(node) not in _NOT_EXPRESSIONS
        )

    def _compound(self, node: Any) -> None:
        items = node.block_items or []
        self._count(items)
        self._scopes.append(set())
        self._stack.append(_END)
        self._push(items)

    def _case(self, node: Any) -> None:
        self._count(node.stmts or [])
        self._push(list(node))

    def _branching(self, node: Any) -> None:
        self._statements += 1
        inner = (getattr(node, name, None) for name in ("stmt", "iftrue", "iffalse"))
        self._count(list(inner))
        self._push(list(node))

    def _for(self, node: Any) -> None:
        self._scopes.append(set())
        self._stack.append(_END)
        self._branching(node)

    def _unary(self, node: Any) -> None:
        if node.op != "sizeof":
            self._push([node.expr])

    def _return(self, node: Any) -> None:
        self._statements += 1
        self._returns.append(node.coord.column - 1 - self._start)
        self._push([node.expr])

    def _goto(self, node: Any) -> None:
        self._statements += 1
        self._gotos.add(node.name)

    def _label(self, node: Any) -> None:
        self._labels.add(node.name)
        self._count([node.stmt])
        self._push([node.stmt])
