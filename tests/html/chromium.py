"""A page of the report in a real headless Chromium."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--lang=en",
]
ROW = 17
READERS = Path(
    os.environ.get("KPROF_READERS")
    or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "kprof-readers"
)
READY = "return document.documentElement.dataset.ready"


@contextmanager
def chromium(width: int = 1400, height: int = 1300, *options: str) -> Iterator[Any]:
    """A driver of a browser of its own; skips the test where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver_path:
        pytest.skip("no chromium with chromedriver here (tools/install-test-tools.sh)")
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        chosen = webdriver.ChromeOptions()
        chosen.binary_location = browser
        for option in (
            *OPTIONS,
            *options,
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
        ):
            chosen.add_argument(option)
        chosen.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=chosen, service=Service(driver_path))
        try:
            yield driver
        finally:
            driver.quit()


@contextmanager
def firefox(width: int = 1400, height: int = 1300) -> Iterator[Any]:
    """The same for Firefox, with the geckodriver of the path or of the readers' folder."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser = shutil.which("firefox-esr") or shutil.which("firefox")
    driver_path = shutil.which("geckodriver") or shutil.which(
        "geckodriver", path=str(READERS / "bin")
    )
    if not browser or not driver_path:
        pytest.skip("no firefox with geckodriver here (tools/install-test-tools.sh)")
    from selenium.webdriver.firefox.service import Service

    chosen = webdriver.FirefoxOptions()
    chosen.binary_location = browser
    for option in ("-headless", f"--width={width}", f"--height={height}"):
        chosen.add_argument(option)
    driver = webdriver.Firefox(options=chosen, service=Service(driver_path))
    try:
        yield driver
    finally:
        driver.quit()


class Page:
    """What the tests do on a page."""

    def __init__(self, driver: Any, path: Path) -> None:
        self.driver = driver
        self.path = path
        if driver.name == "chrome":
            driver.get_log("browser")
            driver.get_log("performance")
        driver.get(path.as_uri())
        self.wait(READY)

    def wait(self, script: str, *arguments: Any, seconds: float = 60) -> Any:
        """Until `script` returns something true; that."""
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, seconds, poll_frequency=0.02)
        return wait.until(lambda driver: driver.execute_script(script, *arguments))

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def frame(self) -> None:
        """Until the page has drawn what was asked for."""
        self.driver.execute_async_script(
            "const [done] = arguments; requestAnimationFrame(() => requestAnimationFrame(done))"
        )

    def find(self, css: str) -> Any:
        return self.driver.find_element("css selector", css)

    def all(self, css: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", css))

    def click(self, css: str) -> None:
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", css)
        self.frame()  # rows of the table are made anew where it has scrolled
        self.find(css).click()
        self.frame()

    def keys(self, css: str, *keys: str) -> None:
        """Type into an element, or with "" where the focus is."""
        if css:
            self.run("document.querySelector(arguments[0]).focus()", css)
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()
        self.frame()

    def text(self, css: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", css))

    def column(self, key: str) -> list[str]:
        """The visible cells of a column of the function table."""
        return list(
            self.run(
                "const [key] = arguments;"
                "const at = document.querySelector(`#table th[data-key='${key}']`).cellIndex;"
                "return [...document.querySelectorAll('#table tr.row')]"
                ".map((row) => row.cells[at].textContent)",
                key,
            )
        )

    def window(self) -> tuple[float, float]:
        """Start and end of what the timeline shows, in ticks."""
        self.frame()
        data = self.run("return {...document.getElementById('timeline').dataset}")
        return float(data["start"]), float(data["end"])

    def lane(self, context: int) -> list[int]:
        """Its context, where its rows begin, and how many of how many are shown."""
        lanes = json.loads(self.run("return document.getElementById('timeline').dataset.lanes"))
        return next(lane for lane in lanes if lane[0] == context)

    def fold(self, context: int) -> None:
        """Click on the name of a lane."""
        top = self.lane(context)[1]
        self.run("document.getElementById('lane-scroll').scrollTop = arguments[0] - 60", top)
        self.frame()
        scroll = self.run("return document.getElementById('timeline').dataset.scroll")
        self.pointer(30, top - float(scroll) + ROW / 2).click().perform()
        self.frame()

    def place(self, context: int, level: int, time: float) -> tuple[float, float]:
        """Where a time at a level of a context is drawn, from the canvas's corner."""
        script = "return {...document.getElementById('timeline').dataset}"
        lane = self.lane(context)
        if level >= lane[2]:
            self.fold(context)
            lane = self.lane(context)
        top = lane[1] + ROW * level
        self.run("document.getElementById('lane-scroll').scrollTop = arguments[0] - 60", top)
        self.wait(
            "return document.getElementById('timeline').dataset.scroll =="
            " document.getElementById('lane-scroll').scrollTop"
        )
        start, end = self.window()
        data = self.run(script)
        top -= float(data["scroll"])
        gutter = float(data["gutter"])
        width = float(self.run("return document.getElementById('timeline').clientWidth"))
        x = gutter + (time - start) * (width - gutter) / (end - start)
        return x, top + ROW / 2

    def pointer(self, x: float, y: float) -> Any:
        """Actions with the pointer at a point of the timeline's canvas."""
        from selenium.webdriver import ActionChains

        canvas = self.find("#timeline")
        self.run("arguments[0].scrollIntoView({block: 'center'})", canvas)
        size = self.run(
            "const b = arguments[0].getBoundingClientRect(); return [b.width, b.height]", canvas
        )
        return ActionChains(self.driver).move_to_element_with_offset(
            canvas, round(x - size[0] / 2), round(y - size[1] / 2)
        )

    def console(self) -> list[str]:
        """What the console says since the last call, warnings too."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that the page has asked for; not what the browser's own pages do."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] != "Network.requestWillBeSent":
                continue
            if message["params"]["documentURL"] == self.path.as_uri():
                found.append(message["params"]["request"]["url"])
        return found
