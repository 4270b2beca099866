"""How often `kprof diff` is wrong, and what it finds: equal sides, and a 5% slowdown of one of 40.

Runs of 16,384 events. Each line of equal sides should have at most 1 in 100; the last lines say how
many slowdowns are named first, with one, three and five runs a side.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.analysis.noisy import Noise, host_program, host_runs

from kprof.analysis.compare import changed_names, compare
from kprof.analysis.measured import MeasuredRun

PAIRS, FOUND = 100, 50
LOADS = {
    "independent calls, spread 30%": Noise(spread=0.3),
    "one load, AR(1) 0.9 from call to call": Noise(load=0.2, rho=0.9),
    "one load, AR(1) 0.995": Noise(load=0.2, rho=0.995),
    "a load of each function, AR(1) 0.9": Noise(load=0.2, rho=0.9, own=True),
    "a load of each function, AR(1) 0.995": Noise(load=0.2, rho=0.995, own=True),
    "the same, 5 functions": Noise(functions=5, load=0.2, rho=0.995, own=True),
    "each function 3% from run to run": Noise(between=0.03),
}


def changed(runs: list[MeasuredRun]) -> list[str]:
    """What changed from the first half of the runs to the second."""
    half = len(runs) // 2
    return changed_names(compare(runs[:half], runs[half:]))


def main() -> None:
    """Print the figures."""
    for runs in (1, 5):
        for name, noise in LOADS.items():
            began, rng = time.monotonic(), np.random.default_rng(2)
            wrong = sum(
                bool(changed([noise.run(rng) for _ in range(2 * runs)])) for _ in range(PAIRS)
            )
            took = time.monotonic() - began
            print(
                f"{runs} a side, equal: {name:40} {wrong:3} of {PAIRS} ({took:.0f} s)", flush=True
            )
        with tempfile.TemporaryDirectory() as made:
            program = host_program(Path(made))
            wrong = sum(
                bool(changed(host_runs(program, 2 * runs, 100 * pair))) for pair in range(PAIRS)
            )
        print(f"{runs} a side, equal: {'runs of a program on this host':40} {wrong:3} of {PAIRS}")
    for spread, between in ((0.1, 0.0), (0.1, 0.01), (0.2, 0.0), (0.1, 0.02)):
        noise = Noise(spread=spread, between=between)
        for runs in (1, 3, 5):
            rng = np.random.default_rng(3)
            named = others = 0
            for _ in range(FOUND):
                slow = int(rng.integers(noise.functions))
                before = [noise.run(rng) for _ in range(runs)]
                names = changed([*before, *(noise.run(rng, {slow: 1.05}) for _ in range(runs))])
                named += names[:1] == [f"f{slow}"]
                others += bool(set(names) - {f"f{slow}"})
            print(
                f"{runs} a side, one of 40 is 5% slower; spread {spread:.0%} from call to call, "
                f"{between:.0%} from run to run: named first in {named} of {FOUND}, others named "
                f"in {others}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
