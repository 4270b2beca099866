"""`kprof annotate`, and where the functions of a source are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kprof.analysis import summarise
from kprof.capture import Capture, write_raw
from kprof.errors import KprofError
from kprof.instrument.definitions import definitions
from kprof.names import parse_names
from kprof.names.calls import parse_calls
from kprof.report.annotate import annotate, source_links

SOURCE = """\
/* \x1b[2J */
static int
twice(int x)
{
	return 2 * x;
}

int once(void) { return twice(1); }
int never(void) { return 0; }
"""
NAMES = parse_names("once/1024\n#@ src/a.c\na.c:twice/1026\nnever/1028\n#@ b.c\ntwice/1030\n")
CAPTURE = Capture.from_events([0, 10, 1510, 1520], [1024, 1026, 1027, 1025])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "src" / "a.c"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


def test_the_margin_has_the_figures_of_the_summary(source: Path) -> None:
    lines = list(annotate(source, NAMES, summarise(CAPTURE, NAMES)))
    assert lines[0].split()[:7] == ["#", "calls", "net", "us", "max", "us", "%"]
    assert lines[1].split(None, 1) == ["1", "/* \\x1b[2J */"]
    assert lines[3].split() == ["1", "1500", "1500", "98.68%", "3", "twice(int", "x)"]
    assert lines[8].split()[:5] == ["1", "20", "20", "1.32%", "8"]
    assert lines[9].split()[:5] == ["0", "-", "-", "-", "9"]
    assert lines[5].endswith("5  \treturn 2 * x;")


def test_functions_on_one_line_have_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text("int once(void) { return 1; } int never(void) { return 0; }\nint x;\n")
    names = parse_names("once/1024\nnever/1026\n")
    capture = Capture.from_events([0, 10, 20, 26], [1024, 1025, 1024, 1025])
    lines = list(annotate(path, names, summarise(capture, names)))
    assert [line.split(maxsplit=4) for line in lines[1:]] == [
        ["2", "16", "10", "61.54%", "once:"],
        ["0", "-", "-", "-", "never:"],
        ["1", "int", "once(void)", "{", "return 1; } int never(void) { return 0; }"],
        ["2", "int", "x;"],
    ]
    assert lines[1].index("once:") == lines[2].index("never:") == lines[3].index("int once")


def test_a_static_function_is_that_of_its_file(source: Path) -> None:
    found = definitions(source, NAMES)
    assert found is not None
    assert [(d.entry.name, d.first, d.last) for d in found.definitions] == [
        ("a.c:twice", 3, 6),
        ("once", 8, 8),
        ("never", 9, 9),
    ]


def test_links_lead_to_the_line(source: Path) -> None:
    links = source_links(NAMES, source.parent.parent)
    assert links["a.c:twice"] == f"{source.as_uri()}#3"
    assert "twice" not in links  # b.c is not there


@pytest.mark.parametrize(
    ("text", "message"),
    [("int other(void) { return 1; }\n", "none of its functions"), (None, "cannot read")],
)
def test_what_cannot_be_annotated(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "x.c"
    if text is not None:
        path.write_text(text)
    with pytest.raises(KprofError, match=message):
        list(annotate(path, NAMES, summarise(CAPTURE, NAMES)))


def test_the_command(source: Path, tmp_path: Path) -> None:
    dump = tmp_path / "dump.bin"
    write_raw(dump, CAPTURE)
    (tmp_path / "dump.names").write_text(NAMES.text)
    done = subprocess.run(
        [sys.executable, "-m", "kprof", "annotate", str(source), str(dump)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(
        line + "\n" for line in annotate(source, NAMES, summarise(CAPTURE, NAMES))
    )


def test_how_to_read_a_raw_image_is_an_option(source: Path, tmp_path: Path) -> None:
    """Four events over the run before, the bytes of each record backwards."""
    records = [bytes(record)[::-1] for record in CAPTURE.records]
    old = [bytes([99] * 5)] * 6
    (tmp_path / "old.bin").write_bytes(b"".join(old))
    (tmp_path / "dump.bin").write_bytes(b"".join([*records, *old[4:]]))
    (tmp_path / "dump.names").write_text(NAMES.text)
    command = [sys.executable, "-m", "kprof", "annotate", str(source), "dump.bin"]
    command += ["--previous", "old.bin", "--record-order", "43210"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(
        line + "\n" for line in annotate(source, NAMES, summarise(CAPTURE, NAMES))
    )


def test_the_page_from_the_command_line(source: Path, tmp_path: Path) -> None:
    dump, page = tmp_path / "dump.bin", tmp_path / "out.html"
    write_raw(dump, CAPTURE)
    (tmp_path / "dump.names").write_text(NAMES.text)

    def report(*options: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "kprof", "report", str(dump), *map(str, options)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = report("--html", page)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        f"kprof: {page}: {page.stat().st_size // 1000} kB, to be opened in a browser\n"
    )
    plain = page.read_text("ascii")
    assert "2 * x" not in plain
    assert '"path":"src/a.c","text":"","lines":[[1,3,6],[0,8,8],[2,9,9]]' in plain
    assert report("--html", page, "--sources", "--diff-with", dump).returncode == 0
    assert "return 2 * x;" in page.read_text("ascii")
    assert report("--html", "-").stdout == plain
    refused = report("--sources")
    assert refused.returncode == 2
    assert "is for the page (--html FILE)" in refused.stderr
    assert source.exists()


MACRO = """\
#define HANDLER(n) static int n##_handler(int x)
HANDLER(rx)
{
	return x;
}
HANDLER(tx) { return x + 1; }
int once(void) { return rx_handler(1) + tx_handler(2); }
"""
MACRO_NAMES = parse_names(
    "#@ src/m.c\nm.c:rx_handler/1024\nm.c:tx_handler/1026\n#@ src/m.c\nonce/1028\n"
)
MACRO_EVENTS = Capture.from_events([0, 1, 31, 32, 52, 60], [1028, 1024, 1025, 1026, 1027, 1029])


def test_functions_whose_heads_macros_make(tmp_path: Path) -> None:
    path = tmp_path / "src" / "m.c"
    path.parent.mkdir()
    path.write_text(MACRO)
    summary = summarise(MACRO_EVENTS, MACRO_NAMES)
    lines = list(annotate(path, MACRO_NAMES, summary))
    assert lines[-3].strip() == "functions of this file that its text does not show:"
    assert [line.split() for line in lines[-2:]] == [
        ["1", "30", "30", "50.00%", "m.c:rx_handler"],
        ["1", "20", "20", "33.33%", "m.c:tx_handler"],
    ]
    known = parse_calls(
        "# kprof calls 1\nm.c:rx_handler\tsrc/m.c:2\tS\tstatic int rx_handler(int x)\t\t\n"
        "m.c:tx_handler\tsrc/m.c:900\tS\tstatic int tx_handler(int x)\t\t\n"
    )
    lines = list(annotate(path, MACRO_NAMES, summary, known))
    assert lines[2].split() == ["1", "30", "30", "50.00%", "2", "HANDLER(rx)"]
    assert [line.split()[-1] for line in lines[-2:]] == ["show:", "m.c:tx_handler"]
