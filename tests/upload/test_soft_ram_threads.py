"""Threads with the software event RAM: a stream each, marks between them, losses to the event."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.upload.peers import AGENT
from tests.upload.softram import build, environment, run, written

from kprof.capture import Capture

# main and some workers: worker n calls 2000, and in it as often as wanted 2010 + 2n. The first
# argument is what is done besides: ticks, flushes, starts.
PROGRAM = """
#define _GNU_SOURCE 1
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include "kprof_ram.h"
static const char *wish;
static int calls;
static int working;
static void *work(void *argument)
{
    unsigned tag = 2010 + 2 * (unsigned)(size_t)argument;
    char name[16];
    int i;
    kprof_event(2000);
    snprintf(name, sizeof name, "worker \\"%u\\"", (tag - 2010) / 2 & 63);
    pthread_setname_np(pthread_self(), name);
    for (i = 0; i < calls; i++) {
        kprof_event(tag); kprof_event(tag + 1);
    }
    kprof_event(2001);
    __atomic_fetch_sub(&working, 1, __ATOMIC_SEQ_CST);
    return 0;
}
static void tick(int number)
{
    (void)number;
    kprof_event(1900); kprof_event(1901);
}
int main(int argc, char **argv)
{
    int i, threads = atoi(argv[2]);
    pthread_t made[64];
    struct itimerval every = { { 0, 50 }, { 0, 50 } };
    wish = argv[1];
    calls = atoi(argv[3]);
    working = threads;
    (void)argc;
    kprof_event(1024);
    if (*wish == 't') {
        signal(SIGALRM, tick);
        setitimer(ITIMER_REAL, &every, 0);
    }
    for (i = 0; i < threads; i++)
        pthread_create(&made[i], 0, work, (void *)(size_t)i);
    if (*wish == 'f')
        while (__atomic_load_n(&working, __ATOMIC_SEQ_CST))
            if (kprof_ram_flush() != 0)
                return 1;
    if (*wish == 's')
        while (__atomic_load_n(&working, __ATOMIC_SEQ_CST))
            kprof_ram_start(KPROF_KEEP_LAST);
    for (i = 0; i < threads; i++)
        pthread_join(made[i], 0);
    if (*wish == 't') {
        every.it_value.tv_usec = 0;
        setitimer(ITIMER_REAL, &every, 0);
    }
    kprof_event(1025);
    fprintf(stderr, "%lu %lu\\n", kprof_ram_valid(), kprof_ram_lost());
    return 0;
}
"""
FIRST = 65280


def _streams(capture: Capture) -> dict[int, list[int]]:
    """The tags of each thread, by the marks."""
    marks = capture.info.metadata["task_marks"]
    assert marks == {"name": "thread", "first": FIRST, "count": 256}
    streams: dict[int, list[int]] = {}
    tags, ticks = capture.tags().tolist(), capture.ticks().tolist()
    running = None
    for at, tag in enumerate(tags):
        if tag >= FIRST:
            assert tag != running  # a mark is where the thread changes
            assert ticks[at] == ticks[at + 1]  # and has the time of the event behind it
            assert tags[at + 1] < FIRST
            running = tag
        else:
            assert running is not None
            streams.setdefault(running - FIRST, []).append(tag)
    return streams


def _marks(capture: Capture) -> int:
    return int((capture.tags() >= FIRST).sum())


@pytest.mark.parametrize("options", [(), ("-DKPROF_TSC",)])
def test_the_calls_of_eight_threads_are_exact(tmp_path: Path, options: tuple[str, ...]) -> None:
    program = build(tmp_path, PROGRAM, *options)
    capture = run(program, "-", "8", "30000", KPROF_EVENTS="65536")
    streams = _streams(capture)
    assert streams.pop(0) == [1024, 1025]
    assert len(streams) == 8
    for tags in streams.values():
        worker = tags[1]
        assert tags == [2000, *[worker, worker + 1] * 30000, 2001]
    assert sorted(tags[1] for tags in streams.values()) == list(range(2010, 2026, 2))
    assert capture.info.lost == 0
    names = capture.info.metadata["task_names"]
    assert names["0"] == "main"
    for thread, tags in streams.items():
        assert names[str(thread)] == f"worker ?{(tags[1] - 2010) // 2}?"


@pytest.mark.parametrize("settings", [{}, {"KPROF_KEEP": "last"}])
@pytest.mark.parametrize("events", ["16", "1024", "16384"])
def test_losses_of_eight_threads_are_exact(
    tmp_path: Path, settings: dict[str, str], events: str
) -> None:
    program = build(tmp_path, PROGRAM)
    capture = run(program, "-", "8", "20000", KPROF_EVENTS=events, **settings)
    assert capture.info.lost is not None
    assert capture.events - _marks(capture) + capture.info.lost == 2 + 8 * 40002
    assert capture.info.full
    assert capture.info.lost > 0


def test_a_ring_s_threads_begin_together(tmp_path: Path) -> None:
    """Before the busy worker's first event that is left nothing is known of it."""
    program = build(tmp_path, PROGRAM)
    capture = run(program, "-", "1", "20000", KPROF_EVENTS="1024", KPROF_KEEP="last")
    assert capture.tags().tolist() == [
        *(FIRST + 1, *[2011, 2010] * 511, 2011, 2001),
        *(FIRST, 1025),
    ]
    assert capture.info.lost == 1 + 40002 - 1024


