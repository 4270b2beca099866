"""The delta coding: what is decoded is what was encoded; anything else is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.upload.rams import run_ram

from kprof.upload.delta import decode_delta, encode_delta

RECORDS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 300), st.integers(0, 0xFFFFFF)),
        st.one_of(st.integers(1020, 1040), st.integers(0, 0xFFFF)),
    ),
    max_size=80,
).map(lambda rows: b"".join((t << 16 | g).to_bytes(5, "big") for t, g in rows))


@given(RECORDS)
def test_round_trip(records: bytes) -> None:
    assert decode_delta(encode_delta(records), len(records) // 5) == records


@given(RECORDS, st.data())
def test_a_payload_of_another_length_is_refused(records: bytes, data: st.DataObject) -> None:
    payload, count = encode_delta(records), len(records) // 5
    assert decode_delta(payload + b"\0", count) is None
    assert decode_delta(payload, count + 1) is None
    if payload:
        assert decode_delta(payload[: data.draw(st.integers(0, len(payload) - 1))], count) is None


@given(st.binary(max_size=200), st.integers(0, 100))
def test_any_payload_is_read_or_refused(payload: bytes, count: int) -> None:
    records = decode_delta(payload, count)
    assert records is None or len(records) == 5 * count


def test_a_run_takes_less_than_half() -> None:
    ram = run_ram(4096)
    parts = [ram[at : at + 640] for at in range(0, len(ram), 640)]
    assert sum(len(encode_delta(part)) for part in parts) < len(ram) / 2
