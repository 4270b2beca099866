"""Random programs do the same with triggers; damaged real files are refused or come back whole."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.realcode import mutations, projects
from tests.realcode.suites import compile_own

HEADERS = Path("/usr/include/csmith")
KPROF = (sys.executable, "-m", "kprof")
# An open parenthesis makes all that follows one declaration.
OPEN = "int broken(\n" + "int f(void) { return (1); }\n" * 20_000


def _compiled(command: list[str], program: Path, limit_s: float = 600) -> bytes | None:
    """Compile a program and run it: what it printed; None: it goes on past the limit."""
    built = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    assert built.returncode == 0, built.stderr.decode("latin-1")[-2000:]
    try:
        ran = subprocess.run(
            [program], stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s
        )
    except subprocess.TimeoutExpired:
        return None
    assert ran.returncode == 0
    return ran.stdout


def _random_program(seed: int, folder: Path, levels: tuple[str, ...]) -> int:
    """Compare one program without and with triggers; return how often it could be compared."""
    source, program = folder / "random.c", folder / "random"
    made = ["csmith", "--seed", str(seed), "--inline-function", "--output", str(source)]
    # In a folder of its own: csmith leaves a platform.info where it runs.
    subprocess.run([*made, "--max-funcs", "8"], check=True, capture_output=True, cwd=folder)
    names, counter = folder / "random.names", compile_own("counting", folder)
    compared = 0
    for level in levels:
        options = ["-w", f"-{level}", "-I", str(HEADERS), "-o", str(program)]
        # Counting takes a hundred times as long where a program does nothing but call.
        expected = _compiled(["gcc", *options, str(source)], program, 2)
        if expected is None:
            continue
        assert b"checksum" in expected
        for strategy in ("cleanup", "returns"):
            chosen = ["--target", "soft", "--strategy", strategy, "--names", str(names)]
            command = [*KPROF, "cc", *chosen, "--", "gcc", *options, str(source), counter]
            assert _compiled(command, program) == expected
            out = folder / f"out-{level}-{strategy}"
            command = [*KPROF, "instrument", str(source), *chosen, "-o", str(out)]
            subprocess.run([*command, "-I", str(HEADERS)], check=True, capture_output=True)
            command = ["gcc", *options, str(out / "random.c"), counter]
            assert _compiled(command, program) == expected
            compared += 2
    return compared


def _needs_csmith() -> None:
    for program in ("csmith", "gcc"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    if not HEADERS.is_dir():
        pytest.skip("needs csmith's headers (libcsmith-dev)")


def test_a_random_program_does_the_same(tmp_path: Path) -> None:
    _needs_csmith()
    assert _random_program(4, tmp_path, ("O2",)) == 4


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_random_programs_do_the_same(block: int, tmp_path: Path) -> None:
    _needs_csmith()
    compared = 0
    for seed in range(1000 + 15 * block, 1015 + 15 * block):
        folder = tmp_path / str(seed)
        folder.mkdir()
        compared += _random_program(seed, folder, ("O0", "O2"))
    assert compared > 15


def _mutate(names: list[str], count: int, seed: int, folder: Path) -> None:
    for name in names:
        if reason := projects.missing(name):
            pytest.skip(reason)
    files = mutations.seeds(names, 40_000)
    wrong = [fault for fault in mutations.faults(files, count, seed, folder) if fault]
    assert [f"{fault.file} ({fault.mode}): {fault.what}" for fault in wrong] == []


def test_damaged_files_are_refused_or_come_back(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    _mutate(["lua"], 250, 3, tmp_path)


def test_an_open_parenthesis_costs_no_more_than_its_text(tmp_path: Path) -> None:
    (fault,) = mutations.faults(
        [("open.c", OPEN, OPEN)], 1, 1, tmp_path, damage=lambda text, _: text
    )
    assert fault is None


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_much_damage_is_refused_or_comes_back(block: int, tmp_path: Path) -> None:
    _mutate(["zlib", "lua", "cjson", "unzip", "nethack", "dash"], 5000, 100 + block, tmp_path)
