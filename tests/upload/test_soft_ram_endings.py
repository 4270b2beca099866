"""The software event RAM on a host: when and where the capture is written, and the exit code."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.upload.peers import AGENT, WARNINGS
from tests.upload.softram import RAM, build, environment, run, written

# Stores 4 events, does SETUP, says "ready", and goes on until something ends it.
ENDLESS = """
#define _DEFAULT_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kprof_ram.h"
static volatile int told;
static void handler(int number) { HANDLER; (void)number; }
int main(void)
{
    kprof_event(1024); kprof_event(1026); kprof_event(1027); kprof_event(1025);
    SETUP;
    (void)handler;
    puts("ready");
    fflush(stdout);
    while (!told) {
        LOOP;
    }
    kprof_event(1030); kprof_event(1031);
    return 5;
}
"""
FOUR = [1024, 1026, 1027, 1025]
MANY = "int i; for (i = 0; i < 1000; i++) { kprof_event(1040); kprof_event(1041); }"


def _ended(
    folder: Path,
    number: signal.Signals | None,
    *,
    handler: str = "told = 1",
    setup: str = ";",
    loop: str = "pause()",
    **settings: str,
) -> tuple[int, str]:
    """Exit status and stderr of `ENDLESS`, to which `number` is sent when it is ready."""
    text = ENDLESS.replace("HANDLER", handler).replace("SETUP", setup).replace("LOOP", loop)
    program = build(folder, text)
    with subprocess.Popen(
        [program],
        env=environment(program, **settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            if number is not None:
                process.send_signal(number)
            _, said = process.communicate(timeout=20)
        finally:
            process.kill()
    return process.returncode, said


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGSEGV", "SIGABRT"])
def test_a_signal_that_ends_a_program_has_the_capture_written_first(
    tmp_path: Path, name: str
) -> None:
    number = signal.Signals[name]
    code, said = _ended(tmp_path, number)
    assert code == -number
    assert said == f"kprof_ram: {name}: 4 events in {tmp_path / 'run.bin'}\n"
    assert written(tmp_path / "run.bin").tags().tolist() == FOUR


def test_a_program_s_own_handler_runs_and_its_end_is_in_the_capture(tmp_path: Path) -> None:
    setup = "signal(SIGTERM, handler); kprof_ram_signals()"
    code, said = _ended(tmp_path, signal.SIGTERM, setup=setup)
    assert code == 5
    assert "SIGTERM: 4 events" in said
    assert written(tmp_path / "run.bin").tags().tolist() == [*FOUR, 1030, 1031]


def test_a_handler_set_at_any_time_is_found(tmp_path: Path) -> None:
    setup = f"signal(SIGTERM, handler); {{ {MANY} }}"
    code, _ = _ended(tmp_path, signal.SIGTERM, handler="_exit(7)", setup=setup)
    assert code == 7
    assert written(tmp_path / "run.bin").events == 2004


def test_a_handler_gets_what_it_asked_for(tmp_path: Path) -> None:
    """SA_SIGINFO, its mask, and the sender's number; then it dies as programs do, by raising."""
    setup = (
        "struct sigaction act; kprof_event(1); sigemptyset(&act.sa_mask);"
        "sigaddset(&act.sa_mask, SIGUSR1); act.sa_flags = SA_SIGINFO | SA_RESETHAND;"
        "act.sa_sigaction = whole; sigaction(SIGTERM, &act, 0); kprof_ram_signals()"
    )
    whole = (
        "(void)number; } static void whole(int number, siginfo_t *info, void *context) {"
        "sigset_t blocked; (void)context; sigprocmask(SIG_BLOCK, 0, &blocked);"
        "if (info->si_pid == getppid() && sigismember(&blocked, SIGUSR1) == 1"
        " && sigismember(&blocked, SIGUSR2) == 0) { kprof_event(2); raise(number); } else told = 1"
    )
    code, said = _ended(tmp_path, signal.SIGTERM, handler=whole, setup=setup)
    assert code == -signal.SIGTERM
    assert "SIGTERM: 5 events" in said


