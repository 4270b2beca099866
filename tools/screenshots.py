"""Make the pictures of the documentation, docs/images/*.png, from the example kernel.

Run it in the project's folder as ``python -m tools.screenshots``. Needs the extras board and dev,
chromium with chromedriver, and for small files pngquant. The picture of the case study needs what
``make -C examples/lwip run`` leaves; ``python -m tools.screenshots case`` makes that one alone, and
``perfetto`` that of Perfetto's interface.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.export.perfetto_ui import perfetto_ui
from tests.html.chromium import Page, chromium

IMAGES = Path("docs/images")
KERNEL = Path("examples/minikernel/prebuilt")
LWIP = Path("examples/lwip/build")
NAMES = KERNEL / "kernel.names"
WIDTH = 1240
SHOW = "document.querySelector(`#table td.name[title='${arguments[0]}']`).click()"


def kprof(*arguments: object, folder: Path | None = None) -> str:
    command = [sys.executable, "-m", "kprof", *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    return done.stdout


def shoot(driver: Any, name: str, css: str, height: int = 0) -> None:
    """Save what the browser shows from the top of an element on."""
    box = driver.execute_script(
        "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [b.top + scrollY, b.height]",
        css,
    )
    clip = {
        "x": 0,
        "y": max(0, box[0] - 10),
        "width": WIDTH,
        "height": height or box[1],
        "scale": 1,
    }
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "clip": clip})
    path = IMAGES / f"{name}.png"
    path.write_bytes(base64.b64decode(picture["data"]))
    if shutil.which("pngquant"):
        command = ["pngquant", "--force", "--skip-if-larger", "--output", path, "96", path]
        subprocess.run(command, check=False)
    print(f"{path}: {path.stat().st_size // 1024} kB")


def pages(work: Path) -> None:
    names = NAMES.resolve()
    for options in (
        ("dump.kpd", "--html", "plain.html", "--sources"),
        ("after.kpd", "--diff-with", "dump.kpd", "--html", "difference.html"),
    ):
        kprof("report", *options, "--names", names, folder=work)
    with chromium(WIDTH, 1560) as driver:
        page = Page(driver, work / "plain.html")
        page.run(SHOW, "lanisr")
        page.run("document.querySelector('#worst button').click()")
        page.run("document.activeElement.blur(); scrollTo(0, 0)")
        settle(page)
        shoot(driver, "page", "#top", 1410)
        page.keys("#timeline", "-", "-", "-", "[", "]")
        page.run("document.activeElement.blur(); scrollTo(0, 0)")
        settle(page)
        shoot(driver, "range", "#timeline-section", 1180)
        page.keys("#timeline", "\ue00c", "\ue00c", "\ue00c")
        page.run("document.getElementById('theme-button').click()")
        page.run("document.getElementById('flame-section').scrollIntoView()")
        settle(page)
        shoot(driver, "flame-dark", "#flame-section", 700)
        page = Page(driver, work / "difference.html")
        page.run(SHOW, "lanisr")
        page.run("document.getElementById('flame-section').scrollIntoView()")
        settle(page)
        shoot(driver, "difference", "#columns-grid", 860)


def case_study(work: Path) -> None:
    """lwIP with loaned buffers, compared with copied ones."""
    folder = LWIP.resolve()
    names, before = folder / "kernel.names", folder / "copy.bin"
    options = ("--names", names, "--diff-with", before, "--html", work / "case.html")
    kprof("report", folder / "loan.bin", *options)
    with chromium(WIDTH, 1560) as driver:
        page = Page(driver, work / "case.html")
        page.run(SHOW, "lanisr")
        page.run("document.getElementById('flame-section').scrollIntoView()")
        settle(page)
        shoot(driver, "case-study", "#columns-grid", 860)


_PERFETTO_VIEW = """
const trace = self.app.trace, workspace = trace.currentWorkspace ?? trace.workspace;
const open = (node) => { node.expand(); node.children.forEach(open); };
for (const node of [...workspace.children])
  if (/^(Ftrace|Scheduler|System)/.test(node.name)) workspace.removeChild(node); else open(node);
self.app.sidebar.toggleVisibility();
trace.timeline.setViewportTime(60000000n, 100000000n);
"""


def perfetto(work: Path) -> None:
    """A part of the run in Perfetto's own interface."""
    trace = work / "dump.pftrace"
    names = NAMES.resolve()
    kprof("export", "dump.kpd", "--names", names, "--format", "perfetto", "-o", trace, folder=work)
    with perfetto_ui(trace, WIDTH, 1000) as page:
        page.wait("return !self.app.isLoadingTrace && self.app.trace.workspace.children.length > 4")
        page.driver.execute_script(_PERFETTO_VIEW)
        page.driver.execute_async_script("setTimeout(arguments[0], 4000)")
        shoot(page.driver, "perfetto", "main", 860)


def settle(page: Page) -> None:
    """Until the page stands still: its animations take under half a second."""
    page.driver.execute_async_script("setTimeout(arguments[0], 900)")


def terminal(work: Path) -> list[Path]:
    """The coloured report and the browser as SVG."""
    from rich.console import Console
    from rich.text import Text

    options = ["dump.kpd", "--names", NAMES.resolve(), "--color", "always"]
    summary = kprof("report", *options, folder=work).splitlines()
    question = ["--worst", "lanisr", "-n", 1, "--marks"]
    worst = kprof("report", *options, *question, folder=work).splitlines()
    console = Console(record=True, width=92, file=(work / "unused").open("w"), force_terminal=True)
    for prompt, lines in (
        ("$ kprof report dump.kpd", summary[:16]),
        ("$ kprof report dump.kpd --worst lanisr -n 1 --marks", worst[:14]),
    ):
        console.print(Text(prompt, "bold"))
        for line in lines:
            console.print(Text.from_ansi(line))
        console.print()
    report, browser = work / "report.svg", work / "tui.svg"
    report.write_text(console.export_svg(title="kprof report"), "utf-8")
    asyncio.run(browse(work / "dump.kpd", browser))
    return [report, browser]


async def browse(kernel: Path, target: Path) -> None:
    from kprof.capture import open_capture
    from kprof.names import read_names
    from kprof.tui.app import Browser
    from kprof.tui.reading import Reading

    app = Browser(Reading(open_capture(kernel), read_names(NAMES)), {})
    async with app.run_test(size=(92, 26)) as pilot:
        await pilot.press("j", "w", "z")
        await pilot.pause()
        app.save_screenshot(str(target))


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if (LWIP / "loan.bin").is_file():
            case_study(work)
        if sys.argv[1:] == ["case"]:
            return
        kprof("sim", KERNEL / "kernel.elf", "--names", NAMES, "--dump", work / "dump.kpd")
        kprof("sim", KERNEL / "loan.elf", "--names", NAMES, "--dump", work / "after.kpd")
        if sys.argv[1:] != ["page"]:
            perfetto(work)
        if sys.argv[1:] == ["perfetto"]:
            return
        pages(work)
        pictures = terminal(work)
        with chromium(WIDTH, 1000) as driver:
            for picture in pictures:
                frame = picture.with_suffix(".html")
                frame.write_text(
                    f'<body style="margin:0"><img src="{picture.name}" width="{WIDTH}">', "utf-8"
                )
                driver.get(frame.as_uri())
                shoot(driver, picture.stem, "img")


if __name__ == "__main__":
    main()
