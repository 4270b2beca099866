"""Task marks in a capture's metadata: written, read back, and what is not of their form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.capture import Capture, CaptureInfo, open_capture, write_capture
from kprof.capture.describe import describe_capture, examine
from kprof.capture.match import mostly_unknown
from kprof.capture.tasks import TaskMarks, declared_tasks
from kprof.names import parse_names

MARKS = {"name": "thread", "first": 65280, "count": 256}


def test_they_come_back_from_a_file(tmp_path: Path) -> None:
    names = {0: "main", 255: "caf\u00e9"}
    info = CaptureInfo(task_marks=TaskMarks("thread", 65280, 256), task_names=names)
    write_capture(tmp_path / "x.kpd", Capture.from_events([1, 2], [65280, 1024], info))
    read = open_capture(tmp_path / "x.kpd").info
    assert (read.task_marks, read.task_names, read.warnings) == (info.task_marks, names, ())
    assert read.metadata["task_marks"] == MARKS
    assert read.metadata["task_names"] == {"0": "main", "255": "caf\u00e9"}


def test_a_capture_without_them_says_nothing(tmp_path: Path) -> None:
    write_capture(tmp_path / "x.kpd", Capture.from_events([1], [1024]))
    info = open_capture(tmp_path / "x.kpd").info
    assert (info.task_marks, info.task_names) == (None, {})
    assert "task_marks" not in info.metadata


def test_they_are_known_whatever_the_name_file_says() -> None:
    """`kprof info` shows them, and counts no mark among the tags that the name file lacks."""
    info = CaptureInfo(task_marks=TaskMarks("thread", 60000, 3), task_names={0: "main", 2: "a\x1b"})
    marked = Capture.from_events([1, 2, 3, 4], [60000, 1024, 60002, 60003], info)
    names = parse_names("main/1024\n")
    facts = examine(marked, names)
    assert (facts.unknown_tags, facts.unknown_events) == (1, 1)
    assert mostly_unknown(marked, names, "k.names") is None
    said = describe_capture(marked, facts)
    assert "tasks         marked by tags 60000 to 60002 (thread): 0 main, 2 a" in said
    assert "\x1b" not in said


@pytest.mark.parametrize(
    "marks",
    [
        7,
        [],
        {},
        MARKS | {"name": ""},
        MARKS | {"name": 5},
        MARKS | {"first": 0},
        MARKS | {"first": True},
        MARKS | {"count": 0},
        MARKS | {"count": 257},
        MARKS | {"count": 1.5},
        MARKS | {"first": "65280"},
    ],
)
def test_what_are_no_task_marks_are_left_out_with_a_warning(marks: Any) -> None:
    found, names, warnings = declared_tasks(
        {"task_marks": marks, "task_names": {"0": "a"}}, "x.kpd"
    )
    assert (found, names) == (None, {})
    assert len(warnings) == 1
    assert warnings[0].startswith("x.kpd: its task_marks are no ")


@pytest.mark.parametrize("names", [3, ["main"], {"x": "a"}, {"256": "a"}, {"-1": "a"}, {"0": 1}])
def test_what_are_no_names_are_left_out_with_a_warning(names: Any) -> None:
    metadata = {"task_marks": MARKS, "task_names": names}
    found, read, warnings = declared_tasks(metadata, "x.kpd")
    assert (found, read) == (TaskMarks("thread", 65280, 256), {})
    assert warnings == ("x.kpd: its task_names are no names by the tasks' numbers; left out",)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_nothing_in_the_metadata_is_an_error(value: Any) -> None:
    found, _, warnings = declared_tasks({"task_marks": value}, "x.kpd")
    assert (found is None) == (value is None or bool(warnings))
