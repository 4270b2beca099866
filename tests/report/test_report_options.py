"""Options of `kprof report` go together, or are refused: none is taken and then ignored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.report.test_report_command import EVENTS, NAMES, run

from kprof.capture import Capture, write_capture
from kprof.capture.model import CaptureInfo
from kprof.errors import UsageError
from kprof.names import parse_names


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A capture with its name file beside it, and saved statistics of it."""
    (tmp_path / "k.names").write_text(NAMES)
    info = CaptureInfo(names_sha256=parse_names(NAMES).sha256())
    write_capture(
        tmp_path / "dump.kpd",
        Capture.from_events([t for t, _ in EVENTS], [g for _, g in EVENTS], info),
    )
    run("report", tmp_path / "dump.kpd", "--save", tmp_path / "s.json")
    return tmp_path / "dump.kpd"


# The second vec1 (500 to 523) with all inside it.
LATE = ["-r", "450us~600us"]


@pytest.mark.parametrize(
    ("question", "there", "gone"),
    [
        (["--trace"], "-> vec1 (8 us, 23 total)", "402 total"),
        (["--graph"], "          23            8         1  vec1", "425"),
        (
            ["--graph", "splimp"],
            "           2            2         1  splimp <- lanisr",
            "           5",
        ),
        (["--hist", "lanisr"], "[8, 16) us  1", "[256, 512)"),
        (["--worst", "lanisr"], "# 1: lanisr, 15 us total, 13 us net", "# 2"),
        (["--tasks"], "     1            23    2.42%        1         23", "     1           752"),
        (["--interrupts", "--irq", "lanisr"], "lanisr, duration: 1", "[256, 512)"),
        (["--around", "0:000 508"], "-> splimp (2 us)", "RX"),
        (["--slower-than", "14us"], "-> lanisr (13 us, 15 total)", "splimp"),
    ],
)
def test_filters_go_with_every_question(
    question: list[str], there: str, gone: str, dump: Path
) -> None:
    text = run("report", dump, *question, *LATE)
    assert there in text
    assert gone not in text
    last = text.splitlines()[-1]
    assert last.startswith("# left out by filters: ")
    value = json.loads(run("report", dump, *question, *LATE, "--format", "json"))
    assert f"{value['left_out']['calls']} calls, {value['left_out']['net_us']} us net" in last
    whole = json.loads(run("report", dump, *question, "--format", "json"))
    assert "left_out" not in whole or question[0] == "--slower-than"


def test_filters_choose_the_triggers_of_an_interval(dump: Path) -> None:
    text = run("report", dump, "--between", "RX", "MGET", "-F", "vec1")
    assert "min 1 us, avg 1, p50 1" in text
    # The two halves of each switch, and the last splimp.
    assert "# left out by filters: 4 calls, 17 us net" in text


@pytest.mark.parametrize(
    ("chosen", "wanted"),
    [
        ([], [(0, 700, 1), (700, 710, 0), (710, 900, "idle"), (900, 952, 1)]),
        (
            ["-F", "lanisr"],
            [
                (0, 5, "others"),
                (5, 400, 1),
                (400, 505, "others"),
                (505, 520, 1),
                (520, 710, "others"),
                (710, 900, "idle"),
                (900, 952, "others"),
            ],
        ),
    ],
)
def test_the_parts_of_the_run_mean_one_thing_with_filters_and_without(
    dump: Path, chosen: list[str], wanted: list[tuple[int, int, object]]
) -> None:
    value = json.loads(run("report", dump, "--tasks", "--format", "json", *chosen))
    parts = [(part["start_us"], part["end_us"], part["context"]) for part in value["parts"]]
    assert parts == wanted
    assert "slices" not in value
    for task in value["tasks"]:
        mine = sum(end - start for start, end, context in parts if context == task["context"])
        assert mine == task["run_us"]
    assert sum(end - start for start, end, c in parts if c == "idle") == value["idle_us"]


def test_a_capture_without_events_has_no_parts(tmp_path: Path) -> None:
    empty = tmp_path / "empty.kpd"
    write_capture(empty, Capture.from_events([], [], CaptureInfo()))
    (tmp_path / "k.names").write_text(NAMES)
    value = json.loads(run("report", empty, "--tasks", "--format", "json"))
    assert value["parts"] == []


def test_the_worst_by_net_time(dump: Path) -> None:
    by_net = json.loads(run("report", dump, "--worst", "lanisr", "--by", "net", "--format", "json"))
    nets = [calls["calls"][0]["net_us"] for calls in by_net["worst"]]
    assert nets
    assert nets == sorted(nets, reverse=True)


def test_the_worst_in_their_order_as_json(dump: Path) -> None:
    value = json.loads(run("report", dump, "--worst", "lanisr", "--format", "json"))
    assert value["name"] == "lanisr"
    first = [calls["calls"][0] for calls in value["worst"]]
    assert [(call["name"], call["elapsed_us"]) for call in first] == [
        ("lanisr", 395),
        ("lanisr", 15),
    ]
    assert [call["name"] for call in value["worst"][0]["calls"]] == ["lanisr", "splimp"]


