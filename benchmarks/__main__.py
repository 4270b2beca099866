"""`python -m benchmarks [NAME ...]`: run the named benchmarks, or all, one after another.

Each runs in a process of its own: one that fails is named at the end, and the others run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run the named benchmarks of this folder, or all; 1 where one failed."""
    here = Path(__file__).parent
    names = sys.argv[1:] or sorted(
        path.stem for path in here.glob("*.py") if not path.stem.startswith("_")
    )
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode:
            failed.append(name)
    if failed:
        print(f"== failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
