"""`import kprof`: its types, its tables, and the notebook of the examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests import notebooks
from tests.report.test_report_command import EVENTS, NAMES

import kprof
from kprof.capture import Capture, write_capture
from kprof.errors import MissingExtraError, UsageError

NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook" / "kernel.ipynb"
TYPES = {
    "kprof.load('x')": "kprof.api.Run",
    "kprof.load(open('x', 'rb'))": "kprof.api.Run",
    "kprof.load('x').functions": "kprof.frame.Frame",
    "kprof.load('x').calls['net_us']": "numpy.ndarray",
    "kprof.load('x').calls[2:3]": "kprof.frame.Frame",
    "kprof.load('x')['f']": "kprof.api.Function",
    "kprof.load('x')['f'].worst()": "kprof.api.Text",
    "kprof.load('x').trace(only='f')": "kprof.api.Text",
    "kprof.load('x').diff(kprof.load('y')).functions": "kprof.frame.Frame",
    "kprof.load_many(['x'])[0]": "kprof.api.Run",
    "kprof.load('x').summary.ledger.elapsed": "int",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "k.names").write_text(NAMES)
    times, tags = zip(*EVENTS, strict=True)
    write_capture(tmp_path / "dump.kpd", Capture.from_events(list(times), list(tags)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
def test_mypy_sees_the_types(tmp_path: Path) -> None:
    text = "import kprof\n" + "".join(f"reveal_type({expression})\n" for expression in TYPES)
    (tmp_path / "use.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path / "c"),
        "use.py",
    ]
    source = str(Path(kprof.__file__).parents[1])
    done = subprocess.run(
        [*command, "--follow-imports=silent"],
        cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "MYPYPATH": source},
    )  # fmt: skip
    revealed = re.findall(r'use.py:(\d+): note: Revealed type is "(.*)"', done.stdout)
    assert [int(line) for line, _ in revealed] == list(range(2, len(TYPES) + 2)), done.stdout
    for (line, found), expected in zip(revealed, TYPES.values(), strict=True):
        short = found.removeprefix("builtins.")
        assert short.split("[")[0] == expected, (line, found)


def test_what_kprof_has_and_lacks() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'laod'"):
        kprof.laod  # type: ignore[attr-defined]  # noqa: B018
    assert {"load", "load_many", "Run", "Frame"} <= set(dir(kprof))
    help_text = subprocess.run(
        [sys.executable, "-c", "import kprof; help(kprof)"], capture_output=True, text=True
    ).stdout
    assert "load(dump: " in help_text
    assert "class Run" in help_text


@pytest.mark.usefixtures("folder")
def test_the_tables() -> None:
    run = kprof.load("dump.kpd")
    functions = {row["function"]: row for row in run.functions.rows()}
    summary = {row.entry.name: row for row in run.summary.functions}
    assert functions.keys() == summary.keys()
    for name, row in functions.items():
        assert (row["calls"], row["elapsed_us"], row["net_us"]) == (
            summary[name].calls, summary[name].elapsed, summary[name].net,
        )  # fmt: skip
    assert list(run.functions["net_us"]) == sorted(run.functions["net_us"], reverse=True)
    calls = run.calls
    assert len(calls) == len(run.timeline.calls)
    assert calls["net_us"].sum() == run.summary.ledger.net
    resumed = calls[calls["resumed"]]
    assert set(resumed["function"]) <= {"sw_sys", "vec1", "sw_task"}
    assert calls["orphan"].sum() + calls["open"].sum() < len(calls)
    slowest = calls.sort("elapsed_us").head(1)
    assert (slowest["function"][0], slowest["elapsed_us"][0]) == ("vec1", 402)
    assert calls.sort("entry_us", ascending=True) == calls
    with pytest.raises(KeyError, match="nets: is not a column; expected one of function, entry_us"):
        calls["nets"]
    with pytest.raises(UsageError, match="expected pandas or polars"):
        calls.to_dataframe("excel")


@pytest.mark.usefixtures("folder")
def test_data_frames() -> None:
    run = kprof.load("dump.kpd")
    try:
        frame = run.functions.to_pandas()
    except MissingExtraError as error:
        assert "pandas" in str(error)  # noqa: PT017
        return
    assert frame["net_us"].tolist() == run.functions["net_us"].tolist()


@pytest.mark.usefixtures("folder")
def test_a_function_of_a_run() -> None:
    run = kprof.load("dump.kpd")
    assert "lanisr" in run
    assert "nothing" not in run
    function = run["lanisr"]
    assert repr(function) == "lanisr: 2 calls, 410 us elapsed, 405 us net (53.15% of the run time)"
    assert list(function.calls["elapsed_us"]) == [395, 15]
    assert function.figures["p99_us"] == 392
    assert function.worst().splitlines()[0] == "# 1: lanisr, 395 us total, 392 us net"
    assert "lanisr, total (elapsed): 2" in function.hist()
    with pytest.raises(KeyError, match="nothing: did not run"):
        run["nothing"]


@pytest.mark.usefixtures("folder")
def test_reports_as_text() -> None:
    run = kprof.load("dump.kpd")
    command = [sys.executable, "-m", "kprof", "trace", "dump.kpd", "-F", "lanisr"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert run.trace(only="lanisr") == printed
    assert repr(run.trace(only="lanisr")) == printed
    assert "RX to MGET" in run.report("between", "RX", "MGET")
    with pytest.raises(UsageError, match="report sumary: does not exist; expected one of summary"):
        run.report("sumary")
    with pytest.raises(UsageError, match="option wide: does not exist"):
        run.report("trace", wide=True)


@pytest.mark.usefixtures("folder")
def test_a_run_shows_itself_in_a_few_lines() -> None:
    run = kprof.load("dump.kpd")
    assert repr(run) == (
        "kprof.Run of dump.kpd: 22 events\n"
        "  elapsed 0.000952 s, run 0.000762 s, idle 0.000190 s\n"
        "  5 functions ran, most net time: lanisr, vec1, sw_task"
    )
    shown = run._repr_html_()
    assert shown.count("<tr>") == 6
    assert "<th>net_us</th>" in shown


def test_names_are_safe_in_html_and_text() -> None:
    frame = kprof.Frame({"function": np.array(["<b>\x1b[2J"], object), "calls": np.array([1])})
    assert "<b>" not in frame._repr_html_()
    assert "&lt;b&gt;" in frame._repr_html_()
    assert "\x1b" not in repr(frame) + frame._repr_html_()


def test_open_files_and_several_at_once(folder: Path) -> None:
    with Path("dump.kpd").open("rb") as stream:
        run = kprof.load(stream)
    assert run == kprof.load("dump.kpd") == kprof.load(Path("dump.kpd"), "k.names")
    assert run != kprof.load("dump.kpd", trigger_cost_us=1)
    assert run != 5
    shorter = Capture.from_events(*map(list, zip(*EVENTS[:8], strict=True)))
    write_capture(folder / "short.kpd", shorter)
    runs = kprof.load_many(["dump.kpd", "short.kpd"])
    assert run != runs[1]
    both = {row["function"]: row["calls"] for row in runs.functions.rows()}
    assert both["lanisr"] == 3
    assert len(runs[:1]) == 1


@pytest.mark.usefixtures("folder")
def test_a_comparison() -> None:
    run = kprof.load("dump.kpd")
    change = run.diff(run)
    assert not change.functions["changed"].any()
    assert repr(change) == "kprof.Comparison: 0 functions changed: -"
    command = [sys.executable, "-m", "kprof", "diff", "dump.kpd", "dump.kpd"]
    assert change.text == subprocess.run(command, capture_output=True, text=True).stdout


def test_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its outputs are those that it stores; KPROF_REFRESH=1 stores them."""
    pytest.importorskip("machine68k")
    monkeypatch.chdir(tmp_path)
    notebook = notebooks.read(NOTEBOOK)
    outputs = notebooks.run_cells(notebook)
    if os.environ.get("KPROF_REFRESH"):
        notebooks.write(NOTEBOOK, notebook, outputs)
    stored = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert outputs == stored
