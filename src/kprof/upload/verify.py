"""Comparing what arrived with the board's own checksums; what differs is forgotten.

A checksum covers up to `RANGE` records; where it differs the range is halved down to `SMALLEST`
records, which are then to be fetched again.
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.upload.failures import TransferError
from kprof.upload.image import Image
from kprof.upload.link import Link
from kprof.upload.talk import Talk
from kprof.upload.wire import Check

RANGE = 2048
SMALLEST = 64
TRIES = 8
# An 8 MHz 68000 takes 0.3 ms for a record; the line and slower boards have the rest.
WAIT_S, WAIT_A_RECORD_S = 0.4, 0.0007


def verify(
    link: Link, image: Image, stop_if_asked: Callable[[], None], tell: Callable[[int], None]
) -> Talk[None]:
    """Check every record that is there; `tell` is given how many are done.

    Raises
    ------
    TransferError
        The board does not answer.
    """
    done = 0
    for first, count in image.present():
        for start in range(first, first + count, RANGE):
            part = min(RANGE, first + count - start)
            yield from _check(link, image, start, part, stop_if_asked)
            done += part
            tell(done)


def _check(
    link: Link, image: Image, first: int, count: int, stop_if_asked: Callable[[], None]
) -> Talk[None]:
    ranges = [(first, count)]
    while ranges:
        first, count = ranges.pop()
        found = yield from _checksum(link, first, count, stop_if_asked)
        if found == image.crc(first, count):
            continue
        if count <= SMALLEST:
            image.forget(first, count)
            continue
        half = count // 2
        ranges += [(first + half, count - half), (first, half)]


def _checksum(link: Link, first: int, count: int, stop_if_asked: Callable[[], None]) -> Talk[int]:
    wait = WAIT_S + count * WAIT_A_RECORD_S
    for attempt in range(TRIES):
        stop_if_asked()
        answer = yield from link.ask("K", first, count, wait=min(wait * (1 + attempt / 4), 3.0))
        if isinstance(answer, Check) and answer.end == first + count:
            return answer.crc
    stop_if_asked()
    raise TransferError(
        f"the board does not say the checksum of records {first} to {first + count - 1} after "
        f"{TRIES} requests (check the cable; --resume goes on from here)"
    )
