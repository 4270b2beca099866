"""`kprof sim`: how a session ends, where its dump goes, and that it is the same every time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from tests.board.guests import guest, needs_cross

from kprof.analysis import summarise
from kprof.board.elf import load_kernel
from kprof.board.minikernel import ready_built
from kprof.board.pty import Pty
from kprof.capture.model import Capture
from kprof.capture.open import open_capture
from kprof.cli.sim import command
from kprof.errors import KprofError
from kprof.names import read_names

KERNEL, NAMES = ready_built()
KPROF = [sys.executable, "-m", "kprof"]
TICKING = """
void main(void)
{
    for (long n = 0; n < COUNT; n++) { TAG(1024); asm("nop"); TAG(1025); }
    END
}
"""


def sim(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments], prog_name="kprof")


def built(folder: Path, count: int, end: str) -> Path:
    guest(folder, TICKING.replace("COUNT", str(count)).replace("END", end))
    (folder / "guest.names").write_text("tick/1024\n")
    return folder / "guest.elf"


@needs_cross
def test_a_crash_keeps_what_was_recorded(tmp_path: Path) -> None:
    kernel, dump = built(tmp_path, 1000, 'asm("illegal");'), tmp_path / "dump.bin"
    result = sim(kernel, "--dump", dump, "--run-at", "reset", "--names", tmp_path / "guest.names")
    assert isinstance(result.exception, KprofError)
    assert result.exception.exit_code == 1
    assert str(result.exception).startswith("illegal instruction at 0x")
    assert "(main+0x" in str(result.exception)
    capture = open_capture(dump)
    assert capture.events == 2004
    assert capture.tags()[-4:].tolist() == [16, 17, 18, 19]  # the vector, out of the EPROM
    end = capture.info.metadata["end"]
    assert end["vector"] == 4
    assert end["what"] == str(result.exception)
    assert end["registers"]["a7"] == 0x1FF000 - 4 - 8  # the return address, the exception's frame
    assert "pc 0x" not in result.stderr
    assert "sr 27" in result.stderr
    assert result.stderr.count("-> tick") == result.stderr.count("<- tick") == 2


@needs_cross
def test_a_crash_behind_a_full_ram_loses_nothing(tmp_path: Path) -> None:
    kernel, dump = built(tmp_path, 9000, 'asm("illegal");'), tmp_path / "dump.bin"
    result = sim(kernel, "--dump", dump, "--run-at", "reset")
    assert result.exit_code == 0
    assert open_capture(dump).events == 16_384


@needs_cross
def test_a_crash_before_run_leaves_no_dump(tmp_path: Path) -> None:
    kernel, dump = built(tmp_path, 10, 'asm("illegal");'), tmp_path / "dump.bin"
    result = sim(kernel, "--dump", dump)
    assert "illegal instruction" in str(result.exception)
    assert not dump.exists()


@needs_cross
def test_a_crash_without_a_dump_says_what_would_have_kept_it(tmp_path: Path) -> None:
    kernel = built(tmp_path, 1000, 'asm("illegal");')
    result = sim(kernel, "--run-at", "reset")
    assert "illegal instruction" in str(result.exception)
    assert "2004 events were recorded; --dump FILE would keep them" in result.stderr


@needs_cross
def test_a_masked_stop_is_an_end_with_the_dump(tmp_path: Path) -> None:
    kernel, dump = built(tmp_path, 10, "STOP(0x2700);"), tmp_path / "dump.bin"
    result = sim(kernel, "--dump", dump, "--run-at", "reset")
    assert "stopped with all interrupts masked at" in str(result.exception)
    assert open_capture(dump).events == 20


@needs_cross
def test_ctrl_c_keeps_what_was_recorded(tmp_path: Path) -> None:
    kernel, dump = built(tmp_path, 100, "for (;;) ;"), tmp_path / "dump.bin"
    board = subprocess.Popen(
        [*KPROF, "sim", str(kernel), "--dump", str(dump), "--run-at", "reset", "--seconds", "9999"],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert board.stderr is not None
    while "recording" not in board.stderr.readline():  # a notice comes a second after the start
        assert board.poll() is None
    board.send_signal(signal.SIGINT)
    _, notices = board.communicate(timeout=30)
    assert board.returncode == 130
    assert notices.rstrip().endswith("kprof: interrupted")
    assert open_capture(dump).events == 200


def test_a_dump_on_stdout_stands_alone_and_behind_anything(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as stream:
        stream.write(b"hello")
        stream.flush()
        done = subprocess.run(
            [*KPROF, "sim", str(KERNEL), "--dump", "-", "--events", "300"],
            stdout=stream,
            stderr=subprocess.PIPE,
            check=True,
        )
    assert b"minikernel on MD20" in done.stderr
    data = out.read_bytes()
    assert data[:5] == b"hello"
    (tmp_path / "dump.bin").write_bytes(data[5:])
    direct = tmp_path / "direct.bin"
    assert sim(KERNEL, "--dump", direct, "--events", "300").exit_code == 0
    assert same(open_capture(tmp_path / "dump.bin"), open_capture(direct))


@needs_cross
def test_a_console_that_is_no_text(tmp_path: Path) -> None:
    text = "void main(void) { D(1) = 0xEE, D(2) = 4; for (int i = 250; i < 256; i++) { D(3) = i;"
    guest(tmp_path, text + "while (!(D(1) & 8)) ; } for (;;) STOP(0x2000); }")
    done = subprocess.run(
        [*KPROF, "sim", str(tmp_path / "guest.elf"), "--dump", str(tmp_path / "d"), "--seconds=1"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert done.stdout == bytes(range(250, 256))


@needs_cross
def test_a_long_silence_has_unwrapped_times(tmp_path: Path) -> None:
    c = """
