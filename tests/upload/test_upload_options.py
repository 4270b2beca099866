"""Every option of `kprof upload` is used by the protocol, or refused in a sentence."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kprof.cli.upload import command
from kprof.cli.upload_applies import check_options
from kprof.cli.uploading import _greeting
from kprof.errors import UsageError
from kprof.upload.protocols import PROTOCOLS

ALWAYS = {"port", "output", "force", "start_baud", "baud", "proto", "verify", "names", "elf"}
ALWAYS |= {"send", "expect", "trace_line", "resume", "no_dtr", "no_rts"}
# By hand, from what the sessions do with them.
USED = {
    "kpr1": {"raw", "valid_only", "stay"},
    "xmodem": set(),
    "ymodem": set(),
    "srec": {"ask"},
    "ihex": {"ask"},
    "hexdump": {"ask", "little"},
    "gdb": {"stay"},
    "raw": {"ask"},
}
MEMORY = {"addr", "banks", "stride", "records", "valid", "hz"}


@pytest.mark.parametrize("proto", PROTOCOLS)
def test_an_option_is_used_or_refused(proto: str) -> None:
    used = ALWAYS | USED[proto] | (MEMORY if proto != "kpr1" else set())
    for parameter in command.params:
        name = parameter.name or ""
        if name == "send_delay":
            continue
        if name in used:
            check_options(proto, {name})
            continue
        with pytest.raises(UsageError, match=rf"^--{name.replace('_', '-')} is for --proto ") as no:
            check_options(proto, {name})
        assert f", not for {proto}" in str(no.value)


@pytest.mark.parametrize(
    ("proto", "given", "said"),
    [
        ("srec", {"ask", "send"}, "--send cannot be used with --ask: "),
        ("srec", {"ask", "expect"}, "--expect cannot be used with --ask: "),
        ("gdb", {"addr", "banks"}, "--addr cannot be used with --banks: "),
        ("kpr1", {"send_delay"}, "--send-delay is for --send"),
        ("gdb", {"start_baud", "baud"}, "expected one of them"),
        ("kpr1", {"valid"}, r"not for kpr1 \(the agent says it; .* kprof convert --valid"),
        ("kpr1", {"ask"}, "^--ask is for --proto srec, ihex, hexdump or raw, not for kpr1$"),
        ("srec", {"little"}, "^--little is for --proto hexdump, not for srec$"),
    ],
)
def test_options_that_do_not_go_together(proto: str, given: set[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_options(proto, given)


def test_what_goes_together() -> None:
    check_options("kpr1", {"start_baud", "baud", "send", "expect", "send_delay"})
    check_options("gdb", {"addr", "stride", "records", "valid", "hz", "send", "baud"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--valid", "100"], "--valid is for --proto "),
        (["--hz", "1000000"], "--hz is for --proto "),  # also where it is the default
        (["--proto", "gdb", "--banks", "0,0,0,0,0"], "names an address twice"),
        (["--proto", "srec", "--ask", "d {addr[0]}"], "{addr[0]"),
        (["--proto", "srec", "--ask", r"d {addr}\q"], r"\q cannot be typed"),
        (["--send", r"a\q"], r"\q cannot be typed"),
        (["--proto", "gdb", "--valid", "20000"], "there are 16384 records"),
        (["--proto", "gdb", "--records", "10", "--valid", "11"], "there are 10 records"),
        (["--names="], "--names: is empty; expected the name of a file (or leave it out)"),
        (["--trace-line="], "--trace-line: is empty"),
        (["--proto", "srec", "--ask="], "--ask: is empty"),
        (["--proto", "gdb", "--banks="], "--banks: is empty; expected five addresses"),
    ],
)
def test_refused_before_the_port_is_opened(options: list[str], said: str, tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(
        command, ["/dev/ttyNone7", "-o", f"{tmp_path}/x", *options], standalone_mode=False
    )
    assert isinstance(done.exception, UsageError), done.exception
    assert not isinstance(done.exception, click.ClickException)
    assert said in str(done.exception)


@pytest.mark.parametrize("log", ["x", "./x", "x.part", "x.part.json", "hard", "soft", "k.names"])
@pytest.mark.parametrize("force", [False, True])
def test_a_log_takes_no_other_file_s_place(
    log: str, force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.names").write_text("main/1024\n")
    if force:
        Path("x").write_bytes(b"old")
    if log == "hard":
        Path("x.part").write_bytes(b"kept")
        Path("hard").hardlink_to("x.part")
    Path("soft").symlink_to(tmp_path / "x")
    there = {path.name: path.exists() and path.read_bytes() for path in tmp_path.iterdir()}
    arguments = ["/dev/ttyNone7", "-o", "x", "--trace-line", log, "--names", "k.names"]
    arguments += ["--force"] if force else []
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert isinstance(done.exception, UsageError), done.exception
    assert str(done.exception).startswith(f"--trace-line {log}: is a file of this upload (")
    assert there == {p.name: p.exists() and p.read_bytes() for p in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("text", "seconds"), [("2ms", 0.002), ("2", 0.000002), ("1.5us", 0.0000015), ("60s", 60)]
)
def test_the_pause_between_characters_is_a_time(text: str, seconds: float) -> None:
    options = {"send": (), "expect": (), "send_delay": text}
    assert _greeting(options).delay_s == pytest.approx(seconds)


@pytest.mark.parametrize(("text", "said"), [("soon", "is not a time"), ("61s", "expected 60 s or")])
def test_a_pause_that_cannot_be_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        _greeting({"send": (), "expect": (), "send_delay": text})
