"""Uploads: the event RAM over a serial line into a capture file.

`fetch` is the whole of it; what is named here is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kprof.upload.session import UploadOptions, UploadResult, fetch

__all__ = ["UploadOptions", "UploadResult", "fetch"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.session"), name)
