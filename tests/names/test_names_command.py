"""`kprof names` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.errors import NameFileError
from kprof.names import allocate

TEXT = "softint/1024\nsw_sys/1026$\nMGET/1028=\noff/0\n\x1b[31m/1030!\n"


def kprof(*args: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kprof", "names", *map(str, args)],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def test_check_says_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text(TEXT)
    done = kprof("check", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"{path}: 1 function, 1 inline, 1 switch out, 1 swtch, 1 without trigger; "
        "tags 1024 to 1031, 32252 values free\n"
    )


def test_check_tells_every_problem(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("a/113\nb/5\nc/5=\nd/x\n")
    done = kprof("check", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 4
    assert f"{path}:1: a has odd tag 113; entry tags are even" in done.stderr
    assert "Traceback" not in done.stderr


def test_check_warns_of_tags_that_may_not_be_meant(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("low/100\nhigh/40000\nhigher/40002\nto")
    done = kprof("check", path)
    assert done.returncode == 0
    assert "low has a tag below 1024" in done.stderr
    assert "high and 1 more have a tag above 32767" in done.stderr
    assert "its last line, 'to', is left out" in done.stderr


def test_list_as_text_from_standard_input() -> None:
    done = kprof("list", "-", stdin=TEXT)
    assert done.stdout == (
        "  tag   exit  kind        name      source\n"
        " 1024   1025  function    softint\n"
        " 1026   1027  switch out  sw_sys\n"
        " 1028      -  inline      MGET\n"
        "    -      -  function    off\n"
        " 1030   1031  swtch       \\x1b[31m\n"
    )


def test_list_as_json(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text(TEXT)
    values = json.loads(kprof("list", path, "--format", "json").stdout)
    assert values["next_value"] == 1032
    assert values["entries"][1] == {
        "name": "sw_sys",
        "value": 1026,
        "modifier": "$",
        "kind": "switch out",
        "entry_tag": 1026,
        "exit_tag": 1027,
        "source": None,
        "static": False,
    }
    assert values["entries"][3]["entry_tag"] is None


def test_which(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text(TEXT)
    done = kprof("which", path, "1025", "0x402", "1028", "7")
    assert done.stdout == (
        "1025 (0x0401): exit of softint\n"
        "1026 (0x0402): entry of sw_sys (switch out)\n"
        "1028 (0x0404): inline trigger MGET\n"
        "7 (0x0007): not in the name file\n"
    )
    wrong = kprof("which", path, "65536")
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_a_file_that_is_not_there() -> None:
    done = kprof("list", "no.names")
    assert done.returncode == 1
    assert done.stderr.startswith("kprof: no.names: cannot read: no such file")


def test_init_begins_a_file_with_a_range(tmp_path: Path) -> None:
    path = tmp_path / "kprof.names"
    done = kprof("init", path, "--first", "4096", "--last", "0x1003")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert path.read_text() == "#@tags 4096 4099\n"
    assert kprof("check", path).stdout == f"{path}: no names; 2 values free\n"
    entries = allocate(path, ["a", "b"], first_tag=1024)
    assert [entry.value for entry in entries.values()] == [4096, 4098]
    with pytest.raises(
        NameFileError, match="no value is left for c; expected a highest value below 4097"
    ):
        allocate(path, ["c"])
    assert kprof("check", path).stdout.endswith("; tags 4096 to 4099, 0 values free\n")


def test_init_spares_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "kprof.names"
    path.write_text("a/2\n")
    done = kprof("init", path)
    assert (done.returncode, done.stderr) == (
        2,
        f"kprof: {path}: already exists; remove it, or name another file\n",
    )
    assert path.read_text() == "a/2\n"
    done = kprof("init", tmp_path / "b", "--first", "4097")
    assert done.returncode == 2
    assert "expected an even first one" in done.stderr
    assert "expected numbers" in kprof("init", tmp_path / "b", "--last", "much").stderr
    assert not (tmp_path / "b").exists()
