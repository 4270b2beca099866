"""Comparing what arrived with the board's own checksums; what differs is forgotten.

A checksum covers up to `RANGE` records of a line that was clean, and up to `CAREFUL_RANGE` of one
that was not; where it differs the range is halved down to `SMALLEST` records, which are then to be
fetched again. Boards without checksums
are asked for samples again (`kprof.upload.kept`).
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.upload.failures import TransferError
from kprof.upload.image import Image
from kprof.upload.link import Link
from kprof.upload.talk import Talk
from kprof.upload.wire import Check

FIRST_RANGE, CAREFUL_RANGE, RANGE = 256, 2048, 16384
SMALLEST = 64
GIVE_UP_S, TRIES = 10.0, 3
# An 8 MHz 68000 takes 0.3 ms for a record; how long this board takes is learnt from its answers.
WAIT_S, WAIT_A_RECORD_S, LEAST_A_RECORD_S = 0.4, 0.0007, 0.00001


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
        self._patient = True

    def check(self, image: Image, *, clean: bool = False, patient: bool = True) -> Talk[None]:
        """Check every record that is there, and forget those that differ.

        Parameters
        ----------
        clean
            The line has damaged nothing: large ranges cost the fewest requests.
        patient
            Ask for `GIVE_UP_S`, not just `TRIES` times.

        Raises
        ------
        TransferError
            The board does not answer.
        """
        done, self._patient = 0, patient
        for first, count in image.present():
            at, end = first, first + count
            while at < end:
                part = min(self._range, end - at)
                yield from self._check(image, at, part)
                at, done = at + part, done + part
                self._range = RANGE if clean else CAREFUL_RANGE
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
        give_up = GIVE_UP_S + link.round_trip_s + count * self._record_s
        asked: dict[int, float] = {}
        while link.now - started < give_up and (self._patient or len(asked) < TRIES):
            self._stop_if_asked()
            wait = min(WAIT_S + count * self._record_s, started + give_up - link.now)
            answer = yield from link.ask("K", first, count, wait=max(wait, 0.01), asked=asked)
            if isinstance(answer, Check) and answer.end == first + count:
                if count >= FIRST_RANGE:
                    took = link.now - asked[answer.seq] - link.round_trip_s
                    learnt = max(LEAST_A_RECORD_S, 3 * took / count)
                    self._record_s = min(WAIT_A_RECORD_S, learnt)
                return answer.crc
        self._stop_if_asked()
        raise TransferError(
            f"the board does not say the checksum of records {first} to {first + count - 1}, asked "
            f"for {link.now - started:.0f} s (check the cable and the board)"
        )
