"""Mutations of name files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzzing import LONG, SHORT, survives, survives_as_file

from kprof.names import allocate, format_names, parse_names, read_names
from kprof.names.describe import advice, list_names

SEEDS = [
    b"duartint/100\nsplclock/106\nsw_sys/200$\nsw_task/202*\nMGET/222=\nswtch/300!\noff/0\n",
    b"# mine\r\n\r\n#@static kern/tty.c\r\ninit/1024\r\n#@own a\tb.c\r\na/1026\r\n",
    b"caf\xe9.c:f/100\n\x1b[31m/102\nlast/104=",
    b"",
]


def read(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    names = parse_names(text, "x")
    assert format_names(names) == text
    list_names(names)
    advice(names, "x")
    assert all(names.by_tag[entry.value] is entry for entry in names.entries if entry.value)


@pytest.mark.parametrize(
    "count", [SHORT, pytest.param(LONG, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_any_name_file(count: int) -> None:
    outcome = survives(read, SEEDS, count)
    assert min(outcome.values()) > count // 50


def test_any_name_file_on_disk_takes_new_names(tmp_path: Path) -> None:
    def add(path: Path) -> None:
        found = allocate(path, ["new_one", "new_two"])
        names = read_names(path)
        assert names.torn == ""
        assert [names.get(name) for name in found] == list(found.values())

    survives_as_file(add, tmp_path / "k.names", SEEDS, 2_000)
