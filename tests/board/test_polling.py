"""Polling loops: what the board skips must not change what is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from tests.board.guests import guest, needs_cross

from kprof.board.crash import GuestError
from kprof.board.md20 import HZ, MD20

LOOPS = {
    "counted": """
int poll_key(int n) { while (n--) if (D(1) & 1) return D(3); return -1; }
void main(void) { D(2) = 5; TAG(1024); poll_key(50); TAG(1025); }
""",
    "time-out": """
int wait(long n) { while (!(D(9) & 1)) if (!n--) return -1; return 0; }
void main(void) { D(2) = D(10) = 5; TAG(1024); wait(10000); TAG(1025); }
""",
    "time-out in memory": """
volatile long n = 10000;
void main(void) { D(10) = 5; TAG(1024); while (!(D(9) & 1)) if (!n--) break; TAG(1025); }
""",
    "time-out in memory alone": """
long n = 10000, one = 1;
void main(void)
{
    D(2) = 5;
    TAG(1024);
    asm volatile("1: subq.l #1,n; beq 2f; add.l #0,one; btst #0,0x400009; beq 1b; 2:" ::: "memory");
    TAG(1025);
}
""",
    "memory that goes back and forth": """
long n = 1;
void main(void)
{
    D(1) = 0x44, D(2) = 5, D(3) = 65;
    asm volatile("1: neg.l n; tst.l n; neg.l n; btst #3,0x400001; beq 1b" ::: "memory");
    TAG(1024);
    if (n == 1) TAG(1026);
}
""",
    "two registers": """
void main(void)
{
    long ticks = 0;
    D(10) = 5, timer(1843);
    while (ticks < 40) {
        if (D(9) & 1) break;
        if (D(5) & 8) { (void)D(15); ticks++; TAG(1024); }
    }
}
""",
    "sends a text": """
void put(int c) { while (!(D(1) & 4)) ; D(3) = c; TAG(1024); }
void main(void) { D(1) = 0xEE, D(2) = 5; for (int i = 0; i < 40; i++) put('a' + i % 26); }
""",
    "sends at 300 baud through calls": """
__attribute__((noinline)) int ready(int channel) { return D(channel + 1) & 4; }
__attribute__((noinline)) void put(int c) { while (!ready(0)) ; D(3) = c; TAG(1024); }
void main(void) { D(1) = 0x44, D(2) = 5; for (int i = 0; i < 6; i++) put(i); }
""",
    "drains the transmitter": """
void main(void) {
    D(1) = 0x44, D(2) = 5, D(3) = 65;
    while (!(D(1) & 8)) ;
    TAG(1024);
}
""",
    "echo": """
void main(void)
{
    D(1) = 0xEE, D(2) = 5;
    for (int i = 0; i < 6; i++) {
        while (!(D(1) & 1)) ;
        TAG(1024);
        int c = D(3);
        while (!(D(1) & 4)) ;
        D(3) = c;
    }
}
""",
    "a counter that is read": """
void main(void) { timer(20000); TAG(1024); while ((D(6) << 8 | D(7)) > 5000) ; TAG(1025); }
""",
    "a flag of an interrupt": """
volatile int ticks;
HANDLER void on_timer(void) { (void)D(15); ticks++; TAG(1030); }
void main(void)
{
    vbr(), vectors[29] = (u32)on_timer;
    D(2) = 5, D(5) = 8, timer(1843), SPL(0x2000);
    while (ticks < 30) if (D(1) & 1) break;
    TAG(1024);
}
""",
    "an interrupt that the loop cannot see": """
HANDLER void on_timer(void) { (void)D(15); TAG(1030); }
void main(void)
{
    vbr(), vectors[29] = (u32)on_timer;
    D(2) = 5, D(5) = 8, timer(18432), SPL(0x2000);
    for (int i = 0; i < 4000; i++) if (D(1) & 1) break;
    TAG(1024);
}
""",
    "a trigger in the loop": """
void main(void) { D(1) = 0x44, D(2) = 5, D(3) = 1; while (!(D(1) & 8)) TAG(1024); TAG(1025); }
""",
    "a turn of three states": """
void main(void)
{
    int i = 0;
    D(1) = 0x44, D(2) = 5, D(3) = 65;
    while (!(D(1) & 8)) i = i == 2 ? 0 : i + 1;
    if (i == 0) TAG(1024);
    if (i == 1) TAG(1026);
    if (i == 2) TAG(1028);
}
""",
    "the network controller": """
void main(void)
{
    *(volatile unsigned short *)0x470000 = 1;
    for (int i = 0; i < 31; i++) *(volatile unsigned short *)(0x480000 + 2048 * i) = 0x8000;
    for (int i = 0; i < 3; i++) {
        while (!(*(volatile unsigned short *)0x470000 & 0x100)) ;
        TAG(1024);
        *(volatile unsigned short *)0x470000 = 0x101;
    }
}
""",
}


def events(folder: Path, c: str, *, skip: bool, seconds: float = 3.0) -> list[tuple[int, int]]:
    """(clock, tag) of all triggers, and the clock of the end."""
    with MD20(guest(folder, c)) as board:
        board.polling.on = skip
        board.record(100_000)
        board.duart.a.feed(b"hello!", HZ // 100)
        try:
            board.run(round(seconds * HZ))
        except GuestError:
            return [*board.log, (board.now // 100_000, -1)]
        return [*board.log, (0, -2)]


@needs_cross
@pytest.mark.parametrize("name", LOOPS)
def test_skipping_changes_nothing(tmp_path: Path, name: str) -> None:
    with_skip = events(tmp_path, LOOPS[name], skip=True)
    assert with_skip == events(tmp_path, LOOPS[name], skip=False)
    assert len(with_skip) > 1
    assert with_skip[-1][1] == -1, "the guest has not come to its end"


@needs_cross
def test_a_counted_loop_takes_its_turns(tmp_path: Path) -> None:
    log = events(tmp_path, LOOPS["counted"], skip=True)
    assert 50 * 10 < log[1][0] - log[0][0] < 50 * 60


@needs_cross
def test_two_registers_see_every_tick(tmp_path: Path) -> None:
    times = [now for now, tag in events(tmp_path, LOOPS["two registers"], skip=True) if tag == 1024]
    assert len(times) == 40
    assert times[-1] - times[0] == pytest.approx(39 * 2 * 1843 * HZ / 3_686_400, abs=100)


@needs_cross
def test_waiting_costs_next_to_nothing(tmp_path: Path) -> None:
    """What is skipped is skipped: a wait of a second is emulated by a few thousand instructions."""
    forever = "void main(void) { D(2) = 5; while (!(D(1) & 1)) ; }"
    with MD20(guest(tmp_path, forever)) as board:
        reads: list[int] = []
        read = board.duart.read
        board.duart.read = lambda offset, now: (reads.append(offset), read(offset, now))[1]  # type: ignore[method-assign]
        board.run(HZ)
        assert board.now >= HZ
        assert 100 < len(reads) < 3000
