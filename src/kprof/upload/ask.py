r"""The template of a command that makes a monitor print a part of its memory (`--ask`).

``{addr}``, ``{count}``, ``{end}`` (the last byte's address) and ``{stop}`` (the address behind it)
are filled in, and for real-mode monitors ``{seg}`` and ``{off}`` (``{seg:04x}:{off:04x}``). Each is
written as Python's format for a number says, of up to two digits' width: ``{addr:x}``,
``{addr:#x}``, ``{addr:08X}``.
"""

from __future__ import annotations

import re
from string import Formatter

from kprof.errors import UsageError

FIELDS = ("addr", "count", "end", "stop", "seg", "off")
_FORMAT = re.compile(r"#?0?[0-9]{0,2}[bdoxX]?")


def fill(template: str, addr: int, count: int) -> str:
    """The command that prints these bytes.

    Raises
    ------
    UsageError
        The template is wrong.
    """
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise _wrong(template, str(error).lower()) from error
    values = {"addr": addr, "count": count, "end": addr + count - 1, "stop": addr + count}
    values |= {"seg": addr >> 16 << 12, "off": addr & 0xFFFF}
    command = ""
    for text, name, form, conversion in parts:
        command += text
        if name is None:
            continue
        if name not in FIELDS or conversion or not _FORMAT.fullmatch(form or ""):
            after = (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
            raise _wrong(template, f"{{{name}{after}}} cannot be filled in")
        command += format(values[name], form or "")
    return command


def _wrong(template: str, what: str) -> UsageError:
    return UsageError(
        f"--ask '{template}': {what}; expected {{addr}}, {{count}}, {{end}}, {{stop}}, {{seg}} or "
        "{off}, such as "
        r"'md.b {addr:x} {count:x}\r'"
    )
