"""The browser: three views, keys as in ``uftrace tui`` where it has them."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.markup import escape
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.screen import ModalScreen
from textual.widgets import ContentSwitcher, Footer, Input, Label, Static

from kprof.names import display_name
from kprof.report.summary import capture_line
from kprof.report.units import Units, percent
from kprof.tui.focus import focus
from kprof.tui.lines import Lines
from kprof.tui.reading import Reading
from kprof.tui.views import Functions, Graph, Trace

if TYPE_CHECKING:
    from kprof.tui.forest import Unfolded

KEYS = """\
R  functions                     Up Down j k  move
G  call graph                    PgUp PgDn    move a page
T  every call, as in the trace   Home End     first, last
g  the function's own graph      z            its line to the middle
w  its worst call                Enter        fold, unfold; of a function: its worst call
r  the function in the table     c e          fold, unfold the children
s  sort by the next column       C E          fold, unfold all below
I  the capture                   n p          next, previous sibling
O  its source in an editor       u            the caller
/  search                        l            the callee of the most time
> N  < P  next, previous match   q            quit"""


class Notice(ModalScreen[None]):
    """Text over the rest until a key is pressed."""

    DEFAULT_CSS = """
    Notice { align: center middle; }
    Notice Static { width: auto; max-width: 90%; padding: 1 3; background: $surface; }
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Static(escape(self._text))

    def on_key(self) -> None:
        self.dismiss()


