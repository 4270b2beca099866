"""The projects' own tests pass with triggers; the calls counted are those that gcc counts."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.realcode import projects
from tests.realcode.suites import (
    EVENT_RAM,
    SUITES,
    Counts,
    Suite,
    build,
    compile_own,
    read_counts,
    run,
)

from kprof.names import read_names

M68K = "m68k-linux-gnu-gcc"
MAPPED = f"-no-pie -Wl,--section-start=.eventram={EVENT_RAM:#x}"
HOOKS = "-O0 -w -no-pie -finstrument-functions -finstrument-functions-exclude-file-list=/usr/"

_long = pytest.mark.long


def _suite(name: str) -> Suite:
    if reason := projects.missing(name):
        pytest.skip(reason)
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    if name in ("zlib", "sqlite"):
        projects.units(name)  # their own configure makes headers
    return SUITES[name]


@pytest.mark.parametrize(
    ("name", "level", "target"),
    [
        ("zlib", "O2", "x86-64"),
        *(
            pytest.param(name, level, target, marks=_long)
            for name in SUITES
            for level in ("O0", "O2")
            for target in ("x86-64", "mmio", "soft")
        ),
    ],
)
def test_a_suite_says_the_same_with_triggers(
    name: str, level: str, target: str, tmp_path: Path
) -> None:
    suite = _suite(name)
    plain = build(suite, tmp_path / "plain", f"-{level} -w")
    assert plain.built, plain.said[-2000:]
    names = f"--names {tmp_path / 'suite.names'}"
    if target == "soft":
        kprof, link = f"--target soft {names}", compile_own("counting", tmp_path)
    else:
        kprof = f"--target {target} --base {EVENT_RAM:#x} {names}"
        link = f"{compile_own('eventram', tmp_path)} {MAPPED}"
    after = build(suite, tmp_path / "after", f"-{level} -w", kprof=kprof, link=link)
    assert after.built, after.said[-2000:]
    expected = run(suite, tmp_path / "plain")
    assert "0\n" in expected
    assert run(suite, tmp_path / "after") == expected


@pytest.mark.long
@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize("name", sorted(SUITES))
def test_a_suite_says_the_same_on_the_68k(name: str, level: str, tmp_path: Path) -> None:
    suite = _suite(name)
    if not shutil.which(M68K) or not shutil.which("qemu-m68k"):
        pytest.skip(f"needs {M68K} and qemu-m68k")
    flags = f"-{level} -w -static"
    plain = build(suite, tmp_path / "plain", flags, compiler=M68K)
    assert plain.built, plain.said[-2000:]
    after = build(
        suite,
        tmp_path / "after",
        flags,
        compiler=M68K,
        kprof=f"--target m68k --names {tmp_path / 'suite.names'}",
        link=compile_own("lowram", tmp_path, M68K),
    )
    assert after.built, after.said[-2000:]
    expected = run(suite, tmp_path / "plain", emulator="qemu-m68k", data="4")
    assert "0\n" in expected
    assert run(suite, tmp_path / "after", emulator="qemu-m68k", data="4") == expected


@pytest.mark.parametrize(
    "name", ["zlib", *(pytest.param(name, marks=_long) for name in SUITES if name != "zlib")]
)
def test_calls_are_those_that_gccs_own_hooks_count(name: str, tmp_path: Path) -> None:
    suite = _suite(name)
    names, counts = tmp_path / "suite.names", tmp_path / "counts"
    built = build(
        suite,
        tmp_path / "build",
        HOOKS,
        kprof=f"--target soft --names {names}",
        link=compile_own("counting", tmp_path),
    )
    assert built.built, built.said[-2000:]
    counts.mkdir()
    run(suite, tmp_path / "build", emulator=str(_launcher(tmp_path, counts)), data="4 6")
    entries = {entry.value: entry.name for entry in read_names(names).entries}
    seen: Counter[str] = Counter()
    for path in sorted(counts.iterdir()):
        program = tmp_path / "build" / path.name.rpartition(".")[0].replace("%", "/")
        seen += _balanced(read_counts(path, program, entries), suite)
    assert len(seen) > 20
    print(f"{name}: {seen.total()} calls of {len(seen)} functions, all as gcc counts them")


def _launcher(folder: Path, counts: Path) -> Path:
    """A program that runs another with its counts going to a file of its own."""
    script = folder / "counted"
    script.write_text(
        "#!/bin/sh\nprogram=$(realpath --relative-to=" + str(folder / "build") + ' "$1")\n'
        f"KPROF_COUNTS={counts}/$(echo $program | tr / %).$$\nexport KPROF_COUNTS\n"
        'exec "$@"\n'
    )
    script.chmod(0o755)
    return script


def _balanced(counts: Counts, suite: Suite) -> Counter[str]:
    assert counts.entries == counts.hooked_in
    assert counts.exits == counts.hooked_out
    assert counts.orphans == 0
    assert counts.entries.total() == counts.exits.total() + counts.unwound + counts.open
    assert suite.longjmp or counts.unwound == 0
    return counts.entries
