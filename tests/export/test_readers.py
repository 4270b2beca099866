"""Each export, opened by the program that people open it with: its totals are the report's."""

from __future__ import annotations

import bisect
import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.analysis.whole import interrupt_functions, interrupted
from tests.export import perfetto_model, readers
from tests.export.perfetto_ui import perfetto_ui
from tests.export.samples import Sample, kernel, plain, sample

from kprof.analysis import timeline
from kprof.analysis.replay.codes import ORPHAN
from kprof.capture.model import CaptureInfo
from kprof.export.formats import export
from kprof.export.running import CLOSE, running
from kprof.export.running import OPEN as OPENED
from kprof.export.view import View

IN_INTERRUPT = (1 << 32) - 1  # the context of an event of CTF
SAMPLES = {
    "plain": plain,
    "pair": lambda: kernel("pair"),
    "early": lambda: kernel("early"),
    "swtch": lambda: kernel("swtch"),
}


@pytest.fixture(params=list(SAMPLES), name="shot")
def _shot(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]()


def written(shot: Sample, form: str, path: Path) -> Path:
    export(shot.capture, shot.names, form, path)
    return path


def complete(shot: Sample) -> bool:
    """Is every call one that began and ended here, none inside itself?"""
    return shot.summary.anomalies.orphan_exits == 0


def functions(found: dict[str, Any]) -> dict[str, Any]:
    """Without the frames of contexts."""
    return {
        name: v
        for name, v in found.items()
        if not re.fullmatch(r"system|interrupts|task \d+", name)
    }


def apart(shot: Sample) -> dict[str, int]:
    """Elapsed times of functions without the interrupts on top of them."""
    lines = timeline(shot.capture, shot.names)
    found = interrupt_functions(lines)
    taken = {
        row.function: row.lost for row in interrupted(lines, found) if row.function not in found
    }
    lost = {lines.functions[number].name: ticks for number, ticks in taken.items()}
    return nonzero({name: ticks - lost.get(name, 0) for name, ticks in shot.elapsed.items()})


def nonzero(found: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in found.items() if value}


def test_speedscope(shot: Sample, tmp_path: Path) -> None:
    path = written(shot, "speedscope", tmp_path / "x.speedscope.json")
    (profile,) = readers.speedscope(path)
    assert profile["total"] == shot.summary.ledger.elapsed
    assert profile["unit"] == "microseconds"
    own = {name: weight for name, weight, _ in profile["frames"]}
    assert nonzero(own) == shot.net
    if complete(shot):
        total = {name: weight for name, _, weight in profile["frames"]}
        total = {k: v for k, v in functions(total).items() if not k.startswith("(")}
        assert nonzero(total) == apart(shot)


def test_firefox_markers_have_a_schema(shot: Sample, tmp_path: Path) -> None:
    profile = json.loads(written(shot, "firefox", tmp_path / "x.json").read_bytes())
    fields = {
        schema["name"]: {entry["key"] for entry in schema["data"] if "key" in entry}
        for schema in profile["meta"]["markerSchema"]
    }
    (thread,) = profile["threads"]
    markers = thread["markers"]
    assert all(fields[data["type"]] == set(data) - {"type"} for data in markers["data"])
    inlines = Counter(
        thread["stringArray"][name]
        for name, data in zip(markers["name"], markers["data"], strict=True)
        if data["type"] == "InlineTrigger"
    )
    assert inlines == Counter({entry.name: count for entry, count in shot.summary.inlines})


