"""`kprof check`: what is measured, what is refused, the call that broke a limit, exit codes."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from fractions import Fraction
from pathlib import Path

import pytest

from kprof.analysis.budget import BudgetError, Verdict, check_budget, parse_budget
from kprof.analysis.figures import ALIASES, figure_names
from kprof.analysis.statistics import statistics
from kprof.analysis.stream import Stream
from kprof.capture import Capture, write_capture
from kprof.errors import UsageError
from kprof.names import parse_names
from kprof.report.check import check_lines, offenders
from kprof.report.fields import field_names, field_rows, parse_fields

NAMES = parse_names(
    "vec1/100\nlanisr/102\nsw_sys/200$\nsw_task/202*\nMGET/222=\nRX/224=\ndead/0\nrare/300\n"
)
# Elapsed 1100, of them 200 idle: 700 to 900, from the switch out to the switch in.
EVENTS = [
    (0, 100), (5, 102), (10, 222), (400, 103), (402, 101), (700, 200), (900, 202), (903, 203),
    (905, 201), (1000, 100), (1010, 222), (1100, 101),
]  # fmt: skip
CAPTURE = Capture.from_events([time for time, _ in EVENTS], [tag for _, tag in EVENTS])


def measured(text: str) -> list[Verdict]:
    return check_budget(parse_budget(text, "b"), statistics(CAPTURE, NAMES), NAMES)


def value(what: str) -> Fraction | None:
    return measured(f"{what} > 0")[0].value


def lines(text: str) -> list[str]:
    verdicts = measured(text)
    return list(check_lines(verdicts, offenders(verdicts, Stream(CAPTURE, NAMES))))


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("MGET.call", 2),
        ("MGET.calls", 2),
        ("RX.call", 0),
        ("idle", 200),
        ("idle.pct", Fraction(20000, 1100)),
        ("vec1.max", 100),
        ("vec1.p100", 100),
        ("vec1.median", 7),
        ("vec1.net-median", 7),
        ("vec1.total-p100", 402),
        ("vec1.net-max", 100),
        ("vec1.elapsed-max", 402),
        ("vec1.total", 502),
        ("vec1.self", 107),
        ("vec1.pct", Fraction(10700, 1100)),
        ("vec1.pct_net", Fraction(10700, 900)),
        ("sw_sys.blocked", 203),  # from its switch out to that it runs again at 903
        ("sw_sys.blocked-max", 203),
        ("lanisr.self-err", Fraction(0.41)),
        ("rare.call", 0),
        ("rare.blocked", 0),
        ("rare.max", None),
    ],
)
def test_what_is_measured(what: str, expected: Fraction | None) -> None:
    assert value(what) == expected


def test_a_function_that_is_named_as_a_part_of_the_run() -> None:
    names = parse_names("idle/100\n")
    capture = Capture.from_events([0, 10, 30, 50], [100, 101, 100, 101])
    text = "idle < 1\nidle.pct < 1\nidle.max > 19\nidle.pct_net > 59\n"
    verdicts = check_budget(parse_budget(text, "b"), statistics(capture, names), names)
    assert [verdict.value for verdict in verdicts] == [0, 0, 20, 60]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("MGET.max < 5", "MGET is an inline trigger, which has no times; expected MGET.call"),
        ("MGET.pct_net < 5", "MGET is an inline trigger"),
        ("idle.pct_net < 20", "idle is of the whole run, and no function of the name file; exp"),
        ("idle.max > 10", "expected idle (a time) or idle.pct"),
        ("run.p50 < 5", "expected run (a time) or run.pct"),
        ("dead.call < 5", "dead has the value 0 in the name file: it has no trigger"),
        ("lanis.max < 5", "lanis is not a function of the name file; do you mean lanisr?"),
        ("orphan_exits.call < 5", "orphan_exits is not a function"),
        ("idle < 5%", "b:1: idle < 5%: idle is a time; expected a time (as 500us), or idle.pct"),
        ("idle < 5 %", "or idle.pct"),
        ("lanisr.max < 5%", "or lanisr.pct_real or lanisr.pct_net"),
        ("lanisr.call < 5%", "5% is not a number; expected one as 20"),
        ("lanisr.call < 5us", "5us is not a number; expected one as 20"),
        ("idle.pct < 5us", "5us is not a share; expected one as 20%"),
        ("lanisr.maxx < 5", "b:1: lanisr.maxx: is not a figure; do you mean max?"),
        ("lanisr.size < 5", "is not a figure; expected FUNCTION.max"),
        ("lanisr.blocked-err < 5", "is not a figure"),
        ("lanisr < 5", "is not a figure; expected FUNCTION.max"),
        ("\x1b[2J.max < 5", "\\x1b[2J.max < 5: \\x1b[2J is not a function"),
    ],
)
def test_what_is_not_measured_is_refused(line: str, said: str) -> None:
    with pytest.raises(BudgetError) as caught:
        measured(line)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


NAMED = [*figure_names(), *ALIASES, "p100", "wall-p99.9", "net-max", "elapsed-p50", "total-stdev"]


@pytest.mark.parametrize("name", NAMED)
def test_budgets_and_columns_have_the_same_figures(name: str) -> None:
    (field,) = parse_fields(name)
    (row,) = (r for r in field_rows(statistics(CAPTURE, NAMES), [field], []) if r["name"] == "vec1")
    shown = row[field]
    found = value(f"vec1.{name}")
    assert isinstance(shown, (int, float))
    assert found is not None
    # Columns are rounded: shares to 2 places, the rest to 3.
    assert abs(float(found) - shown) <= (0.005 if field.startswith("pct") else 0.0005)


def test_columns_have_no_figure_that_budgets_do_not_know() -> None:
    assert set(field_names()) - set(figure_names()) == {"size"}
    for name in ("net-size", "call-max", "-max", "total-", "p101", "p1e2", "max-p99", "total-pct"):
        with pytest.raises(UsageError, match="is not a field"):
            parse_fields(name)
        with pytest.raises(BudgetError):
            parse_budget(f"f.{name} < 5", "b")


def test_the_call_that_broke_a_limit_is_named() -> None:
    """Of switch functions too, whose calls the trace shows as the switch."""
    assert lines("sw_sys.max < 1\nsw_task.max < 2us\nvec1.total-max < 9\nvec1.min > 50") == [
        "FAIL  sw_sys.max < 1  (was 2)",
        "      0:000 700 -> sw_sys (2 us, 2 total)",
        "FAIL  sw_task.max < 2us  (was 3)",
        "      0:000 900 -> sw_task (3 us, 3 total)",
        "FAIL  vec1.total-max < 9  (was 402)",
        "      0:000 000 -> vec1 (7 us, 402 total)",
        "FAIL  vec1.min > 50  (was 7)",
        "      0:000 000 -> vec1 (7 us, 402 total)",
        "0 of 4 limits held",
    ]


# Net times of f: 40, 100, 60, 20 and 80, from 0, 200, 400, 600 and 800 on.
FIVE = Capture.from_events(
    [t for i, net in enumerate((40, 100, 60, 20, 80)) for t in (200 * i, 200 * i + net)],
    [2, 3] * 5,
)


@pytest.mark.parametrize(
    ("limit", "culprit"),
    [
        ("f.max > 104us", "0:000 200 -> f (100 us)"),
        ("f.total-max >= 104us", "0:000 200 -> f (100 us)"),
        ("f.p100 > 104us", "0:000 200 -> f (100 us)"),
        ("f.max < 99us", "0:000 200 -> f (100 us)"),
        ("f.max == 99us", "0:000 200 -> f (100 us)"),
        ("f.min < 10us", "0:000 600 -> f (20 us)"),
        ("f.min > 21us", "0:000 600 -> f (20 us)"),
        ("f.p50 > 104us", "0:000 400 -> f (60 us)"),
        ("f.p50 < 10us", "0:000 200 -> f (100 us)"),
        ("f.avg > 104us", "0:000 600 -> f (20 us)"),
        ("f.avg < 10us", "0:000 200 -> f (100 us)"),
        ("f.stdv > 104us", "0:000 200 -> f (100 us)"),
    ],
)
def test_the_call_that_is_named_is_the_one_to_look_at(limit: str, culprit: str) -> None:
    """A maximum that is not reached is still the longest call's, a minimum the shortest's."""
    names = parse_names("f/2\n")
    verdicts = check_budget(parse_budget(limit, "b"), statistics(FIVE, names), names)
    found = list(check_lines(verdicts, offenders(verdicts, Stream(FIVE, names))))
    assert found[0].startswith("FAIL")
    assert found[1].strip() == culprit


def test_a_budget_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "k.names").write_text(NAMES.text)
    write_capture(tmp_path / "d.kpd", CAPTURE)
    (tmp_path / "b").write_bytes(b"\xef\xbb\xbfvec1.max < 1s\r\n")
    command = [sys.executable, "-m", "kprof", "check", "d.kpd", "--budget", "b"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 of 1 limit held")


def test_sums_and_counts_have_no_such_call() -> None:
    text = (
        "vec1.net < 1\nvec1.blocked > 1\nMGET.call < 1\nidle < 1\nvec1.self-err > 1\nrare.max > 1"
    )
    assert all(line[:4] in ("FAIL", "0 of") for line in lines(text))


@pytest.mark.parametrize(
    ("limit", "shown"),
    [
        ("a.pct_net < 99.99995", "FAIL  a.pct_net < 99.99995  (was 100)"),
        ("a.pct_net < 100", "pass  a.pct_net < 100  (was 99.99997)"),
        ("a.pct_net == 100", "FAIL  a.pct_net == 100  (was 99.99997)"),
        ("a.pct_net < 99.99998", "pass  a.pct_net < 99.99998  (was 99.99997)"),
        ("a.pct_net > 50", "pass  a.pct_net > 50  (was 100)"),
        ("b.pct_net <= 0", "FAIL  b.pct_net <= 0  (was 0.00003)"),
        ("a.call == 1", "pass  a.call == 1  (was 1)"),
    ],
)
def test_a_value_is_printed_on_its_side_of_the_limit(limit: str, shown: str) -> None:
    names = parse_names("a/2\nb/4\n")
    # b is 3 us of 10 s: 0.00003%.
    capture = Capture.from_events([0, 9_999_997, 9_999_997, 10_000_000], [2, 3, 4, 5])
    verdicts = check_budget(parse_budget(limit, "b"), statistics(capture, names), names)
    assert next(iter(check_lines(verdicts, offenders(verdicts, Stream(capture, names))))) == shown


@pytest.mark.parametrize(
    ("budget", "dump", "code"),
    [
        ("vec1.max < 1s\n", "d.kpd", 0),
        ("vec1.max < 1us\n", "d.kpd", 1),
        ("vec1.max < 1us\n", "none.kpd", 1),
        ("vec1.max < soon\n", "d.kpd", 2),
        ("vec2.max < 1us\n", "d.kpd", 2),
        ("vec1.maxi < 1us\n", "d.kpd", 2),
        ("idle.max < 1us\n", "d.kpd", 2),
        ("# nothing\n", "d.kpd", 2),
        (None, "d.kpd", 2),
    ],
)
def test_exit_codes_tell_a_broken_limit_from_a_wrong_budget(
    tmp_path: Path, budget: str | None, dump: str, code: int
) -> None:
    (tmp_path / "k.names").write_text(NAMES.text)
    write_capture(tmp_path / "d.kpd", CAPTURE)
    if budget is not None:
        (tmp_path / "b").write_text(budget)
    command = [sys.executable, "-m", "kprof", "check", dump, "--budget", "b", "--junit", "j.xml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert (tmp_path / "j.xml").exists() is bool(done.stdout)
    if not done.stdout:
        assert done.stderr.startswith("kprof: ")
        assert done.stderr.count("\n") == 1
    elif code:
        (case,) = ElementTree.parse(tmp_path / "j.xml").getroot()
        assert case[0].text == "0:001 000 -> vec1 (100 us, 100 total)"


def test_a_limit_is_a_time_as_the_trace_prints_it() -> None:
    text = "f.max <= 1:169 991\nf.max <= 1:169991\nrun<0:001 310 # a comment\nelapsed < 0.5 ms\n"
    limits = [limit.limit for limit in parse_budget(text, "b")]
    assert limits == [1_169_991, 1_169_991, 1310, 500]
    for wrong in ("f.max < 0:001 31", "f.max < 0:001 310 5", "f.max < 5 310", "f.call < 0:001 310"):
        with pytest.raises(BudgetError):
            parse_budget(wrong, "b")
