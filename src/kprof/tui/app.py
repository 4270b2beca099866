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

import numpy as np
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.driver import Driver
from textual.widgets import ContentSwitcher, Footer, Input, Label

from kprof.analysis.overview import CallTable
from kprof.names import display_name
from kprof.report.units import safe_name
from kprof.tui.dialogs import KEYS, SMALL_KEYS, ColumnChoice, Notice
from kprof.tui.focus import focus
from kprof.tui.lines import Lines
from kprof.tui.reading import Reading
from kprof.tui.views import COLUMNS, WIDE, Functions, Graph, TextLines, Trace

if TYPE_CHECKING:
    from kprof.tui.forest import Unfolded


class Browser(App[None]):
    """Functions, call graph and calls of one capture."""

    TITLE = "kprof"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { overflow: hidden; layout: vertical; }
    #views { height: 1fr; width: 1fr; }
    #top, #head, #search { width: 1fr; }
    #top { height: 1; background: ansi_blue; color: ansi_bright_white; }
    #place { width: 24; text-align: right; }
    #totals { width: 1fr; }
    #head { height: 1; text-style: bold; }
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
        Binding("d", "distribution", show=False),
        Binding("f", "columns", show=False),
        Binding("y", "copy", show=False),
        Binding("left_square_bracket", "edge(0)", show=False),
        Binding("right_square_bracket", "edge(1)", show=False),
        Binding("backslash", "whole", show=False),
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
        super().__init__(ansi_color=True)
        self._whole = self.reading = reading
        self._places = places
        self._entries = reading.tags.functions
        self._names = [display_name(entry.name).lower() for entry in self._entries]
        self._shown_names = [safe_name(entry.name) for entry in self._entries]
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
        with Horizontal(id="top"):
            yield Label(self.reading.totals(), id="totals", markup=False)
            yield Label("", id="place", markup=False)
        yield Label("", id="head", markup=False)
        with ContentSwitcher(initial="functions", id="views"):
            yield Lines(self.functions, id="functions")
            yield Lines(self.functions, id="graph")
            yield Lines(self.functions, id="trace")
            yield Lines(self.functions, id="text")
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
        self._draw_head()
        self.lines.changed()

    def on_resize(self) -> None:
        """The columns that fit are others now."""
        self.call_after_refresh(self._draw_head)

    def _draw_head(self) -> None:
        title = self.lines.view.title(self.size.width)
        self.query_one("#head", Label).update(title, layout=False)

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

    def action_distribution(self) -> None:
        """Show how the times of the current function's calls are distributed."""
        function = self._function()
        if function < 0:
            return
        lines = self.query_one("#text", Lines)
        head = f"Distribution of {self._shown_names[function]}"
        lines.view = TextLines(head, self.reading.distribution(function), function)
        lines.cursor = 0
        self.action_show("text")

    def action_columns(self) -> None:
        """Choose the columns of the table."""

        def done(chosen: tuple[str, ...] | None) -> None:
            self.functions.chosen = chosen or self.functions.chosen
            self.action_show("functions")

        self.push_screen(ColumnChoice(COLUMNS, self.functions.chosen), done)

    def action_copy(self) -> None:
        """Give the current line to the terminal's clipboard (OSC 52)."""
        lines = self.lines
        if len(lines.view):
            self.copy_to_clipboard(lines.view.line(lines.cursor, WIDE).plain.strip())
            self.notify("copied")

    def action_edge(self, end: int) -> None:
        """Begin or end the range of time at the call of the current line."""
        if self.lines.id != "trace" or not len(self.trace_view):
            self.notify("a range begins and ends at calls: press T or w first")
            return
        mine = self.trace_view.span(self.lines.cursor)
        old = self.reading.span or (0, self._whole.summary.ledger.elapsed)
        span = (old[0], mine[1]) if end else (mine[0], old[1])
        if span[1] < span[0]:
            span = mine
        self._read(span)

    def action_whole(self) -> None:
        """End the range."""
        if self.reading.span is not None:
            self._read(None)

    def _read(self, span: tuple[int, int] | None) -> None:
        """Show the calls that begin in a range, or all."""
        functions, line = self.functions, self.lines.cursor
        node = self.trace_view.unfolded.lines[line][0] if self.lines.id == "trace" else -1
        event = int(self.trace_view.calls.event[node]) if 0 <= node < len(self._calls) else -1
        self.reading = self._whole.within(span) if span is not None else self._whole
        self.functions = Functions(self.reading, functions.sorted)
        self.functions.chosen = functions.chosen
        self.__dict__.pop("graph", None)
        self.__dict__.pop("trace_view", None)
        self.query_one("#functions", Lines).view = self.functions
        self.query_one("#graph", Lines).view = self.functions
        self.query_one("#totals", Label).update(self.reading.totals(), layout=False)
        if self.lines.id == "graph":
            self.action_graph()
        else:
            self.action_show(self.lines.id or "functions")
        if event >= 0 and len(self._calls):
            row = int(np.searchsorted(self._calls.event, event))
            self.lines.go(self.trace_view.unfolded.reveal(min(row, len(self._calls) - 1)))
            self.lines.changed()

    @property
    def _calls(self) -> CallTable:
        return self.trace_view.calls

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
        place = f" line {min(lines.cursor + 1, len(lines.view))} of {len(lines.view)}"
        self.query_one("#place", Label).update(place, layout=False)

    def action_tree(self, what: str) -> None:
        """Fold or unfold below the cursor."""
        unfolded, view = self._unfolded(), self.lines.view
        if unfolded is not None and len(unfolded):
            tree = view if what == "toggle" and isinstance(view, Graph) else unfolded
            getattr(tree, what)(self.lines.cursor)
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
        self.push_screen(Notice(self.reading.about()))

    def action_help(self) -> None:
        """The keys."""
        size = self.size
        room = size.height > KEYS.count("\n") and size.width >= 80
        self.push_screen(Notice(KEYS if room else SMALL_KEYS))

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
