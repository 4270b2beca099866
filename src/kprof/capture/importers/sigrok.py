"""sigrok session files (``.sr``): a zip of ``metadata`` and raw samples.

The samples are in ``logic-1``, or in parts ``logic-1-1``, ``logic-1-2``, ...; each takes `unitsize`
bytes, channel n in bit n - 1, and a part may end within a sample.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kprof.capture.importers.reader import Block, Recording, chosen_rate
from kprof.errors import CaptureError

_PART = 4 << 20  # bytes decompressed at a time
_MAX_METADATA = 1 << 20
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    OSError,
)


class SigrokReader:
    """A sigrok session file of version 1 or 2."""

    def __init__(self, path: Path, samplerate: str | None = None) -> None:
        self._path = path
        with self._zip() as archive:
            values = _metadata(archive, str(path))
            self._parts = _parts(archive, values["capturefile"], str(path))
        self._unit = _integer(values, "unitsize", str(path), 8)
        probes = sorted(
            (int(key[5:]), name)
            for key, name in values.items()
            if re.fullmatch(r"probe[0-9]{1,3}", key) and int(key[5:]) > 0
        )
        self._bits = [number - 1 for number, _ in probes]
        if any(bit >= 8 * self._unit for bit in self._bits):
            raise CaptureError(
                f"{path}: is damaged: it names channel {self._bits[-1] + 1} in samples of "
                f"{self._unit} bytes"
            )
        rate, warnings = chosen_rate(samplerate, values.get("samplerate", ""), str(path))
        assert rate is not None  # one was stated, if an empty one
        names = tuple(name for _, name in probes)
        self.recording = Recording("sigrok session file", names, rate, 1, warnings)

    def blocks(self, wanted: Sequence[int]) -> Iterator[Block]:
        """See `kprof.capture.importers.reader.Reader`."""
        start, before, left = 0, None, b""
        bits = [self._bits[channel] for channel in wanted]
        with self._zip() as archive:
            for part in self._parts:
                with archive.open(part) as stream:
                    while data := stream.read(_PART):
                        data = left + data
                        count = len(data) // self._unit
                        left = data[count * self._unit :]
                        samples = np.frombuffer(data, np.uint8, count * self._unit)
                        times, raw = self._changes(samples, start, bits, before)
                        start += count
                        if len(raw):
                            before = int(raw[-1])
                            yield times, _gather(raw, bits)
        if before is not None:
            yield np.array([start], np.int64), _gather(np.array([before], np.uint64), bits)

    def _changes(
        self, samples: NDArray[np.uint8], start: int, bits: list[int], before: int | None
    ) -> Block:
        columns = samples.reshape(-1, self._unit)
        words = np.zeros(len(columns), dtype=np.uint32 if self._unit <= 4 else np.uint64)
        for byte in sorted({bit // 8 for bit in bits}):
            mask = sum(1 << bit % 8 for bit in set(bits) if bit // 8 == byte)
            part = (columns[:, byte] & np.uint8(mask)).astype(words.dtype)
            words |= part << words.dtype.type(8 * byte)
        keep = np.empty(len(words), dtype=bool)
        if len(words):
            keep[0] = before is None or int(words[0]) != before
            np.not_equal(words[1:], words[:-1], out=keep[1:])
        where = np.flatnonzero(keep)
        return where.astype(np.int64) + start, words[where].astype(np.uint64)

    @contextmanager
    def _zip(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self._path) as archive:
                yield archive
        except _ZIP_ERRORS as error:
            raise CaptureError(
                f"{self._path}: cannot be read as a sigrok session file: {error} (is it cut off?)"
            ) from error


def _gather(raw: NDArray[np.uint64], bits: Sequence[int]) -> NDArray[np.uint64]:
    words = np.zeros(len(raw), dtype=np.uint64)
    for place, bit in enumerate(bits):
        words |= ((raw >> np.uint64(bit)) & np.uint64(1)) << np.uint64(place)
    return words


def _metadata(archive: zipfile.ZipFile, source: str) -> dict[str, str]:
    """The keys of the first section with samples."""
    with archive.open("version") if "version" in archive.namelist() else _no(source) as stream:
        version = stream.read(16).strip()
    if version not in (b"1", b"2"):
        raise CaptureError(
            f"{source}: is a sigrok session file of version {version.decode('latin-1')!r}; "
            "expected 1 or 2"
        )
    if "metadata" not in archive.namelist():
        _no(source)
    with archive.open("metadata") as stream:
        text = stream.read(_MAX_METADATA).decode("utf-8", "replace")
    sections: list[dict[str, str]] = []
    for line in re.split(r"[\r\n]+", text):
        if line.startswith("["):
            sections.append({})
        elif "=" in line and sections and not line.startswith("#"):
            key, _, value = line.partition("=")
            sections[-1][key.strip()] = value.strip()
    for section in sections:
        if "capturefile" in section:
            return section
    raise CaptureError(f"{source}: holds no logic samples (only analog channels?)")


def _no(source: str) -> zipfile.ZipExtFile:
    raise CaptureError(f"{source}: is a zip file, but no sigrok session file")


def _parts(archive: zipfile.ZipFile, name: str, source: str) -> list[str]:
    names = archive.namelist()
    if name in names:
        return [name]
    numbered = [
        (int(match[1]), entry)
        for entry in names
        if (match := re.fullmatch(re.escape(name) + r"-([0-9]{1,9})", entry))
    ]
    if not numbered:
        raise CaptureError(f"{source}: is damaged: its samples, {name!r}, are missing")
    return [entry for _, entry in sorted(numbered)]


def _integer(values: dict[str, str], key: str, source: str, most: int) -> int:
    text = values.get(key, "")
    if not text.isascii() or not text.isdigit() or len(text) > 6 or not 1 <= int(text) <= most:
        raise CaptureError(f"{source}: is damaged: {key} is {text[:20]!r}, expected 1 to {most}")
    return int(text)
