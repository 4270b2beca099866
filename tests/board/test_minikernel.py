"""The example kernel on the board: is the profile true?"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from kprof.analysis import Summary, summarise, timeline
from kprof.analysis.interrupts import interrupts
from kprof.analysis.stream import Stream
from kprof.analysis.summary import FunctionFigures
from kprof.board import minikernel
from kprof.board.elf import load_kernel
from kprof.board.md20 import DEFAULT_PHASE, DEFAULT_PPM, HZ, MD20
from kprof.board.profiler import CAPACITY, Profiler, Switch
from kprof.board.pty import Pty
from kprof.board.session import Plan, Session
from kprof.board.traffic import data_stream
from kprof.capture.model import Capture
from kprof.capture.open import open_capture
from kprof.instrument.job import Job
from kprof.instrument.job import run as run_job
from kprof.names import Modifier, NameFile, read_names
from kprof.upload import UploadOptions, fetch
from kprof.upload.host import HostOptions

CROSS = shutil.which("m68k-linux-gnu-gcc")
needs_cross = pytest.mark.skipif(CROSS is None, reason="no m68k-linux-gnu-gcc here")


@dataclass(frozen=True)
class Event:
    """A select of the socket, with what only an emulator can know: the stack that was in use."""

    clock: int
    tag: int
    stack: int


@dataclass
class Run:
    """One recording of the ready-built kernel."""

    names: NameFile
    counted: dict[str, int]
    exact: bool
    capture: Capture
    summary: Summary
    events: list[Event]
    clocks_a_us: float


@pytest.fixture(scope="module", params=["kernel", "loan", "swtch"])
def run(request: pytest.FixtureRequest) -> Run:
    return record(request.param)


def record(
    variant: str, seed: int = 1, ppm: int = DEFAULT_PPM, phase: Fraction = DEFAULT_PHASE
) -> Run:
    """Let a ready-built kernel fill the Profiler."""
    image, names_path = minikernel.ready_built(variant)
    names = read_names(names_path)
    profiler = Profiler(HZ, ppm=ppm, phase=phase)
    traffic = data_stream(HZ, seed=seed)
    with MD20(load_kernel(image), profiler=profiler, traffic=traffic) as board:
        stacks: list[int] = []
        with_stack(board, stacks)
        session = Session(board)
        assert session.record(Plan())
        assert session.audit is not None
        capture = session.capture()
        events = [
            Event(clock, tag, stack) for (clock, tag), stack in zip(board.log, stacks, strict=True)
        ][: capture.events]
        counted, exact = session.audit.calls(names), session.audit.exact
    clocks_a_us = HZ / 1e6 / (1 + ppm / 1e6)
    return Run(names, counted, exact, capture, summarise(capture, names), events, clocks_a_us)


def with_stack(board: MD20, stacks: list[int]) -> None:
    """Note with each logged event which task's stack the CPU is on (-1: the system's)."""
    cpu: Any = board.cpu._machine.cpu
    tasks = board.kernel.symbols["tasks"]
    each = tasks.size // 6

    def on_select(now: int, address: int) -> None:  # noqa: ARG001
        if board.profiler.switch is not Switch.READ and board.profiler.noting:
            where = cpu.r_sp() - tasks.address
            stacks.append(where // each if 0 <= where < tasks.size else -1)

    board.profiler.on_select = on_select


def test_the_ram_is_full_and_holds_what_the_socket_saw(run: Run) -> None:
    assert run.summary.events == CAPACITY
    assert run.summary.info.full
    assert not run.summary.anomalies.unknown_tags


def test_call_counts_equal_those_of_the_kernel(run: Run) -> None:
    analysed = {figures.entry.name: figures.calls for figures in run.summary.functions}
    counted = {name: calls for name, calls in run.counted.items() if calls}
    assert run.exact
    assert {name: analysed.get(name, 0) for name in counted} == counted
    # What is not counted is not called: the bodies of tasks, and what runs before the recording.
    assert set(analysed) == set(counted)
    assert len(counted) > 40


def test_the_latency_of_the_clock_interrupt(run: Run) -> None:
    clock = run.names.get("clock")
    assert clock is not None
    found = interrupts(Stream(run.capture, run.names), ("clock",)).each[0]
    beat = found.beat
    assert beat is not None
    assert beat.period == pytest.approx(10_000 * (1 + DEFAULT_PPM / 1e6), abs=0.02)
    # The timer asks every 10 ms of the board's time: what an entry is behind that is its latency.
    behind = [event.clock % (HZ // 100) for event in run.events if event.tag == clock.value]
    lines = timeline(run.capture, run.names)
    number = [entry.name for entry in lines.functions].index("clock")
    entries = lines.calls.entry[lines.calls.function == number]
    each = np.concatenate(list(beat.late(lambda: iter([entries]))))
    assert len(behind) == len(each) == found.late.count > 100
    for late, truth in zip(each.tolist(), behind, strict=True):
        assert late == pytest.approx((truth - min(behind)) / run.clocks_a_us, abs=1.5)
    assert found.late.most == each.max() > 0


def test_net_times_equal_the_clocks_of_the_emulator(run: Run) -> None:
    truth = reference(run)
    for figures in run.summary.functions:
        assert abs(error(figures, truth, run)) <= figures.calls, figures.entry.name
    switches = run.summary.anomalies.context_switches
    periods = switches + truth.calls["vec0"] + truth.calls["vec1"]
    assert abs(run.summary.ledger.idle - truth.idle / run.clocks_a_us) <= periods
    assert sum(truth.calls.values()) > 6000


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 62))
def test_other_traffic_and_other_oscillators(seed: int) -> None:
    """No interval is off by a microsecond; a call of several intervals may be, by chance."""
    variant = ("kernel", "loan", "swtch")[seed % 3]
    run = record(variant, seed, ppm=(seed - 31) * 5, phase=Fraction(seed % 10, 10))
    test_call_counts_equal_those_of_the_kernel(run)
    truth = reference(run)
    within = 0
    for figures in run.summary.functions:
        off = abs(error(figures, truth, run))
        assert off < truth.intervals[figures.entry.name] or off == 0, figures.entry.name
        within += off <= figures.calls
    assert within >= 0.9 * len(run.summary.functions)


@dataclass
class Truth:
    """Clocks, intervals and calls by function, and idle clocks."""

    net: Counter[str]
    intervals: Counter[str]
    calls: Counter[str]
    idle: int


def error(figures: FunctionFigures, truth: Truth, run: Run) -> float:
    """By how many microseconds the analysed net time is off."""
    return figures.net - truth.net[figures.entry.name] / run.clocks_a_us


def reference(run: Run) -> Truth:
    """The truth by the emulator's clock and stack pointer."""
    functions = [e for e in run.names.entries if e.value and e.modifier is not Modifier.INLINE]
    entries = {entry.entry_tag: entry.name for entry in functions}
    exits = {entry.exit_tag: entry.name for entry in functions}
    # The recording begins with the board idle: with swtch, inside of it.
    switches = any(event.tag in entries and entries[event.tag] == "swtch" for event in run.events)
    stacks: dict[int, list[str]] = {run.events[0].stack: ["swtch"] if switches else []}
    truth = Truth(Counter(), Counter(), Counter(), 0)
    for event, after in zip(run.events, [*run.events[1:], run.events[-1]], strict=True):
        stack = stacks.setdefault(event.stack, [])
        if event.tag in entries:
            stack.append(entries[event.tag])
            truth.calls[entries[event.tag]] += 1
        elif event.tag in exits and stack:
            assert stack.pop() == exits[event.tag]
        clocks = after.clock - event.clock
        if stack and stack[-1] != "swtch":
            truth.net[stack[-1]] += clocks
            truth.intervals[stack[-1]] += 1
        elif stack or event.stack == -1:
            truth.idle += clocks
    return truth


