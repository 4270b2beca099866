"""No output replaces an input, a source, or anything that kprof did not write in this form.

Every verb with every output option, against every kind of file that may be there.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.capture.traces import capture

from kprof.capture import write_banks, write_capture, write_raw
from kprof.capture.match import with_names
from kprof.capture.model import Capture, CaptureInfo
from kprof.cli.main import kprof_command
from kprof.errors import FileAccessError, KprofError, MissingExtraError, UsageError
from kprof.export.formats import FORMATS
from kprof.names import parse_names

PREBUILT = Path(__file__).parents[2] / "examples" / "minikernel" / "prebuilt"
ENTRIES = "".join(f"f{n}/{1024 + 2 * n}\n" for n in range(30))
NAMES = ENTRIES + "".join(f"i{n}/{1084 + 2 * n}=\n" for n in range(8))
SOURCE = "#include <stdio.h>\n\nint f0(int n)\n{\n\treturn n + 1; /* total us */\n}\n"

# OUT is the output; what a verb reads is k.* (a capture, its names, a source, ...).
REMADE = [
    "report k.kpd -o OUT",
    "report k.kpd --trace -o OUT",
    "report k.kpd --trace --color always -o OUT",
    "report k.kpd --trace --marks -o OUT",
    "report k.kpd --graph -o OUT",
    "report k.kpd --graph f0 -o OUT",
    "report k.kpd --hist f0 -o OUT",
    "report k.kpd --worst f0 -o OUT",
    "report k.kpd --slower-than 10us -o OUT",
    "report k.kpd --slower-than 10s -o OUT",
    "report k.kpd --around 1000us -o OUT",
    "report k.kpd --between i0 i1 -o OUT",
    "report k.kpd --interrupts -o OUT",
    "report k.kpd --tasks -o OUT",
    "report k.kpd --never -o OUT",
    "report k.kpd -f call,total -o OUT",
    "report k.kpd --elf k.elf -f +size -o OUT",
    "report k.kpd --format json -o OUT",
    "report k.kpd --trace --format json -o OUT",
    "report k.kpd --graph --format json -o OUT",
    "report k.kpd --tasks --format json -o OUT",
    "report k.kpd k.kpd -o OUT",
    "report k.bin --previous k2.bin -o OUT",
    "diff k.kpd k.kpd -o OUT",
    "diff k.kpd k.kpd -a -o OUT",
    "diff k.kpd k.kpd --format json -o OUT",
    "diff k.kpd k.kpd --format folded -o OUT",
    "annotate k.c k.kpd -o OUT",
]
OTHERS = [
    "report k.kpd --html OUT",
    "report k.kpd --html OUT --diff-with k2.bin",
    "check k.kpd --budget k.budget --junit OUT",
    "report k.kpd --save OUT.json",
    "merge k.kpd k.kpd -o OUT.json",
    "instrument --header OUT --names k.names",
    *(
        f"export k.kpd --format {form} -o OUT"
        for form, about in FORMATS.items()
        if not about.folder
    ),
]
CAPTURES = [
    "import k.csv -o OUT",
    "convert k.kpd -o OUT --to raw",
    "convert k.kpd -o OUT --to kpd",
    "convert k.0 k.1 k.2 k.3 k.4 -o OUT --to kpd",
    "sim --dump OUT",
    "sim k.elf --dump OUT --names k.names",
    "upload /dev/ttyNone7 -o OUT",
    "upload /dev/ttyNone7 -o OUT --names k.names",
    "upload /dev/ttyNone7 -o made --trace-line OUT",
]


def invoke(use: str, out: str = "out") -> Result:
    arguments = use.replace("OUT", out).split()
    return CliRunner().invoke(kprof_command, arguments, standalone_mode=False)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = capture(300)
    info = with_names(CaptureInfo(), parse_names(NAMES))
    write_capture("k.kpd", Capture(info, made.records))
    write_raw("k.bin", made)
    write_raw("k2.bin", capture(300, seed=2))
    write_banks([f"k.{bank}" for bank in range(5)], made)
    Path("k.names").write_text(NAMES)
    Path("k.c").write_text(SOURCE)
    Path("k.budget").write_text("f0.call < 400\norphan_exits == 0\n")
    rows = "".join(f"{n}e-6,{n % 2},{n // 2 % 2}\n" for n in range(40))
    Path("k.csv").write_text("Time [s],A0,CE\n" + rows)
    shutil.copyfile(PREBUILT / "kernel.elf", "k.elf")
    return tmp_path


def foreign(folder: Path) -> dict[str, bytes]:
    """What may stand where an output is to go: contents by kind."""
    read = {name: (folder / name).read_bytes() for name in os.listdir(folder)}  # noqa: PTH208
    return {
        **{f"a copy of {name}": data for name, data in read.items()},
        "header": b"#ifndef X_H\n#define X_H\nint f(void); /* 3:000 000 -> f (2 us) */\n#endif\n",
        "script": b"#!/bin/sh\necho 5 total us\n",
        "makefile": b"all: prog\n\tcc -o prog k.c # 12 us\n",
        "notes": b"What I saw on Monday:\n- lanisr takes 500 us, too long\n",
        "readme": b"# kprof\n\nProfiles kernels: 16 events at most.\n",
        "settings": b'{\n  "name": "x",\n  "events": 3\n}\n',
        "list": b'[\n {"directory": "/", "file": "k.c"}\n]\n',
        "page": b"<!DOCTYPE html>\n<html><body>kprof was here</body></html>\n",
        "tests": b'<?xml version="1.0"?>\n<testsuite name="unit tests"/>\n',
        "recording": b"$date today $end\n$timescale 1 us $end\n$var wire 1 ! A0 $end\n",
        "packed": gzip.compress(read["k.bin"]),
        "noise": bytes(range(256)) * 40,
        "names of many": b"# a comment\nsofttint/1024\n\nsw/1026$\n",
        "old names": ENTRIES.encode(),
    }


def state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("use", REMADE + OTHERS + CAPTURES)
def test_a_file_of_anybody_else_stays(files: Path, use: str) -> None:
    out = Path("out.json" if "OUT.json" in use else "out")
    for kind, content in foreign(files).items():
        out.write_bytes(content)
        before = state(files)
        done = invoke(use)
        assert isinstance(done.exception, UsageError), (kind, done.exception, done.output)
        assert str(out) in str(done.exception)
        assert done.stdout == ""
        assert state(files) == before, kind


@pytest.mark.parametrize("use", REMADE + OTHERS + CAPTURES)
def test_an_input_stays_by_whatever_name(files: Path, use: str) -> None:
    """A link to each file that the command reads, and --force with it."""
    out = Path("out.json" if "OUT.json" in use else "out")
    read = [word for word in use.split() if word.startswith("k") and Path(word).exists()]
    if use.startswith(("report", "diff", "annotate", "export", "merge", "check")):
        read.append("k.names")  # found beside the capture
    for name in read:
        for link in (os.link, os.symlink):
            link(files / name, out)
            before = state(files)
            done = invoke(use + " --force")
            assert isinstance(done.exception, UsageError), (name, done.exception, done.output)
            assert state(files) == before, name
            out.unlink()


@pytest.mark.parametrize("use", REMADE + OTHERS + CAPTURES)
def test_a_folder_is_no_output(files: Path, use: str) -> None:
    (files / "out").mkdir()
    (files / "out.json").mkdir()
    done = invoke(use)
    assert isinstance(done.exception, FileAccessError), done.exception
    assert "is a folder" in str(done.exception)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("use", REMADE + OTHERS)
def test_what_kprof_wrote_is_replaced(use: str) -> None:
    out = Path("out.json" if "OUT.json" in use else "out")
    done = invoke(use)
    assert done.exception is None, repr(done.exception)
    content = out.read_bytes()
    done = invoke(use)
    assert done.exception is None, repr(done.exception)
    assert len(out.read_bytes()) == len(content)
    for old in (b"", SOURCE.encode()):
        out.write_bytes(old)
        assert invoke(use + " --force" * bool(old)).exception is None
        assert len(out.read_bytes()) == len(content)


@pytest.mark.usefixtures("files")
def test_a_report_replaces_a_report() -> None:
    for use in REMADE + REMADE[::-1]:
        done = invoke(use)
        assert done.exception is None, (use, done.exception)


@pytest.mark.usefixtures("files")
def test_a_form_does_not_replace_another() -> None:
    made = {}
    for use in (REMADE[0], *OTHERS):
        out = Path("out.json" if "OUT.json" in use else "out")
        assert invoke(use).exception is None
        made[use] = out.read_bytes()
        out.unlink()
    for use in (REMADE[0], *OTHERS):
        for other, content in made.items():
            pages = sum("--html" in one for one in (use, other))
            saved = sum("json" in one for one in (use, other))
            if use == other or pages == 2 or saved == 2 or "folded" in other:
                continue
            out = Path("out.json" if "OUT.json" in use else "out")
            out.write_bytes(content)
            assert isinstance(invoke(use).exception, KprofError), (use, other)
            assert out.read_bytes() == content
            out.unlink()


@pytest.mark.parametrize("use", ["convert k.kpd -o OUT --to banks"])
def test_bank_images(files: Path, use: str) -> None:
    Path("out.3").write_bytes(b"mine")
    assert isinstance(invoke(use).exception, UsageError)
    Path("out.3").unlink()
    os.link("k.2", "out.4")
    again = "convert k.0 k.1 k.2 k.3 k.4 -o out --to banks --force"
    assert isinstance(invoke(again).exception, UsageError)
    assert sorted(path.name for path in files.glob("out.*")) == ["out.4"]


def test_a_ctf_folder(files: Path) -> None:
    use = "export k.kpd --format ctf -o OUT"
    Path("out").mkdir()
    assert invoke(use).exception is None  # an empty one
    trace = state(files / "out")
    assert invoke(use).exception is None  # its own
    assert set(state(files / "out")) == set(trace) == {"events", "metadata"}
    assert len(list(files.iterdir())) == len({*files.iterdir()})
    for name, content in (("main.c", b"int x;"), ("metadata", b"/* CTF 1.8 */"), ("events", b"1")):
        shutil.rmtree("out")
        Path("out").mkdir()
        (Path("out") / name).write_bytes(content)
        before = state(files)
        done = invoke(use)
        assert isinstance(done.exception, UsageError)
        assert name in str(done.exception)
        assert state(files) == before
    assert invoke(use + " --force").exception is None


def test_copies_replace_copies_alone(files: Path) -> None:
    Path("src").mkdir()
    Path("made").mkdir()
    Path("src/a.c").write_text(SOURCE)
    Path("src/data.c").write_text("int table[] = {1, 2};\n")
    Path("src/bom.c").write_bytes(b"\xef\xbb\xbfint more = 1;\n")
    use = "instrument src/a.c src/data.c src/bom.c -o OUT --names new.names --cc none"
    for name in ("a.c", "data.c"):
        Path("made", name).write_text("int other(void) { return 2; }\n")
        done = invoke(use, "made")
        assert isinstance(done.exception, UsageError)
        assert name in str(done.exception)
        assert not Path("new.names").exists()
        assert Path("made", name).read_text().startswith("int other")
        Path("made", name).unlink()
    for _ in range(2):
        assert invoke(use, "made").exception is None
    Path("src/data.c").write_text("int table[] = {1, 2};\nint late(void) { return 1; }\n")
    assert invoke(use, "made").exception is None
    Path("src/data.c").write_text("int table[] = {1, 2};\n")
    assert invoke(use, "made").exception is None
    assert isinstance(
        invoke("instrument src/a.c -o OUT --names new.names", "src").exception, UsageError
    )
    back = "instrument made/a.c made/data.c made/bom.c --un-instrument -o OUT"
    assert invoke(back, "back").exception is None
    assert state(files / "back") == state(files / "src")
    os.link("src/a.c", "again.c")
    shutil.rmtree("made")
    Path("made").mkdir()
    os.link("src/a.c", "made/a.c")
    assert isinstance(invoke(use + " --force", "made").exception, UsageError)
    assert Path("src/a.c").read_text() == SOURCE


@pytest.mark.parametrize("mine", ["kernel.names", "kernel.elf", "dump.bin", "src/main.c"])
def test_a_demonstration_has_a_folder_of_its_own(files: Path, mine: str) -> None:
    Path("made/src").mkdir(parents=True)
    if mine != "src/main.c":
        Path("made/src").rmdir()
    Path("made", mine).write_bytes(b"lanisr/1024\n")
    before = state(files)
    done = invoke("demo -o made --ready-built")
    assert isinstance(done.exception, UsageError), done.exception
    assert "is not of an earlier kprof demo" in str(done.exception)
    assert state(files) == before


def test_a_demonstration_without_the_board_begins_nothing(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "machine68k", None)
    done = invoke("demo -o made --ready-built")
    assert isinstance(done.exception, MissingExtraError)
    assert not (files / "made").exists()


DASHES = {
    "report k.kpd --save -": "expected a name that ends in .json",
    "merge k.kpd -o -": "expected a name that ends in .json",
    "export k.kpd --format ctf -o -": "is a folder of files",
    "convert k.kpd -o - --to banks": "expected a name for them",
    "upload /dev/ttyNone7 -o -": "expected the name of a file",
    "upload /dev/ttyNone7 -o x --trace-line -": "expected the name of a file",
    "instrument k.c -o - --header - --names new.names": "both go to stdout",
    "instrument k.c -o - --names -": "expected the name of a file",
    "demo -o -": "expected the name of a folder",
}


@pytest.mark.parametrize("use", DASHES)
def test_a_dash_that_is_refused(files: Path, use: str) -> None:
    done = invoke(use)
    assert isinstance(done.exception, UsageError), done.exception
    assert DASHES[use] in str(done.exception)
    assert not list(files.glob("-*"))


@pytest.mark.parametrize(
    ("use", "start"),
    [
        ("report k.kpd -o -", b"k.kpd: 300 events"),
        ("report k.kpd --html -", b"<!DOCTYPE html>"),
        ("annotate k.c k.kpd -o -", b"# calls"),
        ("diff k.kpd k.kpd -o -", b"before: "),
        ("export k.kpd --format csv -o -", b"call,parent"),
        ("export k.kpd --format perfetto -o -", b"\n"),
        ("check k.kpd --budget k.budget --junit -", b"<?xml"),
        ("import k.csv -o -", b"\x89KPD"),
        ("convert k.kpd -o - --to kpd", b"\x89KPD"),
        ("convert k.kpd -o - --to raw", b"\0"),
        ("instrument k.c -o - --names new.names", b"#include"),
        ("instrument --header - --names k.names", b"/* Made by kprof"),
    ],
)
def test_a_dash_is_stdout_and_nothing_else_is_in_it(files: Path, use: str, start: bytes) -> None:
    done = invoke(use)
    assert done.exception is None or isinstance(done.return_value, int), done.exception
    piped = done.stdout_bytes
    assert piped.startswith(start)
    if "--junit" in use:
        assert piped.endswith(b"</testsuite>\n")
    elif "new.names" not in use:
        named = "OUT".join(use.rsplit("-", 1)) if use.endswith("-") else use.replace(" - ", " OUT ")
        assert invoke(named, "out.bin").exception is None
        assert len(Path("out.bin").read_bytes()) == len(piped)
    assert not list(files.glob("-*"))
