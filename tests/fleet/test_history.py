"""A history: what is kept merges to what was added; others read it; trends find what changed."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.capture.traces import capture

from kprof.analysis.measures import Measure
from kprof.analysis.statistics import FunctionStatistics, Statistics, merge_statistics
from kprof.api import load
from kprof.capture import write_capture
from kprof.cli.main import kprof_command
from kprof.errors import KprofError, UsageError
from kprof.fleet.changes import change_points
from kprof.fleet.history import HistoryError, add_run, files_of, query, read_runs

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")
pytest.importorskip("ruptures")

NAMES = "".join(f"f{n}/{1024 + 2 * n}\n" for n in range(40))
BEGIN = datetime.datetime(2026, 1, 28, 3, tzinfo=datetime.timezone.utc)
DAY = datetime.timedelta(days=1)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(kprof_command, [str(one) for one in arguments], standalone_mode=False)


def statistics(folder: Path, seed: int) -> Statistics:
    (folder / "k.names").write_text(NAMES)
    write_capture(folder / "k.kpd", capture(200, seed=seed))
    return load(folder / "k.kpd").statistics


def test_what_is_kept_merges_to_what_was_added(tmp_path: Path) -> None:
    every = [statistics(tmp_path, seed) for seed in range(6)]
    for number, one in enumerate(every):
        add_run(tmp_path / "h", one, {"commit": f"c{number}"}, BEGIN + number * DAY)
    assert sorted(path.parent.name for path in files_of(tmp_path / "h")) == [
        *["month=2026-01"] * 4, *["month=2026-02"] * 2,
    ]  # fmt: skip
    merged: dict[str, FunctionStatistics] = {}
    for row in read_runs(tmp_path / "h"):
        name = row.function.entry.name
        merged.setdefault(name, FunctionStatistics(row.function.entry)).merge(row.function)
    assert merged == merge_statistics(every).functions


def test_a_run_is_added_once(tmp_path: Path) -> None:
    one = statistics(tmp_path, 1)
    add_run(tmp_path / "h", one, {"a": "b"}, BEGIN)
    with pytest.raises(HistoryError, match="has this run already"):
        add_run(tmp_path / "h", one, {"a": "b"}, BEGIN)
    add_run(tmp_path / "h", one, {"a": "c"}, BEGIN)
    assert len(files_of(tmp_path / "h")) == 2
    assert [path.suffix for path in (tmp_path / "h").rglob("*.*")] == [".parquet"] * 2


def test_sums_of_squares_pass_64_bits(tmp_path: Path) -> None:
    one = statistics(tmp_path, 1)
    name = next(iter(one.functions))
    one.functions[name].own = Measure.of(np.array([1 << 36] * 5))
    add_run(tmp_path / "h", one, {}, BEGIN)
    (row,) = read_runs(tmp_path / "h", name)
    assert row.function.own.squares == 5 << 72


def test_others_read_it(tmp_path: Path) -> None:
    """DuckDB on the files, not through kprof; and pyarrow's datasets, with the partitions."""
    import duckdb
    import pyarrow.dataset

    every = [statistics(tmp_path, seed) for seed in range(3)]
    for number, one in enumerate(every):
        add_run(tmp_path / "h", one, {"commit": f"c{number}"}, BEGIN + 3 * number * DAY)
    calls = sum(f.calls for one in every for f in one.functions.values())
    pattern = str(tmp_path / "h" / "*" / "*.parquet")
    sql = f"select sum(calls), count(distinct tags['commit']) from read_parquet('{pattern}')"
    assert duckdb.sql(sql).fetchall() == [(calls, 3)]
    table = pyarrow.dataset.dataset(tmp_path / "h", partitioning="hive").to_table()
    assert sum(table["calls"].to_pylist()) == calls
    assert set(table["month"].to_pylist()) == {"2026-01", "2026-02"}


def test_sql(tmp_path: Path) -> None:
    one = statistics(tmp_path, 1)
    add_run(tmp_path / "h", one, {"commit": "abc"}, BEGIN)
    wanted = "select tags['commit'] as c, sum(calls) as n from history group by 1"
    n = sum(f.calls for f in one.functions.values())
    assert query(tmp_path / "h", wanted) == (["c", "n"], [("abc", n)])
    assert run("history", "sql", tmp_path / "h", wanted).stdout == f"c    n\nabc  {n}\n"
    assert run("history", "sql", tmp_path / "h", wanted, "--format", "csv").stdout == (
        f"c,n\nabc,{n}\n"
    )
    shown = run("history", "sql", tmp_path / "h", wanted, "--format", "json").stdout
    assert json.loads(shown) == [{"c": "abc", "n": n}]
    with pytest.raises(UsageError, match="the query: "):
        query(tmp_path / "h", "select nothing from nowhere")