def entry_and_exits(disassembly: str, name: str) -> list[str]:
    body = disassembly.split(f"<{name}>:\n")[1].split("\n\n")[0]
    return re.findall(r"\t4a38 ([0-9a-f]{4}) ", body)


@needs_cross
@pytest.mark.parametrize(("bits", "shift"), [(16, 1), (32, 2)])
def test_wider_eprom_ports_with_shifted_triggers(tmp_path: Path, bits: int, shift: int) -> None:
    names_path, planted = tmp_path / "kernel.names", tmp_path / "src"
    shutil.copyfile(minikernel.seed_names(), names_path)
    header = str(planted / minikernel.PROFILE_HEADER)
    planted.mkdir()
    run_job(Job((), names=names_path, header=header))
    options = [f"-I{folder}" for folder in (planted, *minikernel.include_folders())]
    files = minikernel.sources()
    run_job(Job(files, str(planted), names_path, shift=shift, header=header, options=options))
    defines = ["COUNT_CALLS", "KPROF", f"BUS_SHIFT={shift}"]
    copies = [planted / source.name for source in files]
    image = tmp_path / "kernel.elf"
    assert CROSS is not None
    minikernel.run_compiler(
        minikernel.compile_command(CROSS, copies, image, includes=[planted], defines=defines)
    )
    names = read_names(names_path)
    with MD20(load_kernel(image), eprom_bits=bits) as board:
        session = Session(board)
        assert session.record(Plan())
        assert session.audit is not None
        assert session.audit.exact
        counted = session.audit.calls(names)
        summary = summarise(session.capture(), names)
        line = Pty()
        session.connect(line)
        done = threading.Event()
        server = threading.Thread(target=session.serve, args=(done.is_set,))
        server.start()
        dump = tmp_path / "dump.bin"
        fetch(line.path, dump, UploadOptions(host=HostOptions(goodbye=True)))
        done.set()
        server.join()
        line.close()
        assert open_capture(dump).records.tobytes() == board.profiler.image()
    analysed = {figures.entry.name: figures.calls for figures in summary.functions}
    assert analysed == {name: calls for name, calls in counted.items() if calls}


