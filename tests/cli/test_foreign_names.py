"""The name file of another build: every verb that takes one says so, and `check` refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import kprof
from kprof.capture import Capture, CaptureInfo, open_capture, write_capture
from kprof.capture.match import ENTRIES, names_mismatch, with_names
from kprof.cli.main import kprof_command
from kprof.errors import KprofError, UsageError
from kprof.names import parse_names

# One program built twice; in the second build a function came in before b.
BUILT = "# the kernel\na/1024\nb/1026\nspare/1040\n"
OTHER = "a/1024\nnew/1026\nb/1028\n"
SAID = "other.names: is not the name file of "
EVENTS = [(0, 1024), (100, 1026), (900, 1027), (1000, 1025), (1200, 1024), (1300, 1025)]

VERBS = [
    "report dump.kpd --names other.names",
    "report dump.kpd --trace --names other.names",
    "report dump.kpd --format json --names other.names",
    "report dump.kpd --html page.html --names other.names",
    "report dump.kpd dump.kpd --names other.names",
    "report dump.kpd --save s.json --names other.names",
    "diff dump.kpd dump.kpd --names other.names",
    "diff dump.kpd dump.kpd --after-names other.names",
    "merge dump.kpd -o s.json --names other.names",
    "export dump.kpd --format csv --names other.names",
    "export dump.kpd --format ctf -o t --names other.names",
    "annotate a.c dump.kpd --names other.names",
    "info dump.kpd --names other.names",
    "info dump.kpd --format json --names other.names",
    "convert dump.kpd -o new.kpd --names other.names",
    # Beside this one lies no other.
    "report alone/dump.kpd",
    "export alone/dump.kpd --format folded",
    "info alone/dump.kpd",
    "diff alone/dump.kpd dump.kpd",
    "report dump.kpd --html page.html --diff-with alone/dump.kpd",
]


def capture_of(info: CaptureInfo) -> Capture:
    return Capture.from_events([t for t, _ in EVENTS], [g for _, g in EVENTS], info)


@pytest.fixture(params=["entries", "digest"])
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A capture with its name file beside it, and one beside another build's name file."""
    monkeypatch.chdir(tmp_path)
    names = parse_names(BUILT)
    info = with_names(CaptureInfo(), names)
    if request.param == "digest":
        info = replace(info, metadata={})
    Path("alone").mkdir()
    for dump in ("dump.kpd", "alone/dump.kpd"):
        write_capture(dump, capture_of(info))
    Path("dump.names").write_text(BUILT)
    Path("other.names").write_text(OTHER)
    Path("alone/other.names").write_text(OTHER)
    Path("a.c").write_text("int a(void)\n{\n\treturn 1;\n}\n")
    Path("k.budget").write_text("a.max < 1s\n")
    return tmp_path


def invoke(use: str) -> Result:
    return CliRunner().invoke(kprof_command, use.split(), standalone_mode=False)


@pytest.mark.parametrize("use", VERBS)
@pytest.mark.usefixtures("files")
def test_every_verb_says_it(use: str) -> None:
    done = invoke(use)
    assert done.exception is None, repr(done.exception)
    assert SAID in done.stderr
    assert done.stderr.count(SAID) == (2 if use.startswith("report dump.kpd dump.kpd") else
                                       2 if use == VERBS[6] else 1)  # fmt: skip


@pytest.mark.parametrize("use", VERBS)
@pytest.mark.usefixtures("files")
def test_no_verb_says_it_of_the_right_one(use: str) -> None:
    Path("other.names").write_text(BUILT)
    Path("alone/other.names").write_text(BUILT + "later/2000\n")
    done = invoke(use)
    assert done.exception is None, repr(done.exception)
    assert "is not the name file" not in done.stderr


@pytest.mark.usefixtures("files")
def test_check_refuses() -> None:
    done = invoke("check dump.kpd --budget k.budget --names other.names")
    assert isinstance(done.exception, UsageError)
    assert SAID in str(done.exception)
    assert done.stdout == ""
    done = invoke("check dump.kpd --budget k.budget")
    assert (done.exception, done.return_value) == (None, 0)


@pytest.mark.usefixtures("files")
def test_check_refuses_what_the_names_hardly_know() -> None:
    """A capture without a digest: most of its tags are in nobody's file."""
    ticks, tags = list(range(100)), [1024, 1025] * 20 + list(range(30000, 30060))
    write_capture("plain.kpd", Capture.from_events(ticks, tags))
    done = invoke("check plain.kpd --budget k.budget --names other.names")
    assert isinstance(done.exception, KprofError)
    assert "other.names" in str(done.exception)
    assert "60 of 100 events" in str(done.exception)


@pytest.mark.usefixtures("files")
def test_export_says_what_the_names_hardly_know() -> None:
    ticks, tags = list(range(100)), [1024, 1025] * 20 + list(range(30000, 30060))
    write_capture("plain.kpd", Capture.from_events(ticks, tags))
    done = invoke("export plain.kpd --format csv --names other.names")
    assert done.exception is None
    assert "60 of 100 events" in done.stderr


@pytest.mark.usefixtures("files")
def test_python_warns() -> None:
    with pytest.warns(UserWarning, match=SAID):
        kprof.load("dump.kpd", "other.names")
    with pytest.warns(UserWarning, match="is not the name file"):
        kprof.load("alone/dump.kpd")
    with pytest.warns(UserWarning, match="is not the name file"):
        kprof.load("dump.kpd", parse_names(OTHER))
    assert kprof.load("dump.kpd").summary.events == len(EVENTS)


