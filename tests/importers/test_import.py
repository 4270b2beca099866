"""Imports of every format against a reference that looks at one sample at a time."""

from __future__ import annotations

import itertools
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.importers.recordings import (
    CE,
    NAMES,
    RATE,
    noise,
    reads,
    reference,
    write_csv,
    write_saleae,
    write_sr,
    write_vcd,
)

from kprof.capture import open_capture
from kprof.capture.importers import run, saleae, sigrok, table, vcd
from kprof.capture.importers.run import ImportOptions, import_recording, parse_ranges
from kprof.errors import CaptureError, FileAccessError, UsageError

Writer = Callable[[Path, list[int]], list[Path]]


def one(write: Callable[[Path, list[int]], None], name: str) -> Writer:
    def writer(folder: Path, words: list[int]) -> list[Path]:
        write(folder / name, words)
        return [folder / name]

    return writer


STYLES = ("sigrok", "sigrok-time", "sigrok-dedup", "dsview", "saleae", "saleae-1")
WRITERS: dict[str, Writer] = {
    "sr": one(write_sr, "x.sr"),
    "sr in parts": one(lambda p, w: write_sr(p, w, cut=(1, 5, 6, 1000)), "x.sr"),
    "vcd": one(write_vcd, "x.vcd"),
    "vcd 100 ps": one(lambda p, w: write_vcd(p, w, timescale="100 ps"), "x.vcd"),
    "vcd without a rate": one(
        lambda p, w: write_vcd(p, w, rate=False, timescale="100 ns"), "x.vcd"
    ),
    "vcd bus": one(lambda p, w: write_vcd(p, w, bus=True), "x.vcd"),
    **{
        f"csv {style}": one(lambda p, w, s=style: write_csv(p, w, s), "x.csv")  # type: ignore[misc]
        for style in STYLES
    },
    "saleae 0": lambda folder, words: write_saleae(folder, words),
    "saleae 1": lambda folder, words: write_saleae(folder, words, 1),
}
ENDS_WITH_A_CHANGE = ("csv sigrok-dedup", "csv dsview", "csv saleae", "csv saleae-1")
MAPS = {
    "vcd bus": ",".join(f"A{n}=addr[{n}]" for n in range(16)) + ",CE=CE",
    "saleae 0": "A0-A15=D0-D15,CE=D16",
    "saleae 1": "A0-A15=D0-D15,CE=D16",
}


def imported(
    folder: Path, kind: str, words: list[int], **options: object
) -> tuple[list[tuple[int, int]], run.Counts]:
    """(events as (sample since the first event, tag), counts)."""
    paths = WRITERS[kind](folder, words)
    given = {"mapping": MAPS.get(kind), **options}
    if kind in ("csv saleae", "csv saleae-1", "saleae 0", "vcd without a rate"):
        given.setdefault("samplerate", "10MHz")
    result = import_recording(paths, folder / "out.kpd", ImportOptions(**given))  # type: ignore[arg-type]
    made = open_capture(folder / "out.kpd")
    assert made.info.clock_hz == RATE
    assert made.info.warnings == ()
    return list(zip(made.ticks().tolist(), made.tags().tolist(), strict=True)), result.counts


@pytest.mark.parametrize("kind", WRITERS)
def test_steady_reads_are_all_found(tmp_path: Path, kind: str) -> None:
    words, expected = reads(300)
    events, counts = imported(tmp_path, kind, words)
    first = expected[0][0]
    assert events == [(sample - first, tag) for sample, tag in expected]
    assert (counts.unstable, counts.short, counts.reads) == (0, 0, 300)


@pytest.mark.parametrize("settle", [0, 1, 3])
@pytest.mark.parametrize("kind", WRITERS)
def test_noise_is_read_as_the_reference_reads_it(tmp_path: Path, kind: str, settle: int) -> None:
    for seed in range(4):
        words = noise(3000, seed)
        changes = [s for s in range(1, 3000) if words[s] != words[s - 1]]
        ends_with_a_change = kind in (
            "csv sigrok-dedup",
            "csv dsview",
            "csv saleae",
            "csv saleae-1",
        )
        end = changes[-1] + 1 if ends_with_a_change else None
        wanted = reference(words, settle, end)
        events, counts = imported(tmp_path, kind, words, settle=f"{settle * 100}ns")
        found = wanted["events"]
        assert isinstance(found, list)
        assert events == [(sample - found[0][0], tag) for sample, tag in found]
        assert (counts.unstable, counts.short) == (wanted["unstable"], wanted["short"])
        info = open_capture(tmp_path / "out.kpd").info
        assert info.lost == counts.unstable + counts.short
        assert info.some_lost


