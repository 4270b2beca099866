"""Captures: the capture file, raw images, bank images, and what logic analysers write.

What is named here is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kprof.capture.model import Capture, CaptureInfo
    from kprof.capture.open import open_banks, open_capture
    from kprof.capture.write import capture_writer, write_banks, write_capture, write_raw

_HOMES = {
    "Capture": "model",
    "CaptureInfo": "model",
    "open_banks": "open",
    "open_capture": "open",
    "capture_writer": "write",
    "write_banks": "write",
    "write_capture": "write",
    "write_raw": "write",
}

__all__ = [
    "Capture",
    "CaptureInfo",
    "capture_writer",
    "open_banks",
    "open_capture",
    "write_banks",
    "write_capture",
    "write_raw",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
