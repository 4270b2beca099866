"""The replay compiled by numba (extra ``fast``): the same source, on arrays.

The functions of `replay`, `contexts`, `frames` and `foresee` are compiled as they stand, each with
the compiled ones in the place of those that it calls; nothing of the rules is written twice.
What is only here is the way of a summary: decoding, replay and tally of a part of the capture small
enough to stay in the processor's cache.
"""

from __future__ import annotations

import functools
import importlib
import types
from pathlib import Path
from typing import Any

from kprof.errors import MissingExtraError

WORTH = 3_000_000  # events that pay for importing numba and its cache, about a second
_WORTH_COMPILING = 30_000_000  # events that pay for compiling, about 7 seconds

_ORDER: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("frames", ("emit", "push", "fresh", "save", "restore")),
    (
        "contexts",
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
    ("foresee", ("foresee", "leaves_early")),
    ("replay", ("_leave_unseen", "_leave", "_follow", "step")),
    (
        "fused",
        ("tally_rows", "decode_records", "decode_words", "count_records", "count_words", "run"),
    ),
)
_FROM_PYTHON = frozenset(
    ["step", "finish", "decode_records", "decode_words", "count_records", "count_words", "run"]
)
_INDEXES = ("sp", "m", "i")  # never below zero: no test for an index that counts from the end


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
    cache = Path(__file__).with_name("__pycache__")
    kept = any(cache.glob(f"fused.run_{edition()}-*.nbi"))
    return (kept or events >= _WORTH_COMPILING) and available()


@functools.cache
def edition() -> str:
    """A word that changes with every source of the analysis.

    It is part of what numba keeps compiled code under: numba itself asks only whether the file has
    changed that the function is in, not those of the functions and constants that it uses.
    """
    import hashlib

    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def compiled() -> Any:
    """The compiled functions by name; compiled at their first call, and kept in numba's cache.

    Raises
    ------
    MissingExtraError
        numba is not installed, or cannot be imported.
    """
    if not available():
        raise MissingExtraError("the compiled replay", "fast")
    done: dict[str, Any] = {}
    for part, names in _ORDER:
        module = importlib.import_module(f"kprof.analysis.{part}")
        for name in names:
            plain = getattr(module, name)
            copy = types.FunctionType(plain.__code__, {**vars(module), **done}, name)
            copy.__module__ = module.__name__
            done[name] = compile_function(copy, from_python=name in _FROM_PYTHON)
    return types.SimpleNamespace(**done)


def compile_function(function: types.FunctionType, *, from_python: bool = True) -> Any:
    """A function compiled by numba at its first call, and kept for the next runs.

    The arrays are not counted as references (`_nrt`): nothing here makes one, and counting takes
    several times as long as a switch of contexts. A numba without that option does count.

    Parameters
    ----------
    from_python
        It is called from Python, not only from other compiled functions.
    """
    import numba

    njit: Any = numba.njit
    code = function.__code__
    function.__qualname__ = f"{function.__name__}_{edition()}"
    own = code.co_varnames[code.co_argcount :]
    options = {
        "cache": True,
        "nogil": True,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": not from_python,
        "locals": {name: numba.uint32 for name in _INDEXES if name in own},
    }
    try:
        return njit(_nrt=False, **options)(function)
    except KeyError:
        return njit(**options)(function)