def test_a_handler_that_is_set_for_a_while_is_not_taken_for_the_program_s(tmp_path: Path) -> None:
    """As a library does around its work: what it finds, it sets again."""
    setup = (
        f"struct sigaction mine, before; {MANY} memset(&mine, 0, sizeof mine);"
        f"mine.sa_handler = handler; sigaction(SIGTERM, &mine, &before); {{ {MANY} }}"
        f"sigaction(SIGTERM, &before, 0); {{ {MANY} }}"
    )
    code, said = _ended(tmp_path, signal.SIGTERM, setup=f"{{ {setup} }}")
    assert code == -signal.SIGTERM
    assert "SIGTERM: 6004 events" in said


def test_several_handlers_one_after_the_other(tmp_path: Path) -> None:
    names = ["first", "second", "third", "fourth", "fifth"]
    more = "".join(
        f"}} static void {name}(int number) {{ (void)number; _exit(7);" for name in names
    )
    set_one = [f"signal(SIGTERM, {name}); {{ {MANY} }}" for name in [*names, "handler"]]
    setup = "".join(set_one)
    code, _ = _ended(tmp_path, signal.SIGTERM, handler=f"told = 1; {more}", setup=f"{{ {setup} }}")
    assert code == 5
    assert written(tmp_path / "run.bin").events == 4 + 6 * 2000 + 2


def test_what_is_ignored_stays_ignored(tmp_path: Path) -> None:
    setup = f"signal(SIGINT, SIG_IGN); {{ {MANY} }} raise(SIGINT); told = 1"
    assert _ended(tmp_path, None, setup=setup) == (5, "")


def test_a_fault_that_a_program_handles_is_its_own(tmp_path: Path) -> None:
    setup = f"signal(SIGSEGV, handler); {{ {MANY} }}"
    code, said = _ended(tmp_path, signal.SIGSEGV, setup=setup)
    assert (code, said) == (5, "")


def test_signals_are_left_alone_where_that_is_wanted(tmp_path: Path) -> None:
    code, said = _ended(tmp_path, signal.SIGTERM, KPROF_SIGNALS="0")
    assert (code, said) == (-signal.SIGTERM, "")
    assert not (tmp_path / "run.bin").exists()


def test_a_full_event_ram_is_written_at_once(tmp_path: Path) -> None:
    """SIGKILL leaves nobody the time."""
    loop = "kprof_event(1040); kprof_event(1041); if (kprof_ram_lost() == 100) raise(SIGKILL)"
    code, said = _ended(tmp_path, None, loop=loop, KPROF_EVENTS="64")
    assert code == -signal.SIGKILL
    out = tmp_path / "run.bin"
    assert said.splitlines() == [
        f"kprof_ram: event RAM full: 64 events in {out}",
        "kprof_ram: 1 events were lost (KPROF_EVENTS=128 keeps that many, KPROF_KEEP=last the "
        "last ones)",
    ]
    assert written(out).info.full
    assert written(out).tags().tolist() == FOUR + [1040, 1041] * 30


def test_losses_are_said_at_the_end(tmp_path: Path) -> None:
    setup = f"{{ {MANY} }} told = 1"
    code, said = _ended(tmp_path, None, setup=setup, KPROF_EVENTS="64")
    assert code == 5
    assert "1942 events were lost (KPROF_EVENTS=2048 keeps that many" in said
    assert written(tmp_path / "run.bin").info.lost == 2006 - 64


def test_a_flush_writes_what_there_is(tmp_path: Path) -> None:
    setup = "if (kprof_ram_flush() != 0) return 1; kprof_event(8); _exit(9)"
    program = build(
        tmp_path, ENDLESS.replace("HANDLER", ";").replace("SETUP", setup).replace("LOOP", ";")
    )
    done = subprocess.run([program], env=environment(program), timeout=20, capture_output=True)
    assert (done.returncode, done.stderr) == (9, b"")
    assert written(tmp_path / "run.bin").tags().tolist() == FOUR


def test_a_program_that_goes_elsewhere_writes_where_it_began(tmp_path: Path) -> None:
    setup = 'told = chdir("/") == 0'
    program = build(
        tmp_path, ENDLESS.replace("HANDLER", ";").replace("SETUP", setup).replace("LOOP", ";")
    )
    (tmp_path / "here").mkdir()
    subprocess.run(
        [program],
        env=environment(program, KPROF_OUT="own.bin"),
        cwd=tmp_path / "here",
        timeout=20,
        stdout=subprocess.DEVNULL,
    )
    assert written(tmp_path / "here" / "own.bin").events == 6


