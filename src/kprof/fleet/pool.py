"""Many captures over the cores of this machine: processes that are started once.

A process takes some captures at a time, and gives one merged value back; memory does not grow with
their number. What comes back is merged in the order of the captures, whoever was first.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace

from kprof.analysis.replay.compiled import pays
from kprof.errors import KprofError
from kprof.fleet.measure import Failed, Measured, Plan, attempt, measure, merge

CHUNK = 32
_WORTH = 64  # captures for which a second process is started
_AHEAD = 4  # chunks that wait, for each process
_RECORD_BYTES = 5
_MERGED = 16  # values that are merged at once

Tell = Callable[[int, int, str], None]
"""Is given: captures so far, captures in all, their rate and the time that is left."""


class WorkerError(KprofError):
    """A worker died."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def measure_all(
    captures: Sequence[str],
    plan: Plan,
    *,
    processes: int | None = None,
    tell: Tell = lambda done, total, note: None,  # noqa: ARG005
) -> Measured:
    """Measure captures on this machine.

    Parameters
    ----------
    processes
        How many; None: as many as there are cores, where there is enough to do.

    Raises
    ------
    WorkerError
        A process was killed, as systems do that have no memory left.
    KprofError
        As `kprof.fleet.measure.measure`.
    """
    if plan.fast is None:
        plan = replace(plan, fast=pays(_events(captures)))
    chunks = [captures[at : at + CHUNK] for at in range(0, len(captures), CHUNK)]
    if processes is None:
        processes = cores() if len(captures) >= _WORTH else 1
    rate = Rate(len(captures), tell)
    if min(processes, len(chunks)) < 2:
        joined = Joined()
        for number, chunk in enumerate(chunks):
            joined.add(number, measure(chunk, plan))
            rate.add(len(chunk))
        return joined.whole()
    return _over_processes(chunks, plan, min(processes, len(chunks)), rate)


def _over_processes(
    chunks: Sequence[Sequence[str]], plan: Plan, processes: int, rate: Rate
) -> Measured:
    context = multiprocessing.get_context(_start_method())
    executor = ProcessPoolExecutor(processes, mp_context=context, initializer=_deaf)
    joined = Joined()
    waiting: dict[Future[Measured | Failed], int] = {}
    following = iter(enumerate(chunks))
    try:
        while True:
            while len(waiting) < _AHEAD * processes and (more := next(following, None)):
                waiting[executor.submit(attempt, more[1], plan)] = more[0]
            if not waiting:
                break
            for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                number = waiting.pop(done)
                found = done.result()
                if isinstance(found, Failed):
                    raise found.error()
                joined.add(number, found)
                rate.add(len(chunks[number]))
    except BrokenProcessPool as error:
        raise WorkerError(
            "a worker process died (killed for want of memory?); nothing was written (try -j 1)"
        ) from error
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
    return joined.whole()


def _start_method() -> str:
    """A copy of this process has everything imported; but not of one with threads."""
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def _deaf() -> None:
    """Ctrl-C goes to all processes of a terminal; the parent ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _events(captures: Sequence[str]) -> int:
    """About how many events there are in all."""
    found = 0
    for name in captures:
        try:
            found += os.stat(name).st_size // _RECORD_BYTES  # noqa: PTH116
        except OSError:  # it is named when it is opened
            continue
    return found


class Joined:
    """Merges values in the order of their numbers, from 0, in whichever order they come."""

    def __init__(self) -> None:
        self._next = 0
        self._early: dict[int, Measured] = {}
        self._parts: list[Measured] = []

    def add(self, number: int, part: Measured) -> None:
        """Take one."""
        self._early[number] = part
        while self._next in self._early:
            self._parts.append(self._early.pop(self._next))
            self._next += 1
        if len(self._parts) >= _MERGED:
            self._parts = [merge(self._parts)]

    def whole(self) -> Measured:
        """All that came."""
        return merge(self._parts)


class Rate:
    """Tells how far it is, how many captures a second, and how long it will still take."""

    def __init__(self, total: int, tell: Tell, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._tell, self._clock = total, tell, clock
        self._start = clock()
        self._done = 0

    def add(self, captures: int) -> None:
        """So many more are done."""
        self._done += captures
        took = max(self._clock() - self._start, 1e-3)
        left = (self._total - self._done) * took / self._done
        note = f"{self._done / took:,.0f} captures a second, {_span(left)} left"
        self._tell(self._done, self._total, note)


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