static int ticks;
HANDLER void on_timer(void) { (void)D(15); if (ticks++ % 2000 == 1999) TAG(1024); }
void main(void)
{
    vbr(), vectors[29] = (u32)on_timer, D(5) = 8, timer(18432);
    TAG(1024);
    for (;;) STOP(0x2000);
}
"""
    guest(tmp_path, c)
    dump = tmp_path / "dump.bin"
    result = sim(tmp_path / "guest.elf", "--dump", dump, "--run-at", "reset", "--ppm", "0")
    assert result.exit_code == 0
    assert "20.0 s without an event is longer than the Profiler's counter" in result.stderr
    capture = open_capture(dump)
    assert capture.info.unwrapped
    assert np.diff(capture.ticks()).tolist() == pytest.approx([20_000_000] * 2, abs=1000)


@needs_cross
def test_a_larger_event_ram(tmp_path: Path) -> None:
    kernel, dump = built(tmp_path, 100_000, "for (;;) ;"), tmp_path / "dump.bin"
    result = sim(kernel, "--dump", dump, "--run-at", "reset", "--events", "150k")
    assert result.exit_code == 0
    assert "the Profiler is full: 150000 events" in result.stderr
    capture = open_capture(dump)
    assert capture.events == 150_000
    assert capture.info.full
    assert capture.info.metadata["event_ram"] == 150_000
    gaps = np.diff(capture.ticks()) & 0xFF_FFFF
    assert set(gaps[100:].tolist()) <= {0, 1, 2}
    small = tmp_path / "small.bin"
    assert sim(kernel, "--dump", small, "--run-at", "reset").exit_code == 0
    assert capture.records[:16384].tobytes() == open_capture(small).records.tobytes()


def same(one: Capture, other: Capture) -> bool:
    return one.events == other.events and one.records.tobytes() == other.records.tobytes()


MOMENTS = [
    ("--run-at", "pc=tcp_input"),
    ("--run-at", "write=ticks"),
    ("--run-at", "0.2"),
    ("--run-at", "idle"),
    ("--until", "0.15"),
    ("--until", "pc=soreceive"),
    ("--start", "0.3"),
    ("--no-skip",),
    ("--eprom-bits", "16"),
    ("--ppm", "-50"),
    ("--seed", "9"),
    ("--events", "20k"),
    ("--runs", "2"),
    ("--board", "md20"),
]


@pytest.mark.parametrize("options", MOMENTS, ids=" ".join)
def test_every_option_gives_the_same_run_again(tmp_path: Path, options: tuple[str, ...]) -> None:
    captures = []
    for name in ("a.bin", "b.bin"):
        limits = [] if options[0] == "--events" else ["--events", "2000"]
        result = sim(KERNEL, "--dump", tmp_path / name, *limits, *options)
        assert result.exit_code == 0, result.exception
        captures.append(open_capture(tmp_path / name))
    assert same(*captures)
    assert captures[0].events > 20


def test_no_skip_changes_nothing(tmp_path: Path) -> None:
    for name, options in (("a.bin", []), ("b.bin", ["--no-skip"])):
        assert sim(KERNEL, "--dump", tmp_path / name, *options).exit_code == 0
    assert same(open_capture(tmp_path / "a.bin"), open_capture(tmp_path / "b.bin"))


def test_run_before_a_function_and_off_before_another(tmp_path: Path) -> None:
    dump, names = tmp_path / "dump.bin", read_names(NAMES)
    by_name = names.by_name
    sim(KERNEL, "--dump", dump, "--run-at", "pc=tcp_input", "--until", "pc=soreceive")
    tags = open_capture(dump).tags().tolist()
    assert tags[0] == by_name["tcp_input"].entry_tag
    assert by_name["soreceive"].entry_tag not in tags
    assert len(tags) > 20


def test_run_at_reset_sees_the_vectors_fetched_and_the_boot_code(tmp_path: Path) -> None:
    dump = tmp_path / "dump.bin"
    assert sim(KERNEL, "--dump", dump, "--run-at", "reset").exit_code == 0
    tags = open_capture(dump).tags().tolist()
    image = load_kernel(KERNEL)
    boot = image.symbols["boot"].address  # move.w #0x2700,%sr; lea __kernel_load,%a0
    assert tags[:10] == list(range(boot, boot + 10))


def test_several_recordings(tmp_path: Path) -> None:
    dump, names = tmp_path / "dump.bin", read_names(NAMES)
    moment = ("--run-at", "pc=tcp_input", "--until", "pc=soreceive")
    result = sim(KERNEL, "--dump", dump, "--runs", "3", *moment)
    assert result.exit_code == 0
    captures = [open_capture(tmp_path / f"dump{n}.bin") for n in ("", "-2", "-3")]
    tag = names.by_name["tcp_input"].entry_tag
    assert [capture.tags().tolist()[0] for capture in captures] == [tag] * 3
    assert sum(summarise(capture, names).events for capture in captures) > 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dump", ""], "an empty name"),
        (["--dump", "{tmp}"], "is a folder"),
        (["--dump", "{tmp}/none/dump.bin"], "cannot write"),
        (["--dump", "{tmp}/d", "--run-at", "pc=nothing"], "no symbol of that name"),
        (["--dump", "{tmp}/d", "--run-at", "noon"], "'noon' is not a moment of a run"),
        (["--dump", "{tmp}/d", "--run-at", "write=ticks", "--timeout", "0.01"], "has not come"),
        (["--events", "20k"], "a larger one needs --dump"),
        (["--runs", "2"], "--runs needs --dump"),
        (["--timeout", "nan"], "a wait of nan s"),
    ],
)
def test_wrong_options_are_found_before_the_run(
    tmp_path: Path, options: list[str], message: str
) -> None:
    began = time.monotonic()
    result = sim(KERNEL, *(option.replace("{tmp}", str(tmp_path)) for option in options))
    assert isinstance(result.exception, KprofError)
    assert message in str(result.exception)
    assert result.stdout == ""
    assert not list(tmp_path.iterdir())
    assert time.monotonic() - began < 20


def test_a_kernel_without_an_end(tmp_path: Path) -> None:
    result = sim("/dev/zero", "--dump", tmp_path / "d")
    assert "/dev/zero: more than" in str(result.exception)


def test_nobody_uploads(tmp_path: Path) -> None:
    began = os.times()
    result = sim(KERNEL, "--events", "10", "--timeout", "1.5")
    ended = os.times()
    assert "nobody has uploaded for 1.5 s" in str(result.exception)
    assert ended.elapsed - began.elapsed >= 1.5
    assert not list(tmp_path.iterdir())


def test_waiting_leaves_the_processor_to_others() -> None:
    before = os.times()
    sim(KERNEL, "--events", "10", "--timeout", "3", "--manual")
    after = os.times()
    assert after.user - before.user < 0.6 * (after.elapsed - before.elapsed)


def test_a_link_is_made_only_where_nothing_is(tmp_path: Path) -> None:
    link = tmp_path / "line"
    target = tmp_path / "precious"
    target.write_text("mine")
    link.symlink_to(target)
    result = sim("--link", link, "--events", "10")
    assert "already exists" in str(result.exception)
    assert link.readlink() == target
    link.unlink()
    with_other = Pty()  # of another sim
    link.symlink_to(with_other.path)
    assert "already exists" in str(sim("--link", link, "--events", "10").exception)
    with_other.close()
    assert link.is_symlink()
    result = sim("--link", link, "--events", "10", "--timeout", "0.1")
    assert "nobody has uploaded" in str(result.exception)
    assert not link.is_symlink()
