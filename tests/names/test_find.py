"""Which name file belongs to a dump."""

from __future__ import annotations

import hashlib
from pathlib import Path

from kprof.names import find_names


def write(path: Path, text: str) -> bytes:
    path.write_text(text)
    return hashlib.sha256(text.encode()).digest()


def test_none_beside_the_dump(tmp_path: Path) -> None:
    assert find_names(tmp_path / "dump.bin") is None
    assert find_names(tmp_path / "no" / "dump.bin") is None


def test_the_only_one(tmp_path: Path) -> None:
    write(tmp_path / "kernel.names", "a/2\n")
    assert find_names(tmp_path / "dump.bin") == tmp_path / "kernel.names"
    assert find_names(str(tmp_path / "dump.bin"), bytes(32)) == tmp_path / "kernel.names"


def test_of_two_none_is_sure_but_the_one_named_like_the_dump(tmp_path: Path) -> None:
    write(tmp_path / "a.names", "a/2\n")
    write(tmp_path / "b.names", "b/2\n")
    assert find_names(tmp_path / "dump.bin") is None
    assert find_names(tmp_path / "b.bin") == tmp_path / "b.names"


def test_the_digest_comes_first(tmp_path: Path) -> None:
    digest = write(tmp_path / "a.names", "a/2\n")
    write(tmp_path / "dump.names", "b/2\n")
    assert find_names(tmp_path / "dump.bin", digest) == tmp_path / "a.names"


def test_a_file_that_has_grown_since_is_still_the_one(tmp_path: Path) -> None:
    digest = write(tmp_path / "a.names", "a/2\n")
    write(tmp_path / "a.names", "a/2\nb/4\n")
    write(tmp_path / "dump.names", "b/2\n")
    assert find_names(tmp_path / "dump.bin", digest) == tmp_path / "a.names"


def test_a_folder_is_no_name_file(tmp_path: Path) -> None:
    (tmp_path / "x.names").mkdir()
    assert find_names(tmp_path / "dump.bin") is None
