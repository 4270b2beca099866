"""The formats by themselves: units, text, bytes, edge cases, memory, and the command."""

from __future__ import annotations

import gc
import io
import json
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.export import perfetto_model
from tests.export.samples import kernel, plain, sample

import kprof.export.arrow as arrow_format
from kprof.capture.model import Capture, CaptureInfo
from kprof.capture.write import write_capture
from kprof.cli.export import command
from kprof.errors import FileAccessError, MissingExtraError, UsageError
from kprof.export import protobuf
from kprof.export.formats import FORMATS, export, target_for
from kprof.export.labels import plain as plain_name
from kprof.export.packets import begin_layout, end_layout, joined
from kprof.export.spool import Column
from kprof.export.units import Scale
from kprof.export.view import View
from kprof.names import parse_names

FILES = [name for name, form in FORMATS.items() if not form.folder]
NEEDS_ARROW = {"parquet", "arrow"}


@settings(deadline=None)
@given(st.fractions(1, 10**9, max_denominator=1000), st.lists(st.integers(0, 10**12)))
def test_nanoseconds_are_exact(hz: Fraction, ticks: list[int]) -> None:
    scale = Scale(hz, "ns")
    expected = [tick * 10**9 * hz.denominator // hz.numerator for tick in ticks]
    assert [scale.whole(tick) for tick in ticks] == expected
    if all(value < 1 << 62 for value in expected):
        assert scale.column(np.array(ticks, np.int64)).tolist() == expected
    assert [float(text) for text in scale.us_texts(np.array(ticks, np.int64))] == pytest.approx(
        [value / 1000 for value in expected]
    )


def test_the_unit_is_us_where_a_tick_is_a_whole_number_of_them() -> None:
    assert [Scale(Fraction(hz)).unit for hz in (1_000_000, 500_000, 3_000_000, 8_000_000)] == [
        "us", "us", "ns", "ns",
    ]  # fmt: skip
    assert Scale(Fraction(3_000_000)).us(10) == "3.333"


@settings(deadline=None)
@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_varints_are_those_of_protobuf(value: int) -> None:
    encoder = pytest.importorskip("google.protobuf.internal.encoder", reason="no protobuf package")
    if value < 0:
        assert protobuf.varint(value) == encoder._VarintBytes(value & (1 << 64) - 1)
    else:
        assert protobuf.varint(value) == encoder._VarintBytes(value)


def test_names_are_made_harmless() -> None:
    assert plain_name("a;b", ";") == "a\\x3bb"
    assert plain_name("a\x1b[31m\u202eb") == "a\\x1b[31m\\x202eb"
    assert plain_name("Grüße") == "Grüße"


def test_a_spooled_column() -> None:
    with Column() as column:
        for k in range(300_000):
            column.extend([str(k)] if k % 2 else [])
        out = io.BytesIO()
        column.copy_to(out)
    assert json.loads(out.getvalue()) == list(range(1, 300_000, 2))


@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("events", [0, 1])
def test_captures_with_hardly_an_event(form: str, events: int, tmp_path: Path) -> None:
    if form in NEEDS_ARROW:
        pytest.importorskip("pyarrow", reason="no pyarrow package")
    one = sample([5] * events, [1024] * events, "a/1024\n")
    export(one.capture, one.names, form, tmp_path / "x")
    data = (tmp_path / "x").read_bytes()
    if form in ("chrome", "speedscope", "firefox"):
        json.loads(data)
    elif form == "perfetto":
        assert perfetto_model.read(data).end == 0
    elif form == "csv":
        assert len(data.splitlines()) == 1 + events


@pytest.mark.parametrize("form", FILES)
def test_no_name_in_the_name_file(form: str, tmp_path: Path) -> None:
    if form in NEEDS_ARROW:
        pytest.importorskip("pyarrow", reason="no pyarrow package")
    one = sample([1, 5, 9], [7, 8, 9], "")
    export(one.capture, one.names, form, tmp_path / "x")
    assert (tmp_path / "x").exists()


def test_perfetto_with_large_gaps_many_names_and_deep_calls() -> None:
    """Every field grows past its usual size, in one block and from block to block."""
    pytest.importorskip("perfetto", reason="no perfetto package")
    from kprof.analysis.stream import Stream
    from kprof.export import perfetto

    names = "".join(f"f{k}/{1024 + 2 * k}\n" for k in range(30_000))
    depth = 20_000
    tags = [1024 + 2 * k for k in range(depth)] + [1025 + 2 * k for k in reversed(range(depth))]
    times = np.cumsum(np.where(np.arange(2 * depth) % 5000 == 7, 1 << 40, 3))
    info = CaptureInfo(unwrapped=True, clock_hz=Fraction(7_000_000))
    one = sample(times, tags, names, info)
    out = io.BytesIO()
    perfetto.write(View(Stream(one.capture, one.names)), out)
    trace = perfetto_model.read(out.getvalue())
    assert trace.end == one.summary.ledger.elapsed * 1000 // 7
    calls = trace.calls()
    assert [s.name for s in calls] == [f"f{k}" for k in range(depth)]
    assert [s.depth for s in calls] == list(range(depth))
    first, last = int(times[0]), int(times[-1])
    assert calls[0].duration == (last - first) * 1000 // 7


@settings(deadline=None)
@given(
    st.integers(2, 10), st.integers(1, 9), st.integers(1, 4),
    st.lists(st.integers(0, 1 << 62)), st.booleans(),
)  # fmt: skip
def test_the_packets_of_calls_are_packets(
    gap: int, track: int, name: int, values: list[int], located: bool
) -> None:
    """Of every size of their fields."""
    pb = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="no perfetto package"
    )
    column = np.array(values, np.int64)

    def fit(size: int) -> Any:
        return column & (1 << min(62, 7 * size)) - 1

    columns = {"gap": fit(gap), "track": fit(track), "name": fit(name), "category": fit(1)}
    signed = np.where(column % 3 == 0, -column, column)
    begun = begin_layout(gap, track, name, located=located).table(columns)
    ended = end_layout(gap, track, 10, 9).table(
        {"gap": fit(gap), "track": fit(track), "net": signed, "elapsed": column}
    )
    kinds = np.array([k % 3 for k in range(3 * len(values))], np.uint8)
    data, starts = joined(kinds, {0: begun, 1: ended})
    assert starts[-1] == len(data)
    packets = pb.Trace.FromString(data.tobytes()).packet
    found = [
        (p.timestamp, p.track_event.type, p.track_event.track_uuid, p.track_event.name_iid,
         *p.track_event.category_iids, p.track_event.source_location_iid)
        for p in packets[::2]
    ]  # fmt: skip
    names = columns["name"]
    expected = (columns["gap"], names * 0 + 1, columns["track"], names, columns["category"])
    place = names if located else names * 0
    assert found == list(zip(*(numbers.tolist() for numbers in (*expected, place)), strict=True))
    notes = [[note.int_value for note in p.track_event.debug_annotations] for p in packets[1::2]]
    assert notes == [list(pair) for pair in zip(signed.tolist(), values, strict=True)]


