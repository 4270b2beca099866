"""What `kprof cc` does at linking: one name file a program, its digest, the event RAM."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kprof.names import read_names
from kprof.symbols import DIGEST

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
M68K = "m68k-linux-gnu-gcc"
MAIN = "int other(int a);\nint main(void) { return other(1) - 2; }\n"
OTHER = "int other(int a) { return 2 * a; }\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KPROF_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KPROF_NAMES", raising=False)
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "other.c").write_text(OTHER)
    return tmp_path


def kprof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kprof", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def cc(folder: Path, *arguments: str, names: str = "k.names") -> subprocess.CompletedProcess[str]:
    return kprof(folder, "cc", "--target", "soft", "--names", names, "--", *arguments)


def link_soft(project: Path, *more: str) -> None:
    for source in ("main.c", "other.c"):
        assert cc(project, "gcc", "-O2", "-c", source).returncode == 0
    done = cc(project, "gcc", "main.o", "other.o", "-o", "prog", *more)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("more", [(), ("-Wl,--gc-sections",), ("-static",)])
def test_the_event_ram_and_the_digest_come_by_themselves(
    project: Path, more: tuple[str, ...]
) -> None:
    link_soft(project, *more)
    subprocess.run(["./prog"], cwd=project, check=True)
    capture = (project / "kprof.bin").read_bytes()
    assert capture[80:112] == read_names(project / "k.names").sha256()
    report = kprof(project, "report", "kprof.bin", "--names", "k.names")
    assert report.returncode == 0
    assert "main" in report.stdout
    assert "other" in report.stdout


def test_sources_and_objects_in_one_command(project: Path) -> None:
    assert cc(project, "gcc", "-c", "other.c").returncode == 0
    assert cc(project, "gcc", "main.c", "other.o", "-o", "prog").returncode == 0
    subprocess.run(["./prog"], cwd=project, check=True)
    assert (project / "kprof.bin").read_bytes()[80:112] == read_names(project / "k.names").sha256()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("options", ["-O2", "-flto", "-masm=intel"])
def test_name_files_of_any_name(compiler: str, options: str, project: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is missing")
    names = 'a "b" \u00e9\\c%;/k 1.names'
    (project / names).parent.mkdir()
    for source in ("main.c", "other.c"):
        assert cc(project, compiler, options, "-c", source, names=names).returncode == 0
    given = ("--names", names) if options == "-flto" else ()  # objects for LTO are packed
    command = ("--", compiler, options, "main.o", "other.o", "-o", "prog")
    done = kprof(project, "cc", "--target", "soft", *given, *command)
    assert (done.returncode, done.stderr) == (0, "")
    subprocess.run(["./prog"], cwd=project, check=True)
    digest = (project / "kprof.bin").read_bytes()[80:112]
    assert digest == read_names(project / names).sha256()


def test_an_event_ram_of_the_programs_own_is_not_replaced(project: Path) -> None:
    (project / "own.c").write_text(
        "unsigned kprof_seen; void kprof_event(unsigned t) { kprof_seen += t; }\n"
    )
    assert cc(project, "gcc", "main.c", "other.c", "own.c", "-o", "prog").returncode == 0
    subprocess.run(["./prog"], cwd=project, check=True)
    assert not (project / "kprof.bin").exists()


def test_the_library_is_made_once(project: Path) -> None:
    link_soft(project)
    (made,) = (project / "cache").glob("kprof_ram-*.a")
    before = made.stat().st_mtime_ns
    link_soft(project)
    assert [made] == list((project / "cache").glob("kprof_ram-*.a"))
    assert made.stat().st_mtime_ns == before


def test_shared_libraries_and_partial_links_get_nothing(project: Path) -> None:
    assert cc(project, "gcc", "-fPIC", "-c", "other.c").returncode == 0
    for option in ("-shared", "-r"):
        assert cc(project, "gcc", option, "other.o", "-o", "part").returncode == 0
        names = subprocess.run(["nm", "part"], cwd=project, capture_output=True, text=True).stdout
        assert "U kprof_event" in names
        assert DIGEST not in names


def test_objects_of_two_name_files_are_not_linked(project: Path) -> None:
    assert cc(project, "gcc", "-c", "main.c").returncode == 0
    assert cc(project, "gcc", "-c", "other.c", names="l.names").returncode == 0
    subprocess.run(["ar", "rcs", "libother.a", "other.o"], cwd=project, check=True)
    for other in ("other.o", "libother.a"):
        done = kprof(project, "cc", "--target", "soft", "--", "gcc", "main.o", other, "-o", "prog")
        assert done.returncode == 1
        assert done.stderr == (
            "kprof: prog: tags of two name files would collide: main.o has those of "
            f"{project}/k.names, {other} those of {project}/l.names; expected one for the program "
            "(name it with --names or KPROF_NAMES, compile all again)\n"
        )
        assert not (project / "prog").exists()


def test_a_name_file_that_is_not_the_objects_is_refused(project: Path) -> None:
    assert cc(project, "gcc", "-c", "other.c").returncode == 0
    done = cc(project, "gcc", "main.c", "other.o", "-o", "prog", names="l.names")
    assert done.returncode == 1
    assert "l.names" in done.stderr
    assert "compile all again" in done.stderr


def test_a_hardware_target_on_this_machine_is_said_at_once(project: Path) -> None:
    done = kprof(
        project, "cc", "--names", "k.names", "--", "gcc", "main.c", "other.c", "-o", "prog"
    )
    assert done.returncode == 0
    assert done.stderr.startswith("kprof: prog: cannot run on this machine: its triggers read 0x0 ")
    assert "--target soft" in done.stderr
    done = kprof(project, "cc", "--names", "k.names", "--", "gcc", "-c", "main.c")
    assert (done.returncode, done.stderr) == (0, "")
    window = ("--target", "mmio", "--base", "window", "--names", "l.names")
    (project / "window.c").write_text("unsigned char window[65536];\n")
    done = kprof(project, "cc", *window, "--", "gcc", "main.c", "other.c", "window.c")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which(M68K) is None, reason=f"{M68K} is missing")
def test_a_kernel_has_the_digest(project: Path) -> None:
    (project / "start.c").write_text("int main(void); void _start(void) { main(); for (;;) ; }\n")
    sources = ("start.c", "main.c", "other.c")
    done = kprof(
        project,
        "cc",
        "--names",
        "k.names",
        "--",
        M68K,
        "-nostdlib",
        "-static",
        *sources,
        "-o",
        "kernel",
    )
    assert (done.returncode, done.stderr) == (0, "")
    digest = read_names(project / "k.names").sha256()
    assert digest in (project / "kernel").read_bytes()


def test_instrumented_copies_have_the_digest_from_the_header(project: Path) -> None:
    options = ("--target", "soft", "--names", "k.names", "--header", "out/kprof_profile.h")
    (project / "out").mkdir()
    done = kprof(project, "instrument", "main.c", "other.c", "-o", "out", *options)
    assert done.returncode == 0, done.stderr
    command = ["gcc", "-DKPROF", "-include", "out/kprof_profile.h", "-Wall", "-Wextra", "-Werror"]
    digest = read_names(project / "k.names").sha256()
    for asked in (False, True):
        more = ["-DKPROF_DIGEST"] * asked + ["-c", "out/main.c", "-o", "main.o"]
        subprocess.run([*command, *more], cwd=project, check=True, capture_output=True)
        assert (digest in (project / "main.o").read_bytes()) == asked


def test_the_header_is_made_and_need_not_know_the_names(project: Path) -> None:
    (project / "p.c").write_text(
        '#include "kprof_profile.h"\nint main(void)\n{\n    PROFILE(here);\n    return 0;\n}\n'
    )
    options = ("--target", "soft", "--names", "k.names", "--header", "kprof_profile.h")
    for _ in range(2):
        done = kprof(project, "cc", *options, "--", "gcc", "-Wall", "-Werror", "p.c", "-o", "prog")
        assert (done.returncode, done.stderr) == (0, "")
    subprocess.run(["./prog"], cwd=project, check=True)
    report = kprof(project, "report", "--trace", "kprof.bin", "--names", "k.names")
    assert "== here" in report.stdout
    assert kprof(project, "cc", *options).returncode == 0
    assert "#define KPROF_INLINE_here" in (project / "kprof_profile.h").read_text()
    (project / "q.c").write_text("int f(void)\n{\n    KPROF_INLINE_main;\n    return 0;\n}\n")
    done = kprof(project, "cc", *options, "--", "gcc", "-c", "q.c")
    assert (done.returncode, done.stderr) == (
        1,
        "kprof: PROFILE(main): a function has this name; expected another\n",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        "-c -save-temps main.c",
        "-c -save-temps=obj -o d/x.o main.c",
        "-save-temps main.c other.c -o d/p",
    ],
)
def test_what_save_temps_keeps(arguments: str, project: Path) -> None:
    left = []
    for number, command in enumerate((["gcc"], [sys.executable, "-m", "kprof", "cc", "--", "gcc"])):
        folder = project / str(number)
        (folder / "d").mkdir(parents=True)
        shutil.copy(project / "main.c", folder)
        shutil.copy(project / "other.c", folder)
        environment = {
            **os.environ,
            "KPROF_NAMES": str(project / "k.names"),
            "KPROF_TARGET": "soft",
        }
        subprocess.run([*command, *arguments.split()], cwd=folder, check=True, env=environment)
        left.append(sorted(str(path.relative_to(folder)) for path in folder.rglob("*.[ios]")))
    assert left[0] == left[1]
    assert any("kprof_event" in path.read_text() for path in (project / "1").rglob("*.i"))
