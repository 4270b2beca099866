"""Every function that gcc finds in real C has its tree and its triggers, in both modes.

No warning is new, and who can call whom is what gcc says.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from tests.realcode import check, projects
from tests.realcode.check import Verdict
from tests.realcode.oracle import call_graph, run
from tests.realcode.projects import Unit

from kprof.names.calls import read_calls

# What a structure is copied with, gcc's own library, and names of the assembler's.
_COMPILER = re.compile(r"mem(?:cpy|set|move)$|__\w+\d$|\*")
FEW = {
    "zlib": ("inflate.c", "deflate.c", "gzread.c", "trees.c"),
    "lua": ("lvm.c", "lgc.c", "lparser.c"),
    "cjson": ("cJSON.c", "cJSON_Utils.c"),
}
# Of all functions, in per cent; the issue of each that is missing is printed by kprof. NetHack has
# four that macros make altogether.
WANTED = {"cc": 99.99, "source": 99.8}


def _units(name: str, mode: str, files: tuple[str, ...] = ()) -> list[Verdict]:
    if reason := projects.missing(name):
        pytest.skip(reason)
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    units = projects.units(name)
    if files:
        # Each file once, by its last compilation.
        units = list({unit.path.name: unit for unit in units if unit.path.name in files}.values())
        assert len(units) == len(files)
    return check.check_all(units, ["O2"], mode)


def _problems(verdicts: list[Verdict]) -> list[str]:
    return [
        f"{verdict.unit.source}: {text}"
        for verdict in verdicts
        for text in (
            *verdict.unlisted,
            *verdict.broken,
            *verdict.noisy,
            *verdict.unread,
            *verdict.misread,
        )
    ]


@pytest.mark.parametrize("mode", ["cc", "source"])
@pytest.mark.parametrize("name", sorted(FEW))
def test_every_function_has_its_triggers(name: str, mode: str) -> None:
    verdicts = _units(name, mode, FEW[name])
    assert _problems(verdicts) == []
    assert sum(verdict.functions for verdict in verdicts) > 50
    assert all(verdict.instrumented == verdict.functions for verdict in verdicts)


def _against_gcc(units: list[Unit], tmp_path: Path) -> tuple[list[str], int]:
    """What gcc's call graphs have and the call knowledge does not, and how many calls they have."""
    wrong: list[str] = []
    calls = 0
    for number, unit in enumerate(units):
        folder = tmp_path / str(number)
        folder.mkdir()
        graph = call_graph(unit, folder, {**os.environ, "LC_ALL": "C"})
        command = [*check.KPROF, "cc", "--target", "soft", "--names", str(folder / "k.names"), "--"]
        command += [unit.compiler, *unit.options, "-w", "-O0", "-c", unit.source]
        run([*command, "-o", str(folder / "unit.o")], unit.cwd, dict(os.environ))
        known = read_calls(folder / "k.names")
        if known is None:
            assert not graph.places, unit.source  # a unit without functions has none
            continue
        facts = {name.rpartition(":")[2]: fact for name, fact in known.functions.items()}
        for name, line in graph.places.items():
            if name in facts and facts[name].line != line:
                wrong.append(f"{unit.source}:{line}: {name}: {facts[name]}")
        for name, called in graph.calls.items():
            if name in facts:
                ours = {other.rpartition(":")[2] for other in facts[name].calls}
                # A structure is copied by memcpy, and printf of a line is puts.
                missing = {other for other in called - ours if not _COMPILER.match(other)}
                calls += len(called)
                wrong += [f"{unit.source}: {name} -> {other}" for other in sorted(missing)]
        wrong += [
            f"{unit.source}: {name} calls through pointers"
            for name in graph.indirect & facts.keys()
            if not facts[name].indirect and not facts[name].calls - known.functions.keys()
        ]
    return wrong, calls


@pytest.mark.parametrize("name", sorted(FEW))
def test_who_can_call_whom_is_what_gcc_says(name: str, tmp_path: Path) -> None:
    if reason := projects.missing(name):
        pytest.skip(reason)
    units = [unit for unit in projects.units(name) if unit.path.name in FEW[name]]
    wrong, calls = _against_gcc(units, tmp_path)
    assert wrong == []
    assert calls > 50


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in projects.PROJECTS if name != "gcc.dg"])
def test_who_can_call_whom_in_whole_projects(name: str, tmp_path: Path) -> None:
    if reason := projects.missing(name):
        pytest.skip(reason)
    units = projects.units(name)
    wrong, calls = _against_gcc(units[:: max(1, len(units) // 40)], tmp_path)
    print(name, calls, "calls,", len(wrong), "wrong")
    assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize("mode", ["cc", "source"])
@pytest.mark.parametrize("name", [name for name in projects.PROJECTS if name != "gcc.dg"])
def test_functions_of_whole_projects_have_their_triggers(name: str, mode: str) -> None:
    verdicts = _units(name, mode)
    print(check.HEADER)
    print(check.summary(name, verdicts))
    assert _problems(verdicts) == []
    total = sum(verdict.functions for verdict in verdicts)
    done = sum(verdict.instrumented for verdict in verdicts)
    assert 100 * done >= WANTED[mode] * total or total - done <= 1
