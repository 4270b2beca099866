"""Other people's readers of what is exported; a test skips, with the reason, without its reader."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kprof-readers"
PLACE = Path(os.environ.get("KPROF_READERS") or CACHE)


def tool(name: str) -> str:
    """The path of a program; looks at the cached ones first."""
    found = shutil.which(name, path=str(PLACE / "bin")) or shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here (tools/install-test-tools.sh)")
    return found


def run(*command: str | Path, **options: Any) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, timeout=120, check=False, **options
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return done.stdout.decode("utf-8", "replace")


def npm_package(name: str) -> Path:
    """The folder of an npm package that tools/install-readers.sh has put into the cache."""
    tool("node")
    folder = PLACE / "node_modules" / name
    if not folder.is_dir():
        pytest.skip(f"no npm package {name} here (tools/install-readers.sh)")
    return folder


def speedscope(path: Path) -> list[dict[str, Any]]:
    """The profiles that speedscope's importer finds in a file."""
    package = npm_package("speedscope")
    text = run(tool("node"), HERE / "speedscope_import.mjs", package, path)
    found: list[dict[str, Any]] = json.loads(text)["profiles"]
    return found


def speedscope_warnings(path: Path) -> list[str]:
    """What speedscope's importer has to say of a file."""
    package = npm_package("speedscope")
    found: list[str] = json.loads(run(tool("node"), HERE / "speedscope_import.mjs", package, path))[
        "warned"
    ]
    return found


def firefox_functions(path: Path, folder: Path) -> dict[str, tuple[float, float]]:
    """Self and total time in ms of each function, as the Firefox Profiler has them."""
    program = npm_package("@firefox-devtools/profiler-cli") / "dist" / "profiler-cli.js"
    sessions = {**os.environ, "PROFILER_CLI_SESSION_DIR": str(folder)}
    cli = [tool("node"), str(program)]
    query = [*cli, "thread", "functions", "--limit", "0", "--include-idle", "--json"]
    try:
        # The program serves the profile from a process of its own, which may not be up yet.
        subprocess.run([*cli, "load", str(path)], env=sessions, capture_output=True, check=False)
        for _ in range(50):
            done = subprocess.run(query, env=sessions, capture_output=True, check=False)
            if done.returncode == 0:
                break
    finally:
        run(*cli, "stop", env=sessions)
    return {
        function["name"]: (function["selfSamples"], function["totalSamples"])
        for function in json.loads(done.stdout)["functions"]
    }


def callgrind_annotate(path: Path, *, inclusive: bool) -> dict[str, int]:
    """Cost by function."""
    options = ["--threshold=100", f"--inclusive={'yes' if inclusive else 'no'}", "--auto=no"]
    text = run("perl", tool("callgrind_annotate"), *options, path)
    found = re.findall(
        r"^\s*([\d,]+) \([ \d.]+%\)\s+(?:\?\?\?|/\S+?):(.*?)(?: \[.*\])?\s*$", text, re.M
    )
    return {name: int(cost.replace(",", "")) for cost, name in found}


def pprof_top(path: Path, what: str) -> dict[str, tuple[int, int]]:
    """Flat and cumulative value by function, `what` being calls or time (in ns)."""
    text = run(
        tool("go"), "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0",
        f"-sample_index={what}", "-unit=" + ("ns" if what == "time" else "count"), path,
    )  # fmt: skip
    rows = re.findall(r"^\s*(\d+)\S*\s+\S+%\s+\S+%\s+(\d+)\S*\s+\S+%\s+(.*)$", text, re.M)
    return {name: (int(flat), int(cum)) for flat, cum, name in rows}


def inferno(path: Path) -> dict[str, int]:
    """Total of each frame of the flame graph that has the name, added up; "all" is the whole."""
    svg = run(tool("inferno-flamegraph"), path)
    found: dict[str, int] = {}
    for name, samples in re.findall(r"<title>(.*?) \(([\d,]+) samples, ", svg):
        found[name] = found.get(name, 0) + int(samples.replace(",", ""))
    return found
