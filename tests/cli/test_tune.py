"""`kprof names tune`: which functions go, what stays, and that the name file is else untouched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kprof.analysis import summarise
from kprof.capture import Capture, write_capture
from kprof.cli.tuning import Cost, choose
from kprof.names import parse_names, read_names

NAMES = "# mine\nwork/100\r\n  tiny / 102 \nrare/104\nMGET/106=\nsw/108!\n#tiny/102\n#@ a.c\nq/0\n"

_costs = st.lists(
    st.builds(
        Cost,
        st.sampled_from([f"f{n}" for n in range(30)]),
        st.integers(0, 10_000),
        st.integers(0, 10**6),
    ),
    unique_by=lambda cost: cost.name,
)


@given(_costs, st.floats(0, 5), st.floats(0, 1000), st.floats(0, 10**5))
def test_enough_goes_and_no_more_than_enough(
    costs: list[Cost], trigger: float, others: float, most: float
) -> None:
    gone = choose(costs, trigger, others, most)
    left = [cost for cost in costs if cost not in gone]

    def total(some: list[Cost]) -> float:
        return others + sum(2 * trigger * cost.calls for cost in some)

    assert total(left) <= most + 1e-6 or not any(cost.calls for cost in left)
    if gone:  # the last one had to go
        assert total([*left, gone[-1]]) > most - 1e-6
    worth = [cost.calls**2 / (cost.net + 1) for cost in gone]
    assert worth == sorted(worth, reverse=True)


def capture(folder: Path) -> Path:
    """In 1000 us, `tiny` 100 times for 1 us each within `work`, `rare` once; the rest is work."""
    events = [(0, 100)]
    for number in range(100):
        events += [(4 + 8 * number, 102), (5 + 8 * number, 103)]
    events += [(810, 104), (900, 105), (950, 106), (1000, 101)]
    path = folder / "dump.kpd"
    write_capture(
        path, Capture.from_events(*(list(column) for column in zip(*events, strict=True)))
    )
    return path


def tune(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kprof", "names", "tune", "dump.kpd", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_the_cheapest_and_most_called_function_goes(tmp_path: Path) -> None:
    dump = capture(tmp_path)
    (tmp_path / "k.names").write_bytes(NAMES.encode())
    done = tune(tmp_path, "--overhead", "5%", "--trigger-cost", "0.5us")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "tiny: 100 calls, 1.0 us net in each\n"
        "k.names: 1 functions have value 0 now: triggers take 0.2% of the run time, not 10.2% "
        "(build again)\n"
    )
    text = (tmp_path / "k.names").read_bytes().decode()
    assert text == NAMES.replace("tiny / 102 ", "tiny / 0 ", 1)
    figures = {f.entry.name: f.calls for f in summarise(*_open(dump, NAMES)).functions}
    assert figures == {"work": 1, "tiny": 100, "rare": 1}


def _open(dump: Path, names: str):  # type: ignore[no-untyped-def]
    from kprof.capture import open_capture

    return open_capture(dump), parse_names(names)


def test_a_file_of_its_own_and_a_budget_that_holds(tmp_path: Path) -> None:
    capture(tmp_path)
    (tmp_path / "k.names").write_text(NAMES)
    done = tune(tmp_path, "--overhead", "20%", "--trigger-cost", "0.5us", "-o", "new.names")
    assert done.returncode == 0
    assert (tmp_path / "new.names").read_text() == (tmp_path / "k.names").read_text()
    done = tune(tmp_path, "--overhead", "5%", "--names", "k.names", "-o", "new.names")
    assert (done.returncode, done.stdout) == (2, "")
    assert "new.names: already exists" in done.stderr
    done = tune(tmp_path, "--overhead", "0.01%", "--names", "k.names", "-o", "new.names", "--force")
    assert [entry.value for entry in read_names(tmp_path / "new.names").entries[:3]] == [0, 0, 0]
    assert "the other triggers alone take more than that" in done.stderr
    assert read_names(tmp_path / "k.names").get("tiny").value == 102  # type: ignore[union-attr]


def test_misuse(tmp_path: Path) -> None:
    capture(tmp_path)
    (tmp_path / "k.names").write_text(NAMES)
    for budget in ("5", "0%", "x%", "200%"):
        done = tune(tmp_path, "--overhead", budget)
        assert done.returncode == 2
        assert "expected a share of the run time, such as 5%" in done.stderr