@pytest.mark.parametrize("keep", ["first", "last"])
def test_interrupts_of_threads_stand_where_they_came(tmp_path: Path, keep: str) -> None:
    program = build(tmp_path, PROGRAM)
    capture = run(program, "t", "2", "200000", KPROF_EVENTS="524288", KPROF_KEEP=keep)
    assert capture.info.lost == 0
    streams = _streams(capture)
    interrupts = 0
    for tags in streams.values():
        stack = []
        for tag in tags:
            if tag % 2:
                assert stack.pop() == tag - 1
            else:
                stack.append(tag)
            interrupts += tag == 1900
        assert not stack
    assert interrupts > 10
    assert sum(len(tags) for tags in streams.values()) == 2 + 2 * 400002 + 2 * interrupts


def test_threads_past_the_last_stream_are_counted_not_mixed(tmp_path: Path) -> None:
    program = build(tmp_path, PROGRAM, "-DKPROF_MARK_COUNT=4", "-DKPROF_MARK_FIRST=60000")
    done = subprocess.run(
        [program, "-", "8", "100"], env=environment(program), timeout=20, capture_output=True
    )
    capture = written(tmp_path / "run.bin")
    assert capture.info.metadata["task_marks"] == {"name": "thread", "first": 60000, "count": 4}
    tags = capture.tags()
    assert sorted({int(tag) for tag in tags if tag >= 60000}) == [60000, 60001, 60002, 60003]
    assert (tags == 2000).sum() == 3
    assert capture.info.lost == 5 * 202
    assert not capture.info.full
    assert b"1010 of them of threads after the first 4 (KPROF_MARK_COUNT)" in done.stderr


def test_a_tag_among_the_marks_is_left_out_and_said(tmp_path: Path) -> None:
    program = build(tmp_path, PROGRAM, "-DKPROF_MARK_FIRST=2000", "-DKPROF_MARK_COUNT=12")
    done = subprocess.run(
        [program, "-", "2", "10"], env=environment(program), timeout=20, capture_output=True
    )
    capture = written(tmp_path / "run.bin")
    kept = [tag for tag in capture.tags().tolist() if not 2000 <= tag < 2012]
    assert sorted(kept) == [1024, 1025, *[2012] * 10, *[2013] * 10]
    assert capture.info.lost == 24
    assert b"tags of the program are among the task marks" in done.stderr


def test_one_thread_has_no_marks(tmp_path: Path) -> None:
    """And may have any tag."""
    text = '#include "kprof_ram.h"\nint main(void) { kprof_event(65280); return 0; }\n'
    capture = run(build(tmp_path, text))
    assert capture.tags().tolist() == [65280]
    assert "task_marks" not in capture.info.metadata


