"""The tests run alike whether make started them or not: `kprof cc` looks at how deep make is."""

from __future__ import annotations

import os

for name in ("MAKELEVEL", "MAKEFLAGS", "MFLAGS"):
    os.environ.pop(name, None)
