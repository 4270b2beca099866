"""The software event RAM: on a host, under interrupts, and as a microcontroller has it."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.upload.peers import AGENT, compiler
from tests.upload.softram import build, run

from kprof.capture import open_capture

NESTED = """
#include "kprof_ram.h"
int main(int argc, char **argv)
{
    int i;
    (void)argv;
    for (i = 0; i < 100 * argc; i++) {
        kprof_event(1024); kprof_event(1026); kprof_event(1027); kprof_event(1025);
    }
    return 0;
}
"""
INTERRUPTED = """
#define _POSIX_C_SOURCE 200112L
#define _DEFAULT_SOURCE
#include <signal.h>
#include <sys/time.h>
#include "kprof_ram.h"
static volatile int ticks;
static void tick(int number)
{
    (void)number;
    kprof_event(2000); kprof_event(2001);
    ticks++;
}
int main(void)
{
    struct itimerval every;
    every.it_interval.tv_sec = every.it_value.tv_sec = 0;
    every.it_interval.tv_usec = every.it_value.tv_usec = 50;
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &every, 0);
    while (ticks < 300) {
        kprof_event(1024); kprof_event(1025);
    }
    return 0;
}
"""
FORKED = """
#define _POSIX_C_SOURCE 200112L
#include <sys/wait.h>
#include <unistd.h>
#include "kprof_ram.h"
int main(void)
{
    kprof_event(1024);
    if (fork() == 0) {
        kprof_event(1026);
        return 0;
    }
    wait(0);
    kprof_event(1025);
    return 0;
}
"""
BARE = """
#include <stdio.h>
unsigned long fake_time(void);
#include "kprof_ram.h"
unsigned long fake_time(void) { static unsigned long now = 0xFFFFF0UL; return now += 5; }
int main(int argc, char **argv)
{
    unsigned long i, wanted = 11;
    int byte;
    (void)argv;
    if (argc > 1)
        kprof_ram_start(KPROF_KEEP_LAST);
    for (i = 0; i < wanted; i++)
        kprof_event((unsigned)(1024 + i));
    printf("%lu %lu %d\\n", kprof_ram_valid(), kprof_ram_lost(), kprof_ram_full());
    for (i = 0; i < kprof_ram_valid(); i++) {
        for (byte = 0; byte < 5; byte++)
            printf("%02x", kprof_ram_byte(i, byte));
        printf("\\n");
    }
    kprof_ram_stop();
    kprof_event(7);
    return kprof_ram_valid() != 8;
}
"""


@pytest.mark.parametrize("clock", [(), ("-DKPROF_TSC",)])
def test_a_host_s_run_ends_in_a_capture(tmp_path: Path, clock: tuple[str, ...]) -> None:
    capture = run(build(tmp_path, NESTED, *clock))
    assert capture.tags().tolist() == [1024, 1026, 1027, 1025] * 100
    assert capture.info.lost == 0
    assert not capture.info.full
    assert capture.info.started_ns > 1_700_000_000 * 10**9
    if not clock:
        assert capture.info.clock_hz == 1_000_000_000


def test_the_first_or_the_last_events_are_kept(tmp_path: Path) -> None:
    program = build(tmp_path, NESTED)
    first = run(program, KPROF_EVENTS="64")
    assert first.tags().tolist() == [1024, 1026, 1027, 1025] * 16
    assert (first.info.full, first.info.lost) == (True, 336)
    last = run(program, KPROF_EVENTS="64", KPROF_KEEP="last")
    assert last.tags().tolist() == [1024, 1026, 1027, 1025] * 16
    assert (last.info.full, last.info.lost) == (True, 336)
    assert last.ticks()[0] > first.ticks()[0]
    more = run(program, *["x"] * 99, KPROF_EVENTS="65536")
    assert more.events == 40_000
    assert run(program, KPROF_EVENTS="100").events == 400


def test_events_of_interrupts_stand_in_the_order_of_their_times(tmp_path: Path) -> None:
    program = build(tmp_path, INTERRUPTED)
    capture = run(program, KPROF_EVENTS="65536", KPROF_KEEP="last")
    tags = capture.tags()
    entries = np.flatnonzero(tags == 2000)
    assert len(entries) > 0
    assert (tags[entries[entries + 1 < len(tags)] + 1] == 2001).all()


def test_a_fork_s_events_are_its_own(tmp_path: Path) -> None:
    capture = run(build(tmp_path, FORKED))
    assert capture.tags().tolist() == [1024, 1025]
    (child,) = tmp_path.glob("run.bin.*")
    assert open_capture(child).tags().tolist() == [1024, 1026]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    program = build(tmp_path, NESTED)
    out = str(tmp_path / "no" / "run.bin")
    assert _said(program, 74, KPROF_OUT=out) == f"kprof_ram: {out}: cannot write the capture\n"


def _said(program: Path, code: int = 0, **environment: str) -> str:
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=20)
    assert done.returncode == code
    return done.stderr


def test_a_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    program, fifo = build(tmp_path, NESTED), tmp_path / "fifo"
    os.mkfifo(fifo)
    before = sorted(path.name for path in tmp_path.iterdir())
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
        try:
            assert _said(program, KPROF_OUT=str(fifo)) == ""
            got, _ = reader.communicate(timeout=20)
        finally:
            reader.kill()
    assert fifo.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    (tmp_path / "got.bin").write_bytes(got)
    capture = open_capture(tmp_path / "got.bin", verify=True)
    assert capture.tags().tolist() == [1024, 1026, 1027, 1025] * 100


def test_a_device_is_written_and_stays_one(tmp_path: Path) -> None:
    program, full = build(tmp_path, NESTED), tmp_path / "full"
    try:
        os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        full.open("wb").close()
    except OSError:
        pytest.skip("devices cannot be made here")
    said = _said(program, 74, KPROF_OUT=str(full))
    assert said == f"kprof_ram: {full}: cannot write the capture\n"
    assert full.is_char_device()


@pytest.mark.parametrize("there", [False, True])
def test_a_link_is_followed(tmp_path: Path, there: bool) -> None:
    program = build(tmp_path, NESTED)
    (tmp_path / "runs").mkdir()
    target = tmp_path / "runs" / "real.bin"
    if there:
        target.write_bytes(b"old")
    (tmp_path / "runs" / "latest").symlink_to("real.bin")
    (tmp_path / "run.bin").symlink_to("runs/latest")
    assert _said(program, KPROF_OUT=str(tmp_path / "run.bin")) == ""
    assert (tmp_path / "run.bin").is_symlink()
    assert (tmp_path / "runs" / "latest").is_symlink()
    assert target.is_file()
    assert not target.is_symlink()
    assert open_capture(target).events == 400
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["latest", "real.bin"]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    program = build(tmp_path, NESTED)
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "cannot write the capture" in _said(program, 74, KPROF_OUT=str(tmp_path / "a"))
    assert (tmp_path / "a").is_symlink()


def test_settings_that_mean_nothing_are_said(tmp_path: Path) -> None:
    program, out = build(tmp_path, NESTED), str(tmp_path / "run.bin")
    assert _said(program, KPROF_OUT=out, KPROF_KEEP="foo") == (
        "kprof_ram: KPROF_KEEP=foo: expected first or last; keeping the first\n"
    )
    assert _said(program, KPROF_OUT=out, KPROF_KEEP="first") == ""
    assert "KPROF_EVENTS=100: expected a power of two" in _said(
        program, KPROF_OUT=out, KPROF_EVENTS="100"
    )


@pytest.mark.parametrize("last", [False, True])
def test_as_a_microcontroller_has_it(tmp_path: Path, last: bool) -> None:
    program = build(
        tmp_path,
        BARE,
        "-DKPROF_TIME()=fake_time()",
        "-DKPROF_LOCK(s)=(s=0)",
        "-DKPROF_UNLOCK(s)=((void)s)",
        "-DKPROF_RAM_EVENTS=8",
        "-include",
        str(_declared(tmp_path)),
    )
    done = subprocess.run(
        [program, *["last"] * last], capture_output=True, text=True, check=True, timeout=20
    )
    state, *records = done.stdout.splitlines()
    assert state == "8 3 1"
    first = 3 if last else 0
    expected = [
        f"{(0xFFFFF0 + 5 * (number + 1)) & 0xFFFFFF:06x}{1024 + number:04x}"
        for number in range(first, first + 8)
    ]
    assert records == expected


def _declared(folder: Path) -> Path:
    (folder / "time.h").write_text("unsigned long fake_time(void);\n")
    return folder / "time.h"


def test_instrumented_with_no_hardware_at_all(tmp_path: Path) -> None:
    import sys

    kprof = [sys.executable, "-m", "kprof"]
    source = tmp_path / "fib.c"
    source.write_text(
        "int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
        "int main(void) { return fib(10) != 55; }\n"
    )
    options = {"cwd": tmp_path, "check": True, "timeout": 60, "capture_output": True, "text": True}
    subprocess.run(
        [*kprof, "instrument", "fib.c", "-o", "made", "--names", "k.names", "--target", "soft"],
        **options,
    )
    made = [str(path) for path in (tmp_path / "made").glob("*.c")]
    subprocess.run([compiler(), "-O1", *made, str(AGENT / "kprof_ram.c"), "-o", "fib"], **options)
    subprocess.run(["./fib"], **options)
    said = subprocess.run([*kprof, "report", "kprof.bin", "--names", "k.names"], **options).stdout
    rows = {line.split()[-1]: line.split() for line in said.splitlines() if line.strip()}
    assert rows["fib"][2] == "177"
    assert rows["main"][2] == "1"
    subprocess.run(["./fib"], **options, env={**os.environ, "KPROF_EVENTS": "64"})
    said = subprocess.run([*kprof, "report", "kprof.bin", "--names", "k.names"], **options).stdout
    assert "64 events, event RAM full" in said
    assert "missing" not in said  # what is kept has no gap


def test_the_event_ram_itself_may_be_compiled_with_triggers(tmp_path: Path) -> None:
    import sys

    options = {"cwd": tmp_path, "check": True, "timeout": 60, "capture_output": True, "text": True}
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    wrapper = [sys.executable, "-m", "kprof", "cc", "--names", "k.names", "--target", "soft", "--"]
    sources = ["main.c", str(AGENT / "kprof_ram.c")]
    subprocess.run([*wrapper, compiler(), "-O1", *sources, "-o", "all"], **options)
    subprocess.run(["./all"], **options)
    assert open_capture(tmp_path / "kprof.bin").events == 2
    assert "main/1024" in (tmp_path / "k.names").read_text()
