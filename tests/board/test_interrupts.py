"""Interrupts, ``stop`` and exceptions: what the guest's own clock and counters say of them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from tests.board.guests import guest, needs_cross

from kprof.board.crash import GuestError
from kprof.board.elf import KernelImage
from kprof.board.md20 import HZ, MD20, RAM_BASE

PERIOD = 200_000  # clocks of timer(18432)
ON_TIMER = """
static void spin(long n) { while (n--) asm("nop"); }
HANDLER void on_timer(void) { (void)D(15); TAG(1024); }
"""
SETUP = "vbr(), vectors[29] = (u32)on_timer, D(5) = 8, timer(18432);"


def log_of(folder: Path, c: str, seconds: float = 0.1) -> list[tuple[int, int]]:
    with MD20(guest(folder, c), traffic=iter(())) as board:
        board.record(100_000)
        board.run(round(seconds * HZ))
        return list(board.log)


@needs_cross
def test_a_line_that_nobody_acknowledges_interrupts_again_and_again(tmp_path: Path) -> None:
    c = "HANDLER void on_timer(void) { TAG(1024); }"
    log = log_of(tmp_path, c + f"void main(void) {{ {SETUP} SPL(0x2000); for (;;) ; }}", 0.02)
    assert len(log) > 1000
    gaps = {b - a for (a, _), (b, _) in pairwise(log)}
    assert max(gaps) < 100  # exception, handler, rte: nothing of the loop runs for long


@needs_cross
def test_a_masked_line_interrupts_when_the_mask_falls_and_not_twice(tmp_path: Path) -> None:
    c = ON_TIMER
    body = (
        'for (;;) { SPL(0x2700); for (long i = 60000; i--;) asm("nop"); TAG(1026); SPL(0x2000); }'
    )
    log = log_of(tmp_path, c + f"void main(void) {{ {SETUP} {body} }}", 0.5)
    after = {(a, b) for (_, a), (_, b) in pairwise(log)}
    assert after == {(1026, 1024), (1024, 1026)}
    for (a, first), (b, _) in pairwise(log):
        if first == 1026:
            assert b - a < 120


@needs_cross
def test_a_stop_that_finds_an_interrupt_waiting_takes_no_time(tmp_path: Path) -> None:
    """The slice must not be used up: nothing else is due for 10 ms."""
    c = ON_TIMER
    body = (
        'for (;;) { SPL(0x2700); for (long i = 30000; i--;) asm("nop"); TAG(1026); STOP(0x2000); }'
    )
    log = log_of(tmp_path, c + f"void main(void) {{ {SETUP} {body} }}", 0.5)
    waits = [b - a for (a, first), (b, _) in pairwise(log) if first == 1026]
    assert len(waits) > 10
    assert max(waits) < 120


@needs_cross
@pytest.mark.parametrize("waiting", ["for (;;) ;", "for (;;) STOP(0x2000);"])
def test_a_timer_interrupts_in_its_period(tmp_path: Path, waiting: str) -> None:
    c = ON_TIMER
    log = log_of(tmp_path, c + f"void main(void) {{ {SETUP} SPL(0x2000); {waiting} }}", 0.2)
    assert len(log) >= 18
    for (a, _), (b, _) in pairwise(log):
        assert abs(b - a - PERIOD) < 30  # the instruction that runs is finished first


@needs_cross
def test_a_higher_level_interrupts_a_lower_one(tmp_path: Path) -> None:
    c = """