def test_a_host_that_asks_too_early_does_no_harm(tmp_path: Path) -> None:
    image, _ = minikernel.ready_built()
    line = Pty()
    with MD20(load_kernel(image)) as board:
        session = Session(board, line=line)
        host = os.open(line.path, os.O_RDWR | os.O_NOCTTY)
        os.write(host, b"KPR1, is anybody there? ")
        os.close(host)
        session.record(Plan(events=200))
        done = threading.Event()
        server = threading.Thread(target=session.serve, args=(done.is_set,))
        server.start()
        dump = tmp_path / "dump.bin"
        fetch(line.path, dump, UploadOptions(host=HostOptions(goodbye=True)))
        done.set()
        server.join()
        assert open_capture(dump).events == 200
    line.close()


def test_noise_on_the_upload_line_does_not_spoil_a_command_on_the_console() -> None:
    image, _ = minikernel.ready_built()
    said = bytearray()
    with MD20(load_kernel(image)) as board:
        session = Session(board, console=said.extend)
        session.record(Plan(events=200))
        board.duart.b.feed(b"noise", board.now)
        steps = itertools.count()
        session.serve(lambda: next(steps) > 20, command=b"")
        session.serve(lambda: next(steps) > 400, command=b"s\r")
    assert bytes(said).endswith(b"uploaded\r\n")


@needs_cross
def test_the_compiler_mode_plants_the_same(tmp_path: Path) -> None:
    copied = copy_of_the_kernel(tmp_path)
    make(copied, "cc")
    names = read_names(copied / "build" / "cc.names")
    with MD20(load_kernel(copied / "build" / "cc.elf")) as board:
        session = Session(board)
        session.record(Plan())
        assert session.audit is not None
        assert session.audit.exact
        counted = session.audit.calls(names)
        summary = summarise(session.capture(), names)
    analysed = {figures.entry.name: figures.calls for figures in summary.functions}
    assert analysed == {name: calls for name, calls in counted.items() if calls}
    assert {entry.name for entry, _ in summary.inlines} == {"MGET", "MCLGET", "le_rxpkt"}


@needs_cross
def test_triggers_in_the_ready_built_kernel() -> None:
    image, names_path = minikernel.ready_built()
    text = subprocess.run(
        ["m68k-linux-gnu-objdump", "-d", "--no-show-raw-insn", str(image)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    raw = subprocess.run(
        ["m68k-linux-gnu-objdump", "-d", str(image)], capture_output=True, text=True, check=True
    ).stdout
    assert "tstb" in text
    for entry in read_names(names_path).entries:
        if entry.entry_tag and f"<{entry.name}>:" in raw:
            tags = [int(tag, 16) for tag in entry_and_exits(raw, entry.name)]
            assert tags[0] == entry.entry_tag, entry.name
            if entry.name not in ("monitor", "reader", "producer", "consumer", "reporter"):
                assert entry.exit_tag in tags, entry.name
        elif entry.modifier is Modifier.INLINE:
            assert f"4a38 {entry.value:04x} " in raw


@needs_cross
def test_the_ready_built_images_come_from_these_sources(tmp_path: Path) -> None:
    folder = minikernel.examples_folder() / "minikernel"
    built_with = (folder / "prebuilt" / "compiler.txt").read_text().strip()
    assert CROSS is not None
    version = subprocess.run([CROSS, "--version"], capture_output=True, text=True, check=True)
    if version.stdout.splitlines()[0] != built_with:
        pytest.skip(f"this compiler is not {built_with}")
    copied = copy_of_the_kernel(tmp_path)
    make(copied, "all")
    for name in ("kernel.names", "kernel.elf", "loan.elf", "swtch.elf"):
        assert (copied / "build" / name).read_bytes() == (
            folder / "prebuilt" / name
        ).read_bytes(), (
            f"{name} is not what the sources give: run make -C examples/minikernel prebuilt"
        )


def copy_of_the_kernel(folder: Path) -> Path:
    """A copy of the example kernel's folder to build in."""
    kernel, examples = folder / "minikernel", minikernel.examples_folder()
    ignored = shutil.ignore_patterns("build", "prebuilt")
    shutil.copytree(examples / "minikernel", kernel, ignore=ignored)
    shutil.copytree(examples / "agent", folder / "agent", ignore=ignored)
    return kernel


def make(folder: Path, target: str) -> None:
    """Run make with this Python's kprof."""
    kprof = f"{sys.executable} -m kprof"
    subprocess.run(
        ["make", "-C", str(folder), f"KPROF={kprof}", target], check=True, capture_output=True
    )
