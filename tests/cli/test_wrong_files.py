"""Files of the wrong kind: one sentence each, whatever their size; names with a byte order mark."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.capture.traces import capture

from kprof.capture import Capture, CaptureInfo, open_capture, write_capture, write_raw
from kprof.capture.match import names_mismatch, with_names
from kprof.cli.main import kprof_command
from kprof.errors import BoardError, CaptureError, KprofError, NameFileError, ProblemsError
from kprof.names import allocate, read_names

PREBUILT = Path(__file__).parents[2] / "examples" / "minikernel" / "prebuilt"


def invoke(use: str) -> Result:
    return CliRunner().invoke(kprof_command, use.split(), standalone_mode=False)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_capture("k.kpd", capture(5000))
    write_raw("k.bin", capture(5000))
    Path("k.names").write_text("f/1024\n")
    Path("k.budget").write_text("f.call < 99999\n")
    shutil.copyfile(PREBUILT / "kernel.elf", "k.elf")
    Path("utf16.names").write_bytes("f/1024\n".encode("utf-16"))
    Path("many.names").write_text("".join(f"f{n}/{n}\n" for n in range(200_000)))
    Path("text.txt").write_text("what I saw\n" * 500)
    Path("k.gz").write_bytes(gzip.compress(Path("k.bin").read_bytes()))
    return tmp_path


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", ["k.kpd", "k.bin", "k.elf", "utf16.names", "k.gz", "text.txt"])
@pytest.mark.parametrize(
    "use",
    [
        "report k.kpd --names NAME",
        "names check NAME",
        "instrument text.txt --diff --names NAME --cc none",
        "check k.kpd --budget NAME",
    ],
)
def test_not_what_is_expected(use: str, name: str) -> None:
    done = invoke(use.replace("NAME", name))
    assert isinstance(done.exception, KprofError), repr(done.exception)
    lines = str(done.exception).splitlines()
    assert len(lines) == (11 if name == "text.txt" else 1)
    assert all(line.startswith(f"{name}:") for line in lines[:10])
    assert len(str(done.exception)) < 2000


def test_ten_problems_and_how_many_more(files: Path) -> None:
    with pytest.raises(NameFileError) as caught:
        read_names(files / "many.names")
    assert len(caught.value.problems) > 150_000
    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert lines[-1] == f"and {len(caught.value.problems) - 10} more"
    assert str(ProblemsError(["x"] * 10)).count("x") == 10
    assert "more" not in str(ProblemsError(["x"] * 10))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("k.gz", "is packed with gzip"),
        ("k.bz2", "is packed with bzip2"),
        ("k.xz", "is packed with xz"),
        ("k.elf", "is a program (ELF)"),
        ("text.txt", "is text"),
    ],
)
def test_no_capture(files: Path, name: str, said: str) -> None:
    data = Path("k.bin").read_bytes()
    Path("k.bz2").write_bytes(bz2.compress(data))
    Path("k.xz").write_bytes(lzma.compress(data))
    path = files / name
    data = path.read_bytes()
    path.write_bytes(data + bytes(-len(data) % 5) if name != "text.txt" else data)
    for verb in ("report", "info", "export --format csv"):
        done = invoke(f"{verb} {name}")
        assert isinstance(done.exception, CaptureError), repr(done.exception)
        assert f"{name}: {said}; expected a capture file or a raw image" in str(done.exception)
    forced = open_capture(path, record_order="records:01234")
    assert forced.events == len(path.read_bytes()) // 5


@pytest.mark.usefixtures("files")
def test_noise_is_not_exported() -> None:
    Path("noise.bin").write_bytes(random.Random(1).randbytes(50_000))
    for form in ("csv", "perfetto", "ctf"):
        done = invoke(f"export noise.bin --format {form} -o out --names k.names")
        assert isinstance(done.exception, CaptureError)
        assert "noise.bin" in str(done.exception)
        assert "k.names: does not know the tags of" in str(done.exception)
        assert not Path("out").exists()


@pytest.mark.parametrize("text", ["f/1024\n", "# a comment\nf/1024\ng/1026\n", "f/1024"])
def test_a_byte_order_mark_means_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "k.names"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    names = read_names(path)
    assert names.entries[0].line() == "f/1024"
    assert names.text.encode() == path.read_bytes()
    assert allocate(path, ["late"])["late"].value == names.next_value(1024)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf" + text.encode())
    assert [entry.name for entry in read_names(path).entries][-1] == "late"
    made = Capture.from_events([1, 2], [1024, 1025], with_names(CaptureInfo(), names))
    assert names_mismatch(made, read_names(path), "k.names") is None


def test_zeros_past_the_last_line_are_torn(tmp_path: Path) -> None:
    """What a crash of the system leaves of an append; in the middle zeros are no text."""
    path = tmp_path / "k.names"
    path.write_bytes(b"f/1024\n" + bytes(50))
    assert [entry.name for entry in read_names(path).entries] == ["f"]
    path.write_bytes(b"f/1024\n" + bytes(50) + b"g/1026\n")
    with pytest.raises(NameFileError, match="is not text: byte 7 is zero"):
        read_names(path)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("name", "said"), [("cmd.c", "is text"), ("k.gz", "is packed with gzip")])
def test_no_kernel(name: str, said: str) -> None:
    pytest.importorskip("machine68k", reason="the extra 'board' is not installed")
    Path("cmd.c").write_text("int main(void)\n{\n\treturn 0;\n}\n")
    done = invoke(f"sim {name} --dump out")
    assert isinstance(done.exception, BoardError)
    assert f"{name}: {said}; expected an ELF executable" in str(done.exception)


@pytest.mark.usefixtures("files")
def test_an_order_of_records_is_held_to() -> None:
    done = invoke("report k.kpd --record-order 99")
    assert isinstance(done.exception, KprofError)
    assert "record order '99'; expected the digits" in str(done.exception)
    done = invoke("report k.kpd --record-order 43210")
    assert done.exception is None
    assert "k.kpd: knows the order of its records; --record-order 43210 is not used" in done.stderr


def test_nothing_of_a_file_steers_the_terminal(tmp_path: Path) -> None:
    """Names and metadata with escape sequences in them, and bytes that are no UTF-8."""
    evil = "\x1b]0;title\x07\x1b[31m\u202e"
    info = CaptureInfo(valid_from=f"all {evil}", metadata={"board": evil, "valid_from": evil})
    made = Capture.from_events([1, 2], [1024, 1025], info)
    folder = tmp_path / f"a{evil}b"
    folder.mkdir()
    write_capture(folder / "k.kpd", made)
    (folder / "k.names").write_bytes(b"f\x1b[31m\xff/1024\n")
    (folder / "other.names").write_bytes(b"g\x1b[31m/1024\nbad\x1b\n")
    (folder / "s.json").write_text("{")
    for arguments in (
        ["report", "k.kpd"],
        ["report", "k.kpd", "--trace"],
        ["report", "k.kpd", "--names", "other.names"],
        ["info", "k.kpd"],
        ["info", "none.kpd"],
        ["report", "s.json"],
        ["diff", "k.kpd", "k.kpd"],
        ["check", "k.kpd", "--budget", "none"],
        ["convert", "k.kpd", "-o", "k.bin"],
        ["export", "k.kpd", "--format", "folded"],
        ["names", "list", "k.names"],
        ["names", "check", "other.names"],
    ):
        words = [
            str(folder / word) if "." in word or word == "none" else word for word in arguments
        ]
        command = [sys.executable, "-m", "kprof", *words]
        done = subprocess.run(command, capture_output=True, check=False)
        for stream in (done.stdout, done.stderr):
            assert b"\x1b" not in stream, (arguments, stream)
            assert "\u202e".encode() not in stream, (arguments, stream)
        assert b"Traceback" not in done.stderr, done.stderr.decode()


@pytest.mark.usefixtures("files")
def test_the_report_says_how_many_events_were_lost() -> None:
    for lost, said in ((None, ""), (0, ""), (1, ", 1 event lost"), (12345, ", 12345 events lost")):
        info = CaptureInfo(full=True, lost=lost, valid_from="the full flag")
        write_capture("lost.kpd", Capture.from_events([1, 2], [1024, 1025], info))
        done = invoke("report lost.kpd --names k.names")
        assert done.stdout.startswith(f"lost.kpd: 2 events, event RAM full{said} (the full flag)\n")
