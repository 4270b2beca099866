"""Interrupts on a root or track of their own, filters, tasks by name, user time."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.export import readers
from tests.export.samples import Sample, kernel, sample

from kprof.capture import write_raw
from kprof.cli.main import kprof_command
from kprof.errors import UsageError
from kprof.export.formats import export
from kprof.names import format_names

NAMES = "f/1024\ng/1026\nirq/1028^\nh/1030\n"
FIRED = [1024, 1026, 1028, 1030, 1031, 1029, 1027, 1028, 1029, 1025]
OPTIONS = [
    *("-F NAME", "-N NAME", "-H NAME", "-C NAME", "-t 40us", "--depth 2", "-r 1ms~", "--task 1"),
    "--trigger-cost 1us",
]
TIMES = [0, 1, 3, 7, 15, 31, 63, 127, 255, 511]


def kprof(*words: str | Path) -> Result:
    return CliRunner().invoke(kprof_command, [str(word) for word in words])


def written(shot: Sample, form: str, path: Path) -> Path:
    export(shot.capture, shot.names, form, path)
    return path


def test_interrupts_have_a_root_of_their_own_in_folded_stacks(tmp_path: Path) -> None:
    path = written(sample(TIMES, FIRED, NAMES), "folded", tmp_path / "x")
    assert dict(line.rsplit(" ", 1) for line in path.read_text().splitlines()) == {
        "task 1;f": "321",  # 0-1, 63-127, 255-511
        "task 1;f;g": "34",  # 1-3, 31-63
        "interrupts;irq": "148",  # 3-7, 15-31, 127-255
        "interrupts;irq;h": "8",
    }


def test_callgrind_has_no_edge_into_an_interrupt(tmp_path: Path) -> None:
    shot = sample(TIMES, FIRED, NAMES)
    path = written(shot, "callgrind", tmp_path / "x")
    whole = readers.callgrind_annotate(path, inclusive=True)
    figures = {f.entry.name: f.elapsed for f in shot.summary.functions}
    assert {name: whole[name] for name in ("irq", "h")} == {"irq": 156, "h": 8}
    assert (whole["g"], whole["f"]) == (figures["g"] - 28, figures["f"] - 156)
    text = path.read_text()
    assert text.index("interrupts") < text.index("irq")
    dot = written(shot, "dot", tmp_path / "y").read_text()
    number = {name: dot.split(f'[label="{name}')[0].rsplit("n", 1)[1].strip() for name in "fgi"}
    assert f"n{number['f']} -> n{number['g']} " in dot
    assert sum(f"n{number[name]} -> n" in dot for name in "fg") == 1


def test_tasks_have_their_names(tmp_path: Path) -> None:
    shot = sample([0, 5, 9, 20], [4097, 1024, 4098, 1026], "f/1024\ng/1026\nproc/4096@4\n")
    stream = shot.stream()
    list(stream)
    names = sorted(set(stream.task_names.values()))
    assert names == ["proc 1", "proc 2"]
    text = written(shot, "folded", tmp_path / "x").read_text()
    assert f"{names[0]};f 4\n" in text
    for form in ("speedscope", "chrome", "firefox", "perfetto", "callgrind", "vcd", "ctf"):
        path = written(shot, form, tmp_path / form)
        data = (path / "metadata" if form == "ctf" else path).read_bytes()
        assert all(name.encode() in data.replace(rb"\x20", b" ") for name in names), form


def test_user_time_is_no_part_of_a_function(tmp_path: Path) -> None:
    shot = sample([0, 5, 9, 20], [1024, 1032, 1033, 1025], "f/1024\nuser/1032%\n")
    text = written(shot, "folded", tmp_path / "x").read_text()
    assert dict(line.rsplit(" ", 1) for line in text.splitlines()) == {
        "task 1;f": "16",
        "(user)": "4",
    }
    callgrind = written(shot, "callgrind", tmp_path / "y")
    own = readers.callgrind_annotate(callgrind, inclusive=False)
    assert own["(user)"] == shot.summary.ledger.user == 4


def test_filters_interrupts_and_the_cost_are_those_of_the_report(tmp_path: Path) -> None:
    shot = kernel("pair")
    dump, names = tmp_path / "dump.bin", tmp_path / "dump.names"
    write_raw(dump, shot.capture)
    names.write_text(format_names(shot.names))
    name = shot.summary.functions[1].entry.name
    for chosen in OPTIONS:
        options = [word.replace("NAME", name) for word in chosen.split()]
        told = CliRunner().invoke(
            kprof_command, ["report", str(dump), *options, "--format", "json"]
        )
        assert told.exit_code == 0, told.output
        report = json.loads(told.stdout)
        done = CliRunner().invoke(
            kprof_command, ["export", str(dump), "--format", "folded", *options]
        )
        assert done.exit_code == 0, done.output
        net: Counter[str] = Counter()
        unit = 1000 if "--trigger-cost" in options else 1  # part of a tick: the format has ns
        for line in done.stdout.splitlines():
            path, value = line.rsplit(" ", 1)
            net[path.split(";")[-1]] += int(value) // unit
        rows = {row["name"]: row["net_us"] for row in report["functions"] if row["net_us"]}
        rows |= {"(idle)": report["idle_us"], "(unattributed)": report["unattributed_us"]}
        rows["(left out)"] = report["left_out_us"]
        assert net == {key: value for key, value in rows.items() if value}, options
    done = CliRunner().invoke(
        kprof_command, ["export", str(dump), "--format", "folded", "--irq", name]
    )
    paths = [line.rsplit(" ", 1)[0].split(";") for line in done.stdout.splitlines()]
    assert [path for path in paths if name in path]
    assert all(path[0] == "interrupts" for path in paths if name in path)


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel's capture with its name file."""
    folder = tmp_path_factory.mktemp("kernel")
    shot = kernel("pair")
    write_raw(folder / "dump.bin", shot.capture)
    (folder / "dump.names").write_text(format_names(shot.names))
    return folder


