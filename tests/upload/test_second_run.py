"""The Profiler is started again while an upload runs: one run's records or an error, never both.

The line is clean, and what the agent says of itself is the same before and after.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.upload.agent import Agent, Run
from tests.upload.boards import Board, GdbStub, Monitor, hex_line, ihex_lines, srec_line
from tests.upload.peers import build_host_agent, real_agent
from tests.upload.rams import run_ram
from tests.upload.simline import SimLine

from kprof.capture import open_capture
from kprof.upload import UploadOptions, fetch
from kprof.upload.failures import TransferError, VerifyError
from kprof.upload.host import Host, HostOptions
from kprof.upload.line import converse
from kprof.upload.memory_session import MemoryOptions, fetch_memory_over
from kprof.upload.progress import Progress
from kprof.upload.prompt import Greeting
from kprof.upload.wire import CAN_BAUD, CAN_CHECK, CAN_DELTA, CAN_STOP, FULL

RECORDS = 4000
FIRST, SECOND = run_ram(RECORDS, 1), run_ram(RECORDS, 2)


def _upload(seed: int) -> str:
    """One upload in which the second run begins at a random moment; how it ended.

    Without checksums and run number a board that stops in mid-run has, for all that it says, what
    it has then: a RAM with the second run in front of the first.
    """
    rng = random.Random(seed)
    flags = FULL | CAN_BAUD | sum(flag for flag in (CAN_DELTA, CAN_STOP) if rng.random() < 0.5)
    flags |= CAN_CHECK if rng.random() < 0.6 else 0
    options = HostOptions(baud=rng.choice([None, 921600]), delta=rng.random() < 0.5)
    run = rng.choice([None, 1])
    agent = Agent(FIRST, flags=flags, run=run)
    seconds = SimLine(agent, seed=seed)
    converse(Host(options).run(), seconds)
    lasts = rng.choice([0.0, 0.01, 0.1, 1.0])
    begins = rng.uniform(-0.1, 1.0) * seconds.now
    agent = Agent(FIRST, flags=flags, run=run, runs=(Run(begins, SECOND, lasts),))
    line = SimLine(agent, seed=seed)
    try:
        done = converse(Host(options).run(), line)
    except (TransferError, VerifyError) as error:
        return type(error).__name__
    got = bytes(done.image.data)
    if got in (FIRST, SECOND):
        return "right"
    if not flags & CAN_CHECK and run is None:
        stored = next(at for at in range(0, len(got), 5) if got[at : at + 5] != SECOND[at : at + 5])
        assert got[stored:] == FIRST[stored:], f"seed {seed}: two runs in one file"
        return "right"
    raise AssertionError(f"seed {seed}: two runs in one file")


def test_200_uploads() -> None:
    ended = Counter(_upload(seed) for seed in range(200))
    assert ended["right"] > 80, ended
    assert sum(ended.values()) - ended["right"] > 20, ended


@pytest.mark.long
def test_1_000_uploads() -> None:
    ended = Counter(_upload(1_000_000 + seed) for seed in range(1_000))
    print(ended)
    assert ended["right"] > 400, ended


class _Restarted(Monitor):
    """A monitor whose memory is another run's from the n-th line of a dump on."""

    after = 2

    def __init__(self, after: int, **options: Any) -> None:
        super().__init__(FIRST, 0, **options)
        self._after, self._print = after, self.line
        self.line = self._one_line

    def _one_line(self, address: int, data: bytes) -> bytes:
        self._after -= 1
        self.memory = SECOND if self._after < 0 else FIRST
        return self._print(address, self.memory[address : address + len(data)])


class _RestartedStub(GdbStub):
    """The same for a gdb stub, in packets."""

    def __init__(self, after: int) -> None:
        super().__init__(FIRST, 0)
        self._after = after

    def _reply(self, request: bytes) -> bytes:
        self._after -= 1
        self.memory = SECOND if self._after < 0 else FIRST
        return super()._reply(request)


LINES = {"srec": srec_line, "ihex": ihex_lines, "hexdump": hex_line, "raw": lambda _, data: data}
COUNT = -(-len(FIRST) // 16)  # lines of a dump


@pytest.mark.parametrize("proto", ["srec", "ihex", "hexdump", "raw", "gdb"])
@pytest.mark.parametrize("tenth", range(1, 25, 2))
def test_a_board_without_the_agent(tmp_path: Path, proto: str, tenth: int) -> None:
    options = MemoryOptions(proto, records=RECORDS)
    board: Board = _RestartedStub(5 + 11 * tenth)  # of some 110 packets
    if proto != "gdb":
        options = replace(options, ask=r"d {addr:x} {end:x}\r")
        board = _Restarted(COUNT * tenth // 10, line=LINES[proto], quiet=proto == "raw")
    try:
        fetch_memory_over(SimLine(board), tmp_path / "a.bin", options)
    except VerifyError:
        assert not (tmp_path / "a.bin").exists()
    else:
        assert open_capture(tmp_path / "a.bin").records.tobytes() in (FIRST, SECOND)
        assert proto == "hexdump" or tenth > 10


@pytest.mark.parametrize("tenth", range(1, 35, 2))
def test_dumps_that_are_typed_as_a_whole(tmp_path: Path, tenth: int) -> None:
    options = MemoryOptions("hexdump", records=RECORDS, greeting=Greeting((b"d 0 4e1f\r",)))
    board = _Restarted(COUNT * tenth // 10, line=hex_line)
    try:
        fetch_memory_over(SimLine(board), tmp_path / "a.bin", options)
    except VerifyError:
        assert not (tmp_path / "a.bin").exists()
    else:
        assert open_capture(tmp_path / "a.bin").records.tobytes() in (FIRST, SECOND)


@pytest.mark.parametrize(
    ("proto", "verified"),
    [("srec", ("samples", 128)), ("hexdump", ("twice", 700)), ("gdb", ("samples", 128))],
)
def test_what_was_verified_is_in_the_file(
    tmp_path: Path, proto: str, verified: tuple[str, int]
) -> None:
    ram = FIRST[:3500]
    board: Board = GdbStub(ram, 0)
    options = MemoryOptions(proto, records=700)
    if proto != "gdb":
        options = replace(options, ask=r"d {addr:x} {end:x}\r")
        board = Monitor(ram, 0, hex_line if proto == "hexdump" else srec_line)
    fetch_memory_over(SimLine(board), tmp_path / "a.bin", options)
    upload = open_capture(tmp_path / "a.bin").info.metadata["upload"]
    assert (upload["verified"], upload["verified_records"]) == verified


@pytest.mark.parametrize("numbered", [False, True])
def test_the_real_agent(tmp_path: Path, numbered: bool) -> None:
    """The image is written over while the agent serves it; RAM full both times."""
    program = build_host_agent(tmp_path)
    image, out = tmp_path / "ram", tmp_path / "dump.bin"
    ended: Counter[str] = Counter()
    for number in range(10):
        image.write_bytes(FIRST)
        seen: list[int] = []

        def restart(
            moment: Progress, at: int = number * RECORDS // 10, seen: list[int] = seen
        ) -> None:
            if moment.done >= at and not seen:
                seen.append(moment.done)
                with image.open("r+b") as stream:
                    stream.write(SECOND)

        environment = {} if numbered else {"KPR_RUN": "0"}
        with real_agent(program, image, **environment) as port:
            try:
                fetch(port, out, UploadOptions(force=True), restart)
            except TransferError:
                ended["error"] += 1
                continue
        assert seen
        assert open_capture(out).records.tobytes() in (FIRST, SECOND)
        ended["right"] += 1
    assert ended["error" if numbered else "right"] >= 8, ended
