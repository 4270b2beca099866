"""Names as other tools see them: contexts, time of no function, and text without surprises."""

from __future__ import annotations

from kprof.export.view import INTERRUPTS, View

IDLE = "(idle)"
UNATTRIBUTED = "(unattributed)"
USER = "(user)"
LEFT_OUT = "(left out)"


def context_name(view: View, context: int) -> str:
    """``system``, ``interrupts``, the name of a task where it is known, or ``task N``.

    A task's name is known when its first step has been read.
    """
    if context == INTERRUPTS:
        return "interrupts"
    return view.task_names.get(context) or ("system" if context == 0 else f"task {context}")


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