@pytest.mark.parametrize("kind", ["sr", "vcd", "csv sigrok", "saleae 0"])
def test_no_read_is_lost_uncounted(tmp_path: Path, kind: str) -> None:
    choice = random.Random(kind)
    for seed in range(12):
        length = choice.choice((60, 700, 3000))
        words = noise(length, seed)
        falls = sum(1 for a, b in itertools.pairwise(words) if a & CE and not b & CE)
        settle = choice.choice(("0ns", "100ns", "700ns", "30us", "10ms"))
        _, counts = imported(tmp_path, kind, words, settle=settle, ignore="0-7fff")
        assert counts.reads == falls
        assert counts.events + counts.unstable + counts.short + counts.ignored == falls
        assert open_capture(tmp_path / "out.kpd").info.lost == counts.unstable + counts.short


def test_a_recording_of_which_no_event_is_left_is_told_of(tmp_path: Path) -> None:
    words, _ = reads(300)
    write_sr(tmp_path / "x.sr", words)
    result = import_recording([tmp_path / "x.sr"], tmp_path / "o", ImportOptions(settle="10ms"))
    assert result.sentence("o").startswith("o: 0 events from 300 reads ")
    assert (result.counts.short, result.counts.lost) == (300, 300)
    assert result.warnings == (
        f"{tmp_path}/x.sr: 300 of 300 reads gave no tag: /CE rose too soon (try another --settle, "
        "or a higher sample rate)",
    )
    options = ImportOptions(ignore="0-ffff")
    result = import_recording([tmp_path / "x.sr"], tmp_path / "o", options)
    assert result.warnings == (
        f"{tmp_path}/x.sr: no event is left: 300 of 300 reads have tags that --ignore names",
    )


def _all_of(path: Path, **options: object) -> tuple[list[tuple[int, int]], run.ImportResult]:
    result = import_recording([path], path.parent / "o", ImportOptions(**options))  # type: ignore[arg-type]
    made = open_capture(path.parent / "o")
    return list(zip(made.ticks().tolist(), made.tags().tolist(), strict=True)), result


@pytest.mark.parametrize("bus", [False, True])
def test_a_vcd_that_is_cut_off_is_told_of(tmp_path: Path, bus: bool) -> None:
    words, _ = reads(30)
    write_vcd(tmp_path / "x.vcd", words, bus=bus)
    mapping = MAPS["vcd bus"] if bus else None
    whole, result = _all_of(tmp_path / "x.vcd", mapping=mapping)
    assert result.warnings == ()
    data = (tmp_path / "x.vcd").read_bytes()
    body = data.index(b"$enddefinitions")
    for length in range(body + 700, len(data)):
        (tmp_path / "x.vcd").write_bytes(data[:length])
        found, result = _all_of(tmp_path / "x.vcd", mapping=mapping)
        assert found == whole[: len(found)]  # nothing wrong is made of half a token
        told = [said for said in result.warnings if "seems to be cut off" in said]
        assert len(told) == (data[length - 1 : length] != b"\n"), data[length - 20 : length]
        times = data[body:length].replace(b"\n", b" ").split(b" ")[:-1]
        last = [token.decode() for token in times if token[:1] == b"#" and len(token) > 1][-1]
        assert all(said.endswith(f"the last time in it is {last}") for said in told)


def test_a_vcd_whose_last_time_has_no_line_feed_is_whole_but_for_that(tmp_path: Path) -> None:
    words, expected = reads(30)
    write_vcd(tmp_path / "x.vcd", [*words[: expected[-1][0] + 3]])
    (tmp_path / "x.vcd").write_bytes((tmp_path / "x.vcd").read_bytes().rstrip(b"\n"))
    found, result = _all_of(tmp_path / "x.vcd")
    assert [tag for _, tag in found] == [tag for _, tag in expected]
    assert len(result.warnings) == 1


