"""Reading some records again: is what was fetched what the board has now?

A board that was started again, or has recorded another run, has other bytes, and a file must not
be of two runs. So samples are read again before a transfer goes on with what an earlier one has
kept, and at the end of one from a board that gives no checksums. They are the first, the last and
some records in between: their cost has a bound, and what differs only between them is not noticed.
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.upload.failures import KeptDiffersError, PortError, TransferError, VerifyError
from kprof.upload.image import RECORD_BYTES
from kprof.upload.layout import Memory
from kprof.upload.talk import Talk

SAMPLES = 8
SAMPLE_RECORDS = 16
TRIES = 3  # a text dump without sums may be damaged
Reader = Callable[[Memory, int, int], Talk[None]]


def check_kept(memory: Memory, read: Reader) -> Talk[None]:
    """Read samples of what an earlier upload has kept again, and compare.

    Parameters
    ----------
    memory
        What was kept; nothing is read where that is empty.
    read
        Reads so many bytes from an address into another memory of the same layout.

    Raises
    ------
    KeptDiffersError
        The board has other bytes.
    TransferError
        It does not give them.
    """
    compared, other = yield from _compare(memory, read)
    if other is not None:
        raise differing(other)
    if memory.held and not compared:
        raise TransferError("nothing of what was kept could be read again, to compare it")


def look_again(memory: Memory, read: Reader) -> Talk[int]:
    """Read samples of what was just fetched again, and compare; how many records.

    Raises
    ------
    VerifyError
        The board has other bytes; the memory is empty then.
    """
    try:
        compared, other = yield from _compare(memory, read)
    except PortError:  # everything is here: the far end may hang up
        return 0
    if other is not None:
        memory.clear()
        raise VerifyError(
            f"what was fetched is not what the board has now (it differs from {other:#x} on): it "
            "was started again or is still recording (stop it, upload again)"
        )
    return compared // RECORD_BYTES


def _compare(memory: Memory, read: Reader) -> Talk[tuple[int, int | None]]:
    """(bytes that were read again, where one of them differs or None)."""
    compared = 0
    for address, count in samples(memory):
        for _ in range(TRIES):
            fresh = Memory(memory.layout)
            yield from read(fresh, address, count)
            if not memory.differs(fresh, address, count):
                break
        else:
            return compared, address
        compared += min(fresh.held, count)  # a command may give some bytes more
    return compared, None


def samples(memory: Memory) -> list[tuple[int, int]]:
    """Parts (address, bytes) of what is held, spread over all of it; with banks, of one each."""
    layout = memory.layout
    held = [record for record, there in enumerate(memory.records()[1]) if there]
    parts = []
    for number, (place, length) in enumerate(spread(len(held))):
        first = held[place]
        parts.append(layout.part(first, min(length, layout.records - first), number))
    return list(dict.fromkeys(parts))


def spread(records: int) -> list[tuple[int, int]]:
    """`SAMPLES` runs (first, count) of so many records, from the first to the last of them."""
    count = min(SAMPLE_RECORDS, records)
    firsts = [(records - count) * number // (SAMPLES - 1) for number in range(SAMPLES)]
    return [(first, count) for first in firsts if count]


def differing(address: int) -> KeptDiffersError:
    """The error for bytes at this address."""
    return KeptDiffersError(
        f"what was kept of an earlier upload is not what the board has now (it differs from "
        f"{address:#x} on): it was started again or is still recording (--force begins anew)"
    )