def exported(folder: Path, form: str, *options: str) -> Path:
    target = folder / f"x.{form}"
    done = kprof("export", folder / "dump.bin", "--format", form, *options, "--force", "-o", target)
    assert done.exit_code == 0, done.output
    return target


def reported(folder: Path, *options: str) -> dict[str, int]:
    """Net times by function, and of the rest, in us; and how often each was called."""
    done = kprof("report", folder / "dump.bin", *options, "--format", "json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    net = {row["name"]: row["net_us"] for row in report["functions"]}
    rest = {"(idle)": "idle_us", "(unattributed)": "unattributed_us", "(left out)": "left_out_us"}
    net |= {label: report.get(key, 0) for label, key in rest.items()}
    return {name: value for name, value in net.items() if value}


@pytest.mark.parametrize("chosen", [*OPTIONS, "--irq NAME"])
def test_time_lines_and_rows_have_what_the_report_has(folder: Path, chosen: str) -> None:
    name = kernel("pair").summary.functions[1].entry.name
    options = [word.replace("NAME", name) for word in chosen.split()]
    net = reported(folder, *([] if "--irq" in options else options))
    exact = "--trigger-cost" not in options  # then times are parts of a tick

    def same(found: Mapping[str, float]) -> bool:
        if exact:
            return {k: round(v) for k, v in found.items() if v >= 1} == net
        # A time axis has no interval below 0: what is owed there is taken from the next.
        return all(abs(found.get(k, 0) - v) <= 8 + 0.1 * v for k, v in net.items())

    speedscope = json.loads(exported(folder, "speedscope", *options).read_bytes())
    assert same(self_times(speedscope)), "speedscope"
    firefox = readers.firefox_functions(exported(folder, "firefox", *options), folder)
    shown = {k: own * 1000 for k, (own, _) in firefox.items() if not k.startswith("task ")}
    assert same(shown), "firefox"
    functions = {k: value for k, value in net.items() if not k.startswith("(") and value > 0}
    rows = list(csv.DictReader(io.StringIO(exported(folder, "csv", *options).read_text())))
    sums: Counter[str] = Counter()
    for row in rows:
        sums[row["function"]] += float(row["net_us"])
    assert {k: round(v) for k, v in sums.items() if v >= 1} == pytest.approx(
        functions, abs=not exact
    )
    kept = {row["call"]: int(row["depth"]) for row in rows}
    assert all(not row["parent"] or kept[row["parent"]] == int(row["depth"]) - 1 for row in rows)
    if "--irq" in options:
        assert {r["function"] for r in rows if r["interrupt"] == "1"} >= {name}


def self_times(profile: dict[str, Any]) -> Counter[str]:
    """Time on top of the stack by frame, in an evented profile; calls close in order."""
    frames = [frame["name"] for frame in profile["shared"]["frames"]]
    (one,) = profile["profiles"]
    factor = 1 if one["unit"] == "microseconds" else 0.001
    found: Counter[str] = Counter()
    pile: list[int] = []
    since = 0
    for event in one["events"]:
        if pile:
            found[frames[pile[-1]]] += (event["at"] - since) * factor
        since = event["at"]
        if event["type"] == "O":
            pile.append(event["frame"])
        else:
            assert pile.pop() == event["frame"]
    assert not pile
    assert since == one["endValue"]
    return found


def test_a_filter_chooses_the_events_of_a_ctf_trace(folder: Path) -> None:
    name = kernel("pair").summary.functions[1].entry.name
    text = readers.run(
        readers.tool("babeltrace2"), exported(folder, "ctf", "-F", name, "--depth", "1")
    )
    found = Counter(re.findall(r" entry: \{ name = \( \"(.*?)\"", text))
    assert {key for key in found if not key.startswith("sw_")} == {name}
    report = kprof("report", folder / "dump.bin", "-F", name, "--depth", "1", "--format", "json")
    (row,) = json.loads(report.stdout)["functions"]
    assert found[name] == row["calls"]


def test_a_time_line_has_interrupts_apart(tmp_path: Path) -> None:
    shot = sample(TIMES, FIRED, NAMES)
    chrome = json.loads(written(shot, "chrome", tmp_path / "x").read_bytes())["traceEvents"]
    threads = {e["args"]["name"]: e["tid"] for e in chrome if e["name"] == "thread_name"}
    apart = [e["name"] for e in chrome if e["ph"] == "B" and e["tid"] == threads["interrupts"]]
    assert apart == ["irq", "h", "irq"]
    rows = list(csv.DictReader(io.StringIO(written(shot, "csv", tmp_path / "y").read_text())))
    assert {(r["function"], r["interrupt"]) for r in rows} == {
        ("f", "0"), ("g", "0"), ("irq", "1"), ("h", "1"),
    }  # fmt: skip
    text = readers.run(readers.tool("babeltrace2"), written(shot, "ctf", tmp_path / "z"))
    inside = [line for line in text.splitlines() if 'context = ( "interrupts"' in line]
    assert len(inside) == 6
    wires = written(shot, "vcd", tmp_path / "w").read_text()
    code = re.findall(r"\$var wire 1 (\S+) interrupt ", wires)[0]
    assert wires.count(f"\n1{code}\n") == 2


def test_an_interrupt_that_switches_is_cut(tmp_path: Path) -> None:
    """f is interrupted; the interrupt switches to another task, which is interrupted too."""
    names = "f/1024\nirq/1028^\nproc/4096@4\n"
    tags = [4096, 1024, 1028, 4097, 1024, 1028, 4096, 1029, 1025, 4097, 1029, 1025]
    shot = sample(range(0, 10 * len(tags), 10), tags, names)
    chrome = json.loads(written(shot, "chrome", tmp_path / "x").read_bytes())["traceEvents"]
    stacks: dict[int, list[str]] = {}
    pieces = 0
    for event in chrome:
        stack = stacks.setdefault(event.get("tid", -1), [])
        if event["ph"] == "B":
            stack.append(event["name"])
        elif event["ph"] == "E":
            assert stack.pop() == event["name"]
            pieces += event.get("ended_by") == "switch"
    assert pieces == 2
    profile = json.loads(written(shot, "speedscope", tmp_path / "y").read_bytes())
    net = {key: value for key, value in self_times(profile).items() if value}
    assert net == shot.net


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    shot = sample(TIMES, FIRED, NAMES)
    with pytest.raises(UsageError, match="--irq nosuch: no function"):
        export(shot.capture, shot.names, "vcd", tmp_path / "x", interrupts=("nosuch",))
    assert not (tmp_path / "x").exists()
