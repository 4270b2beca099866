"""Record the triggers of a system that QEMU emulates.

The plugin, ``plugin.c`` beside this file, is compiled with the host's compiler for each recording,
and sends its events through a pipe; they are written as they come, so a recording may be of any
length. The time is QEMU's virtual time with ``-icount``: so many ns for each instruction, and what
the clock is put forward by while the CPU waits. There is no cache and no bus in it.

Not modelled: several CPUs, triggers of other processors than m68k, AArch64 and RISC-V, QEMU's own
processes for programs (``qemu-m68k``).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np

from kprof.capture.match import with_names
from kprof.capture.model import CaptureInfo
from kprof.capture.write import CaptureWriter, capture_writer
from kprof.errors import QemuError, UsageError
from kprof.names import NameFile

COMPILERS = ("cc", "gcc", "clang")
DEFAULTS = (
    ("-icount", "shift=5,sleep=off"),
    ("-rtc", "base=2000-01-01,clock=vm"),
    ("-seed", "1"),
)
"""Options with which two runs are the same, and what they are where the user gives none."""
_FIRST_API, _NEXT_API = (6, 0), (9, 0)
_TAGS = 1 << 16
_PART = 1 << 18
_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Recording:
    """What to record.

    Attributes
    ----------
    command
        QEMU and its arguments; `DEFAULTS` are added where they are missing.
    names
        Only the tags of this file are events; None: all tags.
    planted
        The digest that the program holds, for the capture.
    base, shift
        The address of a tag is base + (tag << shift).
    events
        Stop QEMU after so many; None: never.
    seconds
        Stop QEMU at the first event that is later than so many seconds after its start.

    Raises
    ------
    UsageError
        A figure is out of its range, or ``-icount`` has no shift that is a number.
    """

    command: Sequence[str]
    names: NameFile | None = None
    planted: bytes | None = None
    base: int = 0
    shift: int = 0
    events: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.command:
            raise UsageError("no QEMU; expected its command line behind a --")
        if not 0 <= self.shift <= 8:
            raise UsageError(f"the shift is {self.shift}; expected 0 to 8")
        if not 0 <= self.base < 1 << 64:
            raise UsageError(f"the base is {self.base}; expected an address")
        if self.seconds is not None and not 0 < self.seconds < (1 << 48) / _SECOND:
            raise UsageError(f"{self.seconds:g} seconds; expected more than 0, to 281474")
        assert self.icount_shift is not None

    @property
    def arguments(self) -> list[str]:
        """QEMU and its arguments, with `DEFAULTS`."""
        given = list(self.command)
        for option, value in DEFAULTS:
            if option not in given and f"-{option}" not in given:
                given += [option, value]
        return given

    @property
    def icount_shift(self) -> int:
        """An instruction takes 2 to this power of ns."""
        arguments = self.arguments
        at = max(i for i, one in enumerate(arguments) if one in ("-icount", "--icount"))
        value = arguments[at + 1] if at + 1 < len(arguments) else ""
        found = re.match(r"(?:.*,)?(?:shift=)?(\d+)(?:,|$)", value)
        if not found or int(found[1]) > 10:
            raise UsageError(f"-icount {value}: expected shift=N with N from 0 to 10")
        return int(found[1])


@dataclass(frozen=True)
class Outcome:
    """How a recording ended.

    Attributes
    ----------
    events
        How many are in the capture.
    seconds
        Virtual time of the last, since QEMU's start.
    exit_code
        QEMU's; negative: the signal that ended it.
    stopped
        The recording ended QEMU.
    """

    events: int
    seconds: float
    exit_code: int
    stopped: bool


def record(
    recording: Recording, output: Path | str, progress: Callable[[int], None] | None = None
) -> Outcome:
    """Run QEMU to its end and write what the triggers said.

    Parameters
    ----------
    output
        The capture file.
    progress
        Called now and then with the number of events.

    Raises
    ------
    QemuError
        This QEMU cannot be used, no compiler is there, or nothing was recorded.
    FileAccessError
        `output` cannot be written.
    """
    version = check_qemu(recording.command[0])
    info = CaptureInfo(
        source=str(output),
        clock_hz=Fraction(_SECOND),
        unwrapped=True,
        valid_from="the plugin's own count",
        metadata={"qemu": version, "icount_shift": recording.icount_shift},
    )
    info = with_names(info, recording.names, recording.planted)
    with tempfile.TemporaryDirectory(prefix="kprof-") as name:
        folder = Path(name)
        plugin = compile_plugin(folder)
        tags = folder / "tags"
        known = range(_TAGS) if recording.names is None else recording.names.by_tag
        flags = np.zeros(_TAGS, dtype=np.uint8)
        flags[list(known)] = 1
        tags.write_bytes(flags.tobytes())
        with capture_writer(output, info, layout=3) as writer:
            arguments = f"{plugin},tags={tags},base={recording.base},shift={recording.shift}"
            with _started(recording.arguments, arguments) as (qemu, stream):
                outcome = _read(qemu, stream, writer, recording, progress)
            if not outcome.events:
                code = outcome.exit_code
                ended = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
                raise QemuError(
                    f"{recording.command[0]} ended {ended} and no trigger was executed; expected "
                    "a program built by kprof cc, with the tags of the name file"
                )
            writer.finish(replace(info, full=outcome.stopped, lost=0))
    return outcome


def check_qemu(program: str) -> str:
    """The version of this QEMU.

    Raises
    ------
    QemuError
        It cannot be run, has another plugin API, or none.
    """
    try:
        done = subprocess.run([program, "-help"], capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise QemuError(f"{program}: cannot run it: {error.strerror}") from error
    found = re.match(r"QEMU emulator version ((\d+)\.(\d+)\S*)", done.stdout)
    if found is None:
        raise QemuError(
            f"{program}: is not QEMU for systems; expected qemu-system-m68k or the like"
        )
    if not _FIRST_API <= (int(found[2]), int(found[3])) < _NEXT_API:
        raise QemuError(
            f"{program}: QEMU {found[1]} has another plugin API; expected QEMU 6.0 to 8.2"
        )
    if not re.search(r"^-plugin ", done.stdout, re.MULTILINE):
        raise QemuError(
            f"{program}: QEMU {found[1]} was built without plugins (--enable-plugins); expected "
            "one like Debian's"
        )
    return found[1]


def compile_plugin(folder: Path) -> Path:
    """Compile ``plugin.c`` with the host's compiler.

    Returns
    -------
    Path
        The shared object, in `folder`.

    Raises
    ------
    QemuError
        There is no compiler, or it fails.
    """
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise QemuError(
            f"no C compiler for this machine, for QEMU's plugin; expected {', '.join(COMPILERS)}"
        )
    source, plugin = folder / "plugin.c", folder / "plugin.so"
    source.write_bytes(resources.files("kprof.qemu").joinpath("plugin.c").read_bytes())
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(plugin), str(source), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise QemuError(f"{compiler} does not compile QEMU's plugin:\n{done.stderr.strip()}")
    return plugin


@contextlib.contextmanager
def _started(
    arguments: Sequence[str], plugin: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """QEMU with the plugin, and the end of the pipe to read; Ctrl-C is QEMU's affair."""
    stream, end = os.pipe()
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, stream)
        try:
            qemu = subprocess.Popen([*arguments, "-plugin", f"{plugin},fd={end}"], pass_fds=[end])
        finally:
            os.close(end)
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            stack.callback(signal.signal, signal.SIGINT, before)
        try:
            yield qemu, stream
        finally:
            if qemu.poll() is None:
                qemu.kill()
            qemu.wait()


def _read(
    qemu: subprocess.Popen[bytes],
    stream: int,
    writer: CaptureWriter,
    recording: Recording,
    progress: Callable[[int], None] | None,
) -> Outcome:
    """Write the events of the pipe as they come, until QEMU has closed it."""
    rest, last, stopped = b"", 0, False
    most = (1 << 62) if recording.events is None else recording.events
    limit = None if recording.seconds is None else round(recording.seconds * _SECOND) << 16
    while data := os.read(stream, _PART):
        if stopped:
            continue
        data = rest + data
        whole = len(data) // 8 * 8
        rest = data[whole:]
        events = np.frombuffer(data[:whole], dtype=np.uint64)
        late = len(events) if limit is None else int(np.searchsorted(events, np.uint64(limit)))
        kept = events[: min(late, most - writer.records)]
        writer.append(kept)
        last = int(kept[-1]) >> 16 if len(kept) else last
        if progress is not None:
            progress(writer.records)
        if late < len(events) or writer.records >= most:
            stopped = True
            qemu.terminate()
    return Outcome(writer.records, last / _SECOND, qemu.wait(), stopped)
