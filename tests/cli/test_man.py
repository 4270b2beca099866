"""The man pages: made from the help, clean roff, one for each verb."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.cli.test_main import verbs

from kprof.cli.main import VERBS, kprof_command


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man") / "man1"
    done = CliRunner().invoke(kprof_command, ["man", "-o", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


def test_there_is_a_page_for_each_verb(pages: Path) -> None:
    wanted = ["kprof.1", *(f"kprof-{verb}.1" for verb in VERBS)]
    assert sorted(path.name for path in pages.iterdir()) == sorted(wanted)


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_the_pages_as_groff_reads_them(pages: Path) -> None:
    files = sorted(pages.iterdir())
    command = ["groff", "-man", "-ww", "-Tascii", "-P-cbou", "-rLL=200n", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    for name, command_ in verbs():
        if " " in name:
            continue
        assert VERBS[name].rstrip(".") in shown
        for param in command_.params:
            if isinstance(param, click.Option) and not param.hidden:
                first = re.split(r"[\n.]", param.help or "")[0]
                assert param.opts[0] in shown
                assert " ".join(first.split()) in shown, (name, param.opts)


def test_one_page_goes_to_stdout(pages: Path) -> None:
    done = CliRunner().invoke(kprof_command, ["man", "trace"])
    assert done.output == (pages / "kprof-trace.1").read_text()
    assert CliRunner().invoke(kprof_command, ["man", "nothing"]).exit_code != 0
