"""`kprof qemu`: the plugin's events against QEMU's own log and its own clock."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.qemu.guests import AARCH64, M68K, RISCV, guest

from kprof.analysis import summarise
from kprof.capture import open_capture
from kprof.cli.main import kprof_command
from kprof.errors import QemuError, UsageError
from kprof.names import read_names
from kprof.qemu.recording import Recording, check_qemu, compile_plugin, record

NS = 32  # an instruction with -icount shift=5

LOOPS = {
    "m68k": (
        M68K,
        "move.l #2000,%d0\ntst.b 0x2000.w\n1: subq.l #1,%d0\nbne 1b\n"
        "tst.b 0x2001.w\ntst.b 0x9000.l",
        4001,
    ),
    "riscv": (
        RISCV,
        "li t2,0x2000\nli t3,0x2001\nli t4,0x9000\nli t0,2000\nlbu zero,0(t2)\n"
        "1: addi t0,t0,-1\nbnez t0,1b\nlbu zero,0(t3)\nlbu zero,0(t4)",
        4001,
    ),
    "aarch64": (
        AARCH64,
        "mov x1,#0x2000\nmov x2,#0x2001\nmov x3,#0x9000\nmov x0,#2000\nldrb wzr,[x1]\n"
        "1: subs x0,x0,#1\nb.ne 1b\nldrb wzr,[x2]\nldrb wzr,[x3]",
        4001,
    ),
}


def kprof(*arguments: str | Path) -> Result:
    return CliRunner().invoke(kprof_command, list(map(str, arguments)))


def events(capture: Path) -> tuple[list[int], list[int]]:
    """(times in ns, tags)."""
    found = open_capture(capture, verify=True)
    assert found.info.unwrapped
    assert found.info.clock_hz == 1_000_000_000
    return found.ticks().tolist(), found.tags().tolist()


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_exact_to_the_instruction(tmp_path: Path, name: str) -> None:
    machine, body, instructions = LOOPS[name]
    program, out = guest(tmp_path, machine, body), tmp_path / "out.kpd"
    result = kprof("qemu", "-o", out, "--", *machine.command(program))
    assert result.exit_code == 0, result.output + str(result.exception)
    assert "QEMU ended with exit code 0: 3 events in 0.00012" in result.stderr
    times, tags = events(out)
    assert tags == [0x2000, 0x2001, 0x9000]
    assert np.diff(times).tolist() == [instructions * NS, NS]


def test_the_tags_of_the_name_file_alone_are_events(tmp_path: Path) -> None:
    program = guest(tmp_path, M68K, LOOPS["m68k"][1])
    names, out = tmp_path / "kernel.names", tmp_path / "out.kpd"
    names.write_text("loop/8192\n")
    kprof("qemu", "-o", out, "--names", names, "--", *M68K.command(program))
    assert events(out)[1] == [0x2000, 0x2001]
    capture = open_capture(out)
    assert capture.info.names_sha256 == read_names(names).sha256()
    assert capture.info.metadata["icount_shift"] == 5
    (loop,) = summarise(capture, read_names(names)).functions
    assert (loop.calls, loop.net) == (1, 4001 * NS)


def test_another_shift_base_and_address_shift(tmp_path: Path) -> None:
    body = "tst.b 0x11000.l\nnop\ntst.b 0x11004.l\ntst.b 0x11006.l"
    program, out = guest(tmp_path, M68K, body), tmp_path / "out.kpd"
    more = ("-icount", "shift=3,sleep=off")
    kprof(
        *("qemu", "-o", out, "--base", "0x10000", "--shift", "2", "--"),
        *M68K.command(program, *more),
    )
    times, tags = events(out)
    assert tags == [0x400, 0x401]
    assert np.diff(times).tolist() == [2 * 8]


def test_a_task_mark_s_tag_is_computed(tmp_path: Path) -> None:
    body = "moveq #0,%d0\n1: tst.b (0x2000,%za0,%d0.l)\naddq.l #1,%d0\ncmp.l #4,%d0\nbne 1b"
    program, names = guest(tmp_path, M68K, body), tmp_path / "kernel.names"
    names.write_text("proc/8192@3\n")
    record(Recording(M68K.command(program), read_names(names)), tmp_path / "out.kpd")
    times, tags = events(tmp_path / "out.kpd")
    assert tags == [0x2000, 0x2001, 0x2002]
    assert np.diff(times).tolist() == [4 * NS] * 2


FIB = """
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int twice(int n) { return 2 * n; }
void work(void) { volatile int all = 0; int i; for (i = 0; i < 9; i++) all += twice(fib(i)); }
"""


@pytest.fixture(scope="module")
def fib(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A program with triggers by `kprof cc`, and its name file."""
    folder = tmp_path_factory.mktemp("fib")
    source, compiled, names = folder / "fib.c", folder / "fib.o", folder / "fib.names"
    source.write_text(FIB)
    (folder / "guest.s").write_text("")
    compiler = M68K.compilers[0]
    M68K.built(folder / "guest.s", "-Wl,-e0")  # skips where it is not there
    options = ["--names", str(names), "--", compiler, "-O1", "-c", str(source), "-o", str(compiled)]
    subprocess.run([sys.executable, "-m", "kprof", "cc", *options], check=True)
    return guest(folder, M68K, "lea 0x8000,%sp\njsr work", compiled), names


