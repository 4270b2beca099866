"""What `test_faults` runs under faults: the writers, what was there, what may be there after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.capture.traces import capture, same_events

from kprof.capture import capture_writer, open_capture, write_banks, write_capture, write_raw
from kprof.files import write_bytes

OLD, NEW = capture(3000, seed=1), capture(20_000, seed=2)
TEXT = b"text " * 50_000
_FILES = ("text", "dump.kpd", "parts.kpd", "dump.bin", *(f"bank{bank}" for bank in range(5)))


def prepare(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    for name in _FILES:
        (folder / name).write_bytes(b"old" if name == "text" else OLD.records.tobytes())


def text(folder: Path) -> None:
    write_bytes(folder / "text", TEXT)


def container(folder: Path) -> None:
    write_capture(folder / "dump.kpd", NEW)


def parts(folder: Path) -> None:
    with capture_writer(folder / "parts.kpd", replace(NEW.info, full=True)) as writer:
        for start in range(0, NEW.events, 5000):
            writer.append(NEW.records[start : start + 5000])


def raw(folder: Path) -> None:
    write_raw(folder / "dump.bin", NEW)


def banks(folder: Path) -> None:
    write_banks([folder / f"bank{bank}" for bank in range(5)], NEW)


def check(folder: Path, done: bool) -> None:
    """Each file is the old one or the complete new one; new where the writer said so."""
    changed = set()
    for name in _FILES:
        data = (folder / name).read_bytes()
        if data == (b"old" if name == "text" else OLD.records.tobytes()):
            continue
        changed.add(name)
        if name == "text":
            assert data == TEXT
        elif name.startswith("bank"):
            assert data == NEW.records[:, int(name[4])].tobytes()
        else:
            read = open_capture(folder / name, verify=True)
            assert same_events(read, NEW)
            assert read.info.warnings == ()
    assert changed or not done