@pytest.mark.parametrize(
    ("kind", "says"),
    [("sr", "10 MHz"), ("vcd", "10 MHz"), ("csv sigrok", "10 MHz"), ("saleae 1", "10000000 Hz")],
)
def test_a_sample_rate_that_contradicts_the_file_is_told_of(
    tmp_path: Path, kind: str, says: str
) -> None:
    words, _ = reads(30)
    paths = WRITERS[kind](tmp_path, words)
    for rate in ("10MHz", "10000 kHz"):
        options = ImportOptions(mapping=MAPS.get(kind), samplerate=rate)
        assert import_recording(paths, tmp_path / "o", options).warnings == ()
    options = ImportOptions(mapping=MAPS.get(kind), samplerate="24MHz")
    result = import_recording(paths, tmp_path / "o", options)
    assert result.clock_hz == 24_000_000
    assert f"{paths[0]}: says {says}; --samplerate 24MHz is taken instead" in result.warnings


@pytest.mark.parametrize("kind", WRITERS)
def test_small_parts_give_the_same(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = noise(2000, 9)
    whole = imported(tmp_path, kind, words)
    for module in (sigrok, vcd, table):
        monkeypatch.setattr(module, "_PART", 331)
    monkeypatch.setattr(saleae, "_WINDOW", 7)
    assert imported(tmp_path, kind, words) == whole


def test_times_without_a_sample_rate_are_nanoseconds(tmp_path: Path) -> None:
    words, expected = reads(20)
    for style in ("saleae", "saleae-1"):
        write_csv(tmp_path / "x.csv", words, style)
        import_recording([tmp_path / "x.csv"], tmp_path / "out.kpd", ImportOptions())
        made = open_capture(tmp_path / "out.kpd")
        assert made.info.clock_hz == 10**9
        assert made.ticks().tolist() == [100 * (s - expected[0][0]) for s, _ in expected]


def test_the_wrong_period_of_sigroks_csv_is_put_right(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    head = f"; Channels (17/17): {', '.join(NAMES)}\n; Samplerate: 24 MHz\n"
    words, expected = reads(50)
    rows = [
        f"{41 * (s + 1)}," + ",".join(str(w >> i & 1) for i in range(17))
        for s, w in enumerate(words)
    ]
    path.write_text(f"{head}Time,{','.join(NAMES)}\n" + "\n".join(rows) + "\n")
    import_recording([path], tmp_path / "out.kpd", ImportOptions())
    made = open_capture(tmp_path / "out.kpd")
    assert made.info.clock_hz == 24_000_000
    assert made.ticks().tolist() == [s - expected[0][0] for s, _ in expected]


def test_tag_bits_and_shift_and_ignored_tags(tmp_path: Path) -> None:
    words, expected = reads(200)
    events, counts = imported(
        tmp_path, "sr", words, tag_bits=9, tag_shift=2, ignore="0-7f,0x100, 180-1ff"
    )
    tags = [tag >> 2 & 0x1FF for _, tag in expected]
    kept = [tag for tag in tags if tag > 0x7F and tag != 0x100 and not tag >= 0x180]
    assert [tag for _, tag in events] == kept
    assert (counts.ignored, counts.events) == (200 - len(kept), len(kept))
    assert open_capture(tmp_path / "out.kpd").info.tag_bits == 9


@pytest.mark.parametrize("mapping", [None, "A0-A23=X0-X23,CE=X24"])
@pytest.mark.parametrize(
    ("shift", "bits", "tags"),
    [
        (0, 16, [0x87A6, 0xFFFF, 0]),
        (1, 16, [0x43D3, 0xFFFF, 0x8000]),
        (2, 16, [0xA1E9, 0xFFFF, 0xC000]),
        (8, 16, [0x7687, 0xFFFF, 0xFF00]),
        (12, 12, [0x768, 0xFFF, 0xFF0]),
    ],
)
def test_the_lines_above_a15_are_in_a_shifted_tag(
    tmp_path: Path, shift: int, bits: int, tags: list[int], mapping: str | None
) -> None:
    select = 1 << 24
    words = [select]
    for address in (0x7687A6, 0xFFFFFF, 0xFF0000):
        words += [select | address, *[address] * 5, select | address]
    names = [f"{'X' if mapping else 'A'}{line}" for line in range(24)] + [
        "X24" if mapping else "CE"
    ]
    rows = [",".join(str(word >> line & 1) for line in range(25)) for word in words]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["; Samplerate: 10 MHz", ",".join(names), *rows]) + "\n")
    options = ImportOptions(mapping, tag_bits=bits, tag_shift=shift)
    result = import_recording([path], tmp_path / "out.kpd", options)
    assert open_capture(tmp_path / "out.kpd").tags().tolist() == tags
    assert result.warnings == ()


