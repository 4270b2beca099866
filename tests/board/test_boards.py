"""Boards as descriptions: the ones that come with kprof, and what is wrong with others."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("machine68k", reason="the extra 'board' is not installed")

from tests.board.guests import needs_cross
from tests.board.test_minikernel import copy_of_the_kernel, make

from kprof.analysis import summarise
from kprof.board.board import Board
from kprof.board.cpu import KINDS
from kprof.board.description import Description, built_in, find_board, parse_board
from kprof.board.elf import KernelImage, load_kernel
from kprof.board.md20 import with_ram
from kprof.board.profiler import Switch
from kprof.board.pty import Pty
from kprof.board.session import Plan, Session
from kprof.board.uarts import Acia, Uart16550
from kprof.capture.open import open_capture
from kprof.cli.sim import command
from kprof.errors import BoardError, KprofError
from kprof.names import NameFile, read_names
from kprof.upload import UploadOptions, fetch
from kprof.upload.host import HostOptions

LEAST = """name = "least"
cpu = "68000"
clock_hz = 8_000_000

[[ram]]
base = 0x100000
bytes = 0x10000
"""


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example kernel for each board, NAME.elf, and its name file, NAME.names."""
    copied = copy_of_the_kernel(tmp_path_factory.mktemp("ports"))
    make(copied, "boards")
    return copied / "build"


def recorded(session: Session, names: NameFile, plan: Plan) -> dict[str, int]:
    """Calls by function; they are those that the kernel counted."""
    session.record(plan)
    assert session.audit is not None
    assert session.audit.exact
    counted = {name: n for name, n in session.audit.calls(names).items() if n}
    summary = summarise(session.capture(), names)
    analysed = {figures.entry.name: figures.calls for figures in summary.functions}
    assert analysed == counted
    return analysed


@needs_cross
def test_the_example_kernel_on_the_rosco_m68k(ports: Path, tmp_path: Path) -> None:
    image, names = ports / "rosco_m68k.elf", ports / "rosco_m68k.names"
    said = bytearray()
    board = find_board("rosco_m68k")
    with Board(board, load_kernel(image, board)) as running:
        session = Session(running, console=said.extend)
        calls = recorded(session, read_names(names), Plan(events=1200))
        assert calls["clock"] > 5
        assert said.startswith(b"minikernel on rosco_m68k\r\n")
        line = Pty()
        session.connect(line)
        done = threading.Event()
        server = threading.Thread(target=session.serve, args=(done.is_set,))
        server.start()
        dump = tmp_path / "dump.bin"
        fetch(line.path, dump, UploadOptions(host=HostOptions(goodbye=True)))
        done.set()
        server.join()
        line.close()
        count = running.profiler.count
        assert open_capture(dump).records.tobytes() == running.profiler.image()[: 5 * count]


