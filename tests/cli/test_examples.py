"""`kprof examples`: each is listed and copied whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kprof.board.minikernel import examples_folder
from kprof.cli.examples import EXAMPLES
from kprof.cli.main import kprof_command
from kprof.errors import UsageError


def test_every_folder_is_an_example() -> None:
    folders = {path.name for path in examples_folder().iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == set(EXAMPLES)
    listed = CliRunner().invoke(kprof_command, ["examples"]).output
    assert all(f"{name} " in listed for name in EXAMPLES)


def test_copies_are_whole_and_replace_nothing(tmp_path: Path) -> None:
    arguments = ["examples", "agent", "analyser", "--copy", str(tmp_path)]
    assert CliRunner().invoke(kprof_command, arguments).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent", "analyser"]
    for name in ("agent/kprof_ram.c", "analyser/run.csv"):
        assert (tmp_path / name).read_bytes() == (examples_folder() / name).read_bytes()
    (tmp_path / "agent" / "kprof_ram.c").write_text("mine")
    with pytest.raises(UsageError, match="agent: already exists"):
        CliRunner().invoke(kprof_command, arguments, catch_exceptions=False, standalone_mode=False)
    assert (tmp_path / "agent" / "kprof_ram.c").read_text() == "mine"
    with pytest.raises(UsageError, match="agnet: is not an example; expected one of agent"):
        CliRunner().invoke(
            kprof_command, ["examples", "agnet"], catch_exceptions=False, standalone_mode=False
        )
