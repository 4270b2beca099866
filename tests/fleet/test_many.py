"""Many captures: which are meant, one answer however they are shared out, what cannot be read."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.capture.traces import capture

from kprof.analysis.saved import write_statistics
from kprof.analysis.statistics import Statistics
from kprof.capture import write_capture
from kprof.cli.main import kprof_command
from kprof.errors import UsageError
from kprof.fleet.captures import captures_of
from kprof.fleet.measure import Measured, Plan, Unread, measure
from kprof.fleet.pool import Joined, Rate, WorkerError, measure_all

NAMES = "".join(f"f{n}/{1024 + 2 * n}\n" for n in range(40))


@pytest.fixture
def farm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of 80 captures in two folders, their name files beside them."""
    monkeypatch.chdir(tmp_path)
    for number in range(80):
        folder = tmp_path / "runs" / f"board{number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.names").write_text(NAMES)
        write_capture(folder / f"{number:02}.kpd", capture(20 + number, seed=number))
    return tmp_path


def saved(statistics: Statistics | None, path: Path) -> str:
    """All that is kept of statistics, as text."""
    assert statistics is not None
    write_statistics(path, statistics)
    return path.read_text()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(kprof_command, [str(one) for one in arguments])


def test_patterns_folders_and_lists(farm: Path) -> None:
    every = captures_of(["runs/**/*.kpd"])
    assert len(every) == 80
    assert every == sorted(every)
    assert captures_of(["runs"]) == captures_of([str(farm / "runs")[len(str(farm)) + 1 :] + "/"])
    assert sorted(captures_of(["runs"])) == every
    assert captures_of([f"{farm}/runs/board1/0?.kpd"]) == [
        f"{farm}/runs/board1/0{n}.kpd" for n in (1, 3, 5, 7, 9)
    ]
    (farm / "list").write_text("# of last night\n\nruns/board0/00.kpd\nruns/board1/*.kpd\n")
    assert captures_of(["@list", "none.kpd"]) == [
        "runs/board0/00.kpd", *captures_of(["runs/board1/*.kpd"]), "none.kpd",
    ]  # fmt: skip
    (farm / "a[1].kpd").write_bytes(Path(every[0]).read_bytes())
    assert captures_of(["a[1].kpd"]) == ["a[1].kpd"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("*.bin", "matches no file"),
        ("empty", "has no capture file in it"),
        ("@all", "names the list @all"),
        ("@nothing", "names no capture"),
        ("@binary", "expected the name of a capture in each line"),
    ],
)
def test_what_means_no_capture(farm: Path, given: str, said: str) -> None:
    (farm / "empty").mkdir()
    (farm / "empty/raw.bin").write_bytes(bytes(50))
    (farm / "all").write_text("@all\n")
    (farm / "nothing").write_text("# no\n")
    (farm / "binary").write_bytes(bytes(range(256)))
    with pytest.raises(UsageError, match=said):
        captures_of([given])


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_the_answer_does_not_depend_on_how_they_are_shared_out(farm: Path, processes: int) -> None:
    every = captures_of(["runs/**/*.kpd"])
    whole = measure(every, Plan())
    shared = measure_all(every, Plan(), processes=processes)
    wanted = saved(whole.statistics, farm / "one.json")
    assert saved(shared.statistics, farm / "other.json") == wanted
    assert '"captures":[["runs/board0/00.kpd",20,' in wanted


@pytest.mark.usefixtures("farm")
def test_what_cannot_be_read_is_named_and_counted() -> None:
    every = captures_of(["runs/**/*.kpd"])
    Path(every[5]).write_bytes(Path(every[5]).read_bytes()[:777])
    Path(every[70]).unlink()
    done = run("report", *every, "-j", 2, "--format", "json")
    assert done.exit_code == 0, done.stderr
    value = json.loads(done.stdout)
    assert [one["capture"] for one in value["unread"]] == [every[5], every[70]]
    assert "ends after 777 bytes" in value["unread"][0]["why"]
    assert [one["source"] for one in value["captures"]] == [*every[:5], *every[6:70], *every[71:]]
    assert "2 of 80 captures could not be read and are left out" in done.stderr
    text = run("report", *every).stdout
    assert f"2 of 80 captures could not be read:\n  {every[5]}\n  {every[70]}\n" in text
    assert "... and 38 more" in text
    strict = run("report", *every, "--strict", "-j", 2)
    assert "ends after 777 bytes" in str(strict.exception)
    assert strict.stdout == ""


@pytest.mark.parametrize(
    ("many", "more"), [(1, ""), (2, " (and 1 more captures)"), (12, " (and 11 more captures)")]
)
def test_none_can_be_read(farm: Path, many: int, more: str) -> None:
    done = run("merge", *(f"no{n}.kpd" for n in range(many)), "-o", "x.json")
    assert str(done.exception).startswith("no0.kpd: cannot read: no such file")
    assert str(done.exception).endswith(f"folder exists){more}")
    assert not (farm / "x.json").exists()


@pytest.mark.usefixtures("farm")
def test_merge_takes_patterns_and_what_it_writes_is_the_report_s() -> None:
    assert run("merge", "runs/board0/*.kpd", "-o", "a.json").exit_code == 0
    assert run("merge", "runs/board1", "-o", "b.json").exit_code == 0
    both = json.loads(run("report", "a.json", "b.json", "--format", "json").stdout)
    every = json.loads(run("report", "runs/**/*.kpd", "--format", "json").stdout)
    assert both["functions"] == every["functions"]
    assert both["elapsed_us"] == every["elapsed_us"]


def test_a_name_file_that_changes_is_read_again(farm: Path) -> None:
    every = captures_of(["runs/board0/*.kpd"])
    first = measure(every, Plan()).statistics
    names = farm / "runs/board0/kernel.names"
    names.write_text(NAMES.replace("f1/", "other/"))
    second = measure(every, Plan()).statistics
    assert first is not None
    assert second is not None
    assert "f1" in first.functions
    assert "f1" not in second.functions


def test_values_are_merged_in_their_order_whoever_comes_first() -> None:
    rng = random.Random(1)
    parts = [Measured(unread=(Unread(str(number), ""),)) for number in range(100)]
    order = list(range(100))
    rng.shuffle(order)
    joined = Joined()
    for number in order:
        joined.add(number, parts[number])
    assert [one.capture for one in joined.whole().unread] == [str(n) for n in range(100)]


def test_rate_and_time_left() -> None:
    now = [0.0]
    told: list[tuple[int, int, str]] = []
    rate = Rate(9000, lambda *how: told.append(how), lambda: now[0])
    now[0] = 10.0
    rate.add(500)
    now[0] = 20.0
    rate.add(500)
    assert told == [
        (500, 9000, "50 captures a second, 2:50 left"),
        (1000, 9000, "50 captures a second, 2:40 left"),
    ]


def _die(*_: object) -> Measured:
    os._exit(9)


def test_a_worker_that_dies(farm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.fleet.pool.attempt", _die)
    monkeypatch.setattr("kprof.fleet.pool._start_method", lambda: "fork")
    with pytest.raises(WorkerError, match="a worker process died"):
        measure_all(captures_of(["runs/**/*.kpd"]), Plan(), processes=2)
    assert sorted(path.name for path in farm.iterdir()) == ["runs"]
