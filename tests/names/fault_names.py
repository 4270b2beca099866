"""What `test_store` runs under faults: an append to a shared name file."""

from __future__ import annotations

from pathlib import Path

from kprof.names import allocate, read_names

NAMES = [f"function_{number}" for number in range(400)]


def prepare(folder: Path) -> None:
    (folder / "k.names").write_text("# mine\nfirst/1024\n")


def append(folder: Path) -> None:
    allocate(folder / "k.names", NAMES)


def check(folder: Path, done: bool) -> None:
    """What was there is there; what was promised is; the next writer can go on."""
    names = read_names(folder / "k.names")
    assert names.text.startswith("# mine\nfirst/1024\n")
    assert not done or all(names.get(name) for name in NAMES)
    found = allocate(folder / "k.names", [*NAMES, "first"])
    assert [entry.value for entry in found.values()] == [*range(1026, 1826, 2), 1024]
    assert read_names(folder / "k.names").torn == ""
