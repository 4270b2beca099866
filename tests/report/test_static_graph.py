"""`kprof graph --static`: the calls of a capture beside those that its sources can make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kprof.capture import Capture, write_capture
from kprof.cli.main import kprof_command
from kprof.errors import UsageError
from kprof.names.calls import CallKnowledge, FunctionFacts, format_calls

# main calls half twice and reaches sort by a pointer; three functions never run.
NAMES = "main/2\nhalf/4\nspare/6\nold/8\ncompare/10\nsort/12\nmade/14\n"
FACTS = [
    FunctionFacts("main", "a.c", 9, "int main(void)", frozenset({"half", "puts"}), indirect=True),
    FunctionFacts("half", "a.c", 5, "static int half(int)", frozenset({"spare"}), static=True),
    FunctionFacts("spare", "b.c", 3, "int spare(int)"),
    FunctionFacts("old", "b.c", 1, "int old(void)", frozenset({"spare", "puts"})),
    FunctionFacts("compare", "a.c", 1, "int compare(void)", address_taken=True),
    FunctionFacts("sort", "a.c", 2, "int sort(void)", address_taken=True),
]
EVENTS = [(0, 2), (1, 4), (3, 5), (4, 4), (5, 5), (6, 12), (7, 13), (9, 3)]


@pytest.fixture
def dump(tmp_path: Path) -> str:
    times, tags = (list(column) for column in zip(*EVENTS, strict=True))
    write_capture(tmp_path / "dump.kpd", Capture.from_events(times, tags))
    (tmp_path / "k.names").write_text(NAMES)
    knowledge = CallKnowledge({fact.name: fact for fact in FACTS})
    (tmp_path / "k.names.calls").write_text(format_calls(knowledge))
    return str(tmp_path / "dump.kpd")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(kprof_command, list(arguments), standalone_mode=False)


def test_what_was_never_called_and_could_have_been(dump: str) -> None:
    done = run("graph", dump, "--static")
    assert done.exception is None
    assert done.output.splitlines() == [
        "6 functions, 3 called, 3 never called; 1 of 3 calls in the sources made",
        "not in the call knowledge: 1 function (made)",
        "",
        "never called  defined  could have been called",
        "compare       a.c:1    through a pointer: its address is taken",
        "old           b.c:1    by nothing in the sources that were read",
        "spare         b.c:3    by half",
    ]
    assert run("report", dump, "--graph", "--static").output == done.output


def test_of_one_function(dump: str) -> None:
    main = run("graph", dump, "main", "--static").output.splitlines()
    assert main == [
        "# main: a.c:9: int main(void)",
        "",
        "    calls  called from",
        "",
        "    calls  calls",
        "        2  half",
        "        1  sort  (not by its name)",
        "           it calls through pointers, or holds assembly",
    ]
    sort = json.loads(run("graph", dump, "sort", "--static", "--format", "json").output)
    assert sort["called_from"] == [{"name": "main", "calls": 1}]
    assert (sort["place"], sort["address_taken"], sort["calls"]) == ("a.c:2", True, [])


def test_as_json(dump: str) -> None:
    value = json.loads(run("graph", dump, "--static", "--format", "json").output)
    never = {row["name"]: row["could_be_called_by"] for row in value["never_called"]}
    assert never == {"compare": [], "old": [], "spare": ["half"]}
    assert value["calls"] == [
        {"caller": "main", "called": "half", "calls": 2},
        {"caller": "half", "called": "spare", "calls": 0},
        {"caller": "old", "called": "spare", "calls": 0},
    ]


def test_it_needs_the_call_knowledge(dump: str) -> None:
    Path(dump).with_name("k.names.calls").unlink()
    done = run("graph", dump, "--static")
    assert isinstance(done.exception, UsageError)
    assert "kprof cc and kprof instrument write it" in str(done.exception)


def test_a_function_that_no_source_has(dump: str) -> None:
    done = run("graph", dump, "made", "--static")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception).startswith("made is not in the call knowledge")
