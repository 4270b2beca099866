"""The delta coding of records inside one KPR1 frame; every frame decodes alone.

For each record one byte: the low 7 bits are the time since the record before if below 127, else
127, and a varint of the rest follows; bit 7 says that the tag is the exit of the innermost open
entry tag, else a varint of the zigzagged tag difference follows. The entry tags of a frame are kept
on a stack of 16: an odd tag pops, an even one pushes, and one too many empties it first. Before the
first record time and tag are 0.
"""

from __future__ import annotations

STACK = 16
_TIME_MASK = 0xFFFFFF


def encode_delta(records: bytes) -> bytes:
    """The payload for `records`, 5 bytes each."""
    out = bytearray()
    stack: list[int] = []
    last_time = last_tag = 0
    for at in range(0, len(records), 5):
        time = int.from_bytes(records[at : at + 3], "big")
        tag = records[at + 3] << 8 | records[at + 4]
        dt = (time - last_time) & _TIME_MASK
        expected = bool(stack) and tag == (stack[-1] + 1) & 0xFFFF
        out.append(min(dt, 127) | (0x80 if expected else 0))
        if dt >= 127:
            _put_varint(out, dt - 127)
        if not expected:
            change = (tag - last_tag) & 0xFFFF
            _put_varint(out, 2 * change if change < 0x8000 else 2 * (0xFFFF - change) + 1)
        _track(stack, tag)
        last_time, last_tag = time, tag
    return bytes(out)


def decode_delta(payload: bytes, count: int) -> bytes | None:
    """The `count` records in `payload`, 5 bytes each; None unless it holds exactly those."""
    out = bytearray()
    stack: list[int] = []
    time = tag = at = 0
    try:
        for _ in range(count):
            code = payload[at]
            at += 1
            dt = code & 0x7F
            if dt == 127:
                more, at = _get_varint(payload, at)
                dt += more
            time = (time + dt) & _TIME_MASK
            if code & 0x80:
                if not stack:
                    return None
                tag = (stack[-1] + 1) & 0xFFFF
            else:
                zigzag, at = _get_varint(payload, at)
                if zigzag > 0xFFFF:
                    return None
                change = 0xFFFF - (zigzag >> 1) if zigzag & 1 else zigzag >> 1
                tag = (tag + change) & 0xFFFF
            _track(stack, tag)
            out += (time << 16 | tag).to_bytes(5, "big")
    except (IndexError, ValueError):
        return None
    return bytes(out) if at == len(payload) else None


def _track(stack: list[int], tag: int) -> None:
    if tag & 1:
        if stack:
            stack.pop()
    else:
        if len(stack) == STACK:
            stack.clear()
        stack.append(tag)


def _put_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _get_varint(payload: bytes, at: int) -> tuple[int, int]:
    """(value, position after it); IndexError past the end, ValueError past 28 bits."""
    value = payload[at] & 0x7F
    shift = 7
    while payload[at] & 0x80:
        at += 1
        if shift > 21:
            raise ValueError
        value |= (payload[at] & 0x7F) << shift
        shift += 7
    return value, at + 1