@pytest.mark.usefixtures("files")
def test_info_shows_both() -> None:
    mine, theirs = (parse_names(text).sha256().hex() for text in (BUILT, OTHER))
    text = invoke("info dump.kpd --names other.names").stdout
    assert f"other.names (SHA-256 {theirs}; knows every tag; not the capture's)" in text
    assert f"the capture's SHA-256 {mine}" in text
    assert ENTRIES not in text
    value = json.loads(invoke("info dump.kpd --names other.names --format json").stdout)
    assert (value["names_sha256"], value["names_file_sha256"]) == (mine, theirs)
    assert value["names_match"] is False
    value = json.loads(invoke("info dump.kpd --format json").stdout)
    assert value["names_match"] is True
    write_capture("plain.kpd", capture_of(CaptureInfo()))
    value = json.loads(invoke("info plain.kpd --names dump.names --format json").stdout)
    assert value["names_match"] is None


@pytest.mark.parametrize(
    "text",
    [
        BUILT,
        BUILT + "c/1042\n",
        BUILT.replace("# the kernel\n", ""),
        BUILT.replace("\n", "\r\n"),
        "b/1026\na/1024\n",
        "z/2=\n" + BUILT,
        BUILT.replace("spare/1040", "used/1040"),  # no event is of it
    ],
)
def test_the_entries_that_occur_are_the_same(text: str) -> None:
    made = capture_of(with_names(CaptureInfo(), parse_names(BUILT)))
    assert names_mismatch(made, parse_names(text), "k.names") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            OTHER,
            "2 of the tags that occur are of other entries (1026 is b/1026 in the capture, new",
        ),
        (
            "a/1024\n",
            "2 of the tags that occur are of other entries (1026 is b/1026 in the capture, n",
        ),
        ("a/1024\nb/1026!\n", "(1026 is b/1026 in the capture, b/1026! in the file"),
        ("a/1026\nb/1024\n", "4 of the tags that occur"),
    ],
)
def test_entries_that_occur_differ(text: str, said: str) -> None:
    made = capture_of(with_names(CaptureInfo(), parse_names(BUILT)))
    assert said in str(names_mismatch(made, parse_names(text), "k.names"))


def test_a_modifier_of_a_newer_kprof_leaves_the_digest() -> None:
    info = with_names(CaptureInfo(), parse_names(BUILT))
    info = replace(info, metadata={ENTRIES: "a/1024^7"})
    assert names_mismatch(capture_of(info), parse_names(BUILT), "k.names") is None
    assert "its SHA-256 is" in str(names_mismatch(capture_of(info), parse_names(OTHER), "k.names"))


@pytest.mark.usefixtures("files")
def test_convert_gives_a_capture_its_names() -> None:
    """The way to say that a name file is right all the same."""
    invoke("convert dump.kpd -o new.kpd --names other.names")
    assert "is not the name file" not in invoke("info new.kpd --names other.names").stderr
    assert open_capture("new.kpd").info.names_sha256 == parse_names(OTHER).sha256()
    invoke("convert new.kpd -o raw.bin")
    invoke("convert dump.kpd -o copy.kpd")
    kept = open_capture("copy.kpd").info
    assert kept.names_sha256 == parse_names(BUILT).sha256()
    assert kept.metadata.get(ENTRIES) == open_capture("dump.kpd").info.metadata.get(ENTRIES)


@pytest.mark.usefixtures("files")
def test_on_a_real_stderr() -> None:
    command = [sys.executable, "-m", "kprof", "report", "dump.kpd", "--names", "other.names"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    assert done.stderr.startswith("kprof: other.names: is not the name file of dump.kpd: ")
    assert done.stderr.count("\n") == 1


def program(path: Path, text: str) -> None:
    """A linked program with the digest of a name file in it, as `kprof cc` plants it."""
    numbers = ",".join(map(str, parse_names(text).sha256()))
    source = path.with_suffix(".c")
    source.write_text(
        f"const unsigned char kprof_names_sha256[32]={{{numbers}}};int main(void){{}}"
    )
    subprocess.run(["gcc", "-o", str(path), str(source)], check=True)


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
@pytest.mark.usefixtures("files")
def test_the_program_knows_its_name_file() -> None:
    """A raw image carries nothing: the program's digest makes a capture of it that does."""
    program(Path("prog"), BUILT)
    invoke("convert dump.kpd -o raw.bin")
    assert invoke("convert raw.bin --valid all -o right.kpd --elf prog").exception is None
    assert invoke("info right.kpd --names dump.names").stderr == ""
    assert SAID in invoke("info right.kpd --names other.names").stderr
    done = invoke("convert raw.bin --valid all -o both.kpd --elf prog --names other.names")
    assert SAID in done.stderr
    info = open_capture("both.kpd").info
    assert (info.names_sha256, ENTRIES in info.metadata) == (parse_names(BUILT).sha256(), False)
    invoke("convert raw.bin --valid all -o grown.kpd --elf prog --names alone/other.names")
    Path("grown.names").write_text(BUILT + "c/1042\n")
    invoke("convert raw.bin --valid all --force -o grown.kpd --elf prog --names grown.names")
    assert "c/1042" in str(open_capture("grown.kpd").info.metadata[ENTRIES])


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc here")
@pytest.mark.usefixtures("files")
def test_an_import_carries_the_programs_digest() -> None:
    program(Path("prog"), BUILT)
    rows = "".join(f"{n}e-6,{n % 2},{n // 2 % 2}\n" for n in range(40))
    Path("log.csv").write_text("Time [s],A0,CE\n" + rows)
    assert invoke("import log.csv -o log.kpd --elf prog").exception is None
    assert open_capture("log.kpd").info.names_sha256 == parse_names(BUILT).sha256()
    done = invoke("import log.csv --force -o log.kpd --elf prog --names other.names")
    assert "other.names: is not the name file of prog" in done.stderr
