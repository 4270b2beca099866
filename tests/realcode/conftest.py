"""The folder of the checkout on the path: the harness is imported as `tests.realcode`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
