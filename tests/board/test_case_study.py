"""The paper's section 5 on the board: before and after the loaned buffers, told by the diff."""

from __future__ import annotations

import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from kprof.analysis.compare import changed_names, compare
from kprof.analysis.measured import MeasuredRun, measure
from kprof.board.elf import load_kernel
from kprof.board.md20 import HZ, MD20
from kprof.board.minikernel import ready_built
from kprof.board.session import Plan, Session
from kprof.board.traffic import data_stream
from kprof.names import read_names


def run(variant: str, seed: int = 1) -> MeasuredRun:
    image, names = ready_built(variant)
    with MD20(load_kernel(image), traffic=data_stream(HZ, seed=seed)) as board:
        session = Session(board)
        session.record(Plan())
        capture, known = session.capture(), read_names(names)
        return measure(capture, known)


def test_the_change_is_named_first() -> None:
    difference = compare([run("kernel")], [run("loan")])
    assert set(changed_names(difference)[:2]) == {"lanisr", "uiomove"}
    change = {change.name: change for change in difference.functions}
    assert change["lanisr"].cost < -40_000
    assert change["uiomove"].cost > 30_000
    assert change["in_cksum"].cost > 20_000
    appeared = {path.path for path in difference.paths if not path.calls_before}
    assert ("vec1", "lanisr", "le_get") in appeared


def test_other_traffic_is_no_change() -> None:
    assert changed_names(compare([run("kernel")], [run("kernel", seed=2)])) == []
