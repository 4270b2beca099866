"""`kprof diff` and `kprof report --diff-with`: each capture is read with its own name file."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from kprof.capture import Capture, write_capture, write_raw
from kprof.capture.model import CaptureInfo
from kprof.cli.main import kprof_command
from kprof.errors import UsageError
from kprof.names import parse_names

# The same program twice, built with name files that give a and b each other's tags.
FIRST, SECOND = "a/1024\nb/1026\n", "b/1024\na/1026\n"
CALLS = 50


def capture_of(names: str, *, digest: bool = True) -> Capture:
    """`CALLS` calls of a of 100 us, each with a call of b of 10 us after it."""
    known = parse_names(names)
    a, b = known.by_name["a"].value, known.by_name["b"].value
    events = [
        event
        for start in range(0, 200 * CALLS, 200)
        for event in ((start, a), (start + 100, a + 1), (start + 110, b), (start + 120, b + 1))
    ]
    info = CaptureInfo(names_sha256=known.sha256()) if digest else CaptureInfo()
    return Capture.from_events([time for time, _ in events], [tag for _, tag in events], info)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(
        kprof_command, [str(a) for a in arguments], standalone_mode=False, catch_exceptions=False
    )
    return result.stdout


def totals(before: Path, after: Path, *options: object) -> dict[str, list[int]]:
    """Net time before and after by function, of those that ran in both; nothing has changed."""
    value = json.loads(run("diff", before, after, "--format", "json", *options))
    assert not any(row["changed"] for row in value["functions"])
    return {row["name"]: row["self_us"] for row in value["functions"]}


SAME = {"a": [100 * CALLS, 100 * CALLS], "b": [10 * CALLS, 10 * CALLS]}


def test_each_capture_has_the_names_of_its_digest(tmp_path: Path) -> None:
    (tmp_path / "before.names").write_text(FIRST)
    (tmp_path / "k2.names").write_text(SECOND)
    write_capture(tmp_path / "before.kpd", capture_of(FIRST))
    write_capture(tmp_path / "after.kpd", capture_of(SECOND))
    assert totals(tmp_path / "before.kpd", tmp_path / "after.kpd") == SAME
    assert totals(tmp_path / "after.kpd", tmp_path / "before.kpd") == SAME


@pytest.mark.parametrize("lonely", ["before", "after"])
def test_what_has_no_name_file_has_that_of_the_other(tmp_path: Path, lonely: str) -> None:
    """The other one's is found by its digest among two."""
    paths = []
    for side in ("before", "after"):
        folder = tmp_path / side
        folder.mkdir()
        paths.append(folder / "dump.kpd")
        write_capture(paths[-1], capture_of(SECOND, digest=side != lonely))
        if side != lonely:
            (folder / "k1.names").write_text(FIRST)
            (folder / "k2.names").write_text(SECOND)
    assert totals(*paths) == SAME


def test_name_files_that_are_given_are_taken(tmp_path: Path) -> None:
    for name, text in (("k1.names", FIRST), ("k2.names", SECOND)):
        (tmp_path / name).write_text(text)
        write_raw(tmp_path / f"{name}.bin", capture_of(text))
    first, second = tmp_path / "k1.names.bin", tmp_path / "k2.names.bin"
    names = ("--valid", "all", "--names", tmp_path / "k1.names")
    assert totals(first, first, *names) == SAME
    assert totals(first, second, *names, "--after-names", tmp_path / "k2.names") == SAME


def test_neither_has_a_name_file(tmp_path: Path) -> None:
    write_capture(tmp_path / "a.kpd", capture_of(FIRST))
    with pytest.raises(UsageError, match=r"a\.kpd: no name file for it found"):
        run("diff", tmp_path / "a.kpd", tmp_path / "a.kpd")


def test_the_page_reads_the_run_before_with_its_own_names(tmp_path: Path) -> None:
    (tmp_path / "before.names").write_text(SECOND)  # named like it, and another's
    (tmp_path / "k1.names").write_text(FIRST)
    (tmp_path / "k2.names").write_text(SECOND)
    write_capture(tmp_path / "before.kpd", capture_of(FIRST))
    write_capture(tmp_path / "after.kpd", capture_of(SECOND))
    page = run(
        "report", tmp_path / "after.kpd", "--diff-with", tmp_path / "before.kpd", "--html", "-"
    )
    data = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    names = [function["name"] for function in data["functions"]]
    for figures in (data["figures"], data["before"]["figures"]):
        net = {names[row[0]]: row[3] for row in figures}
        assert net == {"a": 100 * CALLS, "b": 10 * CALLS}


def test_the_heading_says_that_a_function_ran_in_one_of_the_two(tmp_path: Path) -> None:
    (tmp_path / "k.names").write_text("a/2\nb/4\nc/6\n")
    for name, tags in (("x", [2, 3, 4, 5]), ("y", [2, 3, 6, 7, 6, 7])):
        write_capture(tmp_path / f"{name}.kpd", Capture.from_events(list(range(len(tags))), tags))
    text = run("diff", tmp_path / "x.kpd", tmp_path / "y.kpd")
    assert (
        "ran in one of the two only:\n  only after: c, 2 calls\n  only before: b, 1 call\n" in text
    )


def test_the_cost_of_triggers_is_taken_out_of_both(tmp_path: Path) -> None:
    """Calls of 10 and of 12 us, each with one trigger of 0.3 us inside, its exit's."""
    (tmp_path / "k.names").write_text("a/2\n")
    for name, us in (("x", 10), ("y", 12)):
        times = [time for start in range(0, 2000, 20) for time in (start, start + us)]
        write_capture(tmp_path / f"{name}.kpd", Capture.from_events(times, [2, 3] * 100))
    paths = (tmp_path / "x.kpd", tmp_path / "y.kpd")
    for options, expected in (((), [1000, 1200]), (("--trigger-cost", "0.3us"), [970, 1170])):
        (row,) = json.loads(run("diff", *paths, "--format", "json", *options))["functions"]
        assert row["self_us"] == expected
        assert row["changed"]


