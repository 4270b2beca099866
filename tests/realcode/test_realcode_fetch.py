"""Reading of command lines and of apt's files, for the harness itself; no network, no corpus."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from tests.realcode import projects


@pytest.fixture(scope="module")
def fetching() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fetch_real_code", projects.FETCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_source_packages_come_from_where_packages_come_from(fetching: ModuleType) -> None:
    stanza = (
        "Types: deb\n# as it was\nURIs: http://mirror/debian\nSuites: s s-updates\n"
        "Components: main\nSigned-By: /k.gpg\n\n"
        "Types: deb\nURIs: http://x/\nSuites: y\nComponents: z\n"
    )
    line = "deb [arch=amd64 signed-by=/k] http://m/ s main contrib\n# deb http://n/ s main\n"
    assert fetching.source_stanzas([("a.sources", stanza), ("b.list", line)]) == (
        "Types: deb-src\nURIs: http://mirror/debian\nSuites: s s-updates\nComponents: main\n"
        "Signed-By: /k.gpg\n\n"
        "Types: deb-src\nURIs: http://m/\nSuites: s\nComponents: main contrib\nSigned-By: /k\n"
    )


def test_a_kernel_leaves_out_other_machines_but_not_their_build_files(fetching: ModuleType) -> None:
    wanted = fetching.SOURCES["linux"].keep
    assert wanted("linux-6.1/kernel/fork.c")
    assert wanted("linux-6.1/arch/m68k/kernel/time.c")
    assert wanted("linux-6.1/sound/Kconfig")
    assert not wanted("linux-6.1/sound/core/pcm.c")
    assert not wanted("linux-6.1/arch/mips/kernel/time.c")


def test_units_of_a_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.c").touch()
    (tmp_path / "conftest.c").touch()
    command = [
        "gcc",
        "-O2",
        "-I",
        "inc",
        "-DX=1",
        "-MD",
        "-MF",
        "a.d",
        "-include",
        "k.h",
        "-c",
        "a.c",
        "-o",
        "a.o",
        "-Wl,-z",
        "x.o",
    ]
    assert list(projects.units_of(str(tmp_path), command)) == [
        projects.Unit(str(tmp_path), "gcc", ("-O2", "-I", "inc", "-DX=1", "-include", "k.h"), "a.c")
    ]
    assert list(projects.units_of(str(tmp_path), ["gcc", "-E", "a.c"])) == []
    assert list(projects.units_of(str(tmp_path), ["gcc", "-c", "gone.c"])) == []
    assert list(projects.units_of(str(tmp_path), ["gcc", "-c", "conftest.c"])) == []


def test_options_that_a_test_of_gccs_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "t.c"
    path.write_text(
        '/* { dg-options "-std=gnu89 -O" } */\n/* { dg-options "-m" { target x } } */\n'
    )
    assert projects.own_options(path) == ["-std=gnu89", "-O"]
