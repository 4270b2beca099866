"""Mutation fuzzing for every reader of bytes: one harness, the same rules for all.

A reader may raise the project's own errors and nothing else, answers within 2 seconds of processor
time, and takes at most 256 MB and twice the input. The mutations are the same in every run; a
longer run sees more.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kprof.errors import KprofError

SHORT, LONG = 20_000, 1_000_000
LIMIT_SECONDS = 2.0
LIMIT_BYTES = 256 << 20
_NUMBERS = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF]
_TEXTS = [b"\0", b"\n", b"\r\n", b"-1", b"9" * 40, b"1e999", b"nan", b"\xff", b'"', b",", b"/"]


class CrashError(AssertionError):
    """A reader broke the rules; the message holds the input."""


def survives(
    read: Callable[[bytes], object],
    seeds: Sequence[bytes],
    count: int = SHORT,
    repair: Callable[[bytes], bytes] | None = None,
    start: int = 0,
) -> dict[str, int]:
    """Feed `count` mutations of `seeds` to `read`; how many were read and how many refused.

    `repair` mends the checksums of an input; every other mutation goes through it.
    """
    outcome = {"read": 0, "refused": 0}
    with _bounded_memory(max(map(len, seeds))):
        for number, data in enumerate(mutations(seeds, count, start)):
            if repair is not None and number % 2:
                data = repair(data)
            begin = time.process_time()
            try:
                read(data)
                outcome["read"] += 1
            except KprofError as error:
                if not str(error).strip():
                    raise CrashError(
                        f"mutation {number}: an error without a word: {data!r}"
                    ) from error
                outcome["refused"] += 1
            except BaseException as error:
                raise CrashError(f"mutation {number}: {error!r} from {data[:4000]!r}") from error
            if time.process_time() - begin > LIMIT_SECONDS:
                raise CrashError(f"mutation {number}: took too long: {data[:4000]!r}")
    return outcome


def survives_as_file(
    read: Callable[[Path], object],
    path: Path,
    seeds: Sequence[bytes],
    count: int = SHORT,
    repair: Callable[[bytes], bytes] | None = None,
) -> dict[str, int]:
    """The same for a reader that wants a file: each mutation is written to `path`."""

    # The file stays open: one that is truncated and closed is flushed, which takes a millisecond.
    with path.open("w+b", buffering=0) as stream:

        def read_bytes(data: bytes) -> object:
            os.pwrite(stream.fileno(), data, 0)
            os.ftruncate(stream.fileno(), len(data))
            return read(path)

        return survives(read_bytes, seeds, count, repair)


def mutations(seeds: Sequence[bytes], count: int, start: int = 0) -> Iterator[bytes]:
    """`count` mutations, the same for the same `start`."""
    choice = random.Random(start)
    for _ in range(count):
        data = bytearray(choice.choice(seeds))
        for _ in range(choice.choice((1, 1, 1, 2, 4, 8))):
            choice.choice(_MUTATORS)(data, choice, seeds)
        yield bytes(data)


def _flip(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    if data:
        data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)


def _near_start(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    if data:
        data[choice.randrange(min(len(data), 160))] = choice.randrange(256)


def _number(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    width = choice.choice((1, 2, 4, 8))
    value = choice.choice(_NUMBERS) % (1 << 8 * width) if width < 8 else choice.choice(_NUMBERS)
    if choice.random() < 0.1:
        value = (1 << 8 * width) - 1
    at = choice.randrange(len(data) + 1)
    data[at : at + width] = value.to_bytes(width, choice.choice(("little", "big")))


def _text(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    at = choice.randrange(len(data) + 1)
    data[at : at + choice.choice((0, 0, 1, 4))] = choice.choice(_TEXTS)


def _cut(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    del data[choice.randrange(len(data) + 1) :]


def _remove(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    at = choice.randrange(len(data) + 1)
    del data[at : at + choice.choice((1, 2, 5, 16, 100))]


def _repeat(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    at = choice.randrange(len(data) + 1)
    part = data[at : at + choice.choice((1, 4, 16, 200))]
    data[at:at] = part * choice.choice((1, 2, 10))


def _insert(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    at = choice.randrange(len(data) + 1)
    data[at:at] = choice.randbytes(choice.choice((1, 3, 20)))


def _splice(data: bytearray, choice: random.Random, seeds: Sequence[bytes]) -> None:
    other = choice.choice(seeds)
    at = choice.randrange(len(other) + 1)
    here = choice.randrange(len(data) + 1)
    data[here:] = other[at:]


def _swap(data: bytearray, choice: random.Random, _: Sequence[bytes]) -> None:
    lines = data.split(b"\n")
    a, b = choice.randrange(len(lines)), choice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    data[:] = b"\n".join(lines)


_MUTATORS = (
    _flip,
    _flip,
    _near_start,
    _number,
    _text,
    _cut,
    _remove,
    _repeat,
    _insert,
    _splice,
    _swap,
)


@contextlib.contextmanager
def _bounded_memory(input_bytes: int) -> Iterator[None]:
    """No more address space than this process has now, and the limit for a reader."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = pages * resource.getpagesize() + LIMIT_BYTES + 2 * input_bytes
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