HANDLER void on_timer(void) { (void)D(15); TAG(1024); }
HANDLER void on_net(void)
{
    TAG(1026);
    *(volatile unsigned short *)0x470000 = 0x303;
    for (long i = 30000; i--;) asm("nop");
    TAG(1027);
}
"""
    body = "*(volatile unsigned short *)0x470004 = 60; SPL(0x2000); for (;;) ;"
    run = "vectors[28] = (u32)on_net, *(volatile unsigned short *)0x470000 = 3;"
    log = log_of(tmp_path, c + f"void main(void) {{ {SETUP} {run} {body} }}", 0.1)
    tags = [tag for _, tag in log]
    first = tags.index(1026)
    assert tags[first : tags.index(1027) + 1].count(1024) >= 1
    assert Counter(tags)[1026] == 1


@needs_cross
def test_a_new_preload_without_start_counts_from_the_next_countdown(tmp_path: Path) -> None:
    new = "D(6) = 9216 >> 8, D(7) = 9216 & 255;"
    c = f"HANDLER void on_timer(void) {{ (void)D(15); TAG(1024); {new} }}"
    log = log_of(tmp_path, c + f"void main(void) {{ {SETUP} SPL(0x2000); for (;;) ; }}", 0.2)
    gaps = [b - a for (a, _), (b, _) in pairwise(log)]
    # The handler writes it in the first countdown of a period: half old, half new, then all new.
    assert gaps[0] == pytest.approx(PERIOD * 3 / 4, abs=30)
    assert all(gap == pytest.approx(PERIOD / 2, abs=30) for gap in gaps[1:])
    assert len(gaps) > 30


@needs_cross
def test_a_transmitter_that_is_off_asks_for_nothing(tmp_path: Path) -> None:
    c = ON_TIMER + f"void main(void) {{ {SETUP} D(5) = 0x19; SPL(0x2000); for (;;) ; }}"
    log = log_of(tmp_path, c, 0.05)
    assert [b - a for (a, _), (b, _) in pairwise(log)] == pytest.approx([PERIOD] * 3, abs=30)


@needs_cross
def test_a_loop_behind_a_stop_that_never_ran_is_not_stopped(tmp_path: Path) -> None:
    c = 'void main(void) { asm("bra 1f; stop #0x2700; 1: bra 1b"); }'
    with MD20(guest(tmp_path, c)) as board:
        board.run(HZ // 20)
        assert not board.cpu.stopped
        assert not board.idle
        assert board.now >= HZ // 20


def test_a_masked_stop_in_the_eprom_is_seen() -> None:
    rom = bytes.fromhex("00200000 00000008 4e722700 60fe")
    with MD20(KernelImage(rom, (), 0, {})) as board:
        with pytest.raises(GuestError, match=r"stopped with all interrupts masked at 0x000008$"):
            board.run(HZ)
        assert board.now < HZ // 10


def test_an_idle_kernel_in_the_eprom_is_idle() -> None:
    rom = bytes.fromhex("00200000 00000008 4e722000 60fa")
    with MD20(KernelImage(rom, (), 0, {})) as board:
        board.run(HZ, to_idle=True)
        assert board.idle
        assert board.now < HZ // 10


CRASHES = {
    'asm volatile("illegal");': ("illegal instruction", 4),
    'asm volatile(".short 0xa123");': ("A-line instruction", 10),
    'asm volatile(".short 0xffff");': ("F-line instruction", 11),
    "volatile int z = 0; z = 7 / z;": ("division by zero", 5),
    'asm volatile("moveq #9,%%d0; chk.w #3,%%d0" ::: "d0");': ("chk exception", 6),
    'asm volatile("move.w #2,%ccr; trapv");': ("trapv exception", 7),
    'asm volatile("move.w #0,%sr; move.w #0,%sr");': ("privilege violation", 8),
    'asm volatile("trap #3");': ("trap #3", 35),
    "*(volatile char *)0x900000 = 1;": ("bus error", 2),
}


@needs_cross
@pytest.mark.parametrize("code", CRASHES)
def test_the_end_names_the_exception_and_the_place(tmp_path: Path, code: str) -> None:
    name, vector = CRASHES[code]
    c = f'__attribute__((noinline)) void tcp_input(void) {{ asm("nop"); {code} }}'
    image = guest(tmp_path, c + "void main(void) { tcp_input(); }")
    # All vectors lead to where nothing is: an EPROM without vectors reads 0xff there.
    at = r"at 0x101[0-9a-f]+ \(tcp_input\+0x"
    with (
        MD20(image, traffic=iter(())) as board,
        pytest.raises(GuestError, match=f"^{name} {at}") as end,
    ):
        board.run(HZ)
    function = image.symbols["tcp_input"]
    assert function.address < end.value.pc < function.address + function.size
    assert end.value.vector == vector
    assert end.value.registers["a7"] > 0x100000
    if vector not in (2, 35):
        assert f"its vector, {vector}, leads to 0xffffffff" in str(end.value)


@needs_cross
def test_a_kernel_that_panics_names_its_last_exception(tmp_path: Path) -> None:
    c = """
void panic(void) { STOP(0x2700); }
__attribute__((noinline)) void tcp_input(void) { asm("nop; illegal"); }
void main(void) { vbr(); for (int i = 0; i < 64; i++) vectors[i] = (u32)panic; tcp_input(); }
"""
    with (
        MD20(guest(tmp_path, c), traffic=iter(())) as board,
        pytest.raises(
            GuestError,
            match=r"masked at 0x[0-9a-f]+ \(panic\); its last exception was: illegal instruction "
            r"at 0x[0-9a-f]+ \(tcp_input\+0x2\)",
        ) as end,
    ):
        board.run(HZ)
    assert end.value.vector == 4


@needs_cross
def test_an_exception_that_the_kernel_handles_is_no_end(tmp_path: Path) -> None:
    c = """
asm("skip: addq.l #2,2(%sp); rte");
extern void skip(void);
void main(void) { vbr(); vectors[4] = (u32)skip; TAG(1024); asm("illegal"); TAG(1026); for (;;) ; }
"""
    assert [tag for _, tag in log_of(tmp_path, c)] == [1024, 1026]


def test_a_jump_to_nowhere() -> None:
    rom = bytes.fromhex("00200000 00000008 4ef900300000")
    with (
        MD20(KernelImage(rom, (), 0, {})) as board,
        pytest.raises(GuestError, match="the program went to 0x00300000, where no memory"),
    ):
        board.run(HZ)


def test_an_access_over_the_end_of_the_memory_ends_in_an_error() -> None:
    # move.l at the last word of the buffer memory, the last page that there is
    rom = bytes.fromhex("00200000 00000008 23c00048fffe 60fe")
    with MD20(KernelImage(rom, (), 0, {})) as board:
        with pytest.raises(GuestError, match="bus error at 0x000008: write of 4 bytes"):
            board.run(HZ)
        assert board.cpu.peek(RAM_BASE, 4) == bytes(4)