@pytest.mark.parametrize(
    ("names", "options", "said"),
    [
        (16, {"tag_shift": 2}, "no channel has A16, A17: of each tag these bits are 0: 14, 15 ("),
        (16, {"tag_shift": 1}, "the tag is A1 to A16, and no channel has A16: of"),
        (16, {"tag_shift": 2, "tag_bits": 14}, ""),
        (10, {}, ""),
        (
            10,
            {"mapping": "A0-A4=A0-A4,A6-A9=A6-A9,CE=CE"},
            "no channel has A5: of each tag these bits are 0: 5 (",
        ),
    ],
)
def test_bits_of_the_tag_that_no_channel_has_are_told(
    tmp_path: Path, names: int, options: dict[str, object], said: str
) -> None:
    words, _ = reads(20)
    channels = NAMES[:names] + [f"unused{line}" for line in range(names, 16)] + ["CE"]
    write_sr(tmp_path / "x.sr", words, channels)
    result = import_recording([tmp_path / "x.sr"], tmp_path / "o", ImportOptions(**options))  # type: ignore[arg-type]
    assert len(result.warnings) == bool(said)
    assert said in "".join(result.warnings)


def test_a_number_alone_is_microseconds(tmp_path: Path) -> None:
    words, _ = reads(20)
    write_sr(tmp_path / "x.sr", words)
    for settle, ticks in (("1", 10), ("0.3", 3), ("1us", 10), ("300ns", 3), ("200000ps", 2)):
        options = ImportOptions(settle=settle)
        import_recording([tmp_path / "x.sr"], tmp_path / "o", options)
        assert open_capture(tmp_path / "o").info.metadata["settle_ticks"] == ticks


def test_fewer_lines_and_an_active_high_select(tmp_path: Path) -> None:
    words, expected = reads(50)
    write_sr(tmp_path / "x.sr", [word ^ CE for word in words], [f"D{n}" for n in range(17)])
    options = ImportOptions(mapping="A7-A0=D7-D0, ce=!d16")
    import_recording([tmp_path / "x.sr"], tmp_path / "out.kpd", options)
    assert open_capture(tmp_path / "out.kpd").tags().tolist() == [tag & 0xFF for _, tag in expected]


@pytest.mark.parametrize("select", ["CE", "/CE", "CE#", "nCE", "CE_N", "cs", "~CE", "ROM_CE"])
def test_names_of_the_lines(tmp_path: Path, select: str) -> None:
    words, expected = reads(5)
    for address in ("A{}", "a{}", "ADDR{}", "A[{}]", "Addr_{}", "A {}"):
        write_sr(tmp_path / "x.sr", words, [address.format(n) for n in range(16)] + [select])
        import_recording([tmp_path / "x.sr"], tmp_path / "out.kpd", ImportOptions())
        assert open_capture(tmp_path / "out.kpd").tags().tolist() == [t for _, t in expected]


def test_levels_that_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "x.vcd"
    head = "$timescale 1 ns $end $var wire 1 a A0 $end $var wire 1 c CE $end $enddefinitions $end\n"
    body = (
        "#0 xa xc\n#10 1c\n#50 0c\n#100 1c\n#150 1a\n#200 0c\n#300 1c\n#310 za\n#400 0c\n#500 1c\n"
    )
    path.write_text(head + body)
    result = import_recording([path], tmp_path / "out.kpd", ImportOptions(settle="5ns"))
    assert (result.counts.reads, result.counts.unstable, result.counts.events) == (3, 2, 1)
    assert "2 of 3 reads gave no tag: the address was not steady" in result.warnings[0]
    csv = tmp_path / "x.csv"
    csv.write_text(
        "Time [s],A0,CE\n0.0,X,1\n0.000001,X,0\n0.000002,1,1\n0.000003,1,0\n0.000004,1,1\n"
    )
    result = import_recording([csv], tmp_path / "out.kpd", ImportOptions(settle="5ns"))
    assert (result.counts.unstable, result.counts.events) == (1, 1)


