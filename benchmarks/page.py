"""What the page costs: to make, in size, to load and to draw, in headless Chromium.

Times of the browser are CPU times of the page's thread, so that they hold on a busy machine: from
the start to the first picture, and of a frame while the timeline moves over the whole run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.html.chromium import Page, chromium

from benchmarks.replay import make_capture

FRAMES = 20
MOVE = """
const [done] = arguments, canvas = document.getElementById("timeline");
let left = %d;
function step() {
  if (!left--) return done();
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: left %% 2 ? "a" : "d", bubbles: true }));
  requestAnimationFrame(() => requestAnimationFrame(step));
}
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "w", bubbles: true }));
step();
"""


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="*", default=[16_384, 1_000_000, 10_000_000])
    chosen = parser.parse_args()
    print(f"{'events':>10} {'made':>8} {'size':>9} {'loaded':>9} {'frame':>8}")
    for events in chosen.events:
        with tempfile.TemporaryDirectory() as folder:
            print(line(Path(folder), events))


def line(folder: Path, events: int) -> str:
    """The costs of a page of so many events."""
    dump, page = make_capture(folder, events), folder / "page.html"
    command = [sys.executable, "-m", "kprof", "report", str(dump), "--html", str(page)]
    command += ["--names", str(folder / "k.names"), "--valid", "all"]
    start = time.perf_counter()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    made = time.perf_counter() - start
    with chromium(1440, 900) as driver:
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})

        def spent() -> float:
            found = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
            return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))

        Page(driver, page)
        loaded = spent()
        driver.execute_async_script(MOVE % FRAMES)
        frame = (spent() - loaded) / FRAMES
    size = page.stat().st_size / 1e6
    return f"{events:>10} {made:6.2f} s {size:6.2f} MB {loaded:7.2f} s {frame * 1e3:5.1f} ms"


if __name__ == "__main__":
    main()
