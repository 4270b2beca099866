"""Sources in the exports: the viewers' own programs find the files and the lines."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.export import perfetto_model, readers

from kprof.capture.model import Capture
from kprof.capture.write import write_capture
from kprof.cli.main import kprof_command
from kprof.export.places import Place, function_places
from kprof.names import parse_names
from kprof.names.calls import FunctionFacts, parse_calls, update_calls

NAMES = "gone/1028\n#@ net/in.c\nipintr/1024\n#@ kern/sched.c\nwakeup/1026\n"
SOURCES = {
    "net/in.c": "/* the\n * network */\n\nvoid ipintr(void)\n{\n\twakeup();\n}\n",
    "kern/sched.c": "void wakeup(void) { }\n",
}
LINES = {"ipintr": ("net/in.c", 4), "wakeup": ("kern/sched.c", 1)}


@pytest.fixture(name="folder", params=["sources", "call knowledge"])
def _folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A program of two folders; its lines are known from its sources, or from the knowledge."""
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "dump.names").write_text(NAMES)
    made = Capture.from_events([0, 10, 40, 50, 55, 60], [1024, 1026, 1027, 1025, 1028, 1029])
    write_capture(tmp_path / "dump.bin", made)
    if request.param == "call knowledge":
        for name, (file, line) in LINES.items():
            facts = FunctionFacts(name, str(tmp_path / file), line)
            update_calls(tmp_path / "dump.names", str(tmp_path / file), [facts])
    return tmp_path


def exported(folder: Path, form: str) -> Path:
    target = folder / f"x.{form}"
    words = ["export", str(folder / "dump.bin"), "--format", form, "-o", str(target)]
    done = CliRunner().invoke(kprof_command, words)
    assert done.exit_code == 0, done.output
    return target


def test_callgrind_annotate_shows_the_sources(folder: Path) -> None:
    path = exported(folder, "callgrind")
    text = readers.run("perl", readers.tool("callgrind_annotate"), "--auto=yes", path)
    assert re.search(r"^20 \([ 0-9.]+%\)\s+void ipintr\(void\)$", text, re.M)
    assert re.search(r"^30 \([ 0-9.]+%\)\s+void wakeup\(void\) \{ \}$", text, re.M)
    assert f"Auto-annotated source: {folder / 'net/in.c'}" in text
    assert re.search(r"^ *5 \([ 0-9.]+%\)\s+\?\?\?:gone", text, re.M)


def test_pprof_lists_the_sources_and_folders_are_packages(folder: Path) -> None:
    path = exported(folder, "pprof")
    top = readers.pprof_top(path, "time")
    assert {name: flat for name, (flat, _) in top.items() if flat} == {
        "net.ipintr": 20_000, "kern.wakeup": 30_000, "gone": 5_000, "(unattributed)": 5_000,
    }  # fmt: skip
    text = readers.run(readers.tool("go"), "tool", "pprof", "-unit=us", "-list=ipintr", path)
    assert re.search(r"^\s+20us\s+50us\s+4:void ipintr\(void\)$", text, re.M)


def test_speedscope_and_firefox_have_files_and_lines(folder: Path) -> None:
    frames = json.loads(exported(folder, "speedscope").read_bytes())["shared"]["frames"]
    found = {f["name"]: (f["file"], f["line"]) for f in frames if "file" in f}
    assert found == {name: (str(folder / file), line) for name, (file, line) in LINES.items()}
    (thread,) = json.loads(exported(folder, "firefox").read_bytes())["threads"]
    table, strings = thread["funcTable"], thread["stringArray"]
    columns = (table["name"], table["fileName"], table["lineNumber"])
    assert {
        strings[name]: (strings[file], line)
        for name, file, line in zip(*columns, strict=True)
        if file is not None
    } == found


def test_perfetto_has_source_locations(folder: Path) -> None:
    trace = perfetto_model.read(exported(folder, "perfetto").read_bytes())
    found = {one.name: one.place for one in trace.calls() if one.place[0]}
    assert found == {name: (str(folder / file), line) for name, (file, line) in LINES.items()}


def test_folders_from_the_lowest_that_holds_all() -> None:
    names = parse_names("#@ ../../src/sys/net/in.c\na/1024\n#@ ../../src/sys/kern/b.c\nb/1026\n")
    found = function_places(names, None, None)
    assert found["a"] == Place("../../src/sys/net/in.c", 0, "sys/net")
    assert found["b"].package == "sys/kern"
    one = function_places(parse_names("#@ in.c\na/1024\n"), None, None)
    assert one["a"] == Place("in.c", 0, "")
    known = parse_calls("# kprof calls 1\na\tdev/le.c:7\t\t\t\t\n")
    assert function_places(parse_names("a/1024\n"), known, None)["a"] == Place("dev/le.c", 7, "dev")
