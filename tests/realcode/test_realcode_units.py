"""Every function that gcc finds in real C has its triggers, in both modes, and no new warning."""

from __future__ import annotations

import shutil

import pytest
from tests.realcode import check, projects
from tests.realcode.check import Verdict

FEW = {
    "zlib": ("inflate.c", "deflate.c", "gzread.c", "trees.c"),
    "lua": ("lvm.c", "lgc.c", "lparser.c"),
    "cjson": ("cJSON.c", "cJSON_Utils.c"),
}
# Of all functions, in per cent; the issue of each that is missing is printed by kprof.
WANTED = {"cc": 99.99, "source": 99.9}


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
        for text in (*verdict.unlisted, *verdict.broken, *verdict.noisy)
    ]


@pytest.mark.parametrize("mode", ["cc", "source"])
@pytest.mark.parametrize("name", sorted(FEW))
def test_every_function_has_its_triggers(name: str, mode: str) -> None:
    verdicts = _units(name, mode, FEW[name])
    assert _problems(verdicts) == []
    assert sum(verdict.functions for verdict in verdicts) > 50
    assert all(verdict.instrumented == verdict.functions for verdict in verdicts)


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