def test_speedscope_schema(shot: Sample, tmp_path: Path) -> None:
    package = readers.npm_package("speedscope")
    schema = json.loads((package / "dist" / "release" / "file-format-schema.json").read_text())
    written(shot, "speedscope", tmp_path / "x")
    found = json.loads((tmp_path / "x").read_text())
    assert found["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    allowed = schema["definitions"]["FileFormat.File"]["properties"]
    assert set(found) <= set(allowed)
    assert set(schema["definitions"]["FileFormat.File"]["required"]) <= set(found)


def test_chrome_in_speedscope(tmp_path: Path) -> None:
    """Not of the simulated kernel: the importer orders calls of no length in its own way."""
    shot = plain()
    path = written(shot, "chrome", tmp_path / "trace.json")
    assert readers.speedscope_warnings(path) == []
    running, task = readers.speedscope(path)
    assert running["name"].endswith("running (tid 0)")
    assert running["total"] == task["total"] == shot.summary.ledger.elapsed
    assert {n: c for n, c in task["calls"].items() if n != "MARK"} == shot.calls
    assert nonzero({name: total for name, _, total in task["frames"]}) == shot.elapsed


def test_chrome_json(shot: Sample, tmp_path: Path) -> None:
    """By the specification: an end ends what was begun last on its thread."""
    events = json.loads(written(shot, "chrome", tmp_path / "x").read_bytes())["traceEvents"]
    net: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    wall: Counter[str] = Counter()
    stacks: dict[int, list[dict[str, Any]]] = {}
    last = 0
    for event in (e for e in events if e["ph"] != "M"):
        assert event["ts"] >= last
        last = event["ts"]
        stack = stacks.setdefault(event["tid"], [])
        if event["ph"] == "B":
            stack.append(event)
        elif event["ph"] == "E":
            begun = stack.pop()
            assert begun["name"] == event["name"]
            if event["tid"] == 0:
                continue
            passed = event["ts"] - begun["ts"]
            assert "args" not in event
            net[event["name"]] += event.get("net_us", passed - begun.get("inside", 0))
            if stack:
                stack[-1]["inside"] = stack[-1].get("inside", 0) + passed
            if event.get("ended_by") != "began before":
                calls[event["name"]] += 1
                wall[event["name"]] += passed
    assert not any(stacks.values())
    assert last == shot.summary.ledger.elapsed
    assert nonzero(net) == {k: v for k, v in shot.net.items() if not k.startswith("(")}
    assert calls == shot.calls
    assert wall == wall_times(shot)


def wall_times(shot: Sample) -> Counter[str]:
    """Time between entry and exit of the calls that began in the capture, by function."""
    lines = timeline(shot.capture, shot.names)
    wall: Counter[str] = Counter()
    for fn, flags, passed in zip(
        lines.calls.function, lines.calls.flags, lines.calls.wall, strict=True
    ):
        if not flags & ORPHAN:
            wall[lines.functions[fn].name] += int(passed)
    return wall


def test_perfetto(shot: Sample, tmp_path: Path) -> None:
    trace = perfetto_model.read(written(shot, "perfetto", tmp_path / "x").read_bytes())
    ledger = shot.summary.ledger
    assert trace.end == ledger.elapsed * 1000
    calls = trace.calls()
    ended = [s for s in calls if "net_ns" in s.notes]
    net: Counter[str] = Counter()
    for one in ended:
        net[one.name] += one.notes["net_ns"] // 1000
    assert nonzero(net) == {k: v for k, v in shot.net.items() if not k.startswith("(")}
    known = [s for s in ended if s.notes.get("ended_by") != "began before"]
    assert Counter(s.name for s in known) == Counter(shot.calls)
    # Slices are cut where the call is switched out: they last as long as it ran.
    lines = timeline(shot.capture, shot.names)
    ran: Counter[str] = Counter()
    for fn, elapsed in zip(lines.calls.function, lines.calls.elapsed, strict=True):
        ran[lines.functions[fn].name] += int(elapsed)
    durations: Counter[str] = Counter()
    for one in calls:
        durations[one.name] += one.duration
    assert nonzero(durations) == nonzero({name: us * 1000 for name, us in ran.items()})
    away = Counter(s.notes["switched_out_ns"] for s in ended if "switched_out_ns" in s.notes)
    spent = (lines.calls.wall - lines.calls.elapsed) * 1000
    assert away == Counter(int(time) for time in spent if time)
    assert Counter(i[0] for i in trace.instants) == Counter(
        {entry.name: count for entry, count in shot.summary.inlines}
    )
    idle = [s for s in trace.slices if s.track == "idle"]
    assert sum(s.duration for s in idle) == ledger.idle * 1000
    assert {s.category for s in idle} <= {"idle"}
    apart = {lines.functions[k].name for k in interrupt_functions(lines)}
    assert {s.track for s in calls if s.name in apart} <= {"interrupts"}
    assert {s.name for s in calls if s.category == "interrupt" and not s.depth} <= apart
    assert all((s.category == "interrupt") == (s.track == "interrupts") for s in calls)


def test_perfetto_shows_who_waits(shot: Sample, tmp_path: Path) -> None:
    """By the scheduling, the counters and the flows; nothing is open in what does not run."""
    trace = perfetto_model.read(written(shot, "perfetto", tmp_path / "x").read_bytes())
    ran: Counter[str] = Counter()
    for (since, _, name), (now, before, _) in itertools.pairwise(trace.switches):
        assert name == before
        ran[name] += now - since
    assert ran.total() == trace.end
    turns = [now for now, _, _ in trace.switches]
    calls = [s for s in trace.calls() if s.track not in ("interrupts", "system") and s.duration]
    inside: Counter[str] = Counter()
    for one in calls:
        turn = bisect.bisect_right(turns, one.start) - 1
        turn += turns[turn] == turns[min(turn + 1, len(turns) - 1)]
        ends = next((now for now in turns[turn + 1 :] if now > one.start), trace.end)
        assert one.end <= ends
        inside[one.track] += one.duration * (one.depth == 0)
    assert all(inside[name] <= ran[name] for name in inside)
    flows = [ends for ends in trace.flows.values() if len(ends) > 1]  # others do not run again
    assert flows or len(trace.switches) < 4
    for first, second in flows:
        assert (first.track, first.end) <= (second.track, second.start)
        assert (second.name, second.notes.get("continued")) == (first.name, True)
    busy = [(now, share) for of, now, share in trace.counters if of == "busy"]
    whole = (
        sum(share * (later - now) for (now, share), (later, _) in itertools.pairwise(busy)) / 100
    )
    assert whole == pytest.approx(trace.end - shot.summary.ledger.idle * 1000, rel=1e-6, abs=2)


@pytest.mark.parametrize("style", ["pair", pytest.param("swtch", marks=pytest.mark.long)])
def test_perfetto_in_its_own_interface(style: str, tmp_path: Path) -> None:
    """The trace processor of ui.perfetto.dev: what SQL adds up is what the report says."""
    shot = kernel(style)
    path = written(shot, "perfetto", tmp_path / "x.pftrace")
    with perfetto_ui(path) as page:
        errors = page.query("select name, value from stats where severity = 'error' and value > 0")
        assert not errors
        arg = "extract_arg(arg_set_id, 'debug.{}')"
        rows = page.query(
            f"select name, sum({arg.format('net_ns')}) / 1000, sum({arg.format('net_ns')} is not "
            f"null and coalesce({arg.format('ended_by')}, '') != 'began before') "
            "from slice where category != 'idle' group by name"
        )
        assert nonzero({name: net for name, net, _ in rows}) == {
            name: net for name, net in shot.net.items() if not name.startswith("(")
        }
        assert nonzero({name: calls for name, _, calls in rows}) == shot.calls
        ((idle,),) = page.query("select sum(dur) / 1000 from slice where category = 'idle'")
        assert idle == shot.summary.ledger.idle
        tracks = dict(page.query("select name, id from track where name = 'interrupts'"))
        assert tracks
        ((outside,),) = page.query(
            "select count(*) from slice where category = 'interrupt' and track_id != "
            f"{tracks['interrupts']}"
        )
        assert outside == 0
        states = dict(page.query("select state, sum(dur) from thread_state group by state"))
        assert set(states) == {"Running", "S"}
        ((ran,),) = page.query("select sum(dur) from sched")
        assert ran == pytest.approx(shot.summary.ledger.elapsed * 1000, abs=1)
        ((flows,),) = page.query("select count(*) from flow")
        assert flows > 10
        ((counters,),) = page.query("select count(distinct track_id) from counter")
        assert counters > 2


def test_firefox(shot: Sample, tmp_path: Path) -> None:
    path = written(shot, "firefox", tmp_path / "x.json")
    found = readers.firefox_functions(path, tmp_path)
    own = {name: round(self_ms * 1000) for name, (self_ms, _) in found.items()}
    assert nonzero(functions(own)) == shot.net
    if complete(shot):
        total = {name: round(ms * 1000) for name, (_, ms) in found.items()}
        total = {k: v for k, v in functions(total).items() if not k.startswith("(")}
        assert nonzero(total) == shot.elapsed


def test_folded_in_inferno(shot: Sample, tmp_path: Path) -> None:
    path = written(shot, "folded", tmp_path / "x.folded")
    found = readers.inferno(path)
    assert found["all"] == shot.summary.ledger.elapsed


def test_folded_in_speedscope(shot: Sample, tmp_path: Path) -> None:
    path = written(shot, "folded", tmp_path / "x.folded")
    (profile,) = readers.speedscope(path)
    own = {name: weight for name, weight, _ in profile["frames"]}
    own = {name.replace("\\x3b", ";"): weight for name, weight in own.items()}
    own = {name.encode("latin-1").decode(): weight for name, weight in own.items()}
    assert nonzero(functions(own)) == shot.net


def test_callgrind(shot: Sample, tmp_path: Path) -> None:
    path = written(shot, "callgrind", tmp_path / "x.callgrind")
    own = readers.callgrind_annotate(path, inclusive=False)
    assert nonzero(functions(own)) == shot.net
    if shot.capture.events < 500:  # no call in itself, whose cost has no one right answer
        total = readers.callgrind_annotate(path, inclusive=True)
        total = {k: v for k, v in functions(total).items() if not k.startswith("(")}
        assert total == shot.elapsed


def test_pprof(shot: Sample, tmp_path: Path) -> None:
    path = written(shot, "pprof", tmp_path / "x.pb.gz")
    time = readers.pprof_top(path, "time")
    own = {name: flat for name, (flat, _) in time.items()}
    assert nonzero(own) == {name: net * 1000 for name, net in shot.net.items()}
    calls = {name: flat for name, (flat, _) in readers.pprof_top(path, "calls").items()}
    assert nonzero(calls) == shot.calls
    if complete(shot):
        total = {k: cum for k, (_, cum) in time.items() if not k.startswith("(")}
        assert nonzero(total) == {name: value * 1000 for name, value in shot.elapsed.items()}


def test_ctf_in_babeltrace(shot: Sample, tmp_path: Path) -> None:
    folder = written(shot, "ctf", tmp_path / "x.ctf")
    text = readers.run(readers.tool("babeltrace2"), "--clock-seconds", folder)
    kinds: Counter[tuple[str, str]] = Counter()
    times = []
    contexts = []
    for line in text.splitlines():
        found = re.match(
            r'\[(\d+)\.(\d{9})\] .*?(\w+): \{ (?:name = \( "((?:[^"\\]|\\.)*)" :|tag = (\d+))', line
        )
        assert found, line
        contexts.append(int(re.findall(r'context = \( "[^"]*" : container = (\d+) \)', line)[0]))
        times.append(int(found[1]) * 1_000_000_000 + int(found[2]))
        name = (found[4] or found[5]).replace('\\"', '"').replace("\\\\", "\\")
        kinds[found[3], name] += 1
    assert len(times) == shot.capture.events
    assert times[-1] - times[0] == shot.summary.ledger.elapsed * 1000
    assert times == sorted(times)
    calls = timeline(shot.capture, shot.names).calls
    apart = set(interrupt_functions(timeline(shot.capture, shot.names)))
    own = [e.modifier.value == "" and k not in apart for k, e in enumerate(shot.stream().functions)]
    for fn, event, context, flags in zip(
        calls.function, calls.entry_event, calls.context, calls.flags, strict=True
    ):
        assert flags & ORPHAN or not own[fn] or contexts[event] in (context, IN_INTERRUPT)
    entries = {name: n for (kind, name), n in kinds.items() if kind == "entry"}
    swtch = {e.name for e in shot.names.entries if e.modifier.value in "$*!"} - {""}
    began = {name: n for name, n in shot.calls.items() if name not in swtch}
    assert {name: n for name, n in entries.items() if name not in swtch} == began
    inlines = {name: n for (kind, name), n in kinds.items() if kind == "inline"}
    assert inlines == {entry.name: count for entry, count in shot.summary.inlines}


def test_ctf_keeps_wraps_and_lost_events(tmp_path: Path) -> None:
    info = CaptureInfo(lost=17, some_lost=True, started_ns=1_700_000_000_123_000_000)
    wrap = 1 << 24
    shot = sample([5, wrap - 1, 3, wrap - 2, 9], [10, 12, 13, 11, 99], "a/10\nb/12\n", info)
    folder = written(shot, "ctf", tmp_path / "x.ctf")
    program = readers.tool("babeltrace2")
    text = readers.run(program, "--clock-seconds", folder)
    seconds = [float(t) for t in re.findall(r"^\[([\d.]+)\]", text, re.M)]
    start = 1_700_000_000.123
    expected = [5, wrap - 1, wrap + 3, 2 * wrap - 2, 2 * wrap + 9]
    assert seconds == pytest.approx([start + t / 1e6 for t in expected], abs=1e-6)
    assert "unknown: { tag = 99" in text
    import subprocess

    done = subprocess.run([program, folder], capture_output=True, check=True)
    assert b"discarded 17 events" in done.stderr


def test_dot(shot: Sample, tmp_path: Path) -> None:
    path = written(shot, "dot", tmp_path / "x.dot")
    data = json.loads(readers.run(readers.tool("dot"), "-Tdot_json", path))
    labels = {node["_gvid"]: node["label"] for node in data["objects"]}
    named = {label.split("\\n")[0]: label for label in labels.values()}
    for name, calls in shot.calls.items():
        label = named[name.replace("\\", "\\\\")]
        assert f"\\n{calls} calls\\n{shot.net.get(name, 0)} of " in label
    ledger = shot.summary.ledger
    idle = f"(idle)\\n{ledger.idle} us, {100 * ledger.idle / max(1, ledger.elapsed):.2f}%"
    assert (idle in labels.values()) == (ledger.idle > 0)
    colours = {node["label"].split("\\n")[0]: node.get("fillcolor", "") for node in data["objects"]}
    net = {f.entry.name.replace("\\", "\\\\"): f.net for f in shot.summary.functions if f.net > 0}
    depth = {name: float(colours[name].split()[1]) for name in net}
    assert max(depth.values()) == 0.85
    assert sorted(net, key=lambda name: net[name]) == sorted(
        net, key=lambda name: (depth[name], net[name])
    )
    into: Counter[str] = Counter()
    for edge in data["edges"]:
        into[labels[edge["head"]].split("\\n")[0].replace("\\\\", "\\")] += int(edge["label"])
    assert nonzero(into) == shot.calls
    assert "<svg" in readers.run(readers.tool("dot"), "-Tsvg", path)


def test_mermaid(shot: Sample, tmp_path: Path) -> None:
    readers.npm_package("mermaid")
    readers.npm_package("jsdom")
    path = written(shot, "mermaid", tmp_path / "x.mmd")
    script = readers.PLACE / "mermaid_edges.mjs"
    script.write_text((readers.HERE / "mermaid_edges.mjs").read_text())
    found = json.loads(readers.run(readers.tool("node"), script, path))
    into: Counter[str] = Counter()
    for start, end, label in found["edges"]:
        assert start in found["nodes"]
        into[re.split("<br/?>", found["nodes"][end])[0]] += int(label)
    assert nonzero(into) == shot.calls


def test_vcd_in_vcdvcd(shot: Sample, tmp_path: Path) -> None:
    vcdvcd = pytest.importorskip("vcdvcd", reason="no vcdvcd package")
    path = written(shot, "vcd", tmp_path / "x.vcd")
    dump = vcdvcd.VCDVCD(str(path))
    end = shot.summary.ledger.elapsed
    assert dump.endtime == end
    high = {}
    for name in dump.signals:
        signal = dump[name]
        if signal.size != "1" or signal.var_type != "wire":
            continue
        total, since = 0, None
        for now, value in [*signal.tv, (end, "0")]:
            if value == "1" and since is None:
                since = now
            elif value == "0" and since is not None:
                total += now - since
                since = None
        high[name.removeprefix("kprof.")] = total
    del high["interrupt"]
    if complete(shot):
        named = {re.sub(r"[ $\[\]\\]", "_", name): value for name, value in apart(shot).items()}
        assert nonzero(high) == named
    expected: Counter[str] = Counter()
    names, pile, since = View(shot.stream()), [], 0
    for kind, value, time in (action for actions in running(names) for action in actions):
        for fn in set(pile) - set(range(len(names.functions), len(names.functions) + 4)):
            expected[re.sub(r"[ $\[\]\\]", "_", names.functions[fn].name)] += time - since
        since = time
        if kind == OPENED:
            pile.append(value)
        elif kind == CLOSE:
            pile.pop()
    assert nonzero(high) == nonzero(expected)


def test_vcd_has_a_layout_for_gtkwave(shot: Sample, tmp_path: Path) -> None:
    """Its signals are those of the dump; one that is there is not replaced."""
    path = written(shot, "vcd", tmp_path / "x.vcd")
    layout = tmp_path / "x.gtkw"
    lines = layout.read_text().splitlines()
    assert f'[dumpfile] "{path}"' in lines
    shown = [line.removeprefix("kprof.").split("[")[0] for line in lines if line[:6] == "kprof."]
    wires = re.findall(r"^\$var (?:wire|string) \d+ \S+ (\S+) \$end$", path.read_text(), re.M)
    assert sorted(shown) == sorted(set(wires) - {"context"})
    layout.write_text("mine")
    written(shot, "vcd", path)
    assert layout.read_text() == "mine"
    export(shot.capture, shot.names, "vcd", path, force=True)
    assert layout.read_text() != "mine"


def test_vcd_in_gtkwave(shot: Sample, tmp_path: Path) -> None:
    program = readers.tool("vcd2fst")
    path = written(shot, "vcd", tmp_path / "x.vcd")
    readers.run(program, path, tmp_path / "x.fst")
    assert (tmp_path / "x.fst").stat().st_size > 100


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_in_duckdb(shot: Sample, tmp_path: Path, form: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="no duckdb package")
    path = written(shot, form, tmp_path / f"x.{form}")
    unit, scale = ("us", 1) if form == "csv" else ("ns", 1000)
    found = duckdb.sql(
        f"select function, sum(net_{unit})::bigint, count(*) filter (ended_by != 'began before') "
        f"from '{path}' group by 1"
    ).fetchall()
    net = {name: net for name, net, _ in found if net}
    assert net == {k: v * scale for k, v in shot.net.items() if not k.startswith("(")}
    assert {name: n for name, _, n in found if n} == shot.calls
    (lost,) = duckdb.sql(
        f"select count(*) from '{path}' a where parent is not null and not exists "
        f"(select 1 from '{path}' b where b.call = a.parent)"
    ).fetchall()
    assert lost == (0,)
    (inside,) = duckdb.sql(
        f"select count(*) from '{path}' a join '{path}' b on a.parent = b.call and "
        f"a.ended_by != 'began before' and b.ended_by != 'began before' "
        f"where a.depth != b.depth + 1 "
        f"or a.entry_{unit} < b.entry_{unit} or a.exit_{unit} > b.exit_{unit}"
    ).fetchall()
    assert inside == (0,)


def test_arrow_and_parquet_in_pyarrow(shot: Sample, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="no pyarrow package")
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    arrow = feather.read_table(written(shot, "arrow", tmp_path / "x.arrow"))
    parquet = pq.read_table(written(shot, "parquet", tmp_path / "x.parquet"))
    assert arrow.to_pylist() == parquet.to_pylist()
    assert arrow.num_rows == len(timeline(shot.capture, shot.names).calls)
    about = pq.read_metadata(tmp_path / "x.parquet").metadata
    assert int(about[b"kprof.elapsed_ns"]) == shot.summary.ledger.elapsed * 1000
    assert int(about[b"kprof.idle_ns"]) == shot.summary.ledger.idle * 1000
    assert pa.types.is_dictionary(arrow.schema.field("function").type)