def test_a_file_in_the_place_of_stderr_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "db").touch()
    setup = f'close(2); if (open("{tmp_path / "db"}", O_WRONLY) != 2) return 1'
    code, said = _ended(tmp_path, signal.SIGTERM, setup=setup)
    assert (code, said) == (-signal.SIGTERM, "")
    assert (tmp_path / "db").read_bytes() == b""
    assert written(tmp_path / "run.bin").events == 4


def test_more_events_than_there_is_memory_for(tmp_path: Path) -> None:
    setup = f"{{ {MANY} }} told = 1"
    code, said = _ended(tmp_path, None, setup=setup, KPROF_EVENTS=str(1 << 58))
    assert code == 5
    assert said == (f"kprof_ram: KPROF_EVENTS={1 << 58}: no memory for them; keeping 16384\n")
    assert written(tmp_path / "run.bin").events == 2006


UNDER_WAY = """
#define _DEFAULT_SOURCE 1
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include "kprof_ram.h"
static volatile int ticks, cut, wrong;
static void tick(int number)
{
    static unsigned char header[128];
    unsigned long stored, kept = 0;
    FILE *file;
    int i;
    (void)number;
    for (i = 0; i < 9; i++)
        kprof_event(2000);
    stored = kprof_ram_valid();
    if (kprof_ram_flush() == 0 && (file = fopen("run.bin", "rb")) != 0) {
        if (fread(header, 1, sizeof header, file) == sizeof header)
            kept = header[40] | header[41] << 8;
        fclose(file);
    }
    cut += kept == stored - 1;
    wrong += kept != stored && kept != stored - 1;
    ticks++;
}
int main(void)
{
    struct itimerval once = { { 0, 0 }, { 0, 0 } };
    int i = 0, set = -1;
    signal(SIGALRM, tick);
    while (ticks < 1000) {
        if (set != ticks) {
            set = ticks;
            once.it_value.tv_usec = 20 + ticks % 50;
            setitimer(ITIMER_REAL, &once, 0);
        }
        kprof_event(1024); kprof_event(1025);
        if (++i % 1000 == 0)
            kprof_ram_start(KPROF_STOP_WHEN_FULL);
    }
    printf("%d %d", cut, wrong);
    return 0;
}
"""


def test_a_signal_in_the_middle_of_an_event_costs_that_event_alone(tmp_path: Path) -> None:
    """It is neither in the file nor does it keep from it what the signal's handler stored."""
    program = build(tmp_path, UNDER_WAY)
    done = subprocess.run(
        [program],
        env=environment(program),
        cwd=tmp_path,
        timeout=60,
        capture_output=True,
        text=True,
        check=True,
    )
    cut, wrong = map(int, done.stdout.split())
    assert wrong == 0
    assert cut > 0  # else no signal has come at that moment, and nothing is shown


@pytest.mark.parametrize(("own", "expected"), [(0, 74), (3, 3)])
def test_a_capture_that_cannot_be_written_is_in_the_exit_code(
    tmp_path: Path, own: int, expected: int
) -> None:
    """And nothing of the program's end is lost: what it had printed, what its destructors do."""
    text = """
        #include <stdio.h>
        #include "kprof_ram.h"
        static void late(void) __attribute__((destructor));
        static void late(void) { printf("late"); }
        int main(void) { printf("early "); kprof_event(1024); return OWN; }
    """
    program = build(tmp_path, text.replace("OWN", str(own)))
    done = subprocess.run(
        [program],
        env=environment(program, KPROF_OUT=str(tmp_path / "no" / "run.bin")),
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stdout) == (expected, "early late")
    assert done.stderr.count("cannot write the capture") >= 1


def test_what_destructors_do_is_in_the_capture(tmp_path: Path) -> None:
    text = """
        #include "kprof_ram.h"
        static void late(void) __attribute__((destructor));
        static void late(void) { kprof_event(1026); kprof_event(1027); }
        static void early(void) __attribute__((constructor));
        static void early(void) { kprof_event(1022); kprof_event(1023); }
        int main(void) { kprof_event(1024); kprof_event(1025); return 0; }
    """
    assert run(build(tmp_path, text)).tags().tolist() == [1022, 1023, 1024, 1025, 1026, 1027]