@needs_cross
def test_the_example_kernel_on_the_blit(ports: Path) -> None:
    image, names = ports / "blit.elf", ports / "blit.names"
    said = bytearray()
    board = find_board("blit")
    with Board(board, load_kernel(image, board)) as running:
        session = Session(running, console=said.extend)
        plan = Plan(events=3000, seconds=3)
        calls = recorded(session, read_names(names), plan)
        assert said.startswith(b"minikernel on Blit\r\n")
        assert calls["clock"] == calls["vec2"]
        assert calls["clock"] == pytest.approx(60 * session.recorded_s, abs=1)
        # An echo of the host's characters, by way of the 6850.
        assert running.console is not None
        said.clear()
        running.console.feed(b"hello", running.now)
        running.run(running.now + running.hz // 50)
        session._flush()
        assert b"h" in said


@needs_cross
def test_sim_with_a_board(ports: Path, tmp_path: Path) -> None:
    image, names = ports / "blit.elf", ports / "blit.names"
    dump = tmp_path / "dump.bin"
    arguments = [str(image), "--board", "blit", "--dump", str(dump), "--events", "500"]
    result = CliRunner().invoke(command, arguments, prog_name="kprof")
    assert result.exit_code == 0, result.exception
    capture = open_capture(dump)
    assert capture.events == 500
    assert capture.info.metadata["board"] == "Blit"
    assert set(capture.tags().tolist()) <= set(read_names(names).by_tag)
    del arguments[3:5]
    upload = CliRunner().invoke(command, arguments, prog_name="kprof")
    assert "Blit has no [upload] line" in str(upload.exception)


def test_boards_are_listed() -> None:
    result = CliRunner().invoke(command, ["--list-boards"])
    assert [line.split()[0] for line in result.stdout.splitlines()] == built_in()
    assert "a 68020 at 20 MHz" in result.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_every_cpu_runs(kind: str) -> None:
    board = parse_board(LEAST.replace("68000", kind).encode(), "x.toml")
    # lea 0x100000,a0; moveq #6,d0; move.l d0,(a0); bra .
    code = bytes.fromhex("00110000 00000008 41f900100000 7006 2080 60fe".replace(" ", ""))
    with Board(board, KernelImage(code, (), 0, {})) as running:
        running.run(2000)
        assert running.cpu.peek(0x100000, 4) == bytes([0, 0, 0, 6])


def test_wait_states_and_narrow_ports_cost_their_clocks() -> None:
    """Against the same code in the RAM without: three reads of a byte, a word and a long."""

    def clocks(cpu: str, ram: str) -> list[int]:
        text = LEAST.replace("68000", cpu) + f"[[ram]]\nbase=0x200000\nbytes=0x10000\n{ram}\n"
        loads = "1039 00200000 3039 00200000 2039 00200000 4e71 60fe".replace(" ", "")
        kernel = KernelImage(b"", ((0x100000, bytes.fromhex(loads)),), 0x100000, {})
        times: list[int] = []
        with Board(parse_board(text.encode(), "x"), kernel) as board:
            board.cpu.step_hook(lambda pc: times.append(board.now))  # noqa: ARG005
            board.run(200)
        return [b - a for a, b in pairwise(times[:4])]

    def extra(cpu: str, ram: str) -> list[int]:
        plain = clocks(cpu, "port_bits = 16" if cpu == "68000" else "")
        return [b - a for a, b in zip(plain, clocks(cpu, ram), strict=True)]

    assert extra("68020", "wait_states = 2") == [2, 2, 2]
    assert extra("68020", "port_bits = 16") == [0, 0, 3]
    assert extra("68020", "port_bits = 8\nwait_states = 1") == [1, 1 + 3 + 1, 4 + 9]
    assert extra("68000", "port_bits = 16\nwait_states = 3") == [3, 3, 6]
    assert extra("68000", "port_bits = 8") == [0, 4, 8]


@pytest.mark.parametrize(
    ("find", "put", "message"),
    [
        ('cpu = "68000"', 'cpu = "z80"', "x.toml:2: cpu is 'z80'; expected one of 68000, 68010"),
        ('cpu = "68000"\n', "", "x.toml:1: cpu is missing"),
        ("8_000_000", "8", "x.toml:3: clock_hz is 8; expected a number from 100000"),
        ("8_000_000", "true", "x.toml:3: clock_hz is True; expected a number"),
        ("8_000_000", '"8 MHz"', "x.toml:3: clock_hz is '8 MHz'; expected a number"),
        ("bytes =", "size =", r"x.toml:7: \[ram\] has no size; expected base, bytes"),
        ("[[ram]]", "[ram]", "x.toml:5: ram can be there several times: "),
        ("0x100000", "0x100010", "x.toml:6: base is not a multiple of 0x10000"),
        ("0x100000", "0x0", "x.toml:5: the RAM is at 0x0..0xffff, where the EPROM is"),
        ('name = "least"', "name = least", "x.toml:1: "),
        ("[[ram]]\nbase = 0x100000\nbytes = 0x10000\n", "", "a board without RAM"),
        ("[[ram]]", 'colour = "red"\n[[ram]]', "x.toml:5: a board has no colour; expected name"),
        (LEAST[-1:], "\n[console]\nuart = 'x'\n", r"x.toml:9: there is no \[\[uart\]\] named x"),
        (
            LEAST[-1:],
            "\n[[uart]]\nname = 'a'\nkind = '8250'\nbase = 0\n",
            "x.toml:10: kind is '8250'; expected one of 68681, 6850, 16550",
        ),
        (
            LEAST[-1:],
            "\n[[uart]]\nname = 'a'\nkind = '6850'\nbase = 0x200000\n"
            "[[uart]]\nname = 'b'\nkind = '6850'\nbase = 0x200001\n",
            r"x.toml:12: the UART b is at 0x200001..0x200002, where the UART a is \(line 8\)",
        ),
        (LEAST[-1:], "\n[eprom]\nport_bits = 12\n", "x.toml:9: port_bits is 12; expected one of 8"),
        (LEAST[-1:], "\n[eprom]\nprofiler_chip = 1\n", "x.toml:9: profiler_chip is 1; a port of"),
    ],
)
def test_mistakes_are_one_sentence_with_the_line(find: str, put: str, message: str) -> None:
    at = LEAST.rindex(find)
    text = LEAST[:at] + put + LEAST[at + len(find) :]
    with pytest.raises(BoardError, match=message) as mistake:
        parse_board(text.encode(), "x.toml")
    assert "\n" not in str(mistake.value)


def test_no_such_board(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="no board vax; expected blit, md20, rosco_m68k, or a"):
        find_board("vax")
    with pytest.raises(KprofError, match=r"vax\.toml: cannot read"):
        find_board(str(tmp_path / "vax.toml"))
    with pytest.raises(BoardError, match=r"x\.toml:1: is not UTF-8"):
        parse_board(b"\xff\xfe", "x.toml")


@pytest.mark.parametrize("name", ["blit", "md20", "rosco_m68k"])
def test_a_built_in_board_is_a_file_that_can_be_copied(tmp_path: Path, name: str) -> None:
    from importlib import resources

    copy = tmp_path / "mine.toml"
    copy.write_bytes((resources.files("kprof.board") / "boards" / f"{name}.toml").read_bytes())
    board: Description = find_board(str(copy))
    assert board == find_board(name).__class__(**{**vars(find_board(name)), "source": str(copy)})


def test_a_profiler_sees_the_address_lines_of_its_socket() -> None:
    text = LEAST + "[eprom]\nbytes = 0x4000\nchip_bytes = 0x1000\nport_bits = 16\n"
    # tst.b 0x800, 0x1ffe, then 0x2000: the second pair of EPROMs
    code = bytes.fromhex("4a380800 4a381ffe 4a382000 60fe".replace(" ", ""))
    kernel = KernelImage(b"", ((0x100000, code),), 0x100000, {})
    with Board(parse_board(text.encode(), "x"), kernel) as board:
        board.record(10)
        board.run(500)
        assert [tag for _, tag in board.log] == [0x400, 0xFFF]
        board.profiler.turn(Switch.OFF, board.now)


@pytest.mark.parametrize("chip", [0, 1, 2, 3])
def test_the_profiler_answers_on_the_byte_of_its_socket(chip: int) -> None:
    text = LEAST.replace("68000", "68020")
    text += f"[eprom]\nbytes = 0x40000\nport_bits = 32\nprofiler_chip = {chip}\n"
    # tst.b of bank 7; move.l of it; move.b of the chip's byte; bra .
    address = 0x20000 + chip
    code = f"4a39{0x3001C + chip:08x} 2039 00020000 1239{address:08x} 60fe".replace(" ", "")
    kernel = KernelImage(b"", ((0x100000, bytes.fromhex(code)),), 0x100000, {})
    with Board(parse_board(text.encode(), "x"), kernel) as board:
        board.profiler.turn(Switch.READ, 0)
        board.run(300)
        registers = board.cpu.registers
    lanes = bytes(ord("K") if n == chip else 255 for n in range(4))
    assert registers["d0"] == int.from_bytes(lanes, "big")
    assert registers["d1"] & 0xFF == ord("K")


def test_a_6850() -> None:
    chip = Acia(8_000_000, 153_600)
    chip.write(0, 3, 0)
    chip.write(0, 0x15, 0)  # / 16, 8 bits, 1 stop bit: 9600 baud
    byte = 8_000_000 * 10 // 9600
    assert chip.read(0, 0) == 2
    chip.write(1, 65, 0)
    assert chip.read(0, 0) == 2  # in the shift register at once
    chip.write(1, 66, 0)
    assert chip.read(0, 10) == 0
    assert chip.read(0, byte) == 2
    assert bytes(chip.a.sent) == b"AB"
    chip.a.feed(b"xyz", 0)
    assert chip.read(0, byte) & 1
    assert chip.read(0, 2 * byte) & 0x21 == 0x21  # y came on top of x
    assert chip.read(1, 2 * byte) == ord("x")
    assert chip.read(0, 2 * byte) & 0x21 == 0
    assert chip.read(1, 3 * byte) == ord("z")
    chip.write(0, 0x95, 3 * byte)
    assert not chip.irq(3 * byte)
    chip.a.feed(b"!", 3 * byte)
    assert chip.due(3 * byte) == 4 * byte
    assert chip.irq(4 * byte)
    assert chip.read(0, 4 * byte) & 0x80


def test_a_16550() -> None:
    chip = Uart16550(8_000_000, 1_843_200)
    chip.write(3, 0x83, 0)
    chip.write(0, 1, 0)
    chip.write(1, 0, 0)
    chip.write(3, 0x03, 0)
    chip.write(2, 1, 0)
    byte = 8_000_000 * 10 // 115_200
    assert chip.read(5, 0) == 0x60
    chip.write(0, 65, 0)
    chip.write(0, 66, 1)
    assert chip.read(5, 2) == 0
    assert chip.read(5, 2 * byte) == 0x60
    chip.a.feed(b"0123456789abcdefgh", 0)
    assert chip.read(5, 18 * byte) & 3 == 3
    assert bytes(chip.read(0, 18 * byte) for _ in range(16)) == b"0123456789abcdef"
    chip.write(1, 3, 18 * byte)
    assert chip.irq(18 * byte)
    assert chip.read(2, 18 * byte) == 2
    assert not chip.irq(18 * byte)
    assert chip.read(2, 18 * byte) == 1


def test_a_ram_of_another_size() -> None:
    board = find_board("md20")
    assert [one.bytes for one in with_ram(board, 2 << 20).ram] == [2 << 20]
    assert with_ram(board, 3 << 20).ethernet == board.ethernet
    for size, what in (
        (3 << 20 | 0x10000, "below 0x400000, where the UART duart"),
        (1000, "multiple of 64 KB"),
        (0, "multiple of 64 KB"),
        (1 << 40, "expected 3145728 bytes at most"),
    ):
        with pytest.raises(BoardError, match=what):
            with_ram(board, size)
