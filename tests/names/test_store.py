"""The name file on disk: allocation, writers at once, writers that die."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults import MODES, run_with_faults

from kprof.errors import FileAccessError, NameFileError, UsageError
from kprof.names import Function, Modifier, allocate, allocate_functions, parse_names, read_names

WORKER = """
import sys
from kprof.names import allocate
path, names, each = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
sys.stdin.readline()
for start in range(0, len(names), each):
    for name, entry in allocate(path, names[start:start + each]).items():
        print(name, entry.value, flush=True)
"""

# Dies at the `at`-th system call that can change the file, half way through it where it is a write.
DIES = """
import os, signal, sys
from kprof.names import allocate
path, names, at = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
calls = 0
def dying(name):
    real = getattr(os, name)
    def call(descriptor, *args):
        global calls
        calls += 1
        if calls == at:
            if name == "write" and len(args[0]) > 1:
                real(descriptor, args[0][: len(args[0]) * int(sys.argv[4]) // 100])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(descriptor, *args)
    setattr(os, name, call)
for name in ("ftruncate", "write", "fsync"):
    dying(name)
for name, entry in allocate(path, names).items():
    sys.stdout.write(f"{name} {entry.value}\\n")
    sys.stdout.flush()
"""


def start(code: str, *args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def check_promises(path: Path, promised: dict[str, set[int]]) -> None:
    """No value twice, no promised value lost or changed."""
    names = read_names(path)
    values = [entry.value for entry in names.entries]
    assert len(set(values)) == len(values)
    for name, told in promised.items():
        entry = names.get(name)
        assert entry is not None
        assert told == {entry.value}


def test_an_empty_file_starts_at_1024(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    found = allocate(path, ["a", "b", "a"])
    assert {name: entry.value for name, entry in found.items()} == {"a": 1024, "b": 1026}
    assert path.read_bytes() == b"a/1024\nb/1026\n"


def test_first_tag_and_modifier(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    assert allocate(path, ["m"], first_tag=200, modifier=Modifier.INLINE)["m"].value == 200
    assert allocate(path, ["f"], first_tag=4000)["f"].value == 202
    assert path.read_text() == "m/200=\nf/202\n"


@pytest.mark.parametrize("first_tag", [0, 1, 1025, -2, 65_535, 65_536])
def test_a_first_tag_that_cannot_be(tmp_path: Path, first_tag: int) -> None:
    with pytest.raises(UsageError, match="expected an even number"):
        allocate(tmp_path / "k.names", ["a"], first_tag=first_tag)
    assert not (tmp_path / "k.names").exists()


def test_what_is_there_is_kept_and_used(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("# mine\nsw/200$\noff/0\n")
    found = allocate(path, ["off", "sw", "new"])
    assert [entry.value for entry in found.values()] == [0, 200, 202]
    assert found["sw"].modifier is Modifier.SWITCH_OUT
    assert path.read_text() == "# mine\nsw/200$\noff/0\nnew/202\n"


@pytest.mark.parametrize("name", ["", "a\nb", " a", "#a", "a\t"])
def test_names_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(NameFileError):
        allocate(tmp_path / "k.names", [name])
    assert not (tmp_path / "k.names").exists()


def test_the_last_values(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("a/65532\n")
    assert allocate(path, ["b"])["b"].exit_tag == 65_535
    with pytest.raises(NameFileError, match="no value is left for c"):
        allocate(path, ["b", "c"])
    assert path.read_text() == "a/65532\nb/65534\n"


@pytest.mark.parametrize(
    "torn", [b"par", b"b/", b"b/1", b"b/102", b"b/10", b"#@static k", b"\0\0\0"]
)
def test_a_torn_last_line_is_dropped(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "k.names"
    path.write_bytes(b"a/1024\n" + torn)
    names = read_names(path)
    assert [entry.name for entry in names.entries] == ["a"]
    assert names.torn.encode() == torn
    assert path.read_bytes() == b"a/1024\n" + torn  # reading changes nothing
    assert allocate(path, ["c"])["c"].value == 1026
    assert path.read_bytes() == b"a/1024\nc/1026\n"


@pytest.mark.parametrize("line", [b"b/100=", b"b/0", b"b/2048", b"b/1026", b"# note"])
def test_a_last_line_written_by_hand_is_kept(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "k.names"
    path.write_bytes(b"a/1024\n" + line)
    assert read_names(path).torn == ""
    allocate(path, ["c"])
    assert path.read_bytes().startswith(b"a/1024\n" + line + b"\nc/")
    assert len({entry.value for entry in read_names(path).entries}) == len(read_names(path).entries)


def test_bytes_that_are_not_utf8_survive(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_bytes(b"caf\xe9.c:f/100\n# \xff\n")
    name = b"caf\xe9.c:f".decode("utf-8", "surrogateescape")
    found = allocate(path, [name, "g"])
    assert found[name].value == 100
    assert path.read_bytes() == b"caf\xe9.c:f/100\n# \xff\ng/102\n"


def test_a_file_that_only_needs_reading_may_be_read_only(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("a/100\n")
    before = path.stat().st_mtime_ns
    assert allocate(path, ["a"])["a"].value == 100
    assert path.stat().st_mtime_ns == before


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="cannot write"):
        allocate(tmp_path / "no" / "k.names", ["a"])
    with pytest.raises(FileAccessError, match="cannot read"):
        read_names(tmp_path / "k.names")


def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.names"
    path.write_text("a/100\n")
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:3]))
    with pytest.raises(FileAccessError, match="no space left"):
        allocate(path, ["b"])
    assert path.read_text() == "a/100\n"


def test_problems_in_the_file_are_told_and_nothing_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("a/101\nb/\n")
    with pytest.raises(NameFileError) as caught:
        allocate(path, ["c"])
    assert len(caught.value.problems) == 2
    assert path.read_text() == "a/101\nb/\n"


def test_sixteen_writers_at_once(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    workers = []
    for number in range(16):
        own = [f"w{number}_{n}" for n in range(12)]
        shared = [f"shared_{n}" for n in range(12)]
        mixed = [name for pair in zip(own, shared, strict=True) for name in pair]
        workers.append(start(WORKER, path, ",".join(mixed), 1 + number % 5))
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    promised: dict[str, set[int]] = {}
    for worker in workers:
        out, _ = worker.communicate()
        assert worker.returncode == 0
        for line in out.splitlines():
            name, value = line.split()
            promised.setdefault(name, set()).add(int(value))
    assert len(promised) == 16 * 12 + 12
    check_promises(path, promised)
    assert len(read_names(path).entries) == len(promised)


def test_writers_killed_at_random(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    choice = random.Random(1993)
    workers = [
        start(WORKER, path, ",".join(f"w{number % 9}_{n}" for n in range(40)), 1)
        for number in range(18)
    ]
    promised: dict[str, set[int]] = {}
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        assert worker.stdout is not None
        for line in (worker.stdout.readline() for _ in range(choice.randrange(1, 40))):
            name, value = line.split()
            promised.setdefault(name, set()).add(int(value))
        worker.kill()
    for worker in workers:
        out, _ = worker.communicate()
        for line in out.splitlines(keepends=True):
            if line.endswith("\n"):
                name, value = line.split()
                promised.setdefault(name, set()).add(int(value))
    check_promises(path, promised)
    allocate(path, ["after"])
    check_promises(path, promised)


@pytest.mark.parametrize("part", [0, 1, 30, 60, 95, 100])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_writer_that_dies_at_each_step(tmp_path: Path, at: int, part: int) -> None:
    path = tmp_path / "k.names"
    path.write_text("a/1024\n")
    worker = start(DIES, path, "a,b,c,d", at, part)
    out, _ = worker.communicate()
    assert worker.returncode == -signal.SIGKILL
    assert out == ""
    found = allocate(path, ["b", "e"])
    assert read_names(path).torn == ""
    assert found["b"].value == 1026
    check_promises(path, {"a": {1024}, "b": {1026}, "e": {found["e"].value}})


def test_a_file_that_an_editor_replaced_while_a_writer_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "k.names"
    path.write_text("a/1024\n")
    real = fcntl.flock
    edits = iter([True])

    def waits(descriptor: int, operation: int) -> None:
        if operation == fcntl.LOCK_EX and next(edits, False):
            (tmp_path / "new").write_text("a/1024\nc/1026\n")
            (tmp_path / "new").replace(path)
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", waits)
    assert allocate(path, ["b"])["b"].value == 1028
    assert path.read_text() == "a/1024\nc/1026\nb/1028\n"


def function(path: Path, name: str, source: str, static: bool = True) -> Function:
    return Function(name, str(path / source), static)


def test_static_functions_of_one_name_keep_a_tag_each(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    wanted = [
        function(tmp_path, "init", "a/tty.c"),
        function(tmp_path, "init", "b/tty.c"),
        function(tmp_path, "init", "c/tty.c"),
        function(tmp_path, "main", "b/tty.c", static=False),
    ]
    first = allocate_functions(path, wanted)
    assert [entry.name for entry in first.values()] == [
        "init",
        "tty.c:init",
        "c/tty.c:init",
        "main",
    ]
    text = path.read_text()
    assert allocate_functions(path, reversed(wanted)) == first
    assert path.read_text() == text
    assert parse_names(text).get("main").source == "b/tty.c"  # type: ignore[union-attr]


def test_a_global_function_keeps_its_plain_name_in_every_file(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    first = allocate_functions(path, [function(tmp_path, "f", "a.c", static=False)])
    moved = allocate_functions(path, [function(tmp_path, "f", "b.c", static=False)])
    assert list(first.values()) == list(moved.values())


def test_a_global_function_whose_name_a_static_one_has(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    allocate_functions(path, [function(tmp_path, "f", "a.c")])
    found = allocate_functions(path, [function(tmp_path, "f", "b.c", static=False)])
    assert [entry.name for entry in found.values()] == ["b.c:f"]


def test_a_name_written_by_hand_goes_to_the_first_static_function(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("sw/200$\noff/0\n")
    for _ in range(2):
        found = allocate_functions(
            path,
            [
                function(tmp_path, "sw", "a b.c"),
                function(tmp_path, "sw", "c.c"),
                function(tmp_path, "off", "a b.c"),
                function(tmp_path, "off", "c.c"),
            ],
        )
        assert [(e.name, e.value) for e in found.values()] == [
            ("sw", 200),
            ("c.c:sw", 202),
            ("off", 0),
            ("off", 0),
        ]


def test_the_longer_name_is_the_better_match(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    path.write_text("f/100\ntty.c:f/102\n")
    found = allocate_functions(path, [function(tmp_path, "f", "tty.c")])
    assert [entry.value for entry in found.values()] == [102]


def test_plain_names_after_static_ones_have_no_source(tmp_path: Path) -> None:
    path = tmp_path / "k.names"
    allocate_functions(path, [function(tmp_path, "f", "a.c")])
    allocate(path, ["mark"], modifier=Modifier.INLINE)
    assert read_names(path).get("mark").source == ""  # type: ignore[union-attr]


def test_every_call_that_fails_or_kills(tmp_path: Path) -> None:
    assert run_with_faults(tmp_path, "tests.names.fault_names", "append") >= 3 * len(MODES)