def test_every_interval_equals_the_instructions_of_qemu_s_own_log(
    tmp_path: Path, fib: tuple[Path, Path]
) -> None:
    program, names = fib
    out, log = tmp_path / "out.kpd", tmp_path / "log"
    record(Recording(M68K.command(program), read_names(names)), out)
    times, tags = events(out)
    command = M68K.command(program, "-singlestep", "-d", "exec,nochain", "-D", str(log))
    subprocess.run(command, check=True)
    trace = [int(pc, 16) for pc in re.findall(r"^Trace .*?/([0-9a-f]{8})/", log.read_text(), re.M)]
    listing = subprocess.run(
        ["m68k-linux-gnu-objdump", "-d", str(program)], capture_output=True, text=True, check=True
    ).stdout
    triggers = {
        int(at, 16): int(tag, 16)
        for at, tag in re.findall(r"^ +([0-9a-f]+):\t4a38 ([0-9a-f]{4})", listing, re.M)
    }
    expected = [(step, triggers[pc]) for step, pc in enumerate(trace) if pc in triggers]
    assert tags == [tag for _, tag in expected]
    assert np.diff(times).tolist() == (np.diff([step for step, _ in expected]) * NS).tolist()
    calls = {
        one.entry.name: one.calls
        for one in summarise(open_capture(out), read_names(names)).functions
    }
    assert calls == {"fib": 1 + 1 + 3 + 5 + 9 + 15 + 25 + 41 + 67, "twice": 9, "work": 1}


def test_two_runs_are_the_same_to_the_bit(tmp_path: Path, fib: tuple[Path, Path]) -> None:
    program, names = fib
    runs = []
    for name in ("one", "other"):
        record(Recording(M68K.command(program), read_names(names)), tmp_path / name)
        runs.append(open_capture(tmp_path / name).records.tobytes())
    assert runs[0] == runs[1]


WAITS = """
        lea     0x8000,%sp
        move.l  #handler,0x78           | level 6
        move.l  #1,0xff005010           | the sixth interrupt controller: its first line
        move.l  #1,0xff006010           | the clock's alarm may interrupt
        moveq   #3,%d7
again:  tst.b   0x2000.w
        move.l  0xff006000,%d0          | ns, low half
        move.l  0xff006004,%d1          | and high
        bsr     put
        add.l   #1000000,%d0
        moveq   #0,%d2
        addx.l  %d2,%d1
        move.l  %d1,0xff00600c
        move.l  %d0,0xff006008
        stop    #0x2000
        move.w  #0x2700,%sr
        subq.l  #1,%d7
        bne     again
        tst.b   0x2000.w
        move.l  0xff006000,%d0
        bsr     put
        bra     off

put:    move.l  %d0,%d4
        moveq   #3,%d3
1:      rol.l   #8,%d4
        moveq   #0,%d5
        move.b  %d4,%d5
        move.l  %d5,0xff008000          | to the terminal
        dbra    %d3,1b
        rts

handler: tst.b  0x2001.w
        move.l  #1,0xff00601c
        rte
off:
"""


def test_time_that_the_cpu_waits_is_qemu_s_time(tmp_path: Path) -> None:
    """The guest reads QEMU's clock behind its triggers: both tell the same intervals."""
    program, out, said = guest(tmp_path, M68K, WAITS), tmp_path / "out.kpd", tmp_path / "serial"
    record(Recording(M68K.command(program, "-serial", f"file:{said}")), out)
    times, tags = events(out)
    assert tags == [0x2000, 0x2001] * 3 + [0x2000]
    clock = np.frombuffer(said.read_bytes(), dtype=">u4").astype(np.int64)
    assert len(clock) == 4
    told = np.diff(times[::2])
    assert (told > 1_000_000).all()
    assert told.tolist() == np.diff(clock).tolist()