def test_a_long_run_has_a_thousand_windows_at_most() -> None:
    from kprof.analysis.stream import Stream
    from kprof.export.busy import IDLE, Busy

    one = kernel("pair")
    view = View(Stream(one.capture, one.names))
    busy = Busy(view)
    idle = 0
    for shown in view:
        idle += sum(end - begin for begin, end in busy.add(shown.steps))
    idle += sum(end - begin for begin, end in busy.finish(view.ledger.elapsed))
    assert idle == one.summary.ledger.idle
    shares = busy.shares()
    assert 512 <= len(shares[IDLE]) <= 1024
    assert len(shares[IDLE]) == -(-view.ledger.elapsed // busy.window)
    assert sum(shares.values()) == pytest.approx(np.full(len(shares[IDLE]), 100))


def test_perfetto_with_many_contexts() -> None:
    pytest.importorskip("perfetto", reason="no perfetto package")
    from kprof.analysis.stream import Stream
    from kprof.export import perfetto

    tags = [tag for k in range(300) for tag in (2000 + k, 1024)]
    one = sample(range(len(tags)), tags, "a/1024\ntask/2000@300\n")
    out = io.BytesIO()
    perfetto.write(View(Stream(one.capture, one.names)), out)
    trace = perfetto_model.read(out.getvalue())
    assert {s.track for s in trace.calls() if s.name == "a"} == {f"task {k}" for k in range(300)}


def test_perfetto_tells_when_the_run_started() -> None:
    pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    from kprof.analysis.stream import Stream
    from kprof.export import perfetto

    one = sample(
        [0, 2], [1024, 1025], "a/1024\n", CaptureInfo(started_ns=1_700_000_000_000_000_001)
    )
    out = io.BytesIO()
    perfetto.write(View(Stream(one.capture, one.names)), out)
    clocks = pb.Trace.FromString(out.getvalue()).packet[0].clock_snapshot.clocks
    assert {c.clock_id: c.timestamp for c in clocks} == {1: 1_700_000_000_000_000_001, 6: 0, 64: 0}


def test_a_clock_that_is_not_of_microseconds() -> None:
    """All formats that sum up agree in ns."""
    from kprof.analysis.stream import Stream
    from kprof.export import csv, folded

    info = CaptureInfo(clock_hz=Fraction(3_000_000))
    one = plain(info=info)
    out = io.BytesIO()
    folded.write(View(Stream(one.capture, one.names), paths=True), out)
    total = sum(int(line.rsplit(b" ", 1)[1]) for line in out.getvalue().splitlines())
    elapsed = one.summary.ledger.elapsed * 1000 / 3
    assert elapsed - 20 < total <= elapsed
    out = io.BytesIO()
    csv.write(View(Stream(one.capture, one.names)), out)
    net = sum(float(line.split(b",")[-5]) for line in out.getvalue().splitlines()[1:])
    assert net == pytest.approx(one.summary.ledger.net / 3, abs=0.5)


def test_mermaid_leaves_out_what_is_too_much() -> None:
    from kprof.analysis.stream import Stream
    from kprof.export import mermaid

    names = "".join(f"function_{k}/{1024 + 2 * k}\n" for k in range(3000))
    tags = [1024 + 2 * (k // 2) + k % 2 for k in range(6000)]
    one = sample(range(6000), tags, names)
    out = io.BytesIO()
    mermaid.write(View(Stream(one.capture, one.names), paths=True), out)
    text = out.getvalue().decode()
    assert len(text) < 50_000
    assert text.count("-->") <= 500
    assert f"%% {3000 - text.count('-->')} edges that took less are left out" in text


@pytest.mark.parametrize("form", [name for name in FILES if name not in NEEDS_ARROW])
def test_memory_does_not_grow_with_the_capture(form: str) -> None:
    """Peaks of Python's memory for 6 and for 14 blocks are about the same."""
    from kprof.analysis import stream
    from kprof.analysis.stream import Stream

    tags = [1027, 1026, 300, 204, 205, 1025, 1024, 1028, 1029, 204, 205] * 25
    one = sample(range(len(tags)), tags, "a/1024\nb/1026\nc/1028\nswtch/204!\nM/300=\n")
    module = __import__(f"kprof.export.{FORMATS[form].module}", fromlist=["write"])

    class Nowhere(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            return memoryview(data).nbytes  # type: ignore[arg-type]

    def peak(times: int) -> int:
        records = np.tile(one.capture.records, (times, 1))
        big = Capture(one.capture.info, records)
        gc.collect()
        tracemalloc.start()
        write = getattr(module, FORMATS[form].function)
        write(View(Stream(big, one.names), paths=FORMATS[form].paths), Nowhere())
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "BLOCK", one.capture.events)
        peak(2)  # what is imported and cached once does not count
        short, long = peak(6), peak(14)
    assert long < 1.2 * short


def test_a_folder_cannot_go_to_stdout(tmp_path: Path) -> None:
    one = plain(1)
    with pytest.raises(UsageError, match="ctf is a folder"):
        export(one.capture, one.names, "ctf", "-")
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileAccessError, match="file"):
        export(one.capture, one.names, "ctf", tmp_path / "file" / "trace")


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    one = plain(1)
    for form in NEEDS_ARROW:
        with pytest.raises(MissingExtraError, match=r"kprof\[arrow\]"):
            export(one.capture, one.names, form, tmp_path / "x")
    assert not (tmp_path / "x").exists()
    assert arrow_format.write_arrow.__doc__


def test_where_a_format_goes() -> None:
    assert target_for("a/dump.bin", "folded") == "-"
    assert target_for("a/dump.bin", "perfetto") == "a/dump.pftrace"
    assert target_for("-", "ctf") == "dump.ctf"


@pytest.fixture(name="dump")
def _dump(tmp_path: Path) -> Path:
    one = plain(3)
    write_capture(tmp_path / "dump.bin", one.capture)
    (tmp_path / "kernel.names").write_text(one.names.text)
    assert parse_names(one.names.text)
    return tmp_path / "dump.bin"


def test_command_to_stdout_and_to_a_file(dump: Path) -> None:
    done = CliRunner().invoke(command, [str(dump), "--format", "folded"], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.startswith("task 1;semi\\x3bcolon ")
    out = dump.with_name("out.json")
    done = CliRunner().invoke(command, [str(dump), "--format", "chrome", "-o", str(out)])
    assert (done.exit_code, done.output) == (0, "")
    assert json.loads(out.read_bytes())


def test_command_puts_binary_formats_beside_the_dump(dump: Path) -> None:
    done = CliRunner().invoke(command, [str(dump), "--format", "pprof"])
    assert done.exit_code == 0
    assert done.stderr == f"kprof: written to {dump.with_suffix('.pb.gz')}\n"
    assert dump.with_suffix(".pb.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_help_names_every_format_and_its_reader() -> None:
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    for name, form in FORMATS.items():
        assert f"{name}: {form.reader}" in text
    assert "Example:" in text


@pytest.mark.parametrize("form", FILES)
def test_names_that_are_not_utf8(tmp_path: Path, form: str) -> None:
    """A name file and a file name in Latin-1: every format holds them somehow, and is read."""
    if form in NEEDS_ARROW:
        pytest.importorskip("pyarrow")
    names = parse_names(b"caf\xe9/1024\n\xff/1026=\n".decode("utf-8", "surrogateescape"))
    source = b"d\xe9mp.bin".decode("utf-8", "surrogateescape")
    made = Capture.from_events([0, 5, 9], [1024, 1026, 1025], CaptureInfo(source=source))
    target = tmp_path / "out"
    export(made, names, form, target)
    if form in NEEDS_ARROW:
        import pyarrow.feather
        import pyarrow.parquet

        read = pyarrow.parquet.read_table if form == "parquet" else pyarrow.feather.read_table
        table = read(target)
        assert table.column("function").to_pylist() == ["caf\\udce9"]
        assert table.schema.metadata[b"kprof.source"] == b"d\\udce9mp.bin"
    elif form != "pprof":
        target.read_bytes().decode("utf-8" if not FORMATS[form].binary else "latin-1")
        assert b"caf" in target.read_bytes()
