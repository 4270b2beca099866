"""The frame that every verb runs in: help, exit codes, completion, broken pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kprof.cli import main as cli
from kprof.errors import KprofError, UsageError

KPROF = [sys.executable, "-m", "kprof"]


def verbs() -> list[tuple[str, click.Command]]:
    """Every command and subcommand, with its whole name."""
    context = click.Context(cli.kprof_command)
    found: list[tuple[str, click.Command]] = []
    for name in cli.VERBS:
        command = cli.kprof_command.get_command(context, name)
        assert command is not None
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {sub}", item) for sub, item in command.commands.items()]
    return found


def test_every_verb_has_help_with_an_example() -> None:
    for name, command in verbs():
        text = command.get_help(click.Context(command, info_name=f"kprof {name}"))
        assert "\n  Example:\n    kprof" in text, f"kprof {name} --help shows no example"
        assert f"kprof {name.split()[0]}" in text.split("Example", 1)[1], name


def test_every_option_has_help() -> None:
    bare = [
        f"{name} {parameter.opts[0]}"
        for name, command in verbs()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert bare == []


def test_the_help_of_the_group_imports_no_verb() -> None:
    program = (
        "import sys; sys.argv = ['kprof', '--help']\n"
        "from kprof.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'rich', 'pycparser', 'serial', 'numba', 'machine68k'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "verbs = {m for m in sys.modules if m.startswith('kprof.cli.')} - {'kprof.cli.main'}\n"
        "assert not verbs, verbs\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Record:" in done.stdout


def run_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli.kprof_command, "main", fail)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize(
    ("error", "code"),
    [(KprofError("no"), 1), (UsageError("no"), 2), (KeyboardInterrupt(), 130)],
)
def test_errors_become_one_sentence_and_an_exit_code(
    error: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_with(error, monkeypatch) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"kprof: {str(error) or 'interrupted'}\n"


def test_an_unknown_verb_is_misuse() -> None:
    done = subprocess.run([*KPROF, "reprot"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "No such command 'reprot'" in done.stderr


def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([*KPROF, "completion", "bash"], stdout=write_end, stderr=subprocess.PIPE)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_behind_stdout_gets_no_traceback() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*KPROF, "completion", "bash"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == b"kprof: standard output: cannot write: No space left on device\n"


def test_sigterm_leaves_nothing_behind(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "import kprof.capture.convert as convert\n"
        "from kprof.files import writing\n"
        "def slow(capture, output, *rest):\n"
        "    with writing(output) as stream:\n"
        "        stream.write(b'half')\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "convert.convert = slow\n"
        "sys.argv = ['kprof', 'convert', 'a.bin', '-o', 'b.bin']\n"
        "from kprof.cli.main import main\n"
        "main()\n"
    )
    (tmp_path / "a.bin").write_bytes(bytes(500))
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (143, "")
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_names_the_program(shell: str) -> None:
    done = subprocess.run([*KPROF, "completion", shell], capture_output=True, text=True)
    assert done.returncode == 0
    assert "_KPROF_COMPLETE" in done.stdout


def test_completion_knows_the_verbs(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "_KPROF_COMPLETE": "bash_complete",
        "COMP_WORDS": "kprof rep",
        "COMP_CWORD": "1",
    }
    done = subprocess.run([*KPROF], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert "plain,report" in done.stdout.split()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_gets_no_traceback(closed: str) -> None:
    command = f"{sys.executable} -m kprof completion bash {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
