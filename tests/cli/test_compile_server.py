"""The compile server: it compiles what `kprof cc` alone does, and losing it loses nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kprof.cli import compile_client

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or shutil.which("gcc") is None, reason="needs Linux, gcc"
)

SOURCE = """\
#include <stdio.h>
#define TWICE(x) ((x) + (x))
static int unused_one(int a) { return a; }
int half(int a) { int b; if (a) return TWICE(a); return b / 2; }
int main(void) { printf("%d\\n", half(3)); return 0; }
"""

# kprof, with all of it out of reach but the client.
CLIENT = (
    "import sys; sys.modules['kprof.cli.main'] = None\nfrom kprof.__main__ import main\nmain()\n"
)
ALONE = "from kprof.__main__ import main\nmain()\n"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for a server's socket, which `KPROF_SERVER` names; its servers are ended."""
    sockets = tmp_path / "s"
    if len(str(sockets)) > 80:
        pytest.skip("the folder's name is too long for a socket")
    monkeypatch.setenv("KPROF_SERVER", str(sockets))
    monkeypatch.setenv("KPROF_CACHE", str(tmp_path / "cache"))
    (tmp_path / "x.c").write_text(SOURCE)
    yield sockets
    for server in pids(sockets):
        os.killpg(server, signal.SIGKILL)


def pids(sockets: Path) -> list[int]:
    """The servers of a folder that are running; each leads its workers' process group."""
    found = []
    for lock in sockets.glob("*.lock"):
        text = lock.read_text().strip()
        if text.isdigit() and Path(f"/proc/{text}").exists():
            found.append(int(text))
    return found


def kprof(
    folder: Path, *gcc: str, program: str = ALONE, **more: str
) -> subprocess.CompletedProcess[str]:
    names = ["--names", str(folder / "k.names"), "--target", "soft"]
    return subprocess.run(
        [sys.executable, "-c", program, "cc", *names, "--", *gcc],
        cwd=folder,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
    )


def wait_for(condition: Callable[[], object]) -> None:
    """Wait until a condition holds, which it does soon on any machine that works."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        os.sched_yield()


def start(tmp_path: Path, sockets: Path) -> None:
    """Have two compilations follow each other, and wait for the server that this starts."""
    for _ in range(2):
        assert kprof(tmp_path, "gcc", "-c", "x.c").returncode == 0
    wait_for(lambda: list(sockets.glob("cc-????????")))


def test_a_server_starts_with_the_second_compilation_in_a_row(tmp_path: Path, folder: Path) -> None:
    assert kprof(tmp_path, "gcc", "-c", "x.c").returncode == 0
    (lock,) = folder.glob("*.lock")
    long_ago = time.time() - compile_client.START_WITHIN_S - 60
    os.utime(lock, (long_ago, long_ago))
    assert kprof(tmp_path, "gcc", "-c", "x.c").returncode == 0
    assert not pids(folder)
    assert kprof(tmp_path, "gcc", "-c", "x.c").returncode == 0
    wait_for(lambda: list(folder.glob("cc-????????")))
    assert len(pids(folder)) == 1
    assert folder.stat().st_mode & 0o777 == 0o700


COMMANDS = (
    ("gcc", "-O2", "-Wall", "-Wextra", "-c", "x.c", "-o", "{}/x.o"),
    ("gcc", "-g", "-MD", "-c", "x.c", "-o", "{}/x.o"),
    ("gcc", "-Werror=unused-function", "-c", "x.c", "-o", "{}/x.o"),
    ("gcc", "-DTWICE", "-c", "x.c", "-o", "{}/x.o"),
    ("gcc", "-c", "missing.c", "-o", "{}/x.o"),
    ("no-such-compiler", "-c", "x.c", "-o", "{}/x.o"),
    ("gcc", "-c", "conftest.c", "-o", "{}/x.o"),
)


def test_the_server_compiles_what_kprof_alone_compiles(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "conftest.c").write_text(SOURCE)
    start(tmp_path, folder)
    for arguments in COMMANDS:
        made = []
        for way, program, more in (("alone", ALONE, {"KPROF_SERVER": ""}), ("server", CLIENT, {})):
            shutil.rmtree(tmp_path / way, ignore_errors=True)
            (tmp_path / way).mkdir()
            command = [argument.format(way) for argument in arguments]
            done = kprof(tmp_path, *command, program=program, **more)
            files = {path.name: path.read_bytes() for path in (tmp_path / way).iterdir()}
            if "x.d" in files:
                files["x.d"] = files["x.d"].replace(b"server/", b"alone/")
            made.append((done.returncode, done.stdout, done.stderr, files))
        assert made[0] == made[1], arguments


def test_a_server_that_was_killed_is_no_loss(tmp_path: Path, folder: Path) -> None:
    start(tmp_path, folder)
    (server,) = pids(folder)
    os.killpg(server, signal.SIGKILL)
    wait_for(lambda: not _runs(server))
    (tmp_path / "x.o").unlink()
    done = kprof(tmp_path, "gcc", "-c", "x.c")
    assert (done.returncode, done.stderr) == (0, "")
    assert b"kprof: names" in (tmp_path / "x.o").read_bytes()
    wait_for(lambda: pids(folder) not in ([], [server]))
    wait_for(lambda: kprof(tmp_path, "gcc", "-c", "x.c", program=CLIENT).returncode == 0)


def test_a_server_that_dies_in_the_middle_is_no_loss(tmp_path: Path, folder: Path) -> None:
    start(tmp_path, folder)
    (server,) = pids(folder)
    # The compiler ends the server while it preprocesses.
    compiler = tmp_path / "gcc"
    compiler.write_text(
        f'#!/bin/sh\nkill -9 -{server} 2>/dev/null\nexec {shutil.which("gcc")} "$@"\n'
    )
    compiler.chmod(0o755)
    (tmp_path / "x.o").unlink()
    done = kprof(tmp_path, str(compiler), "-c", "x.c")
    assert (done.returncode, done.stderr) == (0, "")
    assert b"kprof: names" in (tmp_path / "x.o").read_bytes()


def test_a_client_that_is_stopped_stops_the_compiler(tmp_path: Path, folder: Path) -> None:
    start(tmp_path, folder)
    compiler = tmp_path / "slow"
    compiler.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/pid.new\nmv {tmp_path}/pid.new "
        f"{tmp_path}/pid\nexec sleep 600\n"
    )
    compiler.chmod(0o755)
    command = ["cc", "--names", "k.names", "--target", "soft", "--", str(compiler), "-c", "x.c"]
    client = subprocess.Popen([sys.executable, "-c", CLIENT, *command], cwd=tmp_path)
    wait_for((tmp_path / "pid").exists)
    client.send_signal(signal.SIGTERM)
    assert client.wait() == 128 + signal.SIGTERM
    pid = int((tmp_path / "pid").read_text())
    wait_for(lambda: not _runs(pid))
    done = kprof(tmp_path, "gcc", "-c", "x.c", program=CLIENT)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_version_or_language_has_a_server_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(mode=0o700)
    first = compile_client.address(compile_client.state())
    monkeypatch.setenv("LC_ALL", "xx")
    assert first
    assert compile_client.address(compile_client.state()) != first


def test_a_folder_that_others_may_enter_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    assert compile_client.address("state") == ""
    folder.chmod(0o700)
    assert compile_client.address("state") != ""


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
