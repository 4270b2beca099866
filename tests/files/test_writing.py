"""Output files: whole or not at all."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.errors import FileAccessError
from kprof.files import read_bytes, write_bytes, write_text, writing


def test_a_new_file_has_the_users_mode(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_text(path, "caf\u00e9")
    assert path.read_bytes() == b"caf\xc3\xa9"
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_bytes(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)


def test_an_exception_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with contextlib.suppress(KeyboardInterrupt), writing(path) as stream:
        stream.write(b"new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to(path)
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_a_long_name(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for path, said in (
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "x", "no such file or directory"),
        (tmp_path / "file" / "x", "not a directory"),
        (tmp_path / ("n" * 256), "too long"),
    ):
        with pytest.raises(FileAccessError) as caught:
            write_bytes(path, b"new")
        assert str(caught.value).startswith(f"{path}: ")
        assert said in str(caught.value)


def test_reading_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="cannot read: is a directory"):
        read_bytes(tmp_path)


def test_a_special_file_is_written_in_place(tmp_path: Path) -> None:
    write_bytes("/dev/null", b"gone")
    assert Path("/dev/null").is_char_device()
    code = "from kprof.files import write_bytes; write_bytes('-', b'out')"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert done.stdout == b"out"
    assert list(tmp_path.iterdir()) == []
