"""`kprof man`: the man pages, made from the help."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

import kprof
from kprof.cli.choices import Choice, Verb, decorate
from kprof.cli.main import VERBS, kprof_command

_BACKTICKS = re.compile(r"`+([^`]+)`+")
_EXAMPLE = re.compile(r"^([\w ]+):$")


@click.command("man", cls=Verb)
@decorate(Choice(["-o", "--output"], metavar="FOLDER",
                 help="Write all pages to FOLDER, such as ~/.local/share/man/man1."))  # fmt: skip
@click.argument("verb", required=False, metavar="[VERB]")
def command(verb: str | None, output: str | None) -> None:
    """Print the man page of VERB, or write all man pages to a folder.

    \b
    Example:
      kprof man trace | man -l -
      kprof man -o ~/.local/share/man/man1
    """
    from kprof.errors import UsageError
    from kprof.files import write_text

    if verb is not None and verb not in VERBS:
        raise UsageError(f"{verb}: is not a verb of kprof; expected one of {', '.join(VERBS)}")
    if output is None:
        click.echo(man_page(verb), nl=False)
        return
    Path(output).mkdir(parents=True, exist_ok=True)
    for name in (None, *VERBS) if verb is None else (verb,):
        write_text(Path(output) / f"{_title(name)}.1", man_page(name))


def man_page(verb: str | None) -> str:
    """The page of a verb, or of kprof itself, in the language of man(7)."""
    parent = click.Context(kprof_command, info_name="kprof")
    command = kprof_command if verb is None else kprof_command.get_command(parent, verb)
    assert command is not None
    ctx = parent if verb is None else click.Context(command, info_name=verb, parent=parent)
    short = VERBS[verb] if verb else "Profile kernels and firmware to the microsecond."
    lines = [
        f'.TH {_title(verb).upper()} 1 "" "kprof {kprof.__version__}" "kprof manual"',
        ".SH NAME",
        rf"{_title(verb)} \- {_text(short.rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_text(ctx.command_path)}",
        _text(" ".join(command.collect_usage_pieces(ctx))),
        ".SH DESCRIPTION",
        *_prose(command.help or ""),
        *_options(command, ctx),
    ]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for name in command.list_commands(ctx):
            sub = command.get_command(ctx, name)
            assert sub is not None
            lines += [
                ".TP",
                f".B {_text(name)}",
                _text(VERBS.get(name) or sub.get_short_help_str(200)),
            ]
    lines += [
        ".SH SEE ALSO",
        _text("kprof(1)" if verb else ", ".join(f"kprof-{v}(1)" for v in VERBS)),
    ]
    return "\n".join(lines) + "\n"


def _title(verb: str | None) -> str:
    return f"kprof-{verb}" if verb else "kprof"


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; those behind a backspace keep their lines, a title of theirs is a section."""
    import inspect

    for at, part in enumerate(inspect.cleandoc(text).split("\n\n")):
        if not part.startswith("\b"):
            if at:
                yield ".PP"
            yield _text(" ".join(part.split()))
            continue
        lines = part.strip("\b\n").split("\n")
        title = _EXAMPLE.match(lines[0])
        if title:
            yield f'.SH "{title[1].upper()}"'
            lines = lines[1:]
        yield from (".nf", *(_text(line.removeprefix("  ")) for line in lines), ".fi")


def _options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is None or isinstance(param, click.Argument):
            continue
        places = param.places if isinstance(param, Choice) else {"": record[1]}
        for section, text in places.items():
            sections.setdefault(section, []).append((record[0], text))
    plain = sections.pop("", [])
    for section, rows in [*sections.items(), ("", plain)]:
        yield f'.SH "{section.upper()}"' if section else ".SH OPTIONS"
        for flags, text in rows:
            yield from (".TP", f".B {_text(flags)}", _text(text))


def _text(text: str) -> str:
    """Text that roff prints as it is."""
    text = _BACKTICKS.sub(r"\1", text).replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in ("'", ".") else text
