"""Before a transfer goes on with what an earlier one has kept: some of that is read again.

A board that was started again, or has recorded another run, has other bytes there, and a file must
not be of two runs. The samples are the first, the last and some records in between: their cost has
a bound, and what differs only between them is not noticed.
"""

from __future__ import annotations

from collections.abc import Callable

from kprof.upload.failures import KeptDiffersError, TransferError
from kprof.upload.layout import Memory
from kprof.upload.talk import Talk

SAMPLES = 8
SAMPLE_RECORDS = 16
TRIES = 3  # a text dump without sums may be damaged
Reader = Callable[[Memory, int, int], Talk[None]]


def check_kept(memory: Memory, read: Reader) -> Talk[None]:
    """Read samples of what `memory` holds again, and compare; nothing where it holds nothing.

    Parameters
    ----------
    read
        Reads so many bytes from an address into another memory of the same layout.

    Raises
    ------
    KeptDiffersError
        The board has other bytes.
    TransferError
        It does not give them.
    """
    compared = 0
    for address, count in samples(memory):
        for _ in range(TRIES):
            fresh = Memory(memory.layout)
            yield from read(fresh, address, count)
            if not memory.differs(fresh, address, count):
                break
        else:
            raise differing(address)
        compared += fresh.held
    if memory.held and not compared:
        raise TransferError("nothing of what was kept could be read again, to compare it")


def samples(memory: Memory) -> list[tuple[int, int]]:
    """Parts (address, bytes) of what is held, spread over all of it; with banks, of one each."""
    layout = memory.layout
    held = [record for record, there in enumerate(memory.records()[1]) if there]
    length = min(SAMPLE_RECORDS, len(held))
    parts = []
    for number in range(SAMPLES if held else 0):
        first = held[(len(held) - length) * number // (SAMPLES - 1)]
        parts.append(layout.part(first, min(length, layout.records - first), number))
    return list(dict.fromkeys(parts))


def differing(address: int) -> KeptDiffersError:
    """The error for bytes at this address."""
    return KeptDiffersError(
        f"what was kept of an earlier upload is not what the board has now (it differs from "
        f"{address:#x} on): it was started again or is still recording (-f begins anew)"
    )
