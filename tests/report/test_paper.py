"""The paper's own tables and traces (sections 4.3 and 5), printed again."""

from __future__ import annotations

import pytest

from kprof.analysis import summarise
from kprof.analysis.stream import Stream
from kprof.analysis.summary import Anomalies, FunctionFigures, Ledger, Summary
from kprof.capture import Capture
from kprof.capture.model import CaptureInfo
from kprof.names import parse_names
from kprof.names.grammar import NameEntry
from kprof.report.summary import summary_json, summary_text
from kprof.report.trace import trace_text

UNKNOWN = 9998  # opens the capture at time 0

NAMES = """
vec1/100
lanisr/102
splimp/110
softint/112
setsoftnet/114
ipintr/116
sleep/118
select/120
selscan/122
soo_select/124
splnet/126
sbselqueue/128
accept/130
getsock/132
getf/134
ufalloc/136
falloc/138
soqremque/140
m_get/142
other/144
sw_sys/200$
sw_task/202*
MGET/222=
MCLGET/224=
le_rxpkt/230=
"""

# The listing of section 5 with its nesting, which the paper's copy has lost, and with two of its
# lines corrected: `1:170 096 == MGET (1000 us)` and `1:170 098 -> splimp` are 1:170 996 and 998
# (1000 us after lanisr's entry at 1:169 996, and between 1:170 045 and 1:171 104).
RECEIVE = """\
1:169 991 -> vec1 (8 us, 2183 total)
1:169 996     -> lanisr (2153 us, 2175 total)
1:170 014         == le_rxpkt (18 us)
1:170 024         == MGET (28 us)
1:170 026         -> splimp (3 us)
1:170 043         == MCLGET (47 us)
1:170 045         -> splimp (3 us)
1:170 996         == MGET (1000 us)
1:170 998         -> splimp (3 us)
1:171 104         -> setsoftnet (2 us)
1:171 128         == le_rxpkt (1132 us)
1:171 138         == MGET (1142 us)
1:171 140         -> splimp (3 us)
1:171 157         == MCLGET (1161 us)
1:171 159         -> splimp (3 us)
1:172 037         == MGET (2041 us)
1:172 039         -> splimp (3 us)
1:172 145         -> setsoftnet (2 us)
1:172 171     <-
1:172 174 <-
"""

# The listing of section 4.3; what its two `...` leave out is made up by calls of `other`.
SELECT = """\
0:760 522 -> softint (13 us, 30 total)
0:760 530     -> ipintr (14 us, 17 total)
0:760 535         -> splimp (3 us)
0:760 547     <-
0:760 552 <-
0:760 574 ---- Context switch in ----
0:760 588     <- sleep (4 us, 14 total)
0:760 596     -> selscan (399 us, 497 total)
0:760 631         -> soo_select (19 us, 27 total)
0:760 636             -> splnet (2 us)
0:760 647             -> sbselqueue (6 us)
0:760 658         <-
0:760 700         -> other (71 us)
0:761 093     <-
0:761 119 <- select (34 us, 545 total)
0:761 151 -> accept (70 us, 256 total)
0:761 158     -> getsock (8 us, 13 total)
0:761 161         -> getf (5 us)
0:761 171     <-
0:761 175     -> splnet (2 us)
0:761 186     -> ufalloc (27 us)
0:761 217     -> falloc (32 us)
0:761 254     -> soqremque (13 us)
0:761 273     -> m_get (17 us, 20 total)
0:761 276         == MGET (3 us)
0:761 280         -> other (3 us)
0:761 293     <-
0:761 300     -> other (79 us)
0:761 407 <-
"""

# Section 4.3 and the last table of section 5: one run of 1586839 us, 815785 us of them not idle.
ROWS = """
3641 3432 1323 (16/2/2) 0.22% 0.42% splnet
367833 3365 274 (27/12/11) 0.21% 0.41% softint
715 715 320 (3/2/2) 0.05% 0.09% setsoftnet
55571 3539 440 (9/8/5) 0.22% 0.43% vec1
100 86 5 (18/17/17) 0.01% 0.01% m_get
49 16 1 (16/16/16) 0.00% 0.00% soaccept
721953 45293 267 (236/169/136) 2.85% 5.55% soreceive
151 34 1 (34/34/34) 0.00% 0.00% soisconnected
349 39 1 (39/39/39) 0.00% 0.00% sonewconn
30608 28609 307 (118/93/86) 1.80% 3.51% m_pullup
13082 3913 304 (19/12/8) 0.25% 0.48% sbappend
9023 8877 304 (33/29/28) 0.56% 1.09% sbcompress
230786 207568 880 (993/235/27) 13.08% 25.44% in_cksum
360987 23587 267 (270/88/13) 1.49% 2.89% ipintr
296221 38807 307 (181/126/122) 2.45% 4.76% tcp_input
96127 44059 575 (185/76/43) 2.78% 5.40% tcp_output
8223 8197 318 (46/25/25) 0.52% 1.00% clock
504229 245434 752 (1071/326/33) 15.47% 30.09% uiomove
32791 7309 133 (57/54/53) 0.46% 0.90% leoutput
14348 14001 266 (126/52/9) 0.88% 1.72% lestart
52032 34538 440 (235/78/26) 2.18% 4.23% lanisr
"""


