"""Uploads from the real agent, compiled with gcc, over a pty."""

from __future__ import annotations

import shutil
import subprocess
import termios
from pathlib import Path

import pytest
from tests.upload.peers import AGENT, WARNINGS, build_host_agent, compiler, open_pty, real_agent
from tests.upload.rams import random_ram, run_ram
from tests.upload.test_wire import RAW, REPLIES, REQUESTS

from kprof.capture import open_capture
from kprof.upload import UploadOptions, fetch
from kprof.upload.host import HostOptions


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_host_agent(tmp_path_factory.mktemp("agent"))


def test_it_answers_the_specification_s_requests(program: Path, tmp_path: Path) -> None:
    (tmp_path / "ram").write_bytes(RAW)
    _, *requests = REQUESTS  # its info is its own
    sent = b"".join(bytes.fromhex(text) for _, text in requests)
    done = subprocess.run(
        [program, tmp_path / "ram"], input=sent, capture_output=True, check=True, timeout=20
    )
    # The host port stops sending records when more requests wait; one at a time it does not.
    got = done.stdout
    for (request, text), replies in zip(requests, ([1, 2], [3, 4], [5], [6], [7]), strict=True):
        alone = subprocess.run(
            [program, tmp_path / "ram"],
            input=bytes.fromhex(text),
            capture_output=True,
            check=True,
            timeout=20,
        ).stdout
        expected = b"".join(bytes.fromhex(REPLIES[at][1].replace(" ", "")) for at in replies)
        if request.kind in "KBQ":
            assert alone == expected
            assert expected in got
    assert got.endswith(bytes.fromhex(REPLIES[7][1]))


def _deep_ram() -> bytes:
    """Calls 40 deep, in and out again: more than the delta coding remembers."""
    tags = [1024 + 2 * at for at in range(40)]
    whole = (tags + [tag + 1 for tag in reversed(tags)]) * 20
    return b"".join((7 * at << 16 | tag).to_bytes(5, "big") for at, tag in enumerate(whole))


@pytest.mark.parametrize(
    "ram",
    [run_ram(16384), random_ram(16384), run_ram(1), _deep_ram()],
    ids=["run", "random", "one", "deep"],
)
@pytest.mark.parametrize("options", [HostOptions(), HostOptions(delta=False, verify=True)])
def test_the_file_is_the_ram(
    program: Path, tmp_path: Path, ram: bytes, options: HostOptions
) -> None:
    (tmp_path / "ram").write_bytes(ram)
    out = tmp_path / "dump.bin"
    with real_agent(program, tmp_path / "ram") as port:
        result = fetch(port, out, UploadOptions(host=options))
    capture = open_capture(out)
    assert capture.records.tobytes() == ram
    assert capture.info.full
    assert capture.info.valid_from == "the full flag"
    assert result.verified == "crc"
    records = len(ram) // 5
    upload = capture.info.metadata["upload"]
    assert (upload["verified"], upload["verified_records"]) == ("crc", records)
    assert upload["run"] == 1
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["dump.bin", "ram"]


def test_at_another_rate_with_the_valid_count_and_the_settings_given_back(
    program: Path, tmp_path: Path
) -> None:
    ram = run_ram(4000)
    (tmp_path / "ram").write_bytes(ram)
    with real_agent(program, tmp_path / "ram", valid=1500) as port:
        with open(port, "rb", buffering=0) as tty:  # noqa: PTH123
            before = termios.tcgetattr(tty)
            before[4] = before[5] = termios.B9600
            termios.tcsetattr(tty, termios.TCSANOW, before)
            before = termios.tcgetattr(tty)
            assert before[4] == termios.B9600
            fetch(
                port,
                tmp_path / "all.bin",
                UploadOptions(host=HostOptions(baud=921600, goodbye=False)),
            )
            assert termios.tcgetattr(tty) == before
        fetch(port, tmp_path / "some.bin", UploadOptions(host=HostOptions(valid_only=True)))
    whole, some = open_capture(tmp_path / "all.bin"), open_capture(tmp_path / "some.bin")
    assert whole.records.tobytes() == some.records.tobytes() == ram[: 1500 * 5]
    assert whole.stale is not None
    assert whole.stale.tobytes() == ram[1500 * 5 :]
    assert whole.info.valid_from == "the device's address counter"
    assert not whole.info.full


@pytest.mark.parametrize(
    "target",
    [
        ["gcc"],
        ["m68k-linux-gnu-gcc", "-m68000"],
        ["m68k-linux-gnu-gcc", "-m68020"],
        ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
    ],
    ids=lambda target: "".join(target),
)
@pytest.mark.parametrize("source", ["kpr_agent.c"])
def test_the_agent_s_sources_compile_without_a_warning(
    tmp_path: Path, target: list[str], source: str
) -> None:
    if shutil.which(target[0]) is None:
        pytest.skip(f"no {target[0]}")
    for level in ("-O0", "-Os", "-O2"):
        command = [*target, *WARNINGS, level, "-c", str(AGENT / source)]
        subprocess.run([*command, "-o", str(tmp_path / "made.o")], check=True, timeout=60)


def test_the_host_port_compiles_without_a_warning(tmp_path: Path) -> None:
    assert compiler()
    assert build_host_agent(tmp_path).exists()


def test_a_pty_that_nobody_serves_is_given_back_too() -> None:
    from kprof.upload.port import open_port

    with open_pty() as (_, name), open(name, "rb", buffering=0) as tty:  # noqa: PTH123
        before = termios.tcgetattr(tty)
        with open_port(name, 9600) as port:
            assert termios.tcgetattr(tty) != before
            assert port.read(0) == b""
        assert termios.tcgetattr(tty) == before
