"""The event RAM as far as it has arrived, against a dictionary."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from kprof.upload.image import Image

STEPS = st.lists(
    st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 12), st.integers(0, 255)),
    max_size=20,
)


@given(STEPS, st.integers(0, 3))
def test_it_holds_what_a_dictionary_would(
    steps: list[tuple[bool, int, int, int]], join: int
) -> None:
    written = bytearray(24 * 5)

    def sink(offset: int, data: bytes) -> None:
        written[offset : offset + len(data)] = data

    image, reference = Image(24, sink), dict[int, bytes]()
    for put, first, count, value in steps:
        records = [bytes((value, at, 0, 0, 0)) for at in range(first, first + count)]
        if put:
            before = len(reference)
            reference |= {first + at: one for at, one in enumerate(records) if first + at < 24}
            assert image.put(first, b"".join(records)) == len(reference) - before
        else:
            image.forget(first, count)
            reference = {at: v for at, v in reference.items() if not first <= at < first + count}
    present = {at for first, count in image.present() for at in range(first, first + count)}
    missing = {at for first, count in image.missing() for at in range(first, first + count)}
    assert present == set(reference)
    assert missing == set(range(24)) - present
    assert image.held == len(reference)
    assert all(image.data[at * 5 : at * 5 + 5] == v == written[at * 5 : at * 5 + 5]
               for at, v in reference.items())  # fmt: skip
    joined = image.missing(join)
    assert missing <= {at for first, count in joined for at in range(first, first + count)}
    assert all(b[0] - sum(a) > join for a, b in itertools.pairwise(joined))
    again = Image(24)
    again.restore(bytes(image.data), image.bitmap())
    assert again.present() == image.present()


def test_other_bytes_for_a_record_are_noticed() -> None:
    image = Image(4)
    image.put(0, bytes(10))
    image.put(1, bytes(10))
    assert image.conflicts == 0
    image.put(1, b"\1" + bytes(9))
    assert image.conflicts == 1


def test_a_bitmap_of_another_length_counts_as_empty() -> None:
    image = Image(24)
    for bitmap in ("", "ff", "zz", "ffffffffff"):
        image.restore(bytes(120), bitmap)
        assert image.held == 0
