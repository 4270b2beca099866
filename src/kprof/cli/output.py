"""Outputs: what a command may replace, and writing a product.

One rule for every output of every verb, held to before any work is done:

- never over a file that the same command reads;
- over a file that is there only if kprof wrote it in the same form, else with ``--force``. A report
  may replace a report; a capture is never replaced without ``--force``.

How a file is known to be of kprof: by its beginning and a word in it (`FORMS`), for reports by
their figures.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

from kprof.files import spare_existing, spare_foreign, spare_inputs


def check_output(
    path: Path | str | None,
    form: str,
    inputs: Iterable[Path | str | None],
    *,
    force: bool = False,
) -> None:
    """Refuse to write `path` where that would replace what kprof cannot make again.

    Parameters
    ----------
    path
        ``-`` and None are no file.
    form
        One of `FORMS`.
    inputs
        Every file that the command reads.

    Raises
    ------
    UsageError
        It is one of the inputs, or a foreign file and not `force`.
    FileAccessError
        It cannot be written.
    """
    if path is None or str(path) == "-":
        return
    spare_inputs(path, inputs)
    if form == "capture":
        spare_existing(path, force)
        force = True
    spare_foreign(path, FORMS[form], form, force=force)


def inputs_of(
    dumps: Iterable[str], names: Iterable[str | None], *others: str | None
) -> list[Path | str | None]:
    """What a command reads: captures, name files given or lying beside them, and others."""
    read: list[Path | str | None] = [*dumps, *names, *others]
    for folder in {Path("." if dump == "-" else dump).parent for dump in dumps}:
        try:
            read += [path for path in folder.iterdir() if path.suffix in (".names", ".calls")]
        except OSError:  # what cannot be listed is not read either
            continue
    return read


def say(text: str, *, prefix: str = "kprof: ") -> None:
    """A notice on stderr: ``kprof: text``.

    What may come from a file or a line is made safe for a terminal here, for all notices and errors
    (`kprof.names.display_name`).
    """
    import click

    from kprof.names import display_name

    lines = ("\t".join(map(display_name, line.split("\t"))) for line in text.split("\n"))
    click.echo(prefix + "\n".join(lines), err=True)


def write_product(target: Path, parts: Iterable[str], *, paged: bool = False) -> None:
    """Write the text `parts` to `target`; ``-`` is stdout.

    With `paged` a terminal gets it through the user's pager, as from ``git log``.
    """
    if str(target) == "-":
        if paged and sys.stdout.isatty():
            import click

            click.echo_via_pager(iter(parts))
            return
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        for part in parts:
            sys.stdout.write(part)
        return
    from kprof.files import writing

    with writing(target) as stream:
        for part in parts:
            stream.write(part.encode("utf-8", "backslashreplace"))


def _begins(start: bytes, holds: bytes = b"") -> Callable[[bytes], bool]:
    """Files that begin like the pattern `start` and have the words `holds` in them."""
    return lambda data: re.match(start, data) is not None and holds in data


# What every text report has in its first lines.
_FIGURES = (
    r"\A.*: \d+ events( \(|,|$)|^[ +!#*@$]*\d+:\d{3} \d{3} [ =<>-]|^# calls  net us"
    r"|\b(total|run) us\b"
    r"|^# .*: \d+ calls?$|^# \d+: .* us\b|^# left out by filters|^\S.*: no complete call"
    r"|^\S.*, (total|self|net|wall)[^:]*: \d+$|^no interrupts|^interrupts \(|^\S+ to \S+: \d+"
)
_FOLDED = r"((?!.* [<>=!]=? )\S.* \d+( \d+)?\n)+(\S.*)?\Z"  # no budget
_SOURCE = r"/[*/]|#\w|#!"
_JSON = r'\{\n "\w+":'
_STYLE = r"\x1b\[[\d;]*m|\x1b\]8;[^\x1b\x07]*(\x1b\\|\x07)"
_NO_TEXT = r"[\x00-\x08\x0b\x0e-\x1f]"


def _is_report(data: bytes) -> bool:
    text = re.sub(_STYLE, "", data[:4096].decode("utf-8", "replace")).lstrip("\n")
    if re.search(_NO_TEXT, text) or re.match(_SOURCE, text):
        return False
    if re.match(_JSON, text) or re.match(_FOLDED, text):
        return True
    head = "\n".join(text.splitlines()[:4])
    return re.search(_FIGURES, head, re.MULTILINE) is not None


def _is_perfetto(data: bytes) -> bool:
    """Packets of a trace follow each other: byte 0A, length, content."""
    at = count = 0
    while at < min(len(data), 4096):
        if data[at] != 0x0A:
            return False
        at, length, shift = at + 1, 0, 0
        while at < len(data):
            length |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if not data[at - 1] & 0x80:
                break
        at, count = at + length, count + 1
    return count > 2


def _is_pprof(data: bytes) -> bool:
    if not data.startswith(b"\x1f\x8b\x08"):
        return False
    try:
        content = zlib.decompressobj(31).decompress(data, 64)
    except zlib.error:
        return False
    return re.match(rb"\n[\x02-\x08]\x08[\x01-\x7f]\x10", content) is not None


FORMS: dict[str, Callable[[bytes], bool]] = {
    "report": _is_report,
    "page": _begins(rb"(?i)<!DOCTYPE html>", b'name="generator" content="kprof"'),
    "JUnit file": _begins(rb"<\?xml ", b'<testsuite name="kprof '),
    "statistics": _begins(rb'\{\s*"kprof_statistics"\s*:'),
    "header": _begins(rb"/\* Made by kprof from the name file"),
    "capture": lambda _: False,
    "log of a line": _begins(rb" *\d+\.\d{6} [<>#] "),
    "perfetto": _is_perfetto,
    "chrome": _begins(rb'\{"displayTimeUnit":"ns","traceEvents":\['),
    "speedscope": _begins(rb"\{", b'"exporter":"kprof"'),
    "firefox": _begins(rb"\{", b'"product": "kprof"'),
    "folded": lambda data: re.match(_FOLDED, data[:4096].decode("utf-8", "replace")) is not None,
    "callgrind": _begins(rb"# callgrind format", b"creator: kprof"),
    "pprof": _is_pprof,
    "dot": _begins(rb"digraph calls \{"),
    "mermaid": _begins(rb"flowchart TD\n"),
    "csv": _begins(rb"call,parent,function,tag,"),
    "parquet": _begins(rb"PAR1", b"kprof.source"),
    "arrow": _begins(rb"ARROW1", b"kprof.source"),
    "vcd": _begins(rb"\$version kprof "),
}
"""How to tell a file of each form, from its first and last bytes; exports by their format."""
