"""lwIP on the board: a network stack of other people, profiled, against its own counters.

The kernel is built once into the cache folder of the fetched projects.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from tests.realcode.projects import FETCH

from kprof.analysis import Summary, summarise
from kprof.board.elf import load_kernel
from kprof.board.md20 import HZ, MD20
from kprof.board.minikernel import cross_compiler, examples_folder
from kprof.board.peer import TcpPeer
from kprof.board.profiler import Profiler, Switch
from kprof.board.session import Session
from kprof.names import NameFile, read_names
from kprof.names.calls import read_calls

VARIANTS = ("copy", "loan", "sum")
CAPACITY = 200_000
SECONDS = 1.5
TASKS = 5
KEPT_S = 7 * 86_400
MAKE = shutil.which("make")


def lwip() -> Path:
    """The fetched source."""
    said = subprocess.run([sys.executable, FETCH, "--where"], capture_output=True, text=True)
    return Path(said.stdout.strip()) / "lwip"


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder with the kernels and their name file."""
    compiler, source = cross_compiler(), lwip()
    if compiler is None or MAKE is None:
        pytest.skip("no m68k-linux-gnu-gcc or no make here")
    if not (source / "src" / "core" / "init.c").is_file():
        pytest.skip(f"no lwIP here: tools/fetch-real-code.py lwip brings it to {source}")
    examples = examples_folder()
    kprof = examples.parent / "src" / "kprof"
    parts = [examples / "lwip", examples / "minikernel", examples / "agent"]
    parts += [kprof / "instrument", kprof / "names", kprof / "cli"]
    digest = hashlib.sha256(
        subprocess.run([compiler, "--version"], capture_output=True).stdout + str(source).encode()
    )
    for part in parts:
        for file in sorted(part.rglob("*")):
            if file.is_file() and not {"build", "__pycache__"} & set(file.parts):
                digest.update(file.read_bytes())
    folder = source.parent / f"lwip-built-{digest.hexdigest()[:16]}"
    if not folder.is_dir():
        for old in source.parent.glob("lwip-built-*"):
            if time.time() - old.stat().st_mtime > KEPT_S:
                shutil.rmtree(old, ignore_errors=True)
        fresh = source.parent / f".{folder.name}-{os.getpid()}"
        made = subprocess.run(
            [
                MAKE,
                *("-C", str(examples / "lwip"), f"B={fresh}", f"LWIP={source}"),
                f"KPROF={sys.executable} -m kprof",
                *("all", "plain"),
            ],
            capture_output=True,
            text=True,
        )
        assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-4000:]
        try:
            fresh.rename(folder)
        except OSError:  # somebody else was faster
            shutil.rmtree(fresh)
    return folder


@dataclass
class Run:
    """One recording from the reset to an idle moment, with what the kernel knows of it."""

    summary: Summary
    names: NameFile
    image: bytes
    calls: dict[str, int]
    peer: TcpPeer
    counted: dict[str, int]
    lwip: list[tuple[str, int]]
    values: dict[str, int]


def run(built: Path, variant: str, seconds: float = SECONDS, damage: float = 0) -> Run:
    """Let a kernel run with the Profiler on from the reset, up to the first idle moment."""
    names = read_names(built / "kernel.names")
    kernel = load_kernel(built / f"{variant}.elf")
    profiler = Profiler(HZ, ppm=31, capacity=CAPACITY)
    peer = TcpPeer(HZ, damage=damage)
    with MD20(kernel, profiler=profiler, traffic=peer) as board:
        board.record(CAPACITY)
        board.run(round(seconds * HZ))
        board.run(board.now + HZ, to_idle=True)
        assert board.idle
        profiler.turn(Switch.OFF, board.now)
        counted = {
            symbol[6:].partition(".")[0]: board.peek(symbol)
            for symbol in kernel.symbols
            if symbol.startswith("calls_")
        }
        values = {name: board.peek(name) for name in ("received_bytes", "wrong_bytes", "accepted")}
        at_wrong = board.peek("lwip_wrong_sums")
        values["lwip_wrong_sums"] = int.from_bytes(board.cpu.peek(at_wrong, 4), "big")
        table = kernel.symbols["lwip_counts"]
        rows = [board.cpu.peek(table.address + at, 28) for at in range(0, table.size, 28)]
        counts = [
            (
                row[:24].rstrip(b"\0").decode(),
                int.from_bytes(board.cpu.peek(int.from_bytes(row[24:], "big"), 4), "big"),
            )
            for row in rows
            if row[0]
        ]
        capture = Session(board).capture()
    summary = summarise(capture, names, known=read_calls(built / "kernel.names"))
    calls = {figures.entry.name: figures.calls for figures in summary.functions}
    times, tags = profiler.times(), profiler.tags()
    image = times.tobytes() + tags.tobytes()
    return Run(summary, names, image, calls, peer, counted, counts, values)


