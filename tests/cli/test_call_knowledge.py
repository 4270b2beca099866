"""The call knowledge beside a name file: every command reads it, and says the same."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from kprof.api import load
from kprof.capture import Capture, write_capture
from kprof.cli.main import kprof_command
from kprof.errors import NameFileError
from kprof.names.calls import CallKnowledge, FunctionFacts, format_calls

NAMES = "main/2\nturn/4\nfail/6\nlast/8\n"
CALLS = {"main": {"turn", "last"}, "turn": {"fail"}, "fail": set(), "last": set()}
EVENTS = (
    [(0, 2)]
    + [(100 * n + at, tag) for n in range(5) for at, tag in ((10, 4), (40, 6))]
    + [(510, 8), (520, 9), (600, 3)]
)
"""Five turns, each of which fails: `fail` jumps back to the loop of `main`."""
NET = {"main": 90, "turn": 150, "fail": 350, "last": 10}
"""A `fail` ends where `main` makes its next call: each `turn` has 30 us, each `fail` 70 us, `last`
10 us; `main` has the rest."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    times, tags = (list(column) for column in zip(*EVENTS, strict=True))
    write_capture(tmp_path / "dump.kpd", Capture.from_events(times, tags))
    (tmp_path / "k.names").write_text(NAMES)
    facts = {n: FunctionFacts(n, "k.c", 1, calls=frozenset(c)) for n, c in CALLS.items()}
    (tmp_path / "k.names.calls").write_text(format_calls(CallKnowledge(facts)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(kprof_command, list(arguments), standalone_mode=False)
    assert done.exception is None, done.exception
    return done.output


def nets(text: str) -> dict[str, float]:
    return {row["name"]: row["net_us"] for row in json.loads(text)["functions"]}


def test_the_summary_and_its_relatives(folder: Path) -> None:
    assert nets(run("report", "dump.kpd", "--format", "json")) == NET
    assert nets(run("report", "dump.kpd", "--names", "k.names", "--format", "json")) == NET
    fields = json.loads(run("report", "dump.kpd", "-f", "self", "--format", "json"))["fields"]
    assert {row["name"]: row["self"] for row in fields} == NET
    filtered = json.loads(run("report", "dump.kpd", "-F", "turn", "--format", "json"))
    assert {row["name"]: row["net_us"] for row in filtered["functions"]} == {
        name: NET[name] for name in ("turn", "fail")
    }
    load_net = {row.entry.name: row.net for row in load(folder / "dump.kpd").summary.functions}
    assert load_net == NET


@pytest.mark.usefixtures("folder")
def test_saved_and_merged() -> None:
    run("report", "dump.kpd", "--save", "one.json")
    run("merge", "one.json", "dump.kpd", "-o", "two.json")
    assert nets(run("report", "one.json", "--format", "json")) == NET
    doubled = nets(run("report", "two.json", "--format", "json"))
    assert doubled == {name: 2 * net for name, net in NET.items()}


def test_reports_of_single_calls(folder: Path) -> None:
    trace = run("report", "dump.kpd", "--trace")
    depths = {(name, len(space) // 4) for space, name in re.findall(r"([ ]+)-> (\w+)", trace)}
    assert {name for name, _ in depths} == set(NET)
    assert len(depths) == len(NET)  # each always at the depth of its caller and one
    graph = run("report", "dump.kpd", "--graph", "--format", "json")
    assert graph != without(folder, "report", "dump.kpd", "--graph", "--format", "json")
    page = (run("report", "dump.kpd", "--html", "a.html"), (folder / "a.html").read_text())
    other = without(folder, "report", "dump.kpd", "--html", "b.html")
    assert page[1] != (folder / "b.html").read_text(), other


def without(folder: Path, *arguments: str) -> str:
    calls = folder / "k.names.calls"
    calls.rename(folder / "away")
    said = run(*arguments)
    (folder / "away").rename(calls)
    return said


def test_exports_budgets_and_differences(folder: Path) -> None:
    found: dict[str, float] = dict.fromkeys(NET, 0)
    for row in csv.DictReader(io.StringIO(run("export", "dump.kpd", "--format", "csv"))):
        found[row["function"]] += float(row["net_us"])
    assert found == NET
    limits = "".join(f"{name}.self == {net}us\n" for name, net in NET.items())
    (folder / "k.budget").write_text(limits)
    assert "4 of 4 limits held" in run("check", "dump.kpd", "--budget", "k.budget")
    both = json.loads(run("diff", "dump.kpd", "dump.kpd", "--format", "json"))
    assert {row["name"]: row["self_us"] for row in both["functions"]} == {
        name: [net, net] for name, net in NET.items()
    }


def test_a_damaged_file_is_named(folder: Path) -> None:
    (folder / "k.names.calls").write_text("# kprof calls 1\nmain\n")
    with pytest.raises(NameFileError, match=r"k\.names\.calls:2: "):
        raise_of("report", "dump.kpd")


def raise_of(*arguments: str) -> None:
    done = CliRunner().invoke(kprof_command, list(arguments), standalone_mode=False)
    assert done.exception is not None
    raise done.exception


def test_the_source_with_figures(folder: Path) -> None:
    lines = [f"void {name}(void)\n{{\n}}\n" for name in NET]
    (folder / "k.c").write_text("\n".join(lines))
    (folder / "k.names").write_text(NAMES)
    text = run("annotate", "k.c", "dump.kpd")
    found = {
        name: int(row.split()[1]) for row in text.splitlines() for name in NET if f" {name}(" in row
    }
    assert found == NET, text
