"""Why a port cannot be opened or used, and what to do about it: one sentence each."""

from __future__ import annotations

import errno
import glob
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

_LOCK_FOLDERS = ("/var/lock", "/run/lock", "/var/spool/lock", "/var/spool/uucp")
_PATTERNS = ("ttyUSB*", "ttyACM*", "ttyAMA*", "tty.usb*", "cu.usb*", "serial/by-id/*")


def explain_open(path: str, code: int, reason: str) -> str:
    """Why `path` could not be opened, from the operating system's error number."""
    if code in (errno.ENOENT, errno.ENOTDIR):
        return f"{path}: no such port ({explain_ports()})"
    if code in (errno.EACCES, errno.EPERM):
        return f"{path}: not permitted ({_permission_hint(path)})"
    if code in (errno.EBUSY, errno.EAGAIN, errno.EWOULDBLOCK):
        return explain_busy(path)
    if code in (errno.EIO, errno.ENXIO, errno.ENODEV):
        return f"{path}: the device does not answer: {reason.lower()} (unplugged? plug it in again)"
    if code == errno.ENOTTY:
        return f"{path}: is not a serial port (name a device such as /dev/ttyUSB0)"
    return f"{path}: cannot open: {reason.lower()}"


def explain_url(url: str, error: Exception) -> str:
    """Why pyserial could not open `url`: the cause itself where there is one."""
    if isinstance(error, LookupError | TypeError):
        return f"{url}: cannot open: what follows its ? or / is none of pyserial's options"
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno:
            reason = (cause.strerror or str(cause)).lower()
            return f"{url}: cannot open: {reason} (is the server there, the name right?)"
        cause = cause.__cause__ or cause.__context__
    return f"{url}: cannot open: {str(error).lower()}"


def explain_busy(path: str) -> str:
    """Who has `path` open."""
    holders = holders_of(path)
    if not holders:
        return f"{path}: busy: another program has it (close that, or wait until it is done)"
    hint = "close it, or wait until it is done"
    if any("ModemManager" in name for _, name in holders):
        hint = "ModemManager probes new ports: wait a minute, or set ID_MM_DEVICE_IGNORE by udev"
    return f"{path}: busy: {_named(holders)} has it ({hint})"


def explain_lost(path: str, reason: str) -> str:
    """The port failed while it was used."""
    readers = explain_readers(path)
    if readers:
        return f"{path}: cannot be read: {readers}"
    return f"{path}: the port is gone: {reason} (unplugged, or the far end was closed?)"


def explain_readers(path: str) -> str:
    """Who else has `path` open, and so takes bytes that are missing here; empty: nobody."""
    holders = holders_of(path)
    if not holders:
        return ""
    return f"{_named(holders)} has the port open too and takes what comes (close it there)"


def explain_lock_file(path: str) -> str:
    """Who has locked `path` with a UUCP lock file (minicom, cu, picocom); empty: nobody."""
    names = {Path(path).name, Path(os.path.realpath(path)).name}
    names |= {os.path.realpath(path).removeprefix("/dev/").replace("/", "_")}
    for folder in _LOCK_FOLDERS:
        for name in sorted(names):
            lock = Path(folder) / f"LCK..{name}"
            process = _process_in(lock)
            if process is not None and process != os.getpid():
                holder = _named([(process, _name_of(process))])
                return f"{path}: busy: {holder} has it, says {lock} (close it, or wait)"
    return ""


def _process_in(lock: Path) -> int | None:
    """The living process that a lock file names, in digits or as a binary number."""
    try:
        content = lock.read_bytes()[:64]
        words = content.split()
        binary = len(content) == 4 and not content.strip().isdigit()
        process = int.from_bytes(content, sys.byteorder) if binary else int(words[0])
    except (OSError, ValueError, IndexError):
        return None
    try:
        if process > 0:
            os.kill(process, 0)
            return process
    except PermissionError:  # somebody else's
        return process
    except (OSError, OverflowError):
        pass
    return None


def _name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return "another program"


def _named(holders: Iterable[tuple[int, str]]) -> str:
    return ", ".join(f"{name} (process {process})" for process, name in holders)


def explain_stalled(path: str, seconds: float) -> str:
    """Nothing could be written for so long."""
    return (
        f"{path}: nothing could be sent for {seconds:.0f} s: the far end holds the line (turn flow "
        "control off there)"
    )


def explain_ports() -> str:
    """Which serial ports there are."""
    found = candidates()
    return f"there are: {', '.join(found)}" if found else "no serial port is there: plugged in?"


def candidates() -> list[str]:
    """The serial ports that this machine has."""
    return sorted(path for pattern in _PATTERNS for path in glob.glob(f"/dev/{pattern}"))  # noqa: PTH207


def holders_of(path: str) -> list[tuple[int, str]]:
    """(process, name) of the other processes that have `path` open, as far as we may see."""
    try:
        wanted = Path(path).stat().st_rdev
    except OSError:
        return []
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        try:
            for descriptor in (process / "fd").iterdir():
                held = descriptor.stat()
                if stat.S_ISCHR(held.st_mode) and held.st_rdev == wanted:
                    found.append((int(process.name), _name_of(int(process.name))))
                    break
        except OSError:
            continue
    return sorted(found)


def _permission_hint(path: str) -> str:
    import getpass

    try:
        import grp

        status = Path(path).stat()
        group = grp.getgrgid(status.st_gid).gr_name
        user = getpass.getuser()
    except (ImportError, OSError, KeyError):
        return "ask for access to it"
    if status.st_mode & stat.S_IRGRP and status.st_mode & stat.S_IWGRP and status.st_gid != 0:
        return f"its group is '{group}': sudo usermod -aG {group} {user}, then log out and in again"
    return f"only '{_owner(status.st_uid)}' may use it: ask for access, or change its udev rule"


def _owner(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