@pytest.fixture(scope="module")
def runs(built: Path) -> dict[str, Run]:
    """A recording of each variant, on a good wire."""
    return {variant: run(built, variant) for variant in VARIANTS}


@pytest.mark.parametrize("variant", VARIANTS)
def test_calls_equal_the_counters_of_lwip_and_of_the_kernel(
    runs: dict[str, Run], variant: str
) -> None:
    one = runs[variant]
    assert [(name, one.calls.get(name, 0)) for name, _ in one.lwip] == one.lwip
    assert dict(one.lwip)["tcp_input"] > 50
    assert dict(one.lwip)["etharp_input"] > 0
    traced = {entry.name for entry in one.names.entries if entry.value}
    counted = {name: count for name, count in one.counted.items() if name in traced}
    assert {name: one.calls.get(name, 0) for name in counted} == counted
    assert sum(count > 0 for count in counted.values()) > 25


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_is_odd_in_the_capture(runs: dict[str, Run], variant: str) -> None:
    summary = runs[variant].summary
    anomalies = summary.anomalies
    assert anomalies.unwound_calls == anomalies.orphan_exits == anomalies.restarts == 0
    assert not anomalies.unknown_tags
    assert anomalies.contexts == TASKS
    assert anomalies.ambiguous_switches == 0
    ledger = summary.ledger
    net = sum(figures.net for figures in summary.functions)
    assert ledger.elapsed == net + ledger.idle + ledger.user + ledger.unattributed
    assert ledger.idle > ledger.elapsed / 4


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_data_arrive(runs: dict[str, Run], variant: str) -> None:
    one = runs[variant]
    assert one.values["accepted"] == one.peer.connections == 1
    assert one.values["wrong_bytes"] == one.peer.resets == one.peer.sent_again == 0
    assert 50_000 < one.peer.acknowledged <= one.values["received_bytes"]
    assert one.values["received_bytes"] - one.peer.acknowledged <= 8192


def test_two_runs_are_the_same_to_the_bit(runs: dict[str, Run], built: Path) -> None:
    again = run(built, "copy")
    assert again.image == runs["copy"].image
    assert again.values == runs["copy"].values


def test_without_triggers_the_same_data_arrive(runs: dict[str, Run], built: Path) -> None:
    kernel = load_kernel(built / "plain.elf")
    profiler, peer = Profiler(HZ, ppm=31), TcpPeer(HZ)
    with MD20(kernel, profiler=profiler, traffic=peer) as board:
        board.record(1000)
        board.run(round(SECONDS * HZ))
        assert profiler.count == 0
        assert board.peek("wrong_bytes") == 0
        received = board.peek("received_bytes")
    assert received == pytest.approx(runs["copy"].values["received_bytes"], rel=0.1)


@pytest.mark.parametrize("variant", ["copy", "sum"])
def test_damaged_segments_are_found_by_either_checksum(built: Path, variant: str) -> None:
    one = run(built, variant, damage=0.1)
    assert one.peer.damaged > 3
    assert one.values["lwip_wrong_sums"] == one.peer.damaged
    assert one.calls["tcp_input"] == dict(one.lwip)["tcp_input"]
    if variant == "sum":  # the driver drops them: lwIP's TCP never sees them
        assert one.calls["le_copy_sum"] - one.calls["ethernet_input"] == one.peer.damaged
    assert one.peer.sent_again >= one.peer.damaged
    assert one.values["wrong_bytes"] == 0
    assert one.values["received_bytes"] > 10_000


def test_the_case_study(runs: dict[str, Run]) -> None:
    """The paper's acceptance, and its question: is it better to copy once into fast memory?"""

    def of(variant: str, name: str, what: str) -> float:
        (figures,) = [one for one in runs[variant].summary.functions if one.entry.name == name]
        return float(getattr(figures, what)) / figures.calls

    assert of("loan", "lanisr", "elapsed") < of("copy", "lanisr", "elapsed") / 4
    assert of("sum", "lanisr", "elapsed") < of("copy", "lanisr", "elapsed") / 4
    checksum, copying = "lwip_standard_chksum", "pbuf_copy_partial"
    assert of("loan", checksum, "net") > 1.5 * of("copy", checksum, "net")
    assert of("loan", copying, "net") > 2 * of("copy", copying, "net")
    costs = {
        variant: (
            one.summary.ledger.run
            - sum(figures.net for figures in one.summary.functions if figures.entry.name == "mix")
        )
        / one.calls["ethernet_input"]
        for variant, one in runs.items()
    }
    assert costs["sum"] < 0.9 * costs["copy"]
    assert costs["sum"] < 0.9 * costs["loan"]
