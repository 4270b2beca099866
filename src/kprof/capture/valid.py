"""How many records of a RAM image are valid, and why.

What lies past the last event was left there by an earlier run. In this order: the device's address
counter; its full flag; what the user says; the image of the run before (the last record that
differs is the last one that was written). Statistics only advise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kprof.errors import UsageError

_LONG = 1 << 21  # ticks: an interval as only a seam between two runs is likely to have


@dataclass(frozen=True)
class ValidRecords:
    """The number of valid records, and how it is known.

    Attributes
    ----------
    count
        Of the image's records.
    reason
        For the report's first line.
    guessed
        Nothing and nobody told it.
    """

    count: int
    reason: str
    guessed: bool = False
    warnings: tuple[str, ...] = ()


def valid_from_user(valid: int | str, total: int, source: str) -> ValidRecords:
    """`valid` is a number of records, or ``all``.

    Raises
    ------
    UsageError
        It is neither, or more than there are.
    """
    if valid == "all":
        return ValidRecords(total, "--valid all")
    try:
        count = int(valid)
    except ValueError:
        count = -1
    if not 0 <= count <= total:
        raise UsageError(
            f"--valid {valid}: {source} has {total} records; expected 0 to {total} or all"
        )
    return ValidRecords(count, f"--valid {count}")


def valid_from_previous(
    records: NDArray[np.uint8], before: NDArray[np.uint8], source: str, before_source: str
) -> ValidRecords:
    """One more than the last record that differs from the image of the run before.

    Raises
    ------
    UsageError
        The images are of different sizes.
    """
    if records.shape != before.shape:
        raise UsageError(
            f"{before_source}: has {len(before)} records, {source} has {len(records)}; expected an "
            "earlier image of the same event RAM"
        )
    count = 0
    for end in range(len(records), 0, -(1 << 20)):
        start = max(0, end - (1 << 20))
        differs = np.flatnonzero((records[start:end] != before[start:end]).any(axis=1))
        if len(differs):
            count = start + int(differs[-1]) + 1
            break
    warnings: tuple[str, ...] = ()
    if count == 0:
        warnings = (f"{source}: is the same as {before_source}; it holds no new run",)
    return ValidRecords(
        count, f"the last record that differs from {before_source}", False, warnings
    )


def valid_unknown(records: NDArray[np.uint8], source: str) -> ValidRecords:
    """All records, with advice where they look like the ends of two runs."""
    total = len(records)
    reason = "all: the image does not say how many are valid"
    seam = _seam(records[: 1 << 16])
    if seam is None or total > 1 << 16:
        return ValidRecords(total, reason, True)
    return ValidRecords(
        total,
        reason,
        True,
        (f"{source}: the records from {seam} on look like an earlier run's (try --valid {seam})",),
    )


def _seam(records: NDArray[np.uint8]) -> int | None:
    """Where the records seem to go over into an earlier run, or into RAM never written."""
    if len(records) < 16:
        return None
    differs = np.flatnonzero((records != records[-1]).any(axis=1))
    end = int(differs[-1]) + 1 if len(differs) else 0
    if len(records) - end >= 16 and (records[-1] == records[-1][0]).all():
        return end
    wide = records.astype(np.int64)
    steps = np.diff((wide[:, 0] << 16) | (wide[:, 1] << 8) | wide[:, 2]) & 0xFFFFFF
    second, first = np.partition(steps, -2)[-2:]
    if first >= _LONG and first > 64 * max(1, int(second)):
        return int(np.argmax(steps)) + 1
    return None
