"""kprof: profile kernels and firmware to the microsecond (A. McRae, 1993, as software).

``import kprof`` gives `load` and `load_many`, and the classes of what they return. They are those
of `kprof.api`, imported when they are first used.
"""

TYPE_CHECKING = False  # without `typing`, whose import takes long enough to be interrupted
if TYPE_CHECKING:
    from kprof.api import Comparison, Frame, Function, Run, Runs, Text, load, load_many

__version__ = "0.1.0"
__all__ = ["Comparison", "Frame", "Function", "Run", "Runs", "Text", "load", "load_many"]

if not TYPE_CHECKING:

    def __getattr__(name):
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module("kprof.api"), name)

    def __dir__():
        return sorted([*globals(), *__all__])