def test_the_graph_of_a_function_as_json(dump: Path) -> None:
    value = json.loads(run("report", dump, "--graph", "splimp", "--format", "json"))
    assert value["name"] == "splimp"
    assert {"name": "lanisr", "calls": 2, "total_us": 5, "self_us": 5} in value["called_from"]
    paths = {tuple(row["path"]): row["calls"] for row in value["backtraces"]}
    assert paths[("vec1", "lanisr", "splimp")] == 2
    assert value["graph"] == [
        {"name": "splimp", "parent": None, "calls": 3, "total_us": 7, "self_us": 7}
    ]


def test_longer_is_longer(dump: Path) -> None:
    assert "395 total" not in run("report", dump, "--slower-than", "395us")
    assert "395 total" in run("report", dump, "--slower-than", "394.5us")
    # The larger of the two holds.
    assert "395 total" not in run("report", dump, "--slower-than", "10us", "-t", "400us")
    assert "23 total" not in run("report", dump, "--slower-than", "300us", "-t", "1us")


def test_functions_that_never_ran_are_those_of_the_whole_run(dump: Path) -> None:
    assert "never ran (1):\n  idle\n" in run("report", dump, "--never", "-F", "lanisr")


def test_a_page_and_statistics_at_once(dump: Path, tmp_path: Path) -> None:
    run("report", dump, "--html", tmp_path / "p.html", "--save", tmp_path / "h.json")
    assert (tmp_path / "p.html").exists()
    assert (tmp_path / "h.json").read_text() == (tmp_path / "s.json").read_text()


@pytest.mark.parametrize("form", ["json", "folded"])
def test_what_has_all_always_is_not_asked_for_all(dump: Path, form: str) -> None:
    with pytest.raises(UsageError) as caught:
        run("diff", dump, dump, "-a", "--format", form)
    assert f"-a is for text; --format {form} has all always" in str(caught.value)
    assert run("diff", dump, dump, "--format", form)
    assert "not changed:" in run("diff", dump, dump, "-a")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-f", ""], "-f: names no field; expected such as total,self-avg,p99,call"),
        (["--trace", "-f", "total"], "-f is for the summary, not for --trace"),
        (["--slower-than", "1us", "-s", "call"], "-s is for the summary, not for --trace"),
        (["--hist", "lanisr", "--never"], "--never is for the summary, not for --hist"),
        (["--trace", "-n", "3"], "-n is the context of --around"),
        (["--irq", "lanisr"], "--irq is for --interrupts or the page (--html FILE), not for the"),
        (["--tasks", "--marks"], "--marks is for --trace or --worst, not for --tasks"),
        (["--sources"], "--sources is for the page (--html FILE), not for the summary"),
        (["--diff-with", "x"], "for the summary (kprof diff compares two runs in text)"),
        (["--html", "p.html", "-o", "x"], "-o and --html both name the file to write"),
        (["--html", "p.html", "--format", "json"], "--format is not for the page"),
        (["--html", "p.html", "--trace"], "--trace and --html are different reports"),
        (["--html", "p.html", "--slower-than", "1us"], "--html and --slower-than are different"),
        (["--html", "p.html", "--never"], "--never is for the summary, not for the page"),
        (["--match", "glob"], "--match is how patterns are written; expected one (-F, -N, -C or"),
        (["--match", "regex", "--trace"], "--match is how patterns are written"),
        (["--trace", "--format", "json", "--marks"], "--marks is for text, not for --format json"),
        (["--color", "always", "--format", "json"], "--color always is for text, not for --format"),
        (["--color", "always", "--html", "p.html"], "--color is for text, not for the page"),
        (["-s", ""], "-s: names no field; expected such as self,call"),
        (["-s", ",", "--format", "json"], "-s: names no field; expected such as self,call"),
        (["-s", "", "--trace"], "-s is for the summary, not for --trace"),
        (["--elf", ""], "--elf is for the functions' sizes"),
        (["--slower-than", "", "--html", "p.html"], "--html and --slower-than are different"),
        (["--around", "99s"], "a time after the run's last event; expected at most 952us"),
        (["--trace", "--task", "7"], "--task 7: is not a context; expected 0 (the system) to 1"),
    ],
)
def test_options_that_do_nothing_are_refused(
    arguments: list[str], said: str, dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UsageError) as caught:
        run("report", dump, *arguments)
    assert said in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["s.json", "-F", "lanisr"], "s.json: is saved statistics: filters and --trigger-cost"),
        (["dump.kpd", "s.json", "-t", "1us"], "come too late for it; expected the capture"),
        (["s.json", "--trigger-cost", "0.3us"], "filters and --trigger-cost come too late"),
        (["s.json", "--names", "k.names"], "--names is for captures; s.json is saved statistics"),
        (["s.json", "--valid", "3"], "--valid is for captures; s.json is saved statistics"),
        (["s.json", "--trace"], "--trace is of one capture; several captures, and saved"),
        (["s.json", "dump.kpd", "--html", "p.html"], "the page (--html FILE) is of one capture"),
    ],
)
def test_saved_statistics_are_as_they_were_saved(
    arguments: list[str], said: str, dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(dump.parent)
    with pytest.raises(UsageError) as caught:
        run("report", *arguments)
    assert said in str(caught.value)
