"""What the report says of user time, of the evidence for tasks, and of what stays uncertain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kprof.analysis.budget import check_budget, parse_budget
from kprof.analysis.saved import read_statistics, write_statistics
from kprof.analysis.statistics import Statistics, merge_statistics, statistics
from kprof.analysis.summary import Summary, summarise
from kprof.capture import Capture
from kprof.names import NameFile, parse_names
from kprof.names.calls import CallKnowledge, FunctionFacts
from kprof.report.choose import report_parts
from kprof.report.request import Request
from kprof.report.summary import summary_json, summary_text

NAMES = parse_names("main/2\nwork/4\nuser/6%\nswtch/8!\nsleep/10\n")
MARKED = parse_names("main/2\nwork/4\nuser/6%\nswtch/8!\nsleep/10\ntask/4096@4\n")
KNOWN = CallKnowledge({"main": FunctionFacts("main", calls=frozenset({"work"}))})


def capture(*events: tuple[int, int]) -> Capture:
    times, tags = (list(column) for column in zip(*events, strict=True))
    return Capture.from_events(times, tags)


USER = capture((0, 2), (10, 6), (70, 7), (100, 3))
TAGS = [2, 10, 8, 9, 5, 2, 10, 8, 9, 11, 3]
SLEEPS = [(10 * n, tag) for n, tag in enumerate(TAGS)]
"""One task sleeps in `main`, then another one, which leaves `work` first; either may go on."""


def test_user_time_is_a_part_of_the_ledger() -> None:
    summary = summarise(USER, NAMES)
    assert "User time = 0 sec 000060 us (60.00%)\n" in summary_text(summary)
    value = summary_json(summary)
    parts = sum(value[f"{part}_us"] for part in ("idle", "user", "unattributed", "left_out"))
    assert value["user_us"] == 60
    assert sum(row["net_us"] for row in value["functions"]) + parts == value["elapsed_us"] == 100
    quiet = summary_text(summarise(capture((0, 2), (9, 3)), NAMES))
    assert "User time" not in quiet


def test_user_time_is_saved_merged_and_limited(tmp_path: Path) -> None:
    one = statistics(USER, NAMES)
    write_statistics(tmp_path / "s.json", one)
    kept = read_statistics(tmp_path / "s.json")
    assert kept.ledger == one.ledger
    both = merge_statistics([kept, one])
    assert both.ledger.user == 120
    verdicts = check_budget(
        parse_budget("user == 120us\nuser.pct == 60\nuser.pct < 60", "b"), both, NAMES
    )
    assert [verdict.passed for verdict in verdicts] == [True, True, False]


MARKS = capture((0, 4098), (1, 2), (10, 8), (12, 4097), (14, 9), (15, 4), (16, 5))


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        (summarise(MARKS, MARKED), "tasks are told apart by task marks"),
        (summarise(capture(*SLEEPS), NAMES), "tasks are told apart by what was seen"),
        (
            summarise(capture(*SLEEPS), NAMES, known=KNOWN),
            "tasks are told apart by call knowledge and by what was seen",
        ),
        (summarise(USER, NAMES, known=KNOWN), ""),
    ],
)
def test_the_evidence_is_named(summary: Summary, said: str) -> None:
    lines = [x for x in summary_text(summary).splitlines() if x.startswith("tasks are")]
    assert lines == [said] * bool(said)
    assert "tasks are told apart by " * bool(said) + " and by ".join(
        summary_json(summary)["evidence"]
    ) == (said)


def test_ambiguous_switches_are_counted_said_and_limited(tmp_path: Path) -> None:
    found = statistics(capture(*SLEEPS), NAMES)
    odd = found.anomalies
    assert odd.ambiguous_switches > 0
    said = (
        f"{odd.ambiguous_switches} of {odd.context_switches} switches could be to either of "
        "several tasks; --tasks and --graph are uncertain\n"
    )
    assert said in summary_text(found.summary())
    value = summary_json(found.summary())["anomalies"]
    assert value["ambiguous_switches"] == odd.ambiguous_switches
    write_statistics(tmp_path / "s.json", found)
    kept = merge_statistics([read_statistics(tmp_path / "s.json"), found])
    assert kept.anomalies.ambiguous_switches == 2 * odd.ambiguous_switches
    assert kept.evidence == found.evidence == ("what was seen",)
    assert not passes("ambiguous_switches == 0", found)
    assert passes("ambiguous_switches == 0", statistics(USER, NAMES))


def passes(limit: str, found: Statistics) -> bool:
    return check_budget(parse_budget(limit, "b"), found, NAMES)[0].passed


def test_longjmps_that_the_next_call_shows_are_said_and_limited() -> None:
    calls = {"main": {"work"}, "work": {"sleep"}, "sleep": set[str]()}
    known = CallKnowledge({n: FunctionFacts(n, calls=frozenset(c)) for n, c in calls.items()})
    turns = [(10 * n + at, tag) for n in range(3) for at, tag in ((0, 4), (5, 10))]
    jumps = statistics(capture((0, 2), *turns, (99, 3)), NAMES, known=known)
    assert jumps.anomalies.restarts == 2
    assert "2 longjmps seen by the next call" in summary_text(jumps.summary())
    assert summary_json(jumps.summary())["anomalies"]["restarts"] == 2
    assert passes("restarts == 2", jumps)
    assert not passes("restarts == 0", jumps)


def test_depth_without_bound_is_named() -> None:
    deep = capture(*[(n, 2) for n in range(2000)])
    text = summary_text(summarise(deep, NAMES))
    assert "calls were open at the end: depth grew without bound" in text
    flat = capture(*[(n, 2 + n % 2) for n in range(2000)])
    assert "without bound" not in summary_text(summarise(flat, NAMES))


def test_statistics_saved_before_have_none_of_it(tmp_path: Path) -> None:
    write_statistics(tmp_path / "s.json", statistics(USER, NAMES))
    value = json.loads((tmp_path / "s.json").read_text())
    value["ledger"] = value["ledger"][:5]
    del value["evidence"], value["anomalies"]["ambiguous_switches"], value["anomalies"]["restarts"]
    (tmp_path / "s.json").write_text(json.dumps(value))
    kept = read_statistics(tmp_path / "s.json")
    assert (kept.ledger.user, kept.evidence, kept.anomalies.restarts) == (0, (), 0)


def report(made: Capture, names: NameFile, what: str, form: str = "text") -> str:
    return "".join(report_parts(made, names, Request(what=what, form=form)))


TASKS = parse_names("main/2\nwork/4\nuser/6%\nswtch/8!\nsleep/10\ntask/4096@4\n#@task 4097 init\n")


def test_tasks_are_shown_by_their_names() -> None:
    rows = report(MARKS, TASKS, "tasks").splitlines()
    assert [row.split("  ")[-1] for row in rows[2:4]] == ["task 2", "init"]
    names = [row["name"] for row in json.loads(report(MARKS, TASKS, "tasks", "json"))["tasks"]]
    assert names == ["", "task 2", "init"]
    trace = json.loads(report(MARKS, TASKS, "trace", "json"))
    assert trace["tasks"] == {"1": "task 2", "2": "init"}
    assert [row["context"] for row in trace["calls"] if row["name"] == "work"] == [2]
    switches = [row for row in trace["marks"] if row["kind"] == "switch_in"]
    assert [row["name"] for row in switches] == ["task 2", "init"]


def test_reports_of_contexts_say_how_uncertain_they_are() -> None:
    made = capture(*SLEEPS)
    said = "1 of 4 switches could be to either of several tasks; --tasks and --graph are uncertain"
    for what in ("tasks", "graph"):
        assert report(made, NAMES, what).splitlines()[-1] == said
    assert json.loads(report(made, NAMES, "tasks", "json"))["ambiguous_switches"] == 1
    assert said not in report(made, NAMES, "trace")
    deep = capture(*[(n, 2) for n in range(500)])
    assert "calls nest 500 deep: a recursion, or " in report(deep, NAMES, "graph")
