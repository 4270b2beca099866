"""Exports made of call paths: interrupts on a root of their own, tasks by name, user time."""

from __future__ import annotations

from pathlib import Path

from tests.export import readers
from tests.export.samples import Sample, sample

from kprof.export.formats import export

NAMES = "f/1024\ng/1026\nirq/1028^\nh/1030\n"
FIRED = [1024, 1026, 1028, 1030, 1031, 1029, 1027, 1028, 1029, 1025]
TIMES = [0, 1, 3, 7, 15, 31, 63, 127, 255, 511]


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
