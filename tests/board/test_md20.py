"""The assembled board: bus, wait states, interrupts, and what goes wrong."""

from __future__ import annotations

import builtins
import struct
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from kprof.board.elf import KernelImage
from kprof.board.md20 import HZ, MD20, RAM_BASE
from kprof.board.profiler import Profiler, Switch
from kprof.errors import BoardError, MissingExtraError

CODE = RAM_BASE + 0x1000
STOP = "4e722700"  # stop #0x2700
NOP = "4e71"


@pytest.fixture
def boards() -> Iterator[Callable[..., MD20]]:
    """Makes boards that run machine code (in hex) from RAM; one at a time."""
    made: list[MD20] = []

    def make(code: str, **settings: Any) -> MD20:
        reset = struct.pack(">II", RAM_BASE + 0x10_0000, CODE)
        kernel = KernelImage(reset.ljust(0x400, b"\0"), ((CODE, bytes.fromhex(code)),), 0, {})
        made.append(MD20(kernel, traffic=iter(()), **settings))
        return made[-1]

    yield make
    for board in made:
        board.close()


def log_of(board: MD20) -> list[tuple[int, int]]:
    board.record(100)
    with pytest.raises(BoardError, match="stopped"):
        board.run(board.now + 1000)
    return board.log


def test_a_byte_is_one_event_a_word_two_a_long_four(boards: Callable[..., MD20]) -> None:
    #              tst.b 0x400.w  tst.w 0x410.w  tst.l 0x420.w
    log = log_of(boards("4a3804004a7804104ab80420" + STOP))
    assert [tag for _, tag in log] == [0x400, 0x410, 0x411, 0x420, 0x421, 0x422, 0x423]
    times = [now for now, _ in log]
    assert [b - a for a, b in pairwise(times[3:])] == [5, 5, 5]


@pytest.mark.parametrize(
    ("bits", "tags"),
    [
        (16, [0x200, 0x200, 0x201, 0x208, 0x209, 0x20A, 0x210, 0x211]),
        (32, [0x100, 0x100, 0x101, 0x104, 0x104, 0x105, 0x108]),
    ],
)
def test_wider_ports_see_fewer_address_lines(
    boards: Callable[..., MD20], bits: int, tags: list[int]
) -> None:
    #       tst.b 0x400, 0x401, 0x404 (16: 0x402)  tst.w 0x410, 0x413  tst.l 0x420
    third = "4a380402" if bits == 16 else "4a380404"
    code = "4a3804004a380401" + third + "4a7804104a7804134ab80420" + STOP
    assert [tag for _, tag in log_of(boards(code, eprom_bits=bits))] == tags


def test_an_image_too_big_for_its_sockets(boards: Callable[..., MD20]) -> None:
    kernel = KernelImage(bytes(70_000), (), 0, {})
    with pytest.raises(BoardError, match=r"70000 bytes; on a port of 8 bits.*room for 65536"):
        MD20(kernel)
    with MD20(kernel, eprom_bits=16, traffic=iter(())) as board:
        assert board.cpu.memory.cpu_r8(65_537) == 0
    with pytest.raises(BoardError, match="expected 8, 16 or 32"):
        MD20(kernel, eprom_bits=9)
    boards(STOP)


def test_the_first_instruction_runs_at_once(boards: Callable[..., MD20]) -> None:
    board = boards("4a380400" + STOP)
    board.record(1)
    start = board.now
    board.run(start + 1)
    assert [now - start for now, _ in board.log] == [0]


def test_a_trigger_costs_its_instruction_and_the_wait_states(boards: Callable[..., MD20]) -> None:
    log = log_of(boards("4a380400" + "4a380401" + STOP))
    assert log[1][0] - log[0][0] == 6 + 2


def test_a_trigger_in_long_form_and_past_0x7fff(boards: Callable[..., MD20]) -> None:
    assert [tag for _, tag in log_of(boards("4a3900008500" + STOP))] == [0x8500]


def test_a_short_trigger_past_0x7fff_misses_and_the_error_says_so(
    boards: Callable[..., MD20],
) -> None:
    board = boards("4a388500" + STOP)
    with pytest.raises(BoardError, match=r"0x101000.*0xffff8500.*no memory.*tst\.b 0x8500\.l"):
        board.run(1000)


@pytest.mark.parametrize(
    ("code", "address"),
    [
        ("4a3900020000", "read of 1 byte at 0x00020000"),
        ("4a7900200000", "read of 2 bytes at 0x00200000"),
        ("42b900410000", "4 bytes at 0x00410000"),
        ("13c0004f0000", "write of 1 byte at 0x004f0000"),
        ("33c010000000", "write of 2 bytes at 0x10000000"),
    ],
)
def test_access_to_nothing(boards: Callable[..., MD20], code: str, address: str) -> None:
    board = boards(code + STOP)
    with pytest.raises(BoardError, match=address):
        board.run(1000)


def test_writes_to_the_eprom_are_no_events(boards: Callable[..., MD20]) -> None:
    assert log_of(boards("11c00400" + STOP)) == []


