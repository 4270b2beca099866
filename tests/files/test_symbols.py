"""Sizes of functions against `nm -S`, and files that are no ELF files."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzzing import survives

from kprof.errors import FileAccessError, UsageError
from kprof.symbols import function_sizes, planted_digest, read_symbols

PREBUILT = Path(__file__).parents[2] / "examples" / "minikernel" / "prebuilt"
SOURCE = """
static int twice(int n) { return n * 2; }
int (*volatile use)(int) = twice;
int long_one(int n) { for (int i = 0; i < n; i++) n += use(i); return n; }
int main(void) { return long_one(3); }
"""


def sizes_of_nm(nm: str, program: Path) -> dict[str, int]:
    done = subprocess.run([nm, "-S", str(program)], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[3]: int(row[1], 16) for row in rows if len(row) == 4 and row[2] in "tTwW"}


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
@pytest.mark.parametrize("option", ["-m64", "-m32"])
def test_sizes_are_those_of_nm_on_the_host(tmp_path: Path, option: str) -> None:
    (tmp_path / "p.c").write_text(SOURCE)
    build = ["gcc", "-O1", "-fno-inline", "-c", option, "-o", "p.o", "p.c"]
    if subprocess.run(build, cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip(f"this gcc has no {option}")
    sizes = function_sizes(tmp_path / "p.o")
    assert sizes == sizes_of_nm("nm", tmp_path / "p.o")
    assert set(sizes) == {"twice", "long_one", "main"}


@pytest.mark.skipif(not shutil.which("m68k-linux-gnu-nm"), reason="no m68k-linux-gnu-nm here")
def test_sizes_are_those_of_nm_in_the_example_kernel() -> None:
    sizes = function_sizes(PREBUILT / "kernel.elf")
    wanted = sizes_of_nm("m68k-linux-gnu-nm", PREBUILT / "kernel.elf")
    assert len(sizes) > 60
    assert sizes == {name: wanted[name] for name in sizes}
    assert {name for name in wanted if wanted[name] and "." not in name} <= set(sizes)


def test_a_copy_stands_for_a_function_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    from kprof import symbols
    from kprof.symbols import Symbol

    table = [
        ("gone.isra.0", Symbol(0, 10, True)),
        ("kept", Symbol(0, 20, True)),
        ("kept.part.0", Symbol(0, 30, True)),
        ("two", Symbol(0, 40, True)),
        ("two", Symbol(9, 50, True)),
        ("data", Symbol(0, 60, False)),
    ]
    monkeypatch.setattr(symbols, "read_symbols", lambda _: iter(table))
    sizes = function_sizes(PREBUILT / "kernel.elf")
    assert sizes == {"gone": 10, "gone.isra.0": 10, "kept": 20, "kept.part.0": 30}


def test_files_without_sizes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(FileAccessError):
        function_sizes(path)
    path.write_bytes(b"text")
    with pytest.raises(UsageError, match="is not an ELF file"):
        function_sizes(path)
    whole = (PREBUILT / "kernel.elf").read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(UsageError, match="is not an ELF file, or is a damaged one"):
        function_sizes(path)
    stripped = bytearray(whole)
    struct.pack_into(">H", stripped, 48, 0)  # no sections
    path.write_bytes(stripped)
    with pytest.raises(UsageError, match="is it stripped"):
        function_sizes(path)


@given(st.binary(max_size=200))
def test_any_bytes_after_the_magic(data: bytes) -> None:
    with pytest.raises((struct.error, IndexError)):
        list(read_symbols(b"\x7fELF\x01\x01"[: len(data) + 4] + b"\xff" * 60 + data))


def test_any_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "x"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        function_sizes(path)

    outcome = survives(read, [(PREBUILT / "kernel.elf").read_bytes()], 1000)
    assert min(outcome.values()) > 50


def test_the_column_and_its_errors(tmp_path: Path) -> None:
    (tmp_path / "d.bin").write_bytes(bytes([0, 0, 1, 4, 0x42, 0, 0, 9, 4, 0x43]))
    (tmp_path / "d.names").write_text("in_cksum/1090\n")
    elf = str(PREBUILT / "kernel.elf")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kprof", "report", "d.bin", "--valid", "all", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    size = function_sizes(elf)["in_cksum"]
    assert f"       8        8     1   {size}  in_cksum" in run("-f", "+size", "--elf", elf).stdout
    for arguments, said in (
        (["-f", "+size"], "size: a name file does not know it; give the program too (--elf FILE)"),
        (["-s", "size"], "size: a name file does not know it; give the program too (--elf FILE)"),
        (["--elf", elf], "--elf is for the functions' sizes; expected -f +size with it"),
    ):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"kprof: {said}\n"


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
@pytest.mark.parametrize("options", [["-c"], ["-m32", "-c"], ["-no-pie"], ["-pie", "-fPIE"]])
def test_the_digest_that_is_planted(tmp_path: Path, options: list[str]) -> None:
    digest = bytes(range(1, 33))
    numbers = ",".join(map(str, digest))
    (tmp_path / "p.c").write_text(
        f"const unsigned char before[3] = {{1}};\n"
        f"const unsigned char kprof_names_sha256[32] = {{{numbers}}};\n"
        "int main(void) { return before[0]; }\n"
    )
    build = ["gcc", *options, "-o", "p", "p.c"]
    if subprocess.run(build, cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip(f"this gcc has no {options}")
    assert planted_digest(tmp_path / "p") == digest
    subprocess.run(["strip", "p"], cwd=tmp_path, check=True)
    assert planted_digest(tmp_path / "p") is None


def test_programs_without_a_digest(tmp_path: Path) -> None:
    assert planted_digest(PREBUILT / "swtch.elf") is None
    (tmp_path / "x").write_bytes(b"text")
    with pytest.raises(UsageError, match="is not an ELF file"):
        planted_digest(tmp_path / "x")


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
def test_a_digest_of_another_size_or_of_zeros_is_none(tmp_path: Path) -> None:
    for text in ("[31] = {1}", "[32] = {0}", "[32]"):
        (tmp_path / "p.c").write_text(f"unsigned char kprof_names_sha256{text};\n")
        subprocess.run(["gcc", "-c", "-o", "p.o", "p.c"], cwd=tmp_path, check=True)
        assert planted_digest(tmp_path / "p.o") is None