WINDOW = """
#include "kprof_ram.h"
int main(int argc, char **argv)
{
    unsigned i;
    (void)argv;
    if (argc > 1)
        kprof_ram_between(KPROF_KEEP_LAST, 1003, 1009);
    for (i = 0; i < 20; i++)
        kprof_event(1000 + i);
    for (i = 0; i < 20; i++)
        kprof_event(1000 + i);
    return (int)kprof_ram_run();
}
"""


@pytest.mark.parametrize(
    ("settings", "tags"),
    [
        ({"KPROF_START": "1003"}, [*range(1003, 1020), *range(1000, 1020)]),
        ({"KPROF_START": "0x3eb", "KPROF_STOP": "1009"}, [*range(1003, 1010)]),
        ({"KPROF_STOP": "1009", "KPROF_KEEP": "last", "KPROF_EVENTS": "4"}, [*range(1006, 1010)]),
        ({"KPROF_START": "1019", "KPROF_STOP": "1002"}, [1019, 1000, 1001, 1002]),
        ({"KPROF_START": "1010", "KPROF_STOP": "1010"}, [1010]),
        ({"KPROF_START": "5"}, []),
    ],
)
def test_from_a_start_tag_to_a_stop_tag(
    tmp_path: Path, settings: dict[str, str], tags: list[int]
) -> None:
    program = build(tmp_path, WINDOW)
    done = subprocess.run(
        [program],
        env=environment(program, **settings),
        timeout=20,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    capture = written(tmp_path / "run.bin")
    assert capture.tags().tolist() == tags
    assert capture.info.lost == (6 if "KPROF_EVENTS" in settings else 0)
    stopped = f"kprof_ram: stop tag: {len(tags)} events"
    assert done.stderr.startswith(stopped if "KPROF_STOP" in settings else "")


def test_the_program_may_set_the_window(tmp_path: Path) -> None:
    program = build(tmp_path, WINDOW)
    done = subprocess.run([program, "x"], env=environment(program, KPROF_EVENTS="4"), timeout=20)
    assert done.returncode == 2
    assert written(tmp_path / "run.bin").tags().tolist() == [*range(1006, 1010)]


def test_a_tag_that_is_none_is_said(tmp_path: Path) -> None:
    program = build(tmp_path, WINDOW)
    settings = environment(program, KPROF_START="main")
    done = subprocess.run([program], env=settings, timeout=20, capture_output=True, text=True)
    assert done.stderr == "kprof_ram: KPROF_START=main: expected a tag, 1 to 65535; left out\n"
    assert written(tmp_path / "run.bin").events == 40


def test_the_name_file_s_digest_is_in_the_capture(tmp_path: Path) -> None:
    text = """
        #include "kprof_ram.h"
        extern const unsigned char kprof_names_sha256[32];
        const unsigned char kprof_names_sha256[32] = { 1, 2, 3, 255 };
        int main(void) { kprof_event(1024); return 0; }
    """
    capture = run(build(tmp_path, text))
    assert capture.info.names_sha256 == bytes([1, 2, 3, 255]) + bytes(28)
    (without := tmp_path / "without").mkdir()
    assert (
        run(build(without, WINDOW.replace("(int)kprof_ram_run()", "0"))).info.names_sha256 is None
    )


def test_in_c_plus_plus(tmp_path: Path) -> None:
    """kprof_ram.c as C++, called from C++; what a stream had printed is not lost."""
    text = """
        #include <iostream>
        #include "kprof_ram.h"
        struct Late { ~Late() { kprof_event(1026); std::cout << "late"; } } late;
        int main() { std::ios::sync_with_stdio(false); kprof_event(1024); std::cout << "early "; }
    """
    (tmp_path / "main.cc").write_text(text)
    warnings = [option for option in WARNINGS if not option.startswith("-std")]
    command = ["g++", "-std=c++98", *warnings, "-O2", "-I", str(AGENT), "-o", "program"]
    subprocess.run([*command, "main.cc", "-x", "c++", RAM], cwd=tmp_path, check=True, timeout=60)
    settings = {"cwd": tmp_path, "timeout": 20, "capture_output": True, "text": True}
    done = subprocess.run(["./program"], **settings)
    assert (done.returncode, done.stdout) == (0, "early late")
    assert written(tmp_path / "kprof.bin").tags().tolist() == [1024, 1026]
    done = subprocess.run(["./program"], **settings, env={"KPROF_OUT": "/no/such/folder"})
    assert (done.returncode, done.stdout) == (74, "early late")
