"""Every front gives the same figures of the same capture: of each function, and of each call path.

The reference is the JSON of the summary and of the call graph; the exports are read by the programs
that people read them with. Captures with recursion, interrupts, longjmp, orphan exits, open calls
and several tasks, with task marks and without.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.analysis import kernels
from tests.analysis.programs import Options
from tests.export import readers
from tests.export.samples import Sample, kernel, sample
from tests.html.pages import page_columns, page_data

import kprof
from kprof.analysis.paths import PathTree
from kprof.capture import write_raw
from kprof.export.formats import export
from kprof.names import format_names
from kprof.report.choose import report_parts
from kprof.report.html.build import html_parts
from kprof.report.request import Request


class Figures(NamedTuple):
    """Of a function or a path; us."""

    calls: int
    total: int
    self: int


Paths = dict[tuple[str, ...], Figures]


def marked(style: str) -> Sample:
    made = kernels.Kernel(5, Options(style=style, marks=True))
    return sample(made.ticks, made.tags, made.names)


SAMPLES: dict[str, Callable[[], Sample]] = {
    "pair": lambda: kernel("pair"),
    "early": lambda: kernel("early"),
    "swtch": lambda: kernel("swtch"),
    "marks, pair": lambda: marked("pair"),
    "marks, far": lambda: marked("far"),
}


@pytest.fixture(params=list(SAMPLES), name="shot", scope="module")
def _shot(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]()


def asked(shot: Sample, what: str, form: str) -> str:
    return "".join(report_parts(shot.capture, shot.names, Request(what=what, form=form)))


def functions_of(shot: Sample) -> dict[str, Figures]:
    rows = json.loads(asked(shot, "summary", "json"))["functions"]
    return {r["name"]: Figures(r["calls"], r["elapsed_us"], r["net_us"]) for r in rows}


def paths_of(shot: Sample) -> Paths:
    paths: list[tuple[str, ...]] = []
    found: Paths = {}
    for row in json.loads(asked(shot, "graph", "json"))["graph"]:
        above = () if row["parent"] is None else paths[row["parent"]]
        paths.append((*above, row["name"]))
        found[paths[-1]] = Figures(row["calls"], row["total_us"], row["self_us"])
    return found


def tree_paths(tree: PathTree, names: list[str]) -> Paths:
    columns = (tree.calls.tolist(), tree.elapsed.tolist(), tree.net.tolist())
    figures = [Figures(*row) for row in zip(*columns, strict=True)]
    return {
        tuple(names[function] for function in tree.path(node)): figures[node]
        for node in range(len(tree))
    }


def some(found: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in found.items() if value}


def own(shot: Sample) -> dict[str, int]:
    """Net times, and idle, user and unattributed time."""
    ledger = shot.summary.ledger
    rest = {"(idle)": ledger.idle, "(unattributed)": ledger.unattributed, "(user)": ledger.user}
    return some({name: figures.self for name, figures in functions_of(shot).items()} | rest)


def functions(found: dict[str, int]) -> dict[str, int]:
    """Without the frames of contexts."""
    return some(
        {k: v for k, v in found.items() if not re.fullmatch(r"system|interrupts|\w+ \d+", k)}
    )


def test_the_captures_have_what_is_hard(shot: Sample) -> None:
    odd = shot.summary.anomalies
    assert odd.contexts > 1
    assert odd.context_switches > 10
    paths = paths_of(shot)
    assert {figures.calls for figures in paths.values()} > {1}


def test_the_text(shot: Sample) -> None:
    rows = re.findall(
        r"^ *(\d+) +(\d+) +(\d+) +\([^)]*\) +\S+% +\S+% +(.*)$",
        asked(shot, "summary", "text"),
        re.M,
    )
    found = {name: Figures(int(calls), int(total), int(net)) for total, net, calls, name in rows}
    assert found == functions_of(shot)


def test_python(shot: Sample, tmp_path: Path) -> None:
    write_raw(tmp_path / "dump.bin", shot.capture)
    (tmp_path / "dump.names").write_text(format_names(shot.names))
    run = kprof.load(tmp_path / "dump.bin")
    rows = run.summary.functions
    assert {
        row.entry.name: Figures(row.calls, row.elapsed, row.net) for row in rows
    } == functions_of(shot)
    net = np.bincount(
        run.timeline.calls.function, run.timeline.calls.net, len(run.timeline.functions)
    )
    named = [entry.name for entry in run.timeline.functions]
    assert some(dict(zip(named, net.astype(int).tolist(), strict=True))) == some(
        {name: figures.self for name, figures in functions_of(shot).items()}
    )


def test_the_page(shot: Sample) -> None:
    page = "".join(html_parts(shot.capture, shot.names))
    data = page_data(page)
    names = [function["name"] for function in data["functions"]]
    found = {names[row[0]]: Figures(row[1], row[2], row[3]) for row in data["figures"]}
    assert found == functions_of(shot)
    columns = page_columns(page)
    paths: list[tuple[str, ...]] = [()]
    tree: Paths = {}
    for parent, function, *figures in zip(
        *(columns["tree" + c] for c in ("Parent", "Function", "Calls", "Elapsed", "Net")),
        strict=True,
    ):
        paths.append((*paths[parent], names[function]))
        tree[paths[-1]] = Figures(*figures)
    assert tree == paths_of(shot)


def test_the_terminal_browser(shot: Sample) -> None:
    pytest.importorskip("textual", reason="the extra kprof[tui] is not installed")
    from kprof.tui.app import Browser
    from kprof.tui.focus import focus
    from kprof.tui.reading import Reading

    reading = Reading(shot.capture, shot.names)
    app = Browser(reading, {})
    expected = functions_of(shot)
    found = {}
    for at in range(len(app.functions)):
        total, net, calls, *_, name = app.functions.line(at).plain.split()
        found[name] = Figures(int(calls), int(total), int(net))
    assert found == expected
    names = [entry.name for entry in reading.tags.functions]
    assert tree_paths(app.graph.tree, names) == paths_of(shot)
    for number, name in enumerate(names):
        tree, callers = focus(app.graph.tree, number)
        if len(tree):
            assert tree.elapsed[0] == tree.elapsed[callers] == expected[name].total
            assert (tree.calls[callers], tree.net[callers]) == (
                expected[name].calls,
                expected[name].self,
            )


def test_rows(shot: Sample, tmp_path: Path) -> None:
    """CSV, added up by csv; a call inside another of its function counts in no total."""
    export(shot.capture, shot.names, "csv", tmp_path / "x")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "x").read_text())))
    by_call = {row["call"]: row for row in rows if row["ended_by"] != "began before"}
    counts: dict[str, list[int]] = {}
    for row in rows:
        orphan = row["ended_by"] == "began before"
        sums = counts.setdefault(row["function"], [0, 0, 0])
        up = by_call.get(row["parent"])
        while up is not None and up["function"] != row["function"]:
            up = by_call.get(up["parent"])
        sums[0] += not orphan
        sums[1] += int(row["net_us"]) if orphan else 0 if up else int(row["elapsed_us"])
        sums[2] += int(row["net_us"])
    assert {name: Figures(*sums) for name, sums in counts.items()} == functions_of(shot)


def test_folded_stacks(shot: Sample, tmp_path: Path) -> None:
    export(shot.capture, shot.names, "folded", tmp_path / "x")
    found: Counter[tuple[str, ...]] = Counter()
    for line in (tmp_path / "x").read_text().splitlines():
        path, value = line.rsplit(" ", 1)
        found[tuple(path.split(";")[1:])] += int(value)
    net: Counter[tuple[str, ...]] = Counter()
    for path, figures in paths_of(shot).items():
        net[path[lowest_interrupt(shot, path) :]] += figures.self
    assert {k: v for k, v in found.items() if k and not k[0].startswith("(")} == +net


def lowest_interrupt(shot: Sample, path: tuple[str, ...]) -> int:
    """Where in a path its interrupt begins: an export shows that on a root of its own."""
    text = asked(shot, "interrupts", "json")
    names = {row["name"] for row in json.loads(text)["interrupts"]}
    return next((at for at, name in enumerate(path) if name in names), 0)


def test_speedscope(shot: Sample, tmp_path: Path) -> None:
    export(shot.capture, shot.names, "speedscope", tmp_path / "x")
    (profile,) = readers.speedscope(tmp_path / "x")
    assert functions({name: weight for name, weight, _ in profile["frames"]}) == own(shot)


def test_callgrind(shot: Sample, tmp_path: Path) -> None:
    export(shot.capture, shot.names, "callgrind", tmp_path / "x")
    assert functions(readers.callgrind_annotate(tmp_path / "x", inclusive=False)) == own(shot)


def test_pprof(shot: Sample, tmp_path: Path) -> None:
    export(shot.capture, shot.names, "pprof", tmp_path / "x")
    time = readers.pprof_top(tmp_path / "x", "time")
    assert some({name: flat // 1000 for name, (flat, _) in time.items()}) == own(shot)
    calls = readers.pprof_top(tmp_path / "x", "calls")
    expected = {name: figures.calls for name, figures in functions_of(shot).items()}
    assert some({name: flat for name, (flat, _) in calls.items()}) == some(expected)


def test_dot(shot: Sample, tmp_path: Path) -> None:
    export(shot.capture, shot.names, "dot", tmp_path / "x")
    data = json.loads(readers.run(readers.tool("dot"), "-Tdot_json", tmp_path / "x"))
    text = "\n".join(node["label"] for node in data["objects"])
    rows = re.findall(r"^(.*?)\\n(\d+) calls\\n(\d+) of (\d+) us", text, re.M)
    found = {name: Figures(int(calls), int(total), int(net)) for name, calls, net, total in rows}
    assert found == functions_of(shot)
