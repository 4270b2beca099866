"""Paths that cannot be: every verb says so in one sentence, whichever of its paths it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.capture.traces import capture

from kprof.capture import write_banks, write_capture, write_raw
from kprof.cli.main import kprof_command
from kprof.errors import KprofError

# BAD is the path that cannot be; good.* are files that can be read.
USES = [
    "report BAD",
    "report good.kpd --names BAD",
    "report good.bin --previous BAD",
    "report good.kpd --elf BAD -f +size",
    "report good.kpd --html BAD",
    "report good.kpd --html out --diff-with BAD",
    "report good.kpd --save BAD",
    "report good.kpd -o BAD",
    "report good.kpd BAD --strict",
    "diff good.kpd BAD",
    "diff BAD good.kpd",
    "diff good.kpd good.kpd --after-names BAD",
    "diff good.kpd good.kpd -o BAD",
    "check good.kpd --budget BAD",
    "check good.kpd --budget good.budget --junit BAD",
    "merge good.kpd BAD -o out.json --strict",
    "merge good.kpd good.kpd -o BAD",
    "export BAD --format csv",
    "export good.kpd --format csv -o BAD",
    "export good.kpd --format perfetto -o BAD",
    "export good.kpd --format ctf -o BAD",
    "annotate BAD good.kpd",
    "annotate good.c BAD",
    "annotate good.c good.kpd -o BAD",
    "tui BAD",
    "info BAD",
    "info good.kpd --names BAD",
    "import BAD -o out",
    "import good.csv -o BAD",
    "import good.csv --force -o BAD",
    "import good.csv -o out --names BAD",
    "convert BAD -o out.kpd",
    "convert good.kpd -o BAD --to raw",
    "convert good.kpd --force -o BAD --to raw",
    "convert good.kpd --force -o BAD --to banks",
    "convert good.0 BAD good.2 good.3 good.4 -o out.kpd",
    "convert good.bin -o out.kpd --previous BAD",
    "upload /dev/ttyNone7 -o BAD",
    "upload /dev/ttyNone7 --force -o BAD",
    "upload /dev/ttyNone7 --resume -o BAD",
    "upload /dev/ttyNone7 -o out --names BAD",
    "upload /dev/ttyNone7 -o out --trace-line BAD",
    "upload BAD -o out",
    "instrument BAD -o made --names k.names",
    "instrument good.c -o BAD --names k.names",
    "instrument good.c -o made --names BAD",
    "instrument good.c -o made --names k.names --targets BAD",
    "instrument good.c -o made --names k.names --header BAD",
    "instrument good.c -o made --names k.names --compile-commands BAD",
    "instrument good.c --diff --names BAD",
    "instrument copy/good.c --un-instrument -o BAD",
    "cc --names BAD -- cc -c good.c",
    "names check BAD",
    "names list BAD",
    "names which BAD 1024",
    "sim BAD",
    "sim --dump BAD",
    "sim --link BAD",
    "sim --names BAD",
    "demo -o BAD",
]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_capture("good.kpd", capture(200))
    write_raw("good.bin", capture(200))
    write_banks([f"good.{bank}" for bank in range(5)], capture(200))
    Path("good.names").write_text("f/1024\n")
    Path("good.budget").write_text("f.max < 1s\n")
    Path("good.c").write_text("int f(void) { return 1; }\n")
    rows = "".join(f"{n}e-6,{n % 2},{n // 2 % 2}\n" for n in range(40))
    Path("good.csv").write_text("Time [s],A0,CE\n" + rows)
    arguments = ["instrument", "good.c", "-o", "copy", "--names", "good.names"]
    assert CliRunner().invoke(kprof_command, arguments).exit_code == 0
    return tmp_path


@pytest.fixture
def closed(files: Path) -> Iterator[Path]:
    """A folder that may not be entered."""
    if os.geteuid() == 0:
        pytest.skip("root may enter every folder")
    folder = files / "closed"
    folder.mkdir()
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


def _is_said(use: str, bad: Path) -> None:
    arguments = [str(bad) if word == "BAD" else word for word in use.split()]
    before = sorted(path.name for path in Path().iterdir())
    done = CliRunner().invoke(kprof_command, arguments, standalone_mode=False)
    assert isinstance(done.exception, KprofError), repr(done.exception or done.output)
    assert bad.name in str(done.exception)
    after = {path.name for path in Path().iterdir()} - set(before)
    assert after <= {"k.names", "made"}, "is left behind"


@pytest.mark.parametrize("use", USES)
def test_a_name_of_300_characters(files: Path, use: str) -> None:
    _is_said(use, files / ("n" * 300))


@pytest.mark.parametrize("use", USES)
def test_a_file_in_a_folder_that_may_not_be_entered(closed: Path, use: str) -> None:
    _is_said(use, closed / "there")
