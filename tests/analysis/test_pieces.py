"""A capture replayed in pieces gives what one replay gives, wherever it is cut."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kprof.analysis import summarise
from kprof.analysis.replay import codes, pieces
from kprof.analysis.replay.compiled import compiled
from kprof.analysis.replay.knowledge import known_calls
from kprof.analysis.replay.machine import Machine
from kprof.analysis.replay.survey import Survey, survey
from kprof.analysis.replay.tags import TagTable
from kprof.analysis.replay.tally import Tally
from kprof.capture import Capture
from kprof.capture.model import CaptureInfo
from kprof.names import parse_names
from kprof.names.calls import parse_calls

pytest.importorskip("numba", reason="numba (the extra 'fast') is not installed")

NAMES = parse_names("a/2\nb/4\nc/6\nd/8\nloop/10~\nuser/12%\nmark/14=\nirq/16^\nswtch/20!\n")
CALLS = parse_calls(
    "# kprof calls 1\n\tk.c:0\t\t\t\td\n"
    + "".join(
        f"{name}\tk.c:{line}\t{flags}\tvoid {name}(void)\t{calls}\t\n"
        for line, (name, flags, calls) in enumerate(
            [
                ("a", "", "b c loop user"),
                ("b", "", "b c"),
                ("c", "i", "a b"),
                ("d", "a", "b"),
                ("irq", "", "b"),
                ("loop", "", "a b"),
                ("user", "", "c"),
            ]
        )
    )
)
STATE = (codes.IDLE, codes.USER, codes.UNATTRIBUTED, codes.CHILD_SUM, codes.RESTARTS)


def _noise(seed: int, events: int, disorder: float) -> Capture:
    """Calls; perhaps exits that end several, or none."""
    source = random.Random(seed)
    tags: list[int] = []
    inside: list[int] = []
    while len(tags) < events:
        choice = source.random()
        if choice < disorder:
            tags.append(source.choice((2, 3, 5, 7, 9, 11, 13, 14, 17, 99)))
        elif choice < 0.5 + 0.1 * (len(inside) < 3):
            inside.append(source.choice((2, 2, 4, 6, 8, 10, 12, 16)))
            tags.append(inside[-1])
        elif inside:
            tags.append(inside.pop() + 1)
    steps = [source.choice((0, 1, 7, 1 << 20)) for _ in tags]
    cut = source.randrange(events // 3)  # what began before is not in it
    wide = CaptureInfo(unwrapped=seed % 2 == 0)
    return Capture.from_events(np.cumsum(steps)[cut:].tolist(), tags[cut:], wide)


def _whole(capture: Capture, facts: Survey) -> tuple[Machine, Tally]:
    machine, tally = Machine(facts), Tally(len(facts.role))
    ticks, tags = next(capture.chunks(capture.events))
    times = np.cumsum(capture.info.intervals(ticks, None))
    for rows in machine.feed(times, facts.table.ops[tags], last=True):
        tally.add(rows)
    tally.add(machine.finish())
    return machine, tally


def _check(seed: int, events: int, sizes: range) -> int:
    """Hold a random capture in pieces of these sizes; how many were replayed once more."""
    known = known_calls(CALLS, TagTable.of(NAMES).functions) if seed % 3 == 0 else None
    capture = _noise(seed, events, 0.0 if seed % 5 else 0.1)
    facts = survey(capture, TagTable.of(NAMES), known)
    if not facts.switches and known is None:
        facts.role[:] &= ~codes.ROLE_NEVER
    machine, tally = _whole(capture, facts)
    repeated = 0
    for size in sizes:
        mine = Tally(len(facts.role))
        joined = pieces.Joined(compiled(), capture, facts, mine, size)
        joined.run()
        joined.machine.end_at(joined.ended.now)
        mine.add(joined.machine.finish())
        assert np.array_equal(mine.table, tally.table), (seed, size)
        assert [joined.machine[k] for k in STATE] == [machine[k] for k in STATE], (seed, size)
        assert joined.ended.now == machine._now
        repeated += joined.repeated
    return repeated


def test_a_capture_can_be_cut_anywhere() -> None:
    repeated = [_check(seed, 40, range(1, 28)) for seed in range(12)]
    assert repeated[1] == 0  # calls in order, nothing known: all is joined
    assert any(repeated)


@pytest.mark.long
def test_many_captures_can_be_cut_anywhere() -> None:
    for seed in range(100, 500):
        _check(seed, 90, range(1, 60))


def test_a_summary_is_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kprof.analysis.replay.pieces.PIECE", 1000)
    monkeypatch.setattr("kprof.analysis.replay.pieces.cores", lambda: 2)
    ran: list[int] = []
    run = pieces.Joined.run
    monkeypatch.setattr(pieces.Joined, "run", lambda self: (ran.append(1), run(self))[1])
    for seed in (1, 2, 5):
        capture = _noise(seed, 9000, 0.0 if seed % 5 else 0.01)
        one = summarise(capture, NAMES, fast=True)
        assert one == summarise(capture, NAMES, fast=False)
    assert len(ran) == 3


def test_a_capture_with_switches_is_not_cut() -> None:
    many = 3 * pieces.PIECE
    quiet = Capture.from_events([0, 1, 2], [2, 3, 4])
    busy = Capture.from_events([0, 1, 2], [2, 20, 21])
    table = TagTable.of(NAMES)
    assert pieces.can_be_cut(survey(quiet, table), many) == (pieces.cores() > 1)
    assert not pieces.can_be_cut(survey(busy, table), many)
    assert not pieces.can_be_cut(survey(quiet, table), pieces.PIECE)
