"""`python -m benchmarks [NAME ...]`: run the named benchmarks, or all, one after another."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main() -> None:
    """Run the named benchmarks of this folder, or all."""
    here = Path(__file__).parent
    names = sys.argv[1:] or sorted(
        path.stem for path in here.glob("*.py") if not path.stem.startswith("_")
    )
    sys.argv = sys.argv[:1]
    for name in names:
        print(f"== {name}", flush=True)
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")


if __name__ == "__main__":
    main()