FOREVER = "1: tst.b 0x2000.w\nnop\ntst.b 0x2001.w\nbra 1b"


def test_a_system_that_does_not_end_is_ended(tmp_path: Path) -> None:
    program, out = guest(tmp_path, M68K, FOREVER), tmp_path / "out.kpd"
    result = kprof("qemu", "-o", out, "--events", "10001", "--", *M68K.command(program))
    assert result.exit_code == 0, result.output
    assert "QEMU stopped: 10001 events" in result.stderr
    times, tags = events(out)
    assert len(tags) == 10_001
    assert set(np.diff(times).tolist()) == {2 * NS}
    assert open_capture(out).info.full
    result = kprof(
        *("qemu", "-o", out, "--force", "--seconds", "0.001", "--"), *M68K.command(program)
    )
    assert result.exit_code == 0, result.output
    last = events(out)[0][-1]
    assert 1_000_000 - 3 * NS <= last < 1_000_000


def test_what_cannot_be_recorded_leaves_no_file(tmp_path: Path) -> None:
    program, out = guest(tmp_path, M68K, "nop"), tmp_path / "out.kpd"
    for more, what in (
        ((), "ended with exit code 0 and no trigger was executed"),
        (("-nonsense",), "ended with exit code 1 and no trigger was executed"),
        (("-smp", "2"), "ended with exit code 1"),
    ):
        with pytest.raises(QemuError, match=what):
            record(Recording(M68K.command(program, *more)), out)
        assert not out.exists()
    out.write_bytes(b"mine")
    assert kprof("qemu", "-o", out, "--", *M68K.command(program)).exit_code != 0
    assert out.read_bytes() == b"mine"


def fake(folder: Path, said: str) -> str:
    program = folder / "qemu"
    program.write_text(f"#!/bin/sh\ncat <<'E'\n{said}\nE\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("QEMU emulator version 9.1.0 (v9.1.0)\n-plugin [file=]<file>", "has another plugin API"),
        ("QEMU emulator version 5.2.0\n-plugin [file=]<file>", "has another plugin API"),
        ("QEMU emulator version 8.2.2\n-kernel bzImage", "was built without plugins"),
        ("qemu-m68k version 7.2.0", "is not QEMU for systems"),
        ("", "is not QEMU for systems"),
    ],
)
def test_another_qemu_is_refused_in_a_sentence(tmp_path: Path, said: str, what: str) -> None:
    with pytest.raises(QemuError, match=what):
        check_qemu(fake(tmp_path, said))


def test_a_qemu_that_is_not_there_and_one_that_is(tmp_path: Path) -> None:
    with pytest.raises(QemuError, match="cannot run it: No such file"):
        check_qemu(str(tmp_path / "none"))
    said = "QEMU emulator version 8.2.2 (Debian)\n-plugin [file=]<file>"
    assert check_qemu(fake(tmp_path, said)) == "8.2.2"


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(QemuError, match="no C compiler for this machine"):
        compile_plugin(tmp_path)


@pytest.mark.parametrize(
    ("more", "shift"),
    [
        ((), 5),
        (("-icount", "shift=7"), 7),
        (("-icount", "4"), 4),
        (("--icount", "sleep=off,shift=0"), 0),
        (("-icount", "auto"), None),
        (("-icount", "shift=auto"), None),
        (("-icount",), None),
    ],
)
def test_the_user_s_own_icount(more: tuple[str, ...], shift: int | None) -> None:
    if shift is None:
        with pytest.raises(UsageError, match="-icount"):
            Recording(["qemu-system-m68k", *more])
        return
    recording = Recording(["qemu-system-m68k", *more])
    assert recording.icount_shift == shift
    assert sum("icount" in one for one in recording.arguments) == 1
    assert recording.arguments[-2:] == ["-seed", "1"]


def test_figures_out_of_range_are_refused() -> None:
    for wrong in ({"shift": 9}, {"base": -1}, {"seconds": 0}, {"seconds": 1e9}):
        with pytest.raises(UsageError):
            Recording(["qemu"], **wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no QEMU"):
        Recording([])
