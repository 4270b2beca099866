"""What a killed or failing writer leaves, and who removes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kprof.errors import FileAccessError
from kprof.files import write_bytes, writing, writing_folder

WRITER = """
import sys, time
from kprof.files import writing, writing_folder
kind, path = sys.argv[1:]
with (writing if kind == "file" else writing_folder)(path) as out:
    if kind == "folder":
        (out / "metadata").write_bytes(b"half")
    print("writing", flush=True)
    time.sleep(60)
"""


def writer(kind: str, path: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, kind, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"writing\n"
    return process


def end(process: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    process.send_signal(sign)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_next_writer_sweeps_after_a_killed_one(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x[1]"  # no pattern
    other = tmp_path / ".x[1]y.abc.tmp"
    other.write_bytes(b"of another output")
    end(writer(kind, path), signal.SIGKILL)
    end(writer(kind, path), signal.SIGKILL)
    left = [p for p in tmp_path.iterdir() if p != other]
    assert len(left) == 1, "the second has swept after the first"
    alive = writer(kind, path)
    try:
        write_bytes(path, b"done")
        held = [p for p in tmp_path.iterdir() if p not in (path, other)]
        assert len(held) == 1, "what a living process writes stays"
        assert held != left
    finally:
        end(alive, signal.SIGKILL)
    write_bytes(path, b"again")
    assert sorted(tmp_path.iterdir()) == [other, path]


def test_writers_at_once_never_take_each_others_file(tmp_path: Path) -> None:
    code = (
        "import sys; from kprof.files import write_bytes\n"
        "for n in range(150): write_bytes(sys.argv[1], sys.argv[2].encode() * 5000)"
    )
    path = tmp_path / "x"
    command = [sys.executable, "-c", code, str(path)]
    running = [subprocess.Popen([*command, name], stderr=subprocess.PIPE) for name in "abc"]
    for process in running:
        assert process.communicate()[1] == b""
        assert process.returncode == 0
    assert path.read_bytes() in (b"a" * 5000, b"b" * 5000, b"c" * 5000)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [False, True])
def test_an_exception_leaves_no_folder(tmp_path: Path, there: bool) -> None:
    target = tmp_path / "t"
    if there:
        target.mkdir()
        (target / "events").write_bytes(b"old")

    def fail(error: BaseException) -> None:
        with writing_folder(target) as folder:
            (folder / "events").write_bytes(b"new")
            raise error

    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt())
    with pytest.raises(FileAccessError, match=r"t: cannot write: no space left"):
        fail(OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == ([target] if there else [])
    if there:
        assert (target / "events").read_bytes() == b"old"


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "t"
    for text in (b"one", b"two"):
        with writing_folder(target) as folder:
            (folder / "events").write_bytes(text)
            assert not target.exists() or (target / "events").read_bytes() == b"one"
        assert (target / "events").read_bytes() == text
    assert list(tmp_path.iterdir()) == [target]
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o777 & ~mask


def test_an_interrupted_trace_leaves_nothing(tmp_path: Path) -> None:
    """`kprof export --format ctf`, interrupted while it writes; the disk full."""
    from tests.capture.traces import capture

    from kprof.capture import write_capture

    write_capture(tmp_path / "k.kpd", capture(400_000))
    (tmp_path / "k.names").write_text("f/1024\n")
    before = sorted(tmp_path.iterdir())
    command = [sys.executable, "-m", "kprof", "export", "k.kpd", "--format", "ctf", "-o", "t"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not list(tmp_path.glob(".t.*.tmp/events")):
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130
    assert b"kprof: interrupted" in said
    assert sorted(tmp_path.iterdir()) == before
    limited = ["sh", "-c", 'ulimit -f 200; exec "$@"', "sh", *command]
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"t: cannot write: file too large" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_killed_writer_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    end(writer("file", path), signal.SIGKILL)
    assert path.read_bytes() == b"old"
    with writing(path) as stream:
        stream.write(b"new")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"new", [path])
