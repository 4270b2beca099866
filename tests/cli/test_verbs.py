"""Each report is a verb, an option means one thing in all verbs, a slip gets the right one."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from tests.cli.test_main import KPROF, verbs
from tests.report.test_report_command import EVENTS, NAMES

from kprof.capture import Capture, write_capture
from kprof.cli.main import SECTIONS, VERBS, kprof_command
from kprof.report.registry import REPORTS


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(kprof_command, arguments)


@pytest.fixture(autouse=True)
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.names").write_text(NAMES)
    times, tags = zip(*EVENTS, strict=True)
    write_capture(tmp_path / "k.kpd", Capture.from_events(list(times), list(tags)))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("verb", "option"),
    [
        ("summary k.kpd", ""),
        ("summary k.kpd -f total,call -s call --never", "-f total,call -s call --never"),
        ("trace k.kpd -F lanisr", "--trace -F lanisr"),
        ("trace k.kpd --slower-than 14us", "--slower-than 14us"),
        ("trace k.kpd --around 508us -n 3", "--around 508us -n 3"),
        ("graph k.kpd", "--graph"),
        ("graph k.kpd splimp", "--graph splimp"),
        ("hist k.kpd lanisr", "--hist lanisr"),
        ("worst k.kpd lanisr -n 1 --by net", "--worst lanisr -n 1 --by net"),
        ("between k.kpd RX MGET", "--between RX MGET"),
        ("tasks k.kpd", "--tasks"),
        ("interrupts k.kpd --irq lanisr", "--interrupts --irq lanisr"),
    ],
)
def test_a_report_is_a_verb_and_an_option(verb: str, option: str, form: str) -> None:
    by_verb = invoke(*verb.split(), "--format", form)
    by_option = invoke("report", "k.kpd", *option.split(), "--format", form)
    assert by_verb.exit_code == 0
    assert by_verb.output
    assert by_verb.output == by_option.output


def test_the_page_is_a_verb() -> None:
    assert invoke("page", "k.kpd").exit_code == 0
    assert invoke("report", "k.kpd", "--html", "other.html").exit_code == 0
    assert Path("k.html").read_text() == Path("other.html").read_text()


def test_a_verb_has_the_options_of_its_report_alone() -> None:
    flags = {
        name: {flag for param in command.params for flag in param.opts}
        for name, command in verbs()
        if name in REPORTS
    }
    for report, other in itertools.product(REPORTS.values(), repeat=2):
        own = {flag for option in report.options for flag in option.flags}
        foreign = {flag for option in other.options for flag in option.flags} - own
        assert own <= flags[report.name]
        assert not foreign & flags[report.name]
        assert f"--{report.name}" not in flags[report.name]


def test_an_option_of_another_report_is_led_to_it() -> None:
    said = invoke("trace", "k.kpd", "--by", "net")
    assert said.exit_code == 2
    assert "No such option '--by'. It is an option of kprof worst." in said.output


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("reprot", "report"),
        ("grpah", "graph"),
        ("replay", "trace"),
        ("dump", "export"),
        ("stat", "summary"),
        ("Report", "report"),
        ("a.bin", "report a.bin"),
    ],
)
def test_a_mistyped_or_foreign_verb_gets_the_right_one(typed: str, meant: str) -> None:
    said = invoke(typed, "x.bin")
    assert said.exit_code == 2
    assert f"No such command '{typed}'. Did you mean 'kprof {meant}'?" in said.output


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("trace k.kpd -D 3", "--depth"), ("convert k.kpd -f -o x", "--force")],
)
def test_a_letter_that_means_something_else_elsewhere_gets_the_option(
    typed: str, meant: str
) -> None:
    done = subprocess.run([*KPROF, *typed.split()], capture_output=True, text=True)
    assert done.returncode == 2
    assert f"Did you mean '{meant}'?" in done.stderr


def test_a_verb_like_no_other_gets_no_guess() -> None:
    assert "No such command 'xyzzy'.\n" in invoke("xyzzy").output


def test_one_letter_has_one_meaning() -> None:
    meanings: dict[str, set[str]] = {}
    for _, command in verbs():
        for param in command.params:
            if isinstance(param, click.Option):
                letters = [flag for flag in param.opts if not flag.startswith("--")]
                words = {flag for flag in param.opts if flag.startswith("--")}
                for letter in letters:
                    meanings.setdefault(letter, set()).update(words or {str(param.metavar)})
    assert meanings.pop("-f") == {"--output-fields"}
    several = {letter: words for letter, words in meanings.items() if len(words) > 1}
    assert several == {}


def test_an_option_has_values_of_one_kind_in_all_verbs() -> None:
    kinds: dict[str, dict[str, set[str]]] = {}
    for name, command in verbs():
        for param in command.params:
            if not isinstance(param, click.Option) or name == "report":
                continue
            for flag in param.opts:
                kind = "flag" if param.is_flag else type(param.type).__name__
                kinds.setdefault(flag, {}).setdefault(kind, set()).add(name)
    several = {flag: found for flag, found in kinds.items() if len(found) > 1}
    assert set(several) <= {"--valid", "--events"}, several  # numbers, also ``all`` and ``10M``


def test_every_verb_stands_in_one_section_of_the_help() -> None:
    shown = [name for part in SECTIONS.values() for name in part]
    assert sorted(shown) == sorted(set(shown)) == sorted(VERBS)
    text = invoke("--help").output
    assert all(f"\n  {name} " in text for name in VERBS)