def test_a_newer_history_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "month=2026-01").mkdir()
    table = pa.table({"run": ["a"]}).replace_schema_metadata({"kprof_history": "2"})
    pq.write_table(table, tmp_path / "month=2026-01" / "x.parquet")
    with pytest.raises(HistoryError, match="is version 2 of a history; this kprof reads 1"):
        list(read_runs(tmp_path))
    with pytest.raises(HistoryError, match="is no history, or an empty one"):
        list(read_runs(tmp_path / "nowhere"))


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A history of 40 runs; from the 31st on, of commit c30, f1 takes 10% more."""
    folder = tmp_path_factory.mktemp("slower")
    rng = np.random.default_rng(3)
    base = statistics(folder, 1)
    for number in range(40):
        level = 1100 if number >= 30 else 1000
        for name, mean in (("f1", level), ("f2", 500)):
            values = np.maximum(rng.normal(mean * rng.normal(1, 0.01), 20, 100), 1).astype(np.int64)
            base.functions[name].own = Measure.of(values)
        add_run(folder / "h", base, {"commit": f"c{number}"}, BEGIN + number * DAY)
    return folder / "h"


def test_a_trend_names_the_commit(slower: Path) -> None:
    done = run("trend", slower, "f1")
    assert done.exit_code == 0
    assert "run 31, 2026-02-27 03:00:" in done.stdout
    assert "commit=c30" in done.stdout
    assert "  before    30 runs: 3,000 calls" in done.stdout
    assert "  after     10 runs: 1,000 calls" in done.stdout
    (one,) = json.loads(run("trend", slower, "f1", "--format", "json").stdout)
    (change,) = one["changes"]
    assert change["tags"] == {"commit": "c30"}
    assert change["share"] == pytest.approx(0.10, abs=0.015)
    assert len(one["runs"]) == 40
    assert "no change point" in run("trend", slower, "f2").stdout


def test_ci_fails_while_the_change_is_new(slower: Path) -> None:
    assert run("trend", slower, "f1", "--fail-on-change").return_value == 1
    assert run("trend", slower, "--fail-on-change").return_value == 1
    assert run("trend", slower, "f1", "--fail-on-change", "--within", 9).return_value == 0
    assert run("trend", slower, "f2", "--fail-on-change").return_value == 0
    table = run("trend", slower).stdout.splitlines()
    assert table[1].endswith("commit=c30  f1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["f77"], "no run has the function f77"),
        (["f1", "--tag", "board=9"], "no run has the function f1"),
        (["f1", "--figure", "pct"], "is a share of one run|is no figure"),
        (["f1", "--tag", "board"], "expected KEY=VALUE"),
    ],
)
def test_what_a_trend_cannot_be_of(slower: Path, arguments: list[str], said: str) -> None:
    with pytest.raises(KprofError, match=said):
        raise run("trend", slower, *arguments).exception or AssertionError("no error")


def test_the_command_adds(tmp_path: Path) -> None:
    for number in range(3):
        write_capture(tmp_path / f"{number}.kpd", capture(100, seed=number))
    (tmp_path / "k.names").write_text(NAMES)
    given = ("history", "add", tmp_path / "h", tmp_path, "--tag", "commit=abc")
    done = run(*given, "--time", "2026-11-22T10:00+00:00")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "h/month=2026-11").is_dir()
    rows = list(read_runs(tmp_path / "h"))
    assert rows[0].tags == {"commit": "abc"}
    assert query(tmp_path / "h", "select distinct captures, events from history")[1] == [(3, 300)]
    with pytest.raises(UsageError, match="is no time"):
        raise run(*given, "--time", "noon").exception or AssertionError("no error")


def histories(seed: int, runs: int, step: float = 1.0, last: int = 0) -> np.ndarray:
    values = 1 + np.random.default_rng(seed).normal(0, 0.01, runs)
    values[runs - last :] *= step
    return 100 * values


def test_steps_are_found_within_5_runs_and_noise_is_none() -> None:
    false = sum(bool(change_points(histories(seed, 300).tolist())) for seed in range(60))
    assert false == 0
    for step, least in ((1.05, 50), (1.10, 57)):
        found = [change_points(histories(seed, 155, step, 5).tolist()) for seed in range(60)]
        assert sum(any(abs(c.at - 150) <= 2 for c in one) for one in found) >= least


def test_what_is_no_noise() -> None:
    assert change_points([5.0] * 40) == []
    (change,) = change_points([5.0] * 20 + [6.0] * 20)
    assert (change.at, change.before, change.after) == (20, 5.0, 6.0)
    assert change.share == pytest.approx(0.2)
    assert change_points([5.0] * 9) == []
    one_bad_night = histories(1, 100)
    one_bad_night[50] *= 3
    assert change_points(one_bad_night.tolist()) == []
    (from_nothing,) = change_points([0.0] * 20 + [3.0] * 20)
    assert from_nothing.share == float("inf")


@pytest.mark.long
def test_false_alarms_and_steps_of_300_histories() -> None:
    false = sum(bool(change_points(histories(seed, 300).tolist())) for seed in range(1000))
    print(f"false alarms: {false} of 1000")
    assert false < 10
    for step in (1.02, 1.05, 1.10):
        found = [change_points(histories(seed, 155, step, 5).tolist()) for seed in range(300)]
        good = sum(any(abs(c.at - 150) <= 2 for c in one) for one in found)
        print(f"step {step}: found within 5 runs {good} of 300")