def test_a_capture_for_each_thread(tmp_path: Path) -> None:
    program = build(tmp_path, PROGRAM)
    environ = environment(program, KPROF_PER_THREAD="1", KPROF_EVENTS="64")
    subprocess.run([program, "-", "3", "100"], env=environ, timeout=20, check=True)
    files = sorted(tmp_path.glob("run.bin*"))
    assert [path.name for path in files] == [f"run.bin.t{number}" for number in range(4)]
    captures = [written(path) for path in files]
    assert captures[0].tags().tolist()[:1] == [1024]
    workers = [capture.tags().tolist() for capture in captures[1:] if capture.events > 1]
    assert all(tags[:1] == [2000] and len(set(tags)) <= 4 for tags in workers)
    lost = [capture.info.lost or 0 for capture in captures]
    assert sum(capture.events for capture in captures) + sum(lost) == 2 + 3 * 202
    assert all("task_marks" not in capture.info.metadata for capture in captures)


def test_a_flush_while_threads_run_is_a_sound_capture(tmp_path: Path) -> None:
    program = build(tmp_path, PROGRAM)
    for keep in ("first", "last"):
        capture = run(program, "f", "8", "20000", KPROF_EVENTS="65536", KPROF_KEEP=keep)
        assert capture.events - _marks(capture) == 2 + 8 * 40002


def test_a_ring_s_counter_goes_round(tmp_path: Path) -> None:
    """As it does after 2^30 events, so that 32 bits hold it."""
    program = build(tmp_path, PROGRAM, "-DKPROF_FOLD=4096")
    capture = run(program, "-", "8", "300000", KPROF_EVENTS="64", KPROF_KEEP="last")
    assert capture.info.lost is not None
    assert capture.events - _marks(capture) + capture.info.lost == 2 + 8 * 600002
    assert (np.diff(capture.ticks()) >= 0).all()


@pytest.mark.parametrize("wish", ["-", "f", "s", "t"])
@pytest.mark.parametrize("kind", ["thread", "address,undefined"])
def test_sanitizers_find_nothing(tmp_path: Path, kind: str, wish: str) -> None:
    checks = ("-g", f"-fsanitize={kind}", "-fno-sanitize-recover=all")
    try:
        program = build(tmp_path, PROGRAM, *checks)
    except subprocess.CalledProcessError:
        pytest.skip(f"no -fsanitize={kind} here")
    for keep in ("first", "last"):
        done = subprocess.run(
            [*_with_plain_addresses(), str(program), wish, "8", "2000"],
            env=environment(program, KPROF_EVENTS="1024", KPROF_KEEP=keep),
            timeout=60,
            capture_output=True,
            text=True,
        )
        assert "Sanitizer" not in done.stderr, done.stderr
        assert done.returncode == 0, done.stderr
        written(tmp_path / "run.bin")


def _with_plain_addresses() -> list[str]:
    """Older thread sanitizers cannot have their addresses moved about as newer kernels do."""
    setarch = shutil.which("setarch")
    return [setarch, "-R"] if setarch else []


def test_on_other_processors(tmp_path: Path) -> None:
    """32 bits, and processors whose compare-and-swap is a loop: under qemu's user mode."""
    ran = 0
    for machine, gcc, qemu in (
        ("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
        ("arm", "arm-linux-gnueabi-gcc", "qemu-arm"),
        ("riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64"),
    ):
        emulator = shutil.which(qemu) or shutil.which(f"{qemu}-static")
        if not shutil.which(gcc) or not emulator:
            continue
        (tmp_path / "main.c").write_text(PROGRAM)
        made = str(tmp_path / machine)
        command = [gcc, "-O2", "-static", "-pthread", "-I", str(AGENT), "-o", made]
        sources = [str(tmp_path / "main.c"), str(AGENT / "kprof_ram.c")]
        if subprocess.run([*command, *sources], capture_output=True).returncode != 0:
            continue  # a compiler without its C library
        out = tmp_path / f"{machine}.bin"
        for keep, events in (("first", "4096"), ("last", "256")):
            settings = environment(
                tmp_path / "x", KPROF_OUT=str(out), KPROF_KEEP=keep, KPROF_EVENTS=events
            )
            done = subprocess.run(
                [emulator, made, "-", "8", "1000"], env=settings, timeout=60, capture_output=True
            )
            assert done.returncode == 0, done.stderr
            capture = written(out)
            assert capture.info.lost is not None
            assert capture.events - _marks(capture) + capture.info.lost == 2 + 8 * 2002
        ran += 1
    if not ran:
        pytest.skip("no other processor's compiler, C library and qemu")