class Browser(App[None]):
    """Functions, call graph and calls of one capture."""

    TITLE = "kprof"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { overflow: hidden; layout: vertical; }
    #views { height: 1fr; width: 1fr; }
    #totals, #head, #search { width: 1fr; }
    #totals { height: 1; background: $primary; color: $text; }
    #head { height: 1; text-style: bold; color: $text-muted; }
    #search { display: none; height: 1; border: none; padding: 0 1; }
    #search.asked { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "show('functions')", "Functions"),
        Binding("G", "graph", "Graph"),
        Binding("T", "show('trace')", "Trace"),
        Binding("w", "worst", "Worst call"),
        Binding("slash", "ask", "Search", key_display="/"),
        Binding("s", "sort", "Sort"),
        Binding("question_mark,h", "help", "Keys", key_display="?"),
        Binding("q", "quit", "Quit"),
        Binding("g", "own_graph", show=False),
        Binding("r", "table", show=False),
        Binding("I", "info", show=False),
        Binding("O", "edit", show=False),
        Binding("up,k", "move(-1)", show=False, priority=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "move(-1000000000)", show=False),
        Binding("end", "move(1000000000)", show=False),
        Binding("z", "middle", show=False),
        Binding("enter", "enter", show=False),
        Binding("c", "tree('fold_children')", show=False),
        Binding("e", "tree('unfold_children')", show=False),
        Binding("C", "tree('fold')", show=False),
        Binding("E", "tree('unfold_all')", show=False),
        Binding("n", "step('next')", show=False),
        Binding("p", "step('previous')", show=False),
        Binding("u", "step('parent')", show=False),
        Binding("l", "step('longest')", show=False),
        Binding("greater_than_sign,N", "again(1)", show=False),
        Binding("less_than_sign,P", "again(-1)", show=False),
        Binding("escape", "unask", show=False),
    ]

    def __init__(self, reading: Reading, places: Mapping[str, tuple[Path, int]]) -> None:
        """Show one capture; `places` has the file and line of functions by their names."""
        super().__init__()
        self.reading = reading
        self._places = places
        self._entries = reading.tags.functions
        self._names = [display_name(entry.name).lower() for entry in self._entries]
        self._inlines = [display_name(entry.name).lower() for entry in reading.tags.inlines]
        self.functions = Functions(reading)
        self._term = ""

    @cached_property
    def graph(self) -> Graph:
        """The merged call tree."""
        return Graph(self.reading.shown.tree, self.reading)

    @cached_property
    def trace_view(self) -> Trace:
        """Every call."""
        return Trace(self.reading)

    def get_driver_class(self) -> type[Driver]:
        """The platform's driver; it draws on the standard output, where Textual's takes stderr.

        `kprof tui` requires a terminal at the standard output; stderr may be a file.
        """
        base = super().get_driver_class()

        def start(driver: Driver, *args: Any, **options: Any) -> None:
            base.__init__(driver, *args, **options)
            driver._file = sys.__stdout__  # type: ignore[attr-defined]

        return type("StandardOutput", (base,), {"__init__": start})

    def compose(self) -> ComposeResult:
        yield Label(self._totals(), id="totals", markup=False)
        yield Label("", id="head", markup=False)
        with ContentSwitcher(initial="functions", id="views"):
            yield Lines(self.functions, id="functions")
            yield Lines(self.functions, id="graph")
            yield Lines(self.functions, id="trace")
        yield Input(placeholder="search", id="search", compact=True)
        yield Footer()

    def on_mount(self) -> None:
        self.action_show("functions")

    @property
    def lines(self) -> Lines:
        """The list that is shown."""
        current = self.query_one("#views", ContentSwitcher).current or "functions"
        return self.query_one(f"#{current}", Lines)

    def action_show(self, name: str) -> None:
        """Show one of the views."""
        if name == "trace":
            self.query_one("#trace", Lines).view = self.trace_view
        self.query_one("#views", ContentSwitcher).current = name
        self.lines.focus()
        self.query_one("#head", Label).update(self.lines.view.title)
        self.lines.changed()

    def action_graph(self) -> None:
        """Show the whole call graph."""
        self._show_graph(self.graph)

    def action_own_graph(self) -> None:
        """Show the graph of the current function: its callees and its callers."""
        function = self._function()
        tree, callers = focus(self.graph.tree, function)
        if not len(tree):
            self.notify("not in the call graph")
            return
        graph = Graph(tree, self.reading, {0: "  and what it calls", callers: "  called from"})
        for line in (len(graph) - 1, 0):
            graph.unfolded.unfold(line)
        self._show_graph(graph)

    def _show_graph(self, graph: Graph) -> None:
        lines = self.query_one("#graph", Lines)
        if lines.view is not graph:
            lines.view, lines.cursor = graph, 0
        self.action_show("graph")

    def action_table(self) -> None:
        """Show the current function in the table."""
        function = self._function()
        self.action_show("functions")
        self.lines.go(self.functions.place(function))

    def action_worst(self) -> None:
        """Go to the worst call of the current function."""
        function = self._function()
        line = self.trace_view.worst(function) if function >= 0 else None
        if line is None:
            self.notify("no complete call of it in this capture")
            return
        self.action_show("trace")
        self.lines.changed()
        self.lines.go(line, center=True)

    def action_sort(self) -> None:
        """Sort the functions by the next column."""
        function = self._function()
        self.functions.sort()
        self.action_show("functions")
        self.lines.go(self.functions.place(function))

    def action_move(self, step: int) -> None:
        """Move the cursor."""
        self.lines.go(self.lines.cursor + step)

    def action_page(self, way: int) -> None:
        """Move the cursor a page."""
        self.action_move(way * max(1, self.lines.size.height - 1))

    def action_middle(self) -> None:
        """Scroll the cursor's line to the middle."""
        self.lines.go(self.lines.cursor, center=True)

    def action_enter(self) -> None:
        """Fold or unfold; of a function go to its worst call."""
        if self.lines.id == "functions":
            self.action_worst()
        else:
            self.action_tree("toggle")

    def on_lines_chosen(self) -> None:
        """A second click is Enter."""
        self.action_enter()

    def on_lines_moved(self) -> None:
        """Say where the cursor is."""
        lines = self.lines
        place = f"{min(lines.cursor + 1, len(lines.view))} of {len(lines.view)}"
        self.query_one("#totals", Label).update(f"{self._totals()}  line {place}")

    def action_tree(self, what: str) -> None:
        """Fold or unfold below the cursor."""
        unfolded = self._unfolded()
        if unfolded is not None and len(unfolded):
            getattr(unfolded, what)(self.lines.cursor)
            self.lines.changed()

    def action_step(self, where: str) -> None:
        """Go to a relative of the current line."""
        unfolded, line = self._unfolded(), self.lines.cursor
        if unfolded is None or not len(unfolded):
            return
        if where == "parent":
            line = unfolded.parent(line)
        elif where == "longest":
            line = unfolded.longest(line)
        else:
            line = unfolded.sibling(line, 1 if where == "next" else -1)
        self.lines.changed()
        self.lines.go(line)

    def action_ask(self) -> None:
        """Ask what to search."""
        box = self.query_one("#search", Input)
        box.value = ""
        box.add_class("asked")
        box.focus()

    def action_unask(self) -> None:
        """Close the question."""
        self.query_one("#search", Input).remove_class("asked")
        self.lines.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search what was typed."""
        self._term = event.value.lower()
        self.action_unask()
        self.action_again(1)

    def action_again(self, step: int) -> None:
        """The next or previous match."""
        if self._term:
            names = {at for at, name in enumerate(self._names) if self._term in name}
            count = len(self._names)
            names |= {count + at for at, name in enumerate(self._inlines) if self._term in name}
            self._find(step, names)

    def action_info(self) -> None:
        """What the capture is."""
        odd = self.reading.summary.anomalies
        self.push_screen(
            Notice(
                f"{capture_line(self.reading.summary)}\n{self._totals()}\n"
                f"{odd.context_switches} context switches, {odd.contexts} tasks, "
                f"{odd.orphan_exits} orphan exits, {odd.open_calls} open calls, "
                f"{odd.unwound_calls} unwound calls"
            )
        )

    def action_help(self) -> None:
        """The keys."""
        self.push_screen(Notice(KEYS))

    def action_edit(self) -> None:
        """Open the source of the current function in the user's editor."""
        function = self._function()
        place = self._places.get(self._entries[function].name) if function >= 0 else None
        if place is None:
            self.notify("its source is not known")
            return
        editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        with self.suspend(), contextlib.suppress(OSError):
            subprocess.run([*editor, f"+{place[1]}", str(place[0])], check=False)

    def _find(self, step: int, names: set[int]) -> None:
        view = self.lines.view
        line = view.find(self.lines.cursor, step, names) if len(view) and names else None
        if line is None:
            self.notify("not found")
            return
        self.lines.changed()
        self.lines.go(line)

    def _function(self) -> int:
        lines = self.lines
        return lines.view.function(lines.cursor) if len(lines.view) else -1

    def _unfolded(self) -> Unfolded | None:
        view = self.lines.view
        return view.unfolded if isinstance(view, (Graph, Trace)) else None

    def _totals(self) -> str:
        units, ledger = Units(self.reading.summary.info.clock_hz), self.reading.summary.ledger
        parts = [f"Elapsed {units.seconds(ledger.elapsed)}"]
        for label, ticks in (("run", ledger.run), ("idle", ledger.idle)):
            parts.append(f"{label} {percent(ticks, ledger.elapsed):.2f}%")
        parts.append(f"{self.reading.summary.events} events")
        return "  ".join([*parts, self.reading.said] if self.reading.said else parts)
