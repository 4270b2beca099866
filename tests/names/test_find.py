"""Which name file belongs to a dump."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from kprof.errors import UsageError
from kprof.names import find_names, project_names


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


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the sources a/deep/x.c and b/y.c; the current folder is the project's."""
    monkeypatch.delenv("MAKELEVEL", raising=False)
    for source in ("p/a/deep/x.c", "p/b/y.c"):
        (tmp_path / source).parent.mkdir(parents=True)
        (tmp_path / source).touch()
    monkeypatch.chdir(tmp_path / "p")
    return tmp_path / "p"


def test_a_projects_name_file_is_the_nearest_above_the_source(folders: Path) -> None:
    (folders / "kprof.names").touch()
    assert project_names(["a/deep/x.c", "b/y.c"]) == Path("kprof.names")
    (folders / "a" / "kprof.names").touch()
    assert project_names(["a/deep/x.c"]) == Path("a/kprof.names")
    assert project_names([folders / "b" / "y.c"]) == Path("kprof.names")


def test_sources_elsewhere_go_by_the_current_folder(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folders / "b" / "kprof.names").touch()
    monkeypatch.chdir(folders / "b")
    assert project_names(["../a/deep/x.c"]) == Path("kprof.names")
    assert project_names([]) == Path("kprof.names")


def test_a_new_one_begins_at_the_top(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert project_names(["a/deep/x.c"]) == Path("a/deep/kprof.names")
    for folder in (folders / "a" / "deep", folders / "a", folders):
        (folder / "Makefile").touch()
    monkeypatch.chdir(folders / "a")
    assert project_names(["deep/x.c"]) == folders / "kprof.names"
    (folders / "a" / ".git").touch()  # a submodule's
    assert project_names(["deep/x.c"]) == Path("kprof.names")


def test_a_second_one_beside_another_is_refused(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folders / "a" / "kprof.names").touch()
    monkeypatch.setenv("MAKELEVEL", "1")
    assert project_names(["b/y.c"]) == Path("b/kprof.names")
    monkeypatch.setenv("MAKELEVEL", "2")
    said = (
        f"b/y.c: no kprof.names in a folder above it, and {folders}/a/kprof.names is another "
        f"folder's; expected one for a project (type: kprof names init {folders}/kprof.names, "
        f"remove {folders}/a/kprof.names and compile all again; for a project of its own: "
        f"kprof names init {folders}/b/kprof.names)"
    )
    with pytest.raises(UsageError, match=f"^{re.escape(said)}$"):
        project_names(["b/y.c"])