def test_the_switch_at_read_maps_the_banks(boards: Callable[..., MD20]) -> None:
    # Between the two parts the CPU loops (bra .) while the switch is turned.
    board = boards("4a3804564a3804aa60fe4a390000c004123900008001" + STOP)
    board.record(100)
    board.run(board.now + 1000)
    board.profiler.turn(Switch.READ, board.now)
    board.cpu._machine.cpu.w_pc(CODE + 10)
    with pytest.raises(BoardError, match="stopped"):
        board.run(board.now + 1000)
    assert board.cpu._machine.cpu.r_reg(1) & 0xFF == 0xAA


def test_slow_memory_costs_its_wait_states(boards: Callable[..., MD20]) -> None:
    def cost(load: str) -> int:
        board = boards("4a380400" + load + "4a380401" + STOP)
        log = log_of(board)
        board.close()
        return log[1][0] - log[0][0]

    fast_word, fast_long = cost("303900100000"), cost("203900100000")
    assert cost("303900480000") - fast_word == 12
    assert cost("203900480000") - fast_long == 12 + 3 + 12


def test_the_timer_interrupts_the_code(boards: Callable[..., MD20]) -> None:
    # vectors at RAM_BASE through VBR; the handler fires 0x500 and clears the DUART's ready bit
    handler = RAM_BASE + 0x2000
    code = (
        f"207c{RAM_BASE:08x}4e7b8801"
        "13fc006000400004"  # ACR: timer, crystal
        "13fc004800400006"
        "13fc000000400007"  # preload 18432
        "13fc000800400005"  # IMR: counter ready
        "4a390040000e"  # start
        "4e722000"
        "60fa"  # stop #0x2000; bra back
    )
    board = boards(code)
    board.cpu.poke(RAM_BASE + 29 * 4, handler.to_bytes(4, "big"))
    board.cpu.poke(handler, bytes.fromhex("4a3805004a390040000f4e73"))
    board.run(1000)
    board.record(10)
    board.run(HZ)
    assert board.reached
    times = [now for now, _ in board.log]
    assert {b - a for a, b in pairwise(times)} == {200_000}
    assert board.now < HZ // 9


def test_a_masked_interrupt_waits_for_the_mask(boards: Callable[..., MD20]) -> None:
    handler = RAM_BASE + 0x2000
    code = (
        f"207c{RAM_BASE:08x}4e7b8801"
        "13fc006000400004"
        "13fc000000400006"
        "13fc000400400007"  # a short timer
        "13fc000800400005"
        "4a390040000e" + NOP * 200 + "4a380400"
        "46fc2000"
        "4a380402"  # trigger; move #0x2000,sr; trigger
         + STOP
    )
    board = boards(code)
    board.cpu.poke(RAM_BASE + 29 * 4, handler.to_bytes(4, "big"))
    board.cpu.poke(handler, bytes.fromhex("4a38050013fc0000004000054e73"))
    assert [tag for _, tag in log_of(board)] == [0x400, 0x500, 0x402]


def test_events_stop_the_run_at_once(boards: Callable[..., MD20]) -> None:
    board = boards("4a38040060fa")  # a trigger for ever
    board.record(1000)
    board.run(HZ)
    assert board.reached
    assert board.profiler.count == 1000


def test_one_board_at_a_time(boards: Callable[..., MD20]) -> None:
    boards(STOP)
    with pytest.raises(BoardError, match="another simulated board is open"):
        boards(STOP)


def test_a_kernel_outside_of_the_memory(boards: Callable[..., MD20]) -> None:
    kernel = KernelImage(b"", ((0x200000, b"x"),), 0x200000, {})
    with pytest.raises(BoardError, match="a segment of the kernel is at 0x00200000"):
        MD20(kernel)
    boards(STOP)  # the failed one has been closed


def test_a_kernel_in_ram_needs_no_boot_code() -> None:
    kernel = KernelImage(b"", ((CODE, bytes.fromhex("4a380400" + STOP)),), CODE, {})
    with MD20(kernel, traffic=iter(())) as board:
        assert [tag for _, tag in log_of(board)] == [0x400]


def test_missing_symbol(boards: Callable[..., MD20]) -> None:
    with pytest.raises(BoardError, match="no symbol ticks"):
        boards(STOP).peek("ticks")


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def no_machine68k(name: str, *rest: Any, **named: Any) -> Any:
        if name == "machine68k":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.delitem(sys.modules, "machine68k")
    monkeypatch.setattr(builtins, "__import__", no_machine68k)
    with pytest.raises(MissingExtraError, match=r"the simulated board.*kprof\[board\]"):
        MD20(KernelImage(b"", ((CODE, b"x"),), CODE, {}))


def test_a_profiler_of_ones_own(boards: Callable[..., MD20]) -> None:
    board = boards("4a380400" + STOP, profiler=Profiler(HZ, ram=bytes(81_920)))
    log_of(board)
    assert board.profiler.image()[:10] == bytes.fromhex("00000004000000000000")
