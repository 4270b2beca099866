"""Names as other tools see them: contexts, time of no function, and text without surprises."""

from __future__ import annotations

from kprof.analysis.stream import Stream

IDLE = "(idle)"
UNATTRIBUTED = "(unattributed)"
USER = "(user)"
LEFT_OUT = "(left out)"


def context_label(context: int) -> str:
    """``system`` or ``task N``."""
    return "system" if context == 0 else f"task {context}"


def context_name(stream: Stream, context: int) -> str:
    """The name of a task, where it is known, else `context_label`; when the stream is read."""
    return stream.task_names.get(context) or context_label(context)


def plain(name: str, forbidden: str = "") -> str:
    r"""`name` with control characters and those `forbidden` written as ``\xNN``."""
    if name.isprintable() and not any(character in name for character in forbidden):
        return name
    return "".join(
        character
        if character.isprintable() and character not in forbidden
        else f"\\x{ord(character):02x}"
        for character in name
    )