def _events(listing: str, extra: list[tuple[int, str]]) -> Capture:
    """The events of a trace: an exit stands on its own line, or comes N us after the entry."""
    names = parse_names(NAMES)
    events: list[tuple[int, int]] = [(0, UNKNOWN)]
    open_calls: list[str] = []
    for line in listing.splitlines():
        stamp, rest = line[:9], line[10:].strip()
        time = int(stamp.replace(":", "").replace(" ", ""))
        mark, name, figures = [*rest.split(" ", 2), "", ""][:3]
        if rest.startswith("----"):
            continue
        if mark == "<-" and not name:
            events.append((time, names.by_name[open_calls.pop()].value + 1))
        elif mark == "<-":
            events.append((time, names.by_name[name].value + 1))
        else:
            events.append((time, names.by_name[name].value))
            if mark == "->" and "total" in figures:
                open_calls.append(name)
            elif mark == "->":
                events.append((time + int(figures[1:].split()[0]), names.by_name[name].value + 1))
    for time, what in extra:
        entry = names.by_name[what.lstrip("<")]
        events.append((time, entry.value + (1 if what.startswith("<") else 0)))
    events.sort(key=lambda event: event[0])
    return Capture.from_events([time for time, _ in events], [tag for _, tag in events])


def test_the_listing_of_section_5_prints_line_for_line() -> None:
    assert "".join(trace_text(Stream(_events(RECEIVE, []), parse_names(NAMES)))) == RECEIVE


def test_the_listing_of_section_4_3_prints_line_for_line() -> None:
    # The switch: sw_task is entered at 574, and sw_sys, in which the task was, is left at 584.
    capture = _events(SELECT, [(760574, "sw_task"), (760584, "<sw_sys")])
    assert "".join(trace_text(Stream(capture, parse_names(NAMES)))) == SELECT


def test_the_summary_of_section_5s_listing() -> None:
    summary = summarise(_events(RECEIVE, []), parse_names(NAMES))
    figures = {row.entry.name: (row.calls, row.elapsed, row.net) for row in summary.functions}
    assert figures == {
        "vec1": (1, 2183, 8),
        "lanisr": (1, 2175, 2153),
        "splimp": (6, 18, 18),
        "setsoftnet": (2, 4, 4),
    }
    assert {entry.name: count for entry, count in summary.inlines} == {
        "le_rxpkt": 2,
        "MGET": 4,
        "MCLGET": 2,
    }


def _paper_summary() -> Summary:
    figures = []
    for number, row in enumerate(ROWS.split("\n")[1:-1]):
        elapsed, net, calls, three, _, _, name = row.split()
        most, avg, least = (int(part) for part in three.strip("()").split("/"))
        assert int(net) // int(calls) == avg, "the paper truncates its averages"
        figures.append(
            FunctionFigures(
                NameEntry(name, 2 * number + 2),
                int(calls),
                int(calls),
                int(elapsed),
                int(net),
                int(elapsed),
                most,
                avg,
                least,
            )
        )
    net_sum = sum(row.net for row in figures)
    ledger = Ledger(1586839, net_sum, 771054, 1586839 - 771054 - net_sum)
    return Summary(CaptureInfo(), 16384, ledger, tuple(figures), (), Anomalies(0, 0, 0, {}, 0, 0))


@pytest.mark.parametrize("row", ROWS.split("\n")[1:-1])
def test_the_papers_rows_keep_their_figures(row: str) -> None:
    printed = [" ".join(line.split()) for line in summary_text(_paper_summary()).splitlines()]
    assert row in printed


def test_the_papers_header() -> None:
    text = summary_text(_paper_summary())
    assert "Elapsed time = 1 sec 586839 us\n" in text
    assert "Accumulated run time = 0 sec 815785 us (51.41%)\n" in text
    assert "Idle time = 0 sec 771054 us (48.59%)\n" in text


def test_the_json_has_the_promised_keys() -> None:
    value = summary_json(summarise(_events(RECEIVE, []), parse_names(NAMES)))
    assert set(value) >= {
        "capture",
        "elapsed_us",
        "run_us",
        "idle_us",
        "unattributed_us",
        "functions",
        "inline",
        "anomalies",
    }
    assert set(value["capture"]) >= {"events", "full", "clock_hz", "valid_from"}
    assert set(value["functions"][0]) >= {
        "name",
        "tag",
        "calls",
        "elapsed_us",
        "net_us",
        "max_us",
        "avg_us",
        "min_us",
        "pct_real",
        "pct_net",
    }
    assert set(value["inline"][0]) >= {"name", "tag", "count"}
    assert set(value["anomalies"]) >= {
        "orphan_exits",
        "open_calls",
        "unwound_calls",
        "unknown_tags",
        "context_switches",
    }
    assert value["anomalies"]["unknown_tags"] == {str(UNKNOWN): 1}
    net = sum(row["net_us"] for row in value["functions"])
    assert value["elapsed_us"] == net + value["idle_us"] + value["unattributed_us"]
