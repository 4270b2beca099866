"""kprof: profile kernels and firmware to the microsecond (A. McRae, 1993, as software).

`kprof.load` and `kprof.Run` are those of `kprof.api`, imported when they are first used.
"""

TYPE_CHECKING = False  # imports nothing: a Ctrl-C here would print a traceback
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> "Any":
    if name not in ("Run", "load"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("kprof.api"), name)
