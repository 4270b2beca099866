"""Each target's trigger, as that target's compiler assembles it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.errors import UsageError
from kprof.instrument.targets import TARGETS, find_target, read_targets, target_of

SOURCE = "int f(int a, int b)\n{\n    int c = a * b;\n    return c + a;\n}\n"

# Compiler, its options, and what one trigger is in the listing, {0} being its address.
ASSEMBLED = {
    "m68k": ("m68k-linux-gnu-gcc", "", r"4a38 {0:04x}"),
    "i386": ("gcc", "-m32 -fno-pie", r"testb? +%al,0x{0:x}\b"),
    "x86-64": ("gcc", "", r"testb? +%al,0x{0:x}\b"),
    "arm": ("arm-linux-gnueabi-gcc", "-marm -march=armv5te", r"ldrb"),
    "thumb": ("arm-linux-gnueabi-gcc", "-mthumb -march=armv7-m -mfloat-abi=soft", r"ldrb"),
    "aarch64": ("aarch64-linux-gnu-gcc", "", r"ldrb\s+wzr"),
    "riscv": ("riscv64-linux-gnu-gcc", "", r"lbu\s+zero"),
}


def compiled(folder: Path, compiler: str, options: str, target: str, *more: str) -> str:
    """The listing of f with triggers, through `kprof cc`."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing")
    (folder / "f.c").write_text(SOURCE)
    command = [sys.executable, "-m", "kprof", "cc", "--names", "k.names", "--target", target, *more]
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-c", "f.c", "-o", "f.o"]
    done = subprocess.run(
        [*command, "--", compiler, *options.split(), *flags],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    dump = compiler.replace("gcc", "objdump").replace("clang", "objdump")
    return subprocess.run(
        [dump, "-d", "f.o"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("strategy", ["cleanup", "returns"])
@pytest.mark.parametrize("target", ASSEMBLED)
def test_two_triggers_enclose_the_work(target: str, strategy: str, tmp_path: Path) -> None:
    compiler, options, pattern = ASSEMBLED[target]
    text = compiled(tmp_path, compiler, options, target, "--strategy", strategy)
    places = [re.search(pattern.format(tag), text) for tag in (1024, 1025)]
    assert all(places), text
    if "{0" not in pattern:
        assert len(re.findall(pattern, text)) == 2
    else:
        assert [len(re.findall(pattern.format(tag), text)) for tag in (1024, 1025)] == [1, 1]


@pytest.mark.parametrize("target", ["x86-64", "mmio", "soft"])
def test_clang_takes_them_too(target: str, tmp_path: Path) -> None:
    base = ("--base", "0x40000000") if target == "mmio" else ()
    text = compiled(tmp_path, "clang", "", target, *base)
    assert "<f>:" in text


def test_a_compiler_without_extensions(tmp_path: Path) -> None:
    if shutil.which("tcc") is None:
        pytest.skip("tcc is missing")
    (tmp_path / "f.c").write_text(SOURCE)
    command = [sys.executable, "-m", "kprof", "instrument", "f.c", "-o", "out"]
    options = ["--target", "mmio", "--base", "0x40000000"]
    subprocess.run([*command, *options], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(["tcc", "-Wall", "-Werror", "-c", "out/f.c"], cwd=tmp_path, check=True)


def test_a_window_placed_by_the_linker(tmp_path: Path) -> None:
    text = compiled(tmp_path, "gcc", "", "mmio", "--base", "window")
    assert "<f>:" in text
    names = subprocess.run(["nm", "f.o"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert "U window" in names


def test_far_addresses(tmp_path: Path) -> None:
    text = compiled(tmp_path, "gcc", "", "x86-64", "--base", "0xffff800000000000")
    assert len(re.findall(r"test +%al,\(%r", text)) == 2


def test_high_tags_are_said(tmp_path: Path) -> None:
    if shutil.which("m68k-linux-gnu-gcc") is None:
        pytest.skip("m68k-linux-gnu-gcc is missing")
    (tmp_path / "f.c").write_text(SOURCE)
    (tmp_path / "k.names").write_text("f/32766\n")
    command = [sys.executable, "-m", "kprof", "cc", "--names", "k.names", "--"]
    command += ["m68k-linux-gnu-gcc", "-c", "f.c"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).stderr == b""
    (tmp_path / "k.names").write_text("f/32768\n")
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr
    assert said.startswith("kprof: k.names: tags go up to 32769, address 0x8001: past 0x7fff")


def test_intel_syntax(tmp_path: Path) -> None:
    text = compiled(tmp_path, "gcc", "-masm=intel", "x86-64")
    assert re.search(r"testb? +%al,0x400\b", text)


def test_none_leaves_the_compiler_alone(tmp_path: Path) -> None:
    compiled(tmp_path, "gcc", "", "none")
    assert not (tmp_path / "k.names").exists()


def test_statements() -> None:
    def statement(name: str, tag: int, **settings: object) -> str:
        return find_target(name, **settings).statement(tag)  # type: ignore[arg-type]

    assert statement("m68k", 1024) == '__asm__ __volatile__("tst.b 1024.w");'
    assert statement("m68k", 0x8000) == '__asm__ __volatile__("tst.b 32768.l");'
    assert statement("m68k", 2, base="0xffff8000") == '__asm__ __volatile__("tst.b 4294934530.w");'
    assert statement("m68k", 5, shift=1) == '__asm__ __volatile__("tst.b 10.w");'
    assert statement("m68k", 5, base="prof") == '__asm__ __volatile__("tst.b prof+5");'
    assert statement("mmio", 3, base="0x100", shift=2) == (
        "(void)(*(__volatile__ unsigned char *)(268ul));"
    )
    assert statement("mmio", 3, base="window", shift=2) == "(void)*(window+12);"
    assert statement("none", 3) == ""
    with pytest.raises(UsageError, match=r"^no target 'pdp11'; expected one of m68k, i386, "):
        statement("pdp11", 1)
    with pytest.raises(UsageError, match="the shift is 9; expected 0 to 8"):
        statement("m68k", 1, shift=9)


def test_targets_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own"
    path.write_text("[a]\nlike = m68k\nshift = 1\n[b]\nfire = f({tag});\nstrategy = returns\n")
    own = read_targets(path)
    assert own["a"].statement(4) == TARGETS["m68k"].statement(8)
    assert own["b"].statement(4) == "f(4);"
    assert find_target("b", file=path).strategy == "returns"


def test_what_is_like_a_target_behaves_like_it(tmp_path: Path) -> None:
    path = tmp_path / "own"
    path.write_text(
        "[board]\nlike = m68k\nshift = 1\n[window]\nlike = mmio\n[call]\nfire = f({tag});\n"
    )
    board = find_target("board", file=path, base="prof")
    assert board.statement(5) == '__asm__ __volatile__("tst.b prof+10");'
    assert "address 0x8002" in find_target("board", file=path).warning(0x4001)
    assert find_target("board", file=path).cpu.compilers == TARGETS["m68k"].cpu.compilers
    window = find_target("window", file=path, base="w")
    assert (window.statement(3), window.declaration) == (
        "(void)*(w+3);",
        "extern __volatile__ unsigned char w[];",
    )
    assert (board.reads_memory, find_target("call", file=path).reads_memory) == (True, False)


@pytest.mark.parametrize(
    ("compiler", "options", "target"),
    [
        ("m68k-linux-gnu-gcc-12", (), "m68k"),
        ("/opt/bin/arm-none-eabi-gcc", ("-mthumb",), "thumb"),
        ("arm64-apple-clang", (), "aarch64"),
        ("x86_64-linux-gnu-gcc", ("-m32",), "i386"),
        ("riscv32-unknown-elf-gcc", (), "riscv"),
    ],
)
def test_the_target_of_a_compiler(compiler: str, options: tuple[str, ...], target: str) -> None:
    assert target_of(compiler, options) == target
