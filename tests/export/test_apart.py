"""Exports made of call paths: interrupts on a root of their own, tasks by name, user time."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

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
    for form in ("speedscope", "chrome", "firefox", "perfetto", "callgrind"):
        data = written(shot, form, tmp_path / form).read_bytes()
        assert all(name.encode() in data for name in names), form


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


def test_a_time_line_is_of_the_whole_capture(tmp_path: Path) -> None:
    shot = sample(TIMES, FIRED, NAMES)
    with pytest.raises(UsageError, match="filters and --irq are for formats made of call paths"):
        export(shot.capture, shot.names, "vcd", tmp_path / "x", interrupts=("irq",))
    with pytest.raises(UsageError, match="--irq nosuch: no function"):
        export(shot.capture, shot.names, "dot", tmp_path / "x", interrupts=("nosuch",))
    assert not (tmp_path / "x").exists()
