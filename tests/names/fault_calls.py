"""What `test_calls` runs under faults: a unit put into shared call knowledge."""

from __future__ import annotations

from pathlib import Path

from kprof.names.calls import FunctionFacts, format_calls, read_calls, update_calls

OLD = [FunctionFacts("first", "{}/a.c", 3, "void first(void)", frozenset({"second"}))]


def of(folder: Path, functions: list[FunctionFacts]) -> list[FunctionFacts]:
    return [
        FunctionFacts(f.name, f.file.format(folder), f.line, f.signature, f.calls)
        for f in functions
    ]


def prepare(folder: Path) -> None:
    update_calls(folder / "k.names", str(folder / "a.c"), of(folder, OLD))


def replace_unit(folder: Path) -> None:
    new = [FunctionFacts(f"f{number}", "{}/a.c", number) for number in range(400)]
    update_calls(folder / "k.names", str(folder / "a.c"), of(folder, new))


def check(folder: Path, done: bool) -> None:
    """The old knowledge or the new, whole; the next writer can go on."""
    known = read_calls(folder / "k.names")
    assert known is not None
    assert set(known.functions) in ({"first"}, {f"f{number}" for number in range(400)})
    assert not done or "f399" in known.functions
    replace_unit(folder)
    known = read_calls(folder / "k.names")
    assert known is not None
    assert len(known.functions) == 400
    assert format_calls(known) == (folder / "k.names.calls").read_text()
