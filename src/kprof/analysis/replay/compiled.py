"""The replay compiled by numba (extra ``fast``): the same functions, on arrays.

numba compiles a function at its first call. The rules of the replay are given to it as they stand:
`step` and `finish` as entry points, the functions of their modules by ``register_jitable``, so
nothing is written twice. What is only here is the way of a summary: decoding, replay and tally of a
part of the capture small enough to stay in the processor's cache.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from kprof.analysis.replay import (
    candidates,
    clock,
    contexts,
    engine,
    frames,
    habits,
    lookahead,
    mixups,
    nested,
    orphans,
    switching,
)
from kprof.analysis.replay.engine import step
from kprof.analysis.replay.tally import tally_rows
from kprof.errors import MissingExtraError

WORTH = 3_000_000  # events that pay for importing numba and its cache, about a second
_WORTH_COMPILING = 30_000_000  # events that pay for compiling, about 10 seconds
_INDEXES = ("sp", "m", "i")
_PART = 8192  # events between two tallies: rows of this many stay in the cache

_RULES = (
    frames, orphans, nested, contexts, lookahead, candidates, habits, mixups, switching, engine,
)  # fmt: skip


def _functions(module: ModuleType) -> list[Callable[..., Any]]:
    """The functions that a module defines."""
    found = (f for f in vars(module).values() if isinstance(f, FunctionType))
    return [f for f in found if f.__module__ == module.__name__]


class Compiled(NamedTuple):
    """The compiled functions; `part` is how many events `run` replays between two tallies."""

    step: Callable[..., tuple[int, int, int]]
    finish: Callable[..., int]
    run: Callable[..., tuple[int, int]]
    decode_records: Callable[..., int]
    decode_words: Callable[..., int]
    part: int = _PART


@functools.cache
def available() -> bool:
    """Can numba be imported? One that is installed may not go with the numpy that is."""
    try:
        import numba  # noqa: F401
    except (ImportError, OSError):
        return False
    return True


def pays(events: int) -> bool:
    """Is the compiled replay there, and the faster way to replay so many events?"""
    if events < WORTH:
        return False
    return (events >= _WORTH_COMPILING or any(cache_folder().rglob("*.nbi"))) and available()


def cache_folder() -> Path:
    """Where compiled code is kept: a folder for each edition of the analysis' sources."""
    import hashlib

    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "kprof" / f"replay-{digest.hexdigest()[:16]}"


@functools.cache
def compiled() -> Compiled:
    """The compiled functions; compiled at their first call, and kept for the next runs.

    Raises
    ------
    MissingExtraError
        numba is not installed, or cannot be imported.
    """
    if not available():
        raise MissingExtraError("the compiled replay", "fast")
    import numba
    from numba.extending import register_jitable

    called = [f for module in _RULES for f in _functions(module)]
    for function in (*called, tally_rows):
        register_jitable(inline="never", **_options(function))(function)
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
    try:
        entries = (step, contexts.finish, run, clock.decode_records, clock.decode_words)
        njit: Any = numba.njit
        return Compiled(*(njit(cache=True, nogil=True, **_options(f))(f) for f in entries))
    finally:
        config.CACHE_DIR = before


@functools.cache
def compiled_entry(function: Callable[..., Any], *called: Callable[..., Any]) -> Any:
    """One more function, and those that it calls, compiled and kept like those of the replay."""
    if not available():
        raise MissingExtraError("compiled code", "fast")
    import numba
    from numba.extending import register_jitable

    for one in called:
        register_jitable(inline="never", **_options(one))(one)
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder())
    try:
        return numba.njit(cache=True, nogil=True, **_options(function))(function)
    finally:
        config.CACHE_DIR = before


def _options(function: Callable[..., Any]) -> dict[str, Any]:
    """How a function is compiled.

    Indexes are unsigned: then numba does not ask whether one counts from the end. Arrays are not
    counted as references: nothing here makes one, and counting takes longer than a switch of
    contexts. A numba that does not know this private option does count.
    """
    import numba
    from numba.core.compiler import Flags

    code = function.__code__
    own = code.co_varnames[code.co_argcount :]
    options: dict[str, Any] = {"locals": {n: numba.uint32 for n in _INDEXES if n in own}}
    return {"_nrt": False, **options} if hasattr(Flags, "nrt") else options


def run(
    r: Any, times: Any, ops: Any, last: bool, at: int, room: int, table: Any
) -> tuple[int, int]:
    """Replay and tally these events, a part at a time; the first that must wait, and why."""
    done = 0
    end = len(ops)
    why = 0
    while done < end and why == 0:
        stop = min(done + _PART, end)
        reached, made, why = step(r, times, ops, done, stop, end, last, at, False, room)
        tally_rows(r.rows, made, table)
        done = reached
    return done, why
