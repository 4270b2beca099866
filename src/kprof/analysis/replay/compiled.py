"""The replay compiled by numba (extra ``fast``): the same functions, on arrays.

numba compiles a function at its first call. The rules of the replay are given to it as they stand,
by ``register_jitable``, so nothing is written twice. What is only here: the entry points, which
turn the columns into pointers, and the way of a summary: replay and tally of a part of the capture
small enough to stay in the processor's cache.
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
    contexts,
    decoding,
    engine,
    frames,
    habits,
    lookahead,
    mixups,
    nested,
    orphans,
    switching,
)
from kprof.analysis.replay.columns import Replay
from kprof.analysis.replay.tally import tally_piece, tally_rows
from kprof.errors import MissingExtraError

WORTH = 3_000_000  # events that pay for importing numba and its cache, about a second
_WORTH_COMPILING = 30_000_000  # events that pay for compiling, about 10 seconds
_INDEXES = ("sp", "m", "i")
_PART = 8192  # events between two tallies: rows of this many stay in the cache

_RULES = (
    frames, orphans, nested, contexts, lookahead, candidates, habits, mixups, switching, engine,
)  # fmt: skip
_INLINED = ("_leave", "_task_mark", "_out", "switch_in", "switch_out")  # what each switch calls


class Compiled(NamedTuple):
    """The compiled functions; `part` is how many events `run` replays between two tallies."""

    step: Callable[..., tuple[int, int, int]]
    finish: Callable[..., int]
    run: Callable[..., tuple[int, int]]
    run_piece: Callable[..., tuple[int, int]]
    decode_records: Callable[..., int]
    decode_words: Callable[..., int]
    find_tag: Callable[..., int]
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
    global _pointer
    _pointer = _pointer_intrinsic()
    rules = [function for module in _RULES for function in _functions(module)]
    _register(*rules, tally_rows, tally_piece, _columns)
    decoders = (decoding.decode_records, decoding.decode_words, decoding.find_tag)
    return Compiled(
        *(_entry(function) for function in (_step, _finish, _run, _run_piece, *decoders))
    )


@functools.cache
def compiled_entry(function: Callable[..., Any], *called: Callable[..., Any]) -> Any:
    """One more function, and those that it calls, compiled and kept like those of the replay."""
    if not available():
        raise MissingExtraError("compiled code", "fast")
    _register(*called)
    return _entry(function)


def _functions(module: ModuleType) -> list[Callable[..., Any]]:
    """The functions that a module defines."""
    found = (f for f in vars(module).values() if isinstance(f, FunctionType))
    return [f for f in found if f.__module__ == module.__name__]


def _register(*functions: Callable[..., Any]) -> None:
    """Let compiled functions call these."""
    from numba.extending import register_jitable

    for function in functions:
        options = {**_options(function), "forceinline": function.__name__ in _INLINED}
        register_jitable(inline="never", **options)(function)


def _entry(function: Callable[..., Any]) -> Any:
    """A function that is compiled when it is first called, and kept in the cache folder."""
    import numba

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


def _pointer_intrinsic() -> Any:
    """For compiled code: an array's data, one word instead of the seven that numba hands on.

    All columns go to every function of the replay. As arrays they are 126 words a call, which took
    longer than what the functions do.
    """
    import numba
    from numba.extending import intrinsic

    types: Any = numba.types

    def pointer(_: Any, array: Any) -> Any:
        def data(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.make_array(signature.args[0])(context, builder, arguments[0]).data

        return types.CPointer(array.dtype)(array), data

    made: Any = intrinsic
    return made(pointer)


_pointer: Any = None


def _columns(r: Any) -> Any:
    """The columns of a replay as pointers."""
    return Replay(
        _pointer(r.state), _pointer(r.nest), _pointer(r.role), _pointer(r.frames),
        _pointer(r.contexts), _pointer(r.tasks), _pointer(r.rows), _pointer(r.path_code),
        _pointer(r.path_parent), _pointer(r.path_keys), _pointer(r.path_ids), _pointer(r.seen),
        _pointer(r.times_seen), _pointer(r.items), _pointer(r.inside), _pointer(r.pairs),
        _pointer(r.delta), _pointer(r.can), r.stride,
    )  # fmt: skip


def _step(
    r: Any, times: Any, ops: Any, start: int, stop: int, end: int, last: bool, at: int,
    detail: bool, room: int,
) -> tuple[int, int, int]:  # fmt: skip
    """`engine.step` of arrays."""
    return engine.step(
        _columns(r), _pointer(times), _pointer(ops), start, stop, end, last, at, detail, room
    )


def _finish(r: Any, now: int, place: int, detail: bool) -> int:
    """`contexts.finish` of arrays."""
    return contexts.finish(_columns(r), now, place, detail)


def _run(
    r: Any, times: Any, ops: Any, last: bool, at: int, room: int, table: Any
) -> tuple[int, int]:
    """Replay and tally these events, a part at a time; the first that must wait, and why."""
    done = 0
    end = len(ops)
    why = 0
    columns = _columns(r)
    now = _pointer(times)
    what = _pointer(ops)
    while done < end and why == 0:
        stop = min(done + _PART, end)
        reached, made, why = engine.step(columns, now, what, done, stop, end, last, at, False, room)
        tally_rows(columns.rows, 0, made, table)
        done = reached
    return done, why


def _run_piece(r: Any, times: Any, ops: Any, room: int, table: Any, found: Any) -> tuple[int, int]:
    """`_run` for a piece of a capture, see `pieces`; what it leaves to do is in `found`."""
    done = 0
    end = len(ops)
    why = 0
    columns = _columns(r)
    now = _pointer(times)
    what = _pointer(ops)
    while done < end and why == 0:
        stop = min(done + _PART, end)
        reached, made, why = engine.step(
            columns, now, what, done, stop, end, True, done, False, room
        )
        tally_piece(columns.rows, made, table, found)
        done = reached
    return done, why
