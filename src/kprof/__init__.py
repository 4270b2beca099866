"""kprof: profile kernels and firmware to the microsecond (A. McRae, 1993, as software)."""

__version__ = "0.1.0"
