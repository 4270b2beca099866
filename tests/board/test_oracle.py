"""Other kernels than the example: is their profile the truth, clock by clock?

The truth is the emulator's own: a hook before every instruction sees the program counter and the
clock. It knows triggers by the opcode at the program counter, not by the socket, and gives the
clocks of every instruction to the function on top of a stack of its own.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from tests.board.guests import guest, needs_cross

from kprof.analysis import summarise
from kprof.board.md20 import DEFAULT_PPM, HZ, MD20
from kprof.board.moments import Moment
from kprof.board.session import Plan, Session
from kprof.names import parse_names

IN = """
#define IN(tag) __asm__ volatile("tst.b " #tag ".w" ::: "memory")
#define OUT(tag) __asm__ volatile("tst.b " #tag ".w" ::: "memory")
#define NOT_INLINED __attribute__((noinline, noclone))
"""
RECURSION = """
NOT_INLINED int fib(int n)
{
    int r;
    IN(1024);
    r = n < 2 ? n : fib(n - 1) + fib(n - 2);
    OUT(1025);
    return r;
}
NOT_INLINED int ackermann(int m, int n)
{
    int r;
    IN(1026);
    r = m ? n ? ackermann(m - 1, ackermann(m, n - 1)) : ackermann(m - 1, 1) : n + 1;
    OUT(1027);
    return r;
}
volatile int sink;
void main(void) { for (;;) { sink = fib(12); sink = ackermann(2, 4); } }
"""
SORTING = """
static u32 numbers[200], seed = 1;
NOT_INLINED u32 next(void)
{
    IN(1024);
    u32 r = seed = seed * 1103515245 + 12345;
    OUT(1025);
    return r;
}
NOT_INLINED int rest(u32 a, u32 b)
{
    IN(1026);
    int r = a / (b | 1) + a % (b | 1);
    OUT(1027);
    return r;
}
NOT_INLINED int before(u32 a, u32 b) { IN(1028); int r = a < b; OUT(1029); return r; }
NOT_INLINED void sort(u32 *from, int n, int (*less)(u32, u32))
{
    IN(1030);
    for (int i = 1; i < n; i++)
        for (int j = i; j && less(from[j], from[j - 1]); j--) {
            u32 t = from[j]; from[j] = from[j - 1], from[j - 1] = t;
        }
    OUT(1031);
}
NOT_INLINED void copy(volatile u32 *to, u32 *from, int n)
{
    IN(1032);
    while (n--) *to++ = *from++;
    OUT(1033);
}
volatile int sink;
void main(void)
{
    for (;;) {
        for (int i = 0; i < 40; i++) numbers[i] = next(), sink = rest(numbers[i], i);
        sort(numbers, 40, before);
        copy((volatile u32 *)0x480000, numbers, 200);
    }
}
"""
INTERRUPTS = """
static volatile u32 ticks, work;
NOT_INLINED void tick(void) { IN(1024); ticks++; OUT(1025); }
NOT_INLINED void spin(int n) { IN(1026); while (n--) work += n; OUT(1027); }
NOT_INLINED int raise(void) { IN(1028); SPL(0x2700); OUT(1029); return 0; }
NOT_INLINED void lower(void) { IN(1030); SPL(0x2000); OUT(1031); }
HANDLER void on_timer(void) { IN(1032); (void)D(15); tick(); spin(ticks % 20); OUT(1033); }
void main(void)
{
    vbr(), vectors[29] = (u32)on_timer;
    D(2) = 5, D(5) = 8, timer(921), SPL(0x2000);
    for (int i = 0;; i++) {
        spin(i % 300);
        raise();
        spin(i % 70);
        lower();
        if (i % 8 == 0) STOP(0x2000);
    }
}
"""
GUESTS = {
    "recursion": (RECURSION, "fib ackermann"),
    "sorting": (SORTING, "next rest before sort copy"),
    "interrupts": (INTERRUPTS, "tick spin raise lower on_timer"),
}


@needs_cross
@pytest.mark.parametrize("name", GUESTS)
def test_calls_and_net_times_are_those_of_the_instructions(tmp_path: Path, name: str) -> None:
    c, functions = GUESTS[name]
    tags = {1024 + 2 * n: function for n, function in enumerate(functions.split())}
    names = parse_names("".join(f"{function}/{tag}\n" for tag, function in tags.items()), "names")
    with MD20(guest(tmp_path, IN + c), traffic=iter(())) as board:
        net: Counter[str] = Counter()
        calls: Counter[str] = Counter()
        intervals: Counter[str] = Counter()
        stack: list[str] = []
        last = [0, 0]  # the clock of the instruction before, and triggers so far

        def step(pc: int) -> None:
            now = board.now
            if last[1] and stack:
                net[stack[-1]] += now - last[0]
            last[0] = now
            if board.cpu.memory.r16(pc) == 0x4A38 and last[1] < 8000:
                last[1] += 1
                intervals.update(stack[-1:])
                tag = board.cpu.memory.r16(pc + 2)
                if tag in tags:
                    stack.append(tags[tag])
                    calls[tags[tag]] += 1
                elif stack:
                    assert stack.pop() == tags[tag - 1]
            elif last[1] == 8000:
                last[1] = 0

        board.cpu.step_hook(step)
        session = Session(board)
        assert session.record(Plan(events=8000, run_at=Moment("reset")), audit=False)
        board.cpu.step_hook(None)
        summary = summarise(session.capture(), names)
    assert {figures.entry.name: figures.calls for figures in summary.functions} == calls
    assert sum(calls.values()) >= 3990
    for figures in summary.functions:
        name = figures.entry.name
        truth = net[name] / (HZ / 1e6) * (1 + DEFAULT_PPM / 1e6)
        # Each interval's two ends are cut to a microsecond, at random against the CPU's clock.
        assert abs(figures.net - truth) <= 1 + intervals[name] ** 0.5, name