def test_a_comment_between_the_changes_of_a_vcd(tmp_path: Path) -> None:
    words, expected = reads(30)
    write_vcd(tmp_path / "x.vcd", words)
    text = (tmp_path / "x.vcd").read_text()
    place = text.index("\n#", len(text) // 2)
    (tmp_path / "x.vcd").write_text(
        f"{text[:place]}\n$comment 0! b1 # nonsense\n #7 $end{text[place:]}"
    )
    import_recording([tmp_path / "x.vcd"], tmp_path / "out.kpd", ImportOptions())
    assert open_capture(tmp_path / "out.kpd").tags().tolist() == [tag for _, tag in expected]


def test_gaps_in_a_saleae_export(tmp_path: Path) -> None:
    def write(name: str, chunks: list[tuple[int, list[float]]]) -> Path:
        data = b"<SALEAE>" + struct.pack("<iiQ", 1, 0, len(chunks))
        for number, (level, times) in enumerate(chunks):
            begin = float(number)
            data += struct.pack("<IdddQ", level, RATE, begin, begin + 0.5, len(times))
            data += struct.pack(f"<{len(times)}d", *times)
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    paths = [
        write("digital_0.bin", [(0, []), (1, [])]),
        write("digital_1.bin", [(1, [0.1, 0.2]), (1, [1.1, 1.2, 1.3])]),
    ]
    options = ImportOptions(mapping="A0=D0,CE=D1")
    result = import_recording(paths, tmp_path / "out.kpd", options)
    made = open_capture(tmp_path / "out.kpd")
    assert made.tags().tolist() == [0, 1, 1]
    assert made.ticks().tolist() == [0, RATE, RATE * 12 // 10]
    assert "1 gaps" in result.warnings[0]


def test_the_capture_says_where_it_comes_from(tmp_path: Path) -> None:
    words, _ = reads(5)
    write_sr(tmp_path / "x.sr", words)
    import_recording([tmp_path / "x.sr"], tmp_path / "o", ImportOptions(planted=b"n" * 32))
    info = open_capture(tmp_path / "o").info
    assert info.valid_from == "all reads found in a sigrok session file"
    assert info.metadata["imported_from"] == "sigrok session file"
    assert (info.lost, info.names_sha256) == (0, b"n" * 32)


def broken(tmp_path: Path, **changes: object) -> Path:
    path = tmp_path / "x.sr"
    write_sr(path, [CE] * 30 + [5] * 10 + [CE] * 10, **changes)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.sr", b"", "is empty"),
        ("x.sr", b"PK\x03\x04junk", "cannot be read as a sigrok session file"),
        ("x.bin", b"\x7fELF\0\0\0", "is not a recording of a kind that kprof knows"),
        ("x.vcd", b"$timescale 1 ns $end\n$var wire 1 ! A0 $end\n", "$enddefinitions is missing"),
        ("x.vcd", b"$date $end $enddefinitions $end\n", "has no $timescale"),
        ("x.csv", b"just some text\nand more\n", "neither times nor a sample rate"),
        ("x.csv", b"0,1,0\n1,0,1\n", "neither times nor a sample rate"),
        (
            "x.csv",
            b"Time [s],A0,CE\n0.0,0,1\nzero,0,0\n",
            "'zero,0,0' is not a row of a time and 2",
        ),
        ("x.csv", b"Time [s],A0,CE\n0.0,0,1\n1.0,0\n", "'1.0,0' is not a row of a time and 2"),
        ("x.csv", b"Time [s],A0,CE\n1.0,0,1\n0.5,0,0\n", "time runs backwards"),
        ("x.csv", b"Time [s],A0,CE\nnan,0,1\n0.5,0,0\n", "not finite"),
        ("x.csv", b"Time [s],A0,CE\n0.0,0,1\n1.0,0,1\n", "never selected"),
        ("digital_0.bin", b"<SALEAE>\x00\x00\x00\x00\x01\x00\x00\x00", "type 1"),
        ("digital_0.bin", b"<SALEAE>\x00\x00\x00\x00\x00\x00\x00\x00ab", "is cut off"),
    ],
)
def test_recordings_that_cannot_be_read(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CaptureError) as caught:
        import_recording([path], tmp_path / "out.kpd", ImportOptions())
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert not (tmp_path / "out.kpd").exists()


