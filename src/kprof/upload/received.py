"""A file that was received (XMODEM, YMODEM) as the memory that it is an image of."""

from __future__ import annotations

import dataclasses

from kprof.upload.failures import TransferError
from kprof.upload.layout import Layout, Memory


def memory_of(
    data: bytes, filling: int, place: Layout, records: int | None, most: int | None = None
) -> tuple[Memory, int]:
    """The records in a file, and how many at its end were left out as filling.

    Parameters
    ----------
    filling
        Bytes at the end that look like the filling of the last block.
    place
        Where the records are in the file; how many they are does not count.
    records
        How many they are; None: as many as the file holds without its filling, a record of which
        a part is filling included.
    most
        Where `records` is None, no more than so many.

    Raises
    ------
    TransferError
        The file is too short.
    """
    left_out = 0
    if records is None:
        whole = place.records_in(len(data))
        whole = whole if most is None else min(whole, most)
        records = min(whole, place.records_begun_in(len(data) - filling))
        left_out = whole - records
    if not records:
        raise TransferError(f"the file has {len(data)} bytes: not one record")
    memory = Memory(dataclasses.replace(place, records=records))
    memory.put(0, data)
    if memory.missing():
        raise TransferError(
            f"the file has {len(data):,} bytes; {records:,} records need "
            f"{sum(memory.layout.spans()[-1]):,} (--records, --addr, --banks, --stride)"
        )
    return memory, left_out
