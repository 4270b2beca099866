"""gcc's C torture tests pass with triggers where they pass without, on an emulated 68k."""

from __future__ import annotations

import shutil

import pytest
from tests.realcode import projects, torture


def _failed(step: int, levels: list[str], kprof: list[str]) -> tuple[int, list[str]]:
    if reason := projects.missing("torture"):
        pytest.skip(reason)
    for program in (torture.COMPILER, torture.EMULATOR):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    seen = torture.try_all(torture.tests()[::step], levels, kprof)
    failed = [
        f"{one.path.name} -{one.level}: {one.said}"
        for one in seen
        if one.plain and not one.instrumented
    ]
    return sum(one.plain for one in seen), failed


def test_some_torture_tests_pass_with_triggers() -> None:
    passed, failed = _failed(400, ["O2"], [])
    assert failed == []
    assert passed >= 3


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["cleanup", "returns"])
def test_torture_tests_pass_with_triggers(strategy: str) -> None:
    passed, failed = _failed(1, ["O0", "O2"], ["--strategy", strategy])
    assert failed == []
    assert passed > 2000