def test_captures_of_different_clocks_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "k.names").write_text("a/2\n")
    for name, hz in (("x", 1_000_000), ("y", 2_000_000)):
        info = CaptureInfo(clock_hz=Fraction(hz))
        write_capture(tmp_path / f"{name}.kpd", Capture.from_events([0, 1], [2, 3], info))
    for options in ((), ("--trigger-cost", "0.3us")):
        with pytest.raises(UsageError, match=r"clock of 1000000 Hz, .* one of 2000000 Hz"):
            run("diff", tmp_path / "x.kpd", tmp_path / "y.kpd", *options)


def write_runs(folder: Path, us: int, runs: int, name: str, *, calls: int = 600) -> list[Path]:
    """Captures of a function of `us` microseconds more or less, and of one of 40 beside it."""
    (folder / "k.names").write_text("f/2\ng/4\n")
    paths = []
    for number in range(runs):
        rng = np.random.default_rng([us, number, len(name)])
        net = np.stack([us + rng.integers(-3, 4, calls), 40 + rng.integers(-3, 4, calls)], 1)
        leave = np.cumsum(net.ravel() + 5)
        times = np.stack([leave - net.ravel(), leave], 1).ravel()
        paths.append(folder / f"{name}{number}.kpd")
        write_capture(paths[-1], Capture.from_events(times, [2, 3, 4, 5] * calls))
    return paths


def gate(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(
        kprof_command, ["diff", *map(str, arguments)], standalone_mode=False, catch_exceptions=False
    )
    return int(result.return_value or 0), result.stdout, result.stderr


def test_several_captures_a_side_stand_on_both_sides_of_two_dashes(tmp_path: Path) -> None:
    before, after = (write_runs(tmp_path, us, 3, name) for us, name in ((50, "x"), (55, "yy")))
    value = json.loads(run("diff", *before, "--", *after, "--format", "json"))
    assert (value["before"]["captures"], value["after"]["captures"]) == (3, 3)
    assert [row["name"] for row in value["functions"] if row["changed"]] == ["f"]
    rows = {row["name"]: row for row in value["functions"]}
    assert rows["f"]["calls"] == [1800, 1800]
    assert rows["f"]["what"] == ["time"]
    text = run("diff", "-a", *before, "--", *after)
    assert text.startswith("before: 3 runs: ")
    assert "noise between runs is not known" not in text
    single = run("diff", before[0], after[0])
    assert "noise between runs is not known" in single
    equal = json.loads(run("diff", *before, "--", *before, "--format", "json"))
    assert not any(row["changed"] for row in equal["functions"])


def test_a_side_may_have_one_capture_and_the_other_more(tmp_path: Path) -> None:
    before, after = (write_runs(tmp_path, us, 4, name) for us, name in ((50, "x"), (70, "yy")))
    value = json.loads(run("diff", before[0], "--", *after, "--format", "json"))
    assert [row["name"] for row in value["functions"] if row["changed"]] == ["f"]


@pytest.mark.parametrize(
    "many", [["a"], ["a", "b", "c"], ["a", "--"], ["--", "a"], ["a", "--", "b", "--", "c"]]
)
def test_captures_that_are_on_no_side_are_refused(many: list[str]) -> None:
    with pytest.raises(UsageError, match=r"captures; expected two, or several a side: kprof diff"):
        run("diff", *many)


@pytest.mark.parametrize(
    ("us", "option", "code"),
    [
        (55, ["--fail-on-change"], 1),
        (55, ["--fail-above", "5%"], 1),
        (55, ["--fail-above", "20 %"], 0),
        (45, ["--fail-above", "5%"], 0),
        (45, ["--fail-on-change"], 1),
        (50, ["--fail-on-change", "--fail-above", "0%"], 0),
        (55, [], 0),
    ],
)
def test_a_change_fails_where_it_is_asked_for(
    tmp_path: Path, us: int, option: list[str], code: int
) -> None:
    before, after = (write_runs(tmp_path, u, 2, name) for u, name in ((50, "x"), (us, "yy")))
    for sides in ([before[0], after[0]], [*before, "--", *after]):
        found, out, said = gate(*sides, *option)
        assert (found, bool(said)) == (code, bool(code))
        assert out.startswith("before: ")
        if code:
            assert said == f"kprof: {' '.join(option)}: f\n"


def test_more_calls_fail_above_a_share_too(tmp_path: Path) -> None:
    (tmp_path / "k.names").write_text("f/2\ng/4\n")
    for name, tags in (("x", [2, 4, 5, 3]), ("y", [2, 4, 5, 4, 5, 3])):
        events = tags * 300
        write_capture(
            tmp_path / f"{name}.kpd", Capture.from_events(list(range(len(events))), events)
        )
    paths = (tmp_path / "x.kpd", tmp_path / "y.kpd")
    assert gate(*paths, "--fail-above", "99%")[0] == 1
    assert gate(*paths, "--fail-above", "101%")[0] == 0


@pytest.mark.parametrize("share", ["5", "five%", "-1%", ""])
def test_a_share_that_is_none_is_refused(tmp_path: Path, share: str) -> None:
    before = write_runs(tmp_path, 50, 1, "x")
    with pytest.raises(UsageError, match=r"is not a share; expected one as 5%"):
        run("diff", *before, *before, "--fail-above", share)
