"""The replay compiled by numba (extra ``fast``): the same source, on arrays.

The functions of `replay`, `contexts`, `frames` and `foresee` are compiled as they stand, each with
the compiled ones in the place of those that it calls; nothing of the rules is written twice.
What is only here is the way of a summary: decoding, replay and tally of a part of the capture small
enough to stay in the processor's cache.
"""

from __future__ import annotations

import functools
import importlib.util
import types
from pathlib import Path
from typing import Any

from kprof.analysis import contexts, foresee, frames, replay
from kprof.errors import MissingExtraError

WORTH = 3_000_000  # events that pay for importing numba and its cache, about a second
_WORTH_COMPILING = 40_000_000  # events that pay for compiling, about 10 seconds

_ORDER: tuple[tuple[types.ModuleType, tuple[str, ...]], ...] = (
    (frames, ("emit", "push", "fresh", "save", "restore")),
    (
        contexts,
        (
            "account_base",
            "restore_system",
            "restore_task",
            "suspend",
            "mark_switch",
            "open_rows",
            "switch_later",
            "switch_out",
            "switch_in",
            "finish",
        ),
    ),
    (foresee, ("foresee", "leaves_early")),
    (replay, ("_leave_unseen", "_leave", "step")),
)


def available() -> bool:
    """Is numba installed?"""
    return importlib.util.find_spec("numba") is not None


def pays(events: int) -> bool:
    """Is the compiled replay there, and the faster way to replay so many events?"""
    if events < WORTH or not available():
        return False
    cache = Path(__file__).with_name("__pycache__")
    return events >= _WORTH_COMPILING or any(cache.glob("fused.run-*.nbi"))


@functools.cache
def compiled() -> Any:
    """The compiled functions by name; compiled at their first call, and kept in numba's cache.

    Raises
    ------
    MissingExtraError
        numba is not installed.
    """
    try:
        import numba
    except ImportError as error:
        raise MissingExtraError("the compiled replay", "fast") from error
    done: dict[str, Any] = {}
    for module, names in _ORDER:
        for name in names:
            plain = getattr(module, name)
            scope = {**vars(module), **done}
            copy = types.FunctionType(plain.__code__, scope, name)
            copy.__module__ = module.__name__
            done[name] = numba.njit(copy, cache=True, nogil=True)
    from kprof.analysis import fused

    for name in ("tally_rows", "decode_records", "decode_wide", "run"):
        plain = getattr(fused, name)
        copy = types.FunctionType(plain.__code__, {**vars(fused), **done}, name)
        copy.__module__ = fused.__name__
        done[name] = numba.njit(copy, cache=True, nogil=True)
    return types.SimpleNamespace(**done)