def test_a_vcd_whose_body_is_something_else(tmp_path: Path) -> None:
    words, _ = reads(5)
    write_vcd(tmp_path / "x.vcd", words)
    text = (tmp_path / "x.vcd").read_text()
    for body, said in (
        ("#99999 good\n", "'good' is not a value change"),
        ("#9x 0!\n", "not a digit"),
    ):
        (tmp_path / "x.vcd").write_text(text + body)
        with pytest.raises(CaptureError) as caught:
            import_recording([tmp_path / "x.vcd"], tmp_path / "out.kpd", ImportOptions())
        assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mapping": "A0"}, "expected LINE=CHANNEL"),
        ({"mapping": "A0=Q7,CE=CE"}, "has no channel 'Q7'; its channels are A0, A1"),
        ({"mapping": "A0-A3=A0-A4"}, "as many channels as lines"),
        ({"mapping": "A0=A0,A0=A1"}, "is mapped twice"),
        ({"mapping": "A32=A0"}, "is not a line"),
        ({"mapping": "A0-A99=A0-A99"}, "expected lines from A0 to A31"),
        ({"settle": "soon"}, "is not a time; expected a number with"),
        ({"settle": "2s"}, "below a second"),
        ({"ignore": "3ff-0"}, "expected hexadecimal tags"),
        ({"ignore": "12345"}, "expected hexadecimal tags"),
    ],
)
def test_options_that_do_not_fit(tmp_path: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        import_recording([broken(tmp_path)], tmp_path / "o", ImportOptions(**options))  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_channels_that_are_not_named(tmp_path: Path) -> None:
    path = broken(tmp_path, names=[f"D{n}" for n in range(17)])
    with pytest.raises(CaptureError, match="neither is named; expected A0 to A15 and CE"):
        import_recording([path], tmp_path / "o", ImportOptions())
    path = broken(tmp_path, names=[*NAMES[:16], "D16"])
    with pytest.raises(CaptureError, match="/CE is named"):
        import_recording([path], tmp_path / "o", ImportOptions())


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileAccessError, match="cannot read"):
        import_recording([tmp_path / "no.sr"], tmp_path / "o", ImportOptions())
    with pytest.raises(FileAccessError, match="cannot write"):
        import_recording([broken(tmp_path)], tmp_path / "no" / "o", ImportOptions())


def test_several_files_of_one_kind(tmp_path: Path) -> None:
    path = broken(tmp_path)
    with pytest.raises(UsageError, match="2 files given"):
        import_recording([path, path], tmp_path / "o", ImportOptions())


def test_the_recording_is_not_overwritten(tmp_path: Path) -> None:
    path = broken(tmp_path)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="is the recording itself"):
        import_recording([path], tmp_path / "." / "x.sr", ImportOptions())
    assert path.read_bytes() == before


def test_a_capture_is_replaced_only_when_asked(tmp_path: Path) -> None:
    write_vcd(tmp_path / "x.vcd", reads(3)[0])
    kept = tmp_path / "d.kpd"
    kept.write_bytes(b"precious")
    command = [sys.executable, "-m", "kprof", "import", "x.vcd", "-o", "d.kpd"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("kprof: d.kpd: already exists (--force replaces it")
    assert kept.read_bytes() == b"precious"
    subprocess.run([*command, "--force"], cwd=tmp_path, capture_output=True, check=True)
    assert open_capture(kept).events > 0


def test_a_sample_rate_that_is_missing_or_given(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    words, expected = reads(10)
    write_csv(path, words, "sigrok")
    path.write_text(path.read_text().replace("; Samplerate: 10 MHz\n", ""))
    with pytest.raises(CaptureError, match="say it: --samplerate"):
        import_recording([path], tmp_path / "o", ImportOptions())
    for rate in ("5 MHz", "5000000", "5000kHz"):
        import_recording([path], tmp_path / "o", ImportOptions(samplerate=rate))
        made = open_capture(tmp_path / "o")
        assert made.info.clock_hz == 5_000_000
        assert made.ticks().tolist() == [s - expected[0][0] for s, _ in expected]
    with pytest.raises(CaptureError, match="its sample rate is 'fast'"):
        import_recording([path], tmp_path / "o", ImportOptions(samplerate="fast"))


def test_ranges() -> None:
    assert parse_ranges("0-3ff, 0x8000") == ((0, 0x3FF), (0x8000, 0x8000))
    assert parse_ranges("") == ()


def test_a_long_recording_needs_little_memory(tmp_path: Path) -> None:
    # 8 million samples, 24 MB: traced memory stays at a few parts' worth.
    import tracemalloc

    words, expected = reads(400)
    write_sr(tmp_path / "x.sr", words * (8_000_000 // len(words)))
    tracemalloc.start()
    result = import_recording([tmp_path / "x.sr"], tmp_path / "out.kpd", ImportOptions())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.counts.events == len(expected) * (8_000_000 // len(words))
    assert peak < 100 << 20
    assert np.array_equal(open_capture(tmp_path / "out.kpd").tags()[:400], [t for _, t in expected])
