"""Which channel of a logic analyser is which line of the EPROM socket.

A line is an address line A0..A31 or /CE; of the address lines those count whose bits are in the
tag. Channels named so are found by themselves, in the ways
that people write them (``A3``, ``addr[3]``, ``/CE``, ``CE#``, ``nCE``, ``CS_N``); others are told:
``A0-A15=D0-D15,CE=D16``, or ``CE=!D16`` where the channel is high for a selected EPROM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kprof.errors import CaptureError, UsageError
from kprof.names import display_name

TAG_BITS = 16
ADDRESS_LINES = 32
_ADDRESS = re.compile(r"a(?:ddr(?:ess)?)?[ _]?[\[(<]?([0-9]{1,2})[\])>]?", re.IGNORECASE)
_SELECT = re.compile(
    r"[/~!\\#]?n?_?(?:ce|cs|oe_?ce|rom_?ce|rom_?cs)(?:[ _]?n|[#*\\]|_b|_l)?", re.IGNORECASE
)
_RANGE = re.compile(r"(.*?)([0-9]+)\s*-\s*(.*?)([0-9]+)")


@dataclass(frozen=True)
class Wiring:
    """The channels that matter, by their place in the file's list of channels.

    Attributes
    ----------
    address
        (address line, channel) in ascending order of lines; those of the tag alone.
    select
        The channel on /CE.
    select_high
        The channel is high while the EPROM is selected.
    """

    address: tuple[tuple[int, int], ...]
    select: int
    select_high: bool = False

    @property
    def wanted(self) -> list[int]:
        """The channels a reader has to deliver: bit i of its words is ``wanted[i]``, /CE last."""
        return [channel for _, channel in self.address] + [self.select]

    def doubts(self, taken: range, source: str) -> tuple[str, ...]:
        """A warning where bits of the tag are 0 because their lines are on no channel.

        Lines that are missing at the top of a tag from A0 on are not: it is a shorter tag.
        """
        lines = [line for line, _ in self.address]
        last = max(lines) if taken.start == 0 else taken[-1]
        missing = [line for line in range(taken.start, last + 1) if line not in lines]
        if not missing:
            return ()
        bits = ", ".join(str(line - taken.start) for line in missing)
        named = ", ".join(f"A{line}" for line in missing)
        return (
            f"{source}: the tag is A{taken.start} to A{taken[-1]}, and no channel has {named}: of "
            f"each tag these bits are 0: {bits} (--map names the channels, --tag-bits makes the "
            "tag shorter)",
        )


def find_wiring(
    channels: Sequence[str], mapping: str | None, source: str, taken: range = range(TAG_BITS)
) -> Wiring:
    """The wiring of a file with these channel names.

    Parameters
    ----------
    taken
        The address lines whose bits are in the tag.

    Raises
    ------
    UsageError
        The mapping does not fit the channels.
    CaptureError
        Without a mapping: the names do not say which channel is what.
    """
    lines, high = _by_name(channels) if mapping is None else _mapped(channels, mapping, source)
    address = tuple(sorted((line, channel) for line, channel in lines.items() if line in taken))
    if -1 not in lines or not address:
        missing = "/CE" if address else "no address line" if -1 in lines else "neither"
        found = ", ".join(display_name(name) for name in channels[:40]) or "none"
        raise CaptureError(
            f"{source}: its channels are {found}: {missing} is named; expected A{taken[0]} to "
            f"A{taken[-1]} and CE (say which is which: --map A0-A15=D0-D15,CE=D16)"
        )
    return Wiring(address, lines[-1], high)


def _by_name(channels: Sequence[str]) -> tuple[dict[int, int], bool]:
    lines: dict[int, int] = {}
    for channel, name in enumerate(channels):
        match = _ADDRESS.fullmatch(name.strip())
        if match and int(match[1]) < ADDRESS_LINES:
            lines.setdefault(int(match[1]), channel)
        elif _SELECT.fullmatch(name.strip()):
            lines.setdefault(-1, channel)
    return lines, False


def _mapped(channels: Sequence[str], mapping: str, source: str) -> tuple[dict[int, int], bool]:
    lines: dict[int, int] = {}
    high = False
    for part in filter(None, (part.strip() for part in mapping.split(","))):
        line, equals, channel = part.partition("=")
        if not equals:
            raise UsageError(f"--map {part!r}; expected LINE=CHANNEL, such as A0=D0 or CE=D16")
        for one_line, one_channel in _pairs(line.strip(), channel.strip()):
            number = _line_number(one_line, part)
            if number == -1 and one_channel.startswith("!"):
                one_channel, high = one_channel[1:], True
            if number in lines:
                raise UsageError(f"--map: {one_line} is mapped twice")
            lines[number] = _channel(one_channel, channels, source)
    return lines, high


def _pairs(line: str, channel: str) -> Iterator[tuple[str, str]]:
    lines, channels = _RANGE.fullmatch(line), _RANGE.fullmatch(channel)
    if lines is None:
        yield line, channel
        return
    low, high = int(lines[2]), int(lines[4])
    if channels is None or abs(high - low) != abs(int(channels[4]) - int(channels[2])):
        raise UsageError(
            f"--map {line}={channel}; expected as many channels as lines, such as A0-A15=D0-D15"
        )
    if abs(high - low) >= ADDRESS_LINES:
        raise UsageError(f"--map {line}; expected lines from A0 to A31")
    first, last = int(channels[2]), int(channels[4])
    for step in range(abs(high - low) + 1):
        yield (
            f"{lines[1]}{low + (step if high >= low else -step)}",
            f"{channels[1]}{first + (step if last >= first else -step)}",
        )


def _line_number(line: str, part: str) -> int:
    match = _ADDRESS.fullmatch(line)
    if match and int(match[1]) < ADDRESS_LINES:
        return int(match[1])
    if _SELECT.fullmatch(line):
        return -1
    raise UsageError(f"--map {part!r}: {line!r} is not a line; expected A0 to A31 or CE")


def _channel(name: str, channels: Sequence[str], source: str) -> int:
    if name in channels:
        return channels.index(name)
    lowered = [channel.strip().lower() for channel in channels]
    if name.lower() in lowered:
        return lowered.index(name.lower())
    shown = ", ".join(display_name(channel) for channel in channels[:40]) or "none"
    raise UsageError(
        f"--map: {source} has no channel {display_name(name)!r}; its channels are {shown}"
    )
