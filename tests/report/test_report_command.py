"""`kprof report`, `diff`, `check`, `merge` from the outside: what they print and refuse."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kprof.analysis import timeline
from kprof.capture import Capture, write_capture, write_raw
from kprof.capture.model import CaptureInfo
from kprof.cli.main import kprof_command
from kprof.errors import CaptureError, KprofError, UsageError
from kprof.names import NameFile, parse_names
from kprof.names.grammar import NameEntry
from kprof.report.choose import report_parts
from kprof.report.request import Request

NAMES = (
    "vec1/100\nlanisr/102\nsplimp/110\nidle/120\nsw_sys/200$\nsw_task/202*\nMGET/222=\nRX/224=\n"
)
# vec1 twice, once with a slow lanisr in it; then a switch.
EVENTS = [
    (0, 100), (5, 102), (9, 224), (10, 222), (12, 110), (15, 111), (400, 103), (402, 101),
    (500, 100), (505, 102), (508, 110), (510, 111), (520, 103), (523, 101), (600, 224), (640, 222),
    (700, 200), (710, 203), (900, 202), (905, 201), (950, 110), (952, 111),
]  # fmt: skip

TRACE = """\
0:000 000 -> vec1 (7 us, 402 total)
0:000 005     -> lanisr (392 us, 395 total)
0:000 009         == RX (4 us)
0:000 010         == MGET (5 us)
0:000 012         -> splimp (3 us)
0:000 400     <-
0:000 402 <-
0:000 500 -> vec1 (8 us, 23 total)
0:000 505     -> lanisr (13 us, 15 total)
0:000 508         -> splimp (2 us)
0:000 520     <-
0:000 523 <-
0:000 600 == RX (600 us)
0:000 640 == MGET (640 us)
0:000 700 ---- Context switch out ----
0:000 900 ---- Context switch in ----
0:000 950 -> splimp (2 us)
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A capture with its name file beside it."""
    (tmp_path / "k.names").write_text(NAMES)
    names = parse_names(NAMES)
    info = CaptureInfo(names_sha256=names.sha256())
    capture = Capture.from_events([t for t, _ in EVENTS], [g for _, g in EVENTS], info)
    write_capture(tmp_path / "dump.kpd", capture)
    return tmp_path / "dump.kpd"


def run(*arguments: object) -> str:
    """The output of a command that must succeed."""
    result = CliRunner().invoke(
        kprof_command, [str(a) for a in arguments], standalone_mode=False, catch_exceptions=False
    )
    return result.stdout


def test_the_trace(dump: Path) -> None:
    assert run("report", dump, "--trace") == TRACE


def test_the_summary_names_the_capture_and_balances(dump: Path) -> None:
    text = run("report", dump)
    assert text.startswith(f"{dump}: 22 events (")
    value = json.loads(run("report", dump, "--format", "json"))
    net = sum(row["net_us"] for row in value["functions"])
    assert value["elapsed_us"] == 952 == net + value["idle_us"] + value["unattributed_us"]


@pytest.mark.parametrize(
    ("events", "clock_hz", "last", "share"),
    [
        (18, 1_000_000, 120, "4.50%"),  # 5.4 of 120 us
        (7, 1_000_000, 5, "42.00%"),  # 2.1 of 5 us
        (18, 4_000_000, 480, "4.50%"),
        (7, 3_000_000, 7, "90.00%"),  # 2.1 of 2 1/3 us
    ],
)
def test_the_share_of_the_triggers_is_exact(
    events: int, clock_hz: int, last: int, share: str
) -> None:
    info = CaptureInfo(clock_hz=Fraction(clock_hz))
    capture = Capture.from_events([0] * (events - 1) + [last], [224] * events, info)
    text = "".join(report_parts(capture, parse_names(NAMES)))
    assert f"\n{events} triggers; of 0.3 us each they would be {share} of the run" in text


def test_a_longjmp_closes_from_the_deepest_up() -> None:
    names = parse_names("a/2\nb/4\nc/6\nd/8\n")
    capture = Capture.from_events([0, 1, 3, 4, 5, 9], [2, 4, 6, 8, 9, 3])
    assert "".join(report_parts(capture, names, Request(what="trace"))) == (
        "0:000 000 -> a (1 us, 9 total)\n"
        "0:000 001     -> b (2 us, 8 total)\n"
        "0:000 003         -> c (5 us, 6 total)\n"
        "0:000 004             -> d (1 us)\n"
        "0:000 009         <- unwound\n"
        "0:000 009     <- unwound\n"
        "0:000 009 <-\n"
    )


def test_filters_say_what_they_leave_out(dump: Path) -> None:
    text = run("report", dump, "--trace", "-F", "^lanisr$", "-t", "100us")
    assert text.splitlines() == [
        "0:000 005 -> lanisr (392 us, 395 total)",
        "0:000 009     == RX (4 us)",
        "0:000 010     == MGET (5 us)",
        "0:000 400 <-",
        "# left out by filters: 9 calls, 50 us net (5.25%)",
    ]
    narrow = run("trace", dump, "-F", "^lanisr$", "-t", "100us", "--indent", "1")
    assert narrow == text.replace("    ==", " ==")
    value = json.loads(run("report", dump, "-N", "lanisr", "--format", "json"))
    net = sum(row["net_us"] for row in value["functions"])
    rest = value["idle_us"] + value["unattributed_us"] + value["left_out_us"]
    assert value["elapsed_us"] == net + rest


def test_fields_and_order(dump: Path) -> None:
    value = json.loads(
        run("report", dump, "-f", "total,self-max,p50,call", "-s", "calls,name", "--format", "json")
    )
    assert value["fields"][0] == {
        "total": 7,
        "self-max": 3,
        "p50": 2.0,
        "call": 3,
        "name": "splimp",
    }
    text = run("report", dump, "-f", "+wall,blocked,self-err")
    assert "total us  self us  call  wall us  blocked us  self-err us  name" in text
    assert "never ran (1):\n  idle\n" in run("report", dump, "--never")


def test_what_the_triggers_took_is_said_and_how_many_intervals_were_too_short(
    dump: Path,
) -> None:
    # 21 intervals in 952 us; 3 us of each, but the last is 2 us long. One of 1 us (9 to 10) is
    # shorter by more than a tick.
    text = run("report", dump, "--trigger-cost", "3us")
    assert "22 triggers of 3 us were 6.62% of the run; they are taken out" in text
    assert (
        "1 interval was shorter than that by more than a tick (4.55%) and became negative" in text
    )
    value = json.loads(run("report", dump, "--trigger-cost", "3us", "--format", "json"))
    assert (value["taken_us"], value["short_intervals"], value["elapsed_us"]) == (63, 1, 889)
    # 5 + 4 + 1 + 2 + 3 + 385 + 2 + 98 is 8 times 50 and 100 more; what is left is 452 / 13.
    with pytest.raises(
        UsageError, match=r"a trigger cost of 50 us .* last 13 of its 21 intervals are 34\.769"
    ):
        run("report", dump, "--trigger-cost", "50us")


@pytest.mark.parametrize(("deep", "said"), [(0, "0 other interrupts"), (1, "1 other interrupt")])
def test_how_many_interrupts_lie_below_one_is_counted(tmp_path: Path, deep: int, said: str) -> None:
    (tmp_path / "i.names").write_text("f/2\nirq/8\nirq2/10\n")
    inside = [(2, 10), (3, 11)] if deep else []
    events = [(0, 2), (1, 8), *inside, (4, 9), (5, 10), (6, 11), (7, 3)]
    write_raw(tmp_path / "i.bin", Capture.from_events(*zip(*events, strict=True)))
    common = ("report", tmp_path / "i.bin", "--valid", "all", "--interrupts")
    lines = run(*common, "--irq", "irq", "--irq", "irq2").splitlines()
    assert [line for line in lines if "on top of" in line][-1] == f"  on top of at most {said}"


def test_functions_with_and_without_interrupts_are_told_in_both_forms(tmp_path: Path) -> None:
    (tmp_path / "i.names").write_text("f/2\nirq/8\n")
    # The capture begins inside f, whose exit comes at 10; a call of 30 with an interrupt of 4 in
    # it; one with an f of 20 inside that has an interrupt of 6; one that is still open, with 5.
    events = [
        (0, 8), (3, 9), (10, 3), (20, 2), (30, 8), (34, 9), (50, 3),
        (60, 2), (65, 2), (70, 8), (76, 9), (85, 3), (90, 3), (95, 2), (96, 8), (101, 9), (110, 8),
    ]  # fmt: skip
    write_raw(tmp_path / "i.bin", Capture.from_events(*zip(*events, strict=True)))
    common = ("report", tmp_path / "i.bin", "--valid", "all")
    value = json.loads(run(*common, "--interrupts", "--irq", "irq", "--format", "json"))
    summary = json.loads(run(*common, "--format", "json"))
    total = next(row["elapsed_us"] for row in summary["functions"] if row["name"] == "f")
    # 7 of the orphan's own, 30, 30 and 15.
    assert total == 82
    assert value["interrupted"] == [
        {"name": "f", "total_us": 82, "without_us": 67, "in_interrupts_us": 15}
    ]
    text = run(*common, "--interrupts", "--irq", "irq").splitlines()
    assert text[-1].split() == ["82", "67", "15", "f"]


@pytest.mark.parametrize("cost", [[], ["--trigger-cost", "0.3us"]])
def test_a_mean_is_as_uncertain_as_the_captures_clock_is_coarse(
    dump: Path, cost: list[str]
) -> None:
    value = json.loads(run("report", dump, "-f", "self-err,call", *cost, "--format", "json"))
    rows = {row["name"]: row["self-err"] for row in value["fields"]}
    # Ticks of 1 us: 0.41 / sqrt(calls).
    assert (rows["splimp"], rows["lanisr"]) == (0.237, 0.29)
    assert value["capture"]["clock_hz"] == 1_000_000


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (
            ["--worst", "lanisr", "-n", "1"],
            "# 1: lanisr, 395 us total, 392 us net\n0:000 005 -> lanisr",
        ),
        (["--hist", "splimp"], "[2, 4) us  3  ####"),
        (["--hist", "splimp", "--trigger-cost", "1ns"], "[1, 2) us  2  ####"),
        (["--between", "RX", "MGET"], "min 1 us, avg 20.5, p50 1, p90 40, p99 40, max 40"),
        (["--graph", "splimp"], "splimp <- lanisr <- vec1"),
        (["--graph"], "`- lanisr"),
        (["--slower-than", "300us"], "0:000 005     -> lanisr (392 us, 395 total)"),
        (["--around", "0:000 508", "-n", "1"], "-> splimp (2 us)"),
        (
            ["--tasks"],
            "us: tenths of the column, . less than one, # all of it",
        ),
        (["--tasks"], "     1  |##############################################"),
        (["--interrupts", "--irq", "vec1"], "interrupts (as named): vec1"),
    ],
)
def test_questions_have_answers(arguments: list[str], wanted: str, dump: Path) -> None:
    assert wanted in run("report", dump, *arguments)
    json.loads(run("report", dump, *arguments, "--format", "json"))


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--worst", "lanisrr"], "lanisrr: no function of the name file; do you mean lanisr?"),
        (["-f", "totl"], "-f totl: is not a field; do you mean total"),
        (["-s", "selff"], "-s selff: is not a field; do you mean self"),
        (
            ["-t", "5 parsecs"],
            "-t 5 parsecs: is not a time; expected a number with ns, us, ms or s",
        ),
        (["-r", "9us"], "-r 9us: is not a range; expected START~END"),
        (["-r", "9us~8us"], "-r 9us~8us: ends before it begins"),
        (["-F", "("], "is not a regular expression"),
        (["--trace", "--graph", "x"], "--trace and --graph are different reports"),
        (["--between", "RX", "NOPE"], "NOPE: no inline trigger of the name file"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: list[str], wanted: str, dump: Path) -> None:
    with pytest.raises(UsageError) as caught:
        run("report", dump, *arguments)
    assert wanted in str(caught.value)


def test_captures_and_saved_statistics_merge(dump: Path, tmp_path: Path) -> None:
    saved = tmp_path / "one.json"
    run("report", dump, "--save", saved)
    run("merge", saved, dump, "-o", tmp_path / "two.json")
    text = run("report", tmp_path / "two.json", dump)
    assert text.startswith("3 captures: 66 events (merged: ")
    value = json.loads(run("report", saved, dump, dump, "--format", "json"))
    one = json.loads(run("report", dump, "--format", "json"))
    calls = {row["name"]: row["calls"] for row in one["functions"]}
    assert {row["name"]: row["calls"] for row in value["functions"]} == {
        name: 3 * count for name, count in calls.items()
    }
    assert len(value["captures"]) == 3


def test_the_net_times_of_each_are_told_in_both_forms(dump: Path, tmp_path: Path) -> None:
    run("merge", dump, dump, "-o", tmp_path / "two.json")
    short = tmp_path / "short.kpd"
    write_capture(short, Capture.from_events([0, 1], [100, 101], CaptureInfo()))
    arguments = ["report", tmp_path / "two.json", dump, short, "--names", tmp_path / "k.names"]
    _, _, below = run(*arguments).partition("net us in each:\n")
    table = [line.split() for line in below.splitlines()]
    # Of one dump as in TRACE above: lanisr 392 and 13, vec1 7 and 8, splimp 3, 2 and 2.
    assert table[:3] == [
        ["#1-2", "#3", "#4", "name"],
        ["810", "405", "0", "lanisr"],
        ["30", "15", "1", "vec1"],
    ]
    parts = json.loads(run(*arguments, "--format", "json"))["parts"]
    assert [part["captures"] for part in parts] == [[1, 2], [3], [4]]
    for name, each in (("lanisr", [810, 405, 0]), ("vec1", [30, 15, 1]), ("splimp", [14, 7, 0])):
        assert [part["net_us"][name] for part in parts] == each


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["merge", "other.json", "-o", "o.json"],
            "other.json: is not a file of statistics as kprof report",
        ),
        (
            ["report", "other.json"],
            "other.json: is not a file of statistics as kprof report --save writes",
        ),
        (["merge", "d.bin", "-o", "o.txt"], "o.txt: expected a name that ends in .json"),
        (["report", "d.bin", "--save", "o.bin"], "o.bin: expected a name that ends in .json"),
    ],
)
def test_files_that_are_no_statistics(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "other.json").write_text("{}")
    write_raw(tmp_path / "d.bin", Capture.from_events([1, 2], [2, 3]))
    (tmp_path / "d.names").write_text("a/2\n")
    command = [sys.executable, "-m", "kprof", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert not list(tmp_path.glob("o.*"))


@pytest.mark.parametrize("form", ["written", "indented", "five bytes a record"])
def test_saved_statistics_are_no_capture(dump: Path, tmp_path: Path, form: str) -> None:
    saved, budget = tmp_path / "s.json", tmp_path / "b"
    run("report", dump, "--save", saved)
    text = saved.read_text()
    if form == "indented":
        text = json.dumps(json.loads(text), indent=2)
    saved.write_text(text + " " * (-len(text) % 5 if form.startswith("five") else 1))
    budget.write_text("lanisr.max < 1s\n")
    source = tmp_path / "a.c"
    source.write_text("int lanisr(void) {}\n")
    for arguments in (
        ["check", saved, "--budget", budget],
        ["diff", dump, saved],
        ["diff", saved, dump],
        ["export", saved, "--format", "folded"],
        ["annotate", source, saved],
        ["info", saved],
    ):
        with pytest.raises(CaptureError) as caught:
            run(*arguments)
        assert str(caught.value) == (
            f"{saved}: is saved statistics, which have no events; expected a capture (only kprof "
            "report and kprof merge take saved statistics, by their ending .json)"
        )
    assert "22 events" in run("report", saved)


def test_a_merge_points_out_what_the_names_do_not_know(tmp_path: Path) -> None:
    write_raw(tmp_path / "d.bin", Capture.from_events([1, 2, 3, 4, 5], [2, 3, 900, 901, 902]))
    command = [sys.executable, "-m", "kprof", "merge", "d.bin", "-o", "o.json", "--valid", "all"]
    for names, warned in (("a/2\n", True), ("a/2\nb/900\n", False)):
        (tmp_path / "d.names").write_text(names)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ("d.bin: most events have tags that the name file" in done.stderr) is warned


def test_a_budget_passes_and_fails(dump: Path, tmp_path: Path) -> None:
    budget = tmp_path / "b"
    budget.write_text("lanisr.max < 300us\nsplimp.p99 < 1ms\n")
    command = [sys.executable, "-m", "kprof", "check", str(dump), "--budget", str(budget)]
    command += ["--junit", str(tmp_path / "j.xml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "FAIL  lanisr.max < 300us  (was 392)",
        "      0:000 005 -> lanisr (392 us, 395 total)",
        "pass  splimp.p99 < 1ms  (was 3)",
        "1 of 2 limits held",
    ]
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite] == ["lanisr.max < 300us", "splimp.p99 < 1ms"]
    budget.write_text("lanisr.max < 400us\n")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_diff_of_a_run_with_itself_is_silent(dump: Path) -> None:
    assert "no function changed its net time or its calls beyond chance" in run("diff", dump, dump)
    folded = run("diff", dump, dump, "--format", "folded").splitlines()
    assert "vec1;lanisr 405 405" in folded


def test_wrong_inputs_are_one_sentence_and_write_nothing(dump: Path, tmp_path: Path) -> None:
    cases: list[tuple[list[object], type[KprofError]]] = [
        (["report", tmp_path / "none.bin"], KprofError),
        (["report", dump, "--names", tmp_path / "none.names"], KprofError),
        (["report", dump, "-o", tmp_path / "none" / "x"], KprofError),
        (["check", dump, "--budget", tmp_path / "none"], KprofError),
        (["diff", dump, tmp_path / "none"], KprofError),
    ]
    before = sorted(tmp_path.iterdir())
    for arguments, kind in cases:
        with pytest.raises(kind) as caught:
            run(*arguments)
        assert "\n" not in str(caught.value)
        assert "none" in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "tab\there",
    "bell\x07",
    "right\u202eleft",
    "line\u2028two",
    "carriage\rreturn",
    "</script><img>",
    "x" * 5000,
]


@pytest.mark.parametrize("what", ["summary", "trace", "graph", "tasks", "interrupts"])
def test_hostile_names_are_escaped_and_readable(what: str) -> None:
    entries = [NameEntry(name, 2 * i + 2) for i, name in enumerate(HOSTILE)]
    tags = [tag for entry in entries for tag in (entry.value, entry.value + 1)]
    names = NameFile(tuple(entries))
    capture = Capture.from_events(list(range(len(tags))), tags)
    text = "".join(report_parts(capture, names, Request(what=what)))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert max(map(len, text.splitlines())) < 400


def test_a_name_file_as_large_as_it_can_be() -> None:
    names = parse_names("".join(f"function_{v}/{v}\n" for v in range(2, 65536, 2)))
    tags = list(range(2, 65536))
    capture = Capture.from_events(list(range(len(tags))), tags)
    text = "".join(report_parts(capture, names))
    assert text.count("function_") == 32767
    assert len(timeline(capture, names).calls) == 32767


def test_a_terminal_gets_the_trace_through_a_pager(monkeypatch: pytest.MonkeyPatch) -> None:
    from kprof.cli import output

    paged: list[str] = []

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(output.sys, "stdout", Terminal())
    monkeypatch.setattr("click.echo_via_pager", lambda parts: paged.extend(parts))
    output.write_product(Path("-"), iter([TRACE]), paged=True)
    assert paged == [TRACE]


def test_what_a_capture_file_does_not_use_is_a_warning(dump: Path) -> None:
    import kprof

    said = f"{dump}: knows its number of valid records; --valid 7 is not used"
    with pytest.warns(UserWarning, match=re.escape(said)) as caught:
        assert kprof.load(dump, valid=7).summary.events == 22
    assert caught[0].filename == __file__


def test_the_python_api(dump: Path) -> None:
    import kprof

    loaded: Any = kprof.load(dump)
    columns = loaded.calls
    assert columns["function"].tolist()[:3] == ["vec1", "lanisr", "splimp"]
    assert columns["elapsed_us"].tolist()[:3] == [402.0, 395.0, 3.0]
    assert loaded.summary.ledger.elapsed == 952
    assert int(loaded.calls["net_us"].sum()) == loaded.summary.ledger.net
    with pytest.raises(UsageError, match="expected pandas or polars"):
        loaded.to_dataframe("excel")


def _peak_memory(folder: Path, millions: int) -> int:
    """The largest resident size, in MB, of a process that summarises a file of so many events.

    From Linux's VmHWM: `ru_maxrss` would include the size of the process that started it.
    """
    part = Capture.from_events(list(range(0, 4_000_000, 4)), [2, 4, 5, 3] * 250_000)
    data = bytes(part.records.tobytes())
    with (folder / "big.bin").open("wb") as stream:
        for _ in range(millions):
            stream.write(data)
    (folder / "big.names").write_text("a/2\nb/4\n")
    code = (
        "import re; from kprof.capture import open_capture; "
        "from kprof.names import read_names; from kprof.analysis import summarise; "
        "s = summarise(open_capture('big.bin', valid='all'), read_names('big.names'), fast=True); "
        "status = open('/proc/self/status').read(); "
        "print(s.events, int(re.search(r'VmHWM:\\s*(\\d+)', status)[1]) // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    events, peak = map(int, done.stdout.split())
    assert events == millions * 1_000_000
    return peak


def test_memory_does_not_grow_with_the_capture(tmp_path: Path) -> None:
    pytest.importorskip("numba", reason="numba (the extra 'fast') is not installed")
    if not Path("/proc/self/status").exists():
        pytest.skip("needs Linux's /proc to see a process's memory")
    _peak_memory(tmp_path, 5)  # compiling takes memory too
    small, large = _peak_memory(tmp_path, 1), _peak_memory(tmp_path, 40)
    assert large < 300
    assert large - small < 100  # the file is 195 MB larger


def test_a_name_file_of_other_code_is_pointed_out(tmp_path: Path) -> None:
    write_raw(tmp_path / "d.bin", Capture.from_events([1, 2, 3, 4, 5], [2, 3, 900, 901, 902]))
    question = "is it the one that the code was built with"
    (tmp_path / "d.names").write_text("a/2\n")
    assert question in run("report", tmp_path / "d.bin", "--valid", "all")
    (tmp_path / "d.names").write_text("a/2\nb/900\n")
    assert question not in run("report", tmp_path / "d.bin", "--valid", "all")


def test_a_raw_image_needs_no_digest(tmp_path: Path) -> None:
    write_raw(tmp_path / "d.bin", Capture.from_events([1, 2], [100, 101]))
    (tmp_path / "d.names").write_text(NAMES)
    assert "vec1" in run("report", tmp_path / "d.bin", "--valid", "2")
