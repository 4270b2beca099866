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

FIRST_RANGE, RANGE = 256, 2048
SMALLEST = 64
GIVE_UP_S = 10.0
# An 8 MHz 68000 takes 0.3 ms for a record; how long this board takes is learnt from its answers.
WAIT_S, WAIT_A_RECORD_S = 0.4, 0.0007


class Checker:
    """Checks images over one link.

    Parameters
    ----------
    stop_if_asked
        Raises when the user has asked to stop.
    tell
        Is given how many records have been checked.
    """

    def __init__(
        self, link: Link, stop_if_asked: Callable[[], None], tell: Callable[[int], None]
    ) -> None:
        self._link, self._stop_if_asked, self._tell = link, stop_if_asked, tell
        self._record_s = WAIT_A_RECORD_S
        self._range = FIRST_RANGE

    def check(self, image: Image) -> Talk[None]:
        """Check every record that is there, and forget those that differ.

        Raises
        ------
        TransferError
            The board does not answer.
        """
        done = 0
        for first, count in image.present():
            at, end = first, first + count
            while at < end:
                part = min(self._range, end - at)
                yield from self._check(image, at, part)
                at, done = at + part, done + part
                self._range = RANGE
                self._tell(done)

    def _check(self, image: Image, first: int, count: int) -> Talk[None]:
        ranges = [(first, count)]
        while ranges:
            first, count = ranges.pop()
            if (yield from self._checksum(first, count)) == image.crc(first, count):
                continue
            if count <= SMALLEST:
                image.forget(first, count)
                continue
            half = count // 2
            ranges += [(first + half, count - half), (first, half)]

    def _checksum(self, first: int, count: int) -> Talk[int]:
        link, started = self._link, self._link.now
        while link.now - started < GIVE_UP_S:
            self._stop_if_asked()
            asked = link.now
            wait = min(WAIT_S + count * self._record_s, started + GIVE_UP_S - asked)
            answer = yield from link.ask("K", first, count, wait=max(wait, 0.01))
            if isinstance(answer, Check) and answer.end == first + count:
                if count >= FIRST_RANGE:
                    self._record_s = min(WAIT_A_RECORD_S, 3 * (link.now - asked) / count)
                return answer.crc
        self._stop_if_asked()
        raise TransferError(
            f"the board does not say the checksum of records {first} to {first + count - 1}, asked "
            f"for {GIVE_UP_S:.0f} s (check the cable and the board)"
        )
