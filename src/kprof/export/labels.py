"""Names as other tools see them: contexts, time of no function, and text without surprises."""

from __future__ import annotations

IDLE = "(idle)"
UNATTRIBUTED = "(unattributed)"


def context_label(context: int) -> str:
    """``system`` or ``task N``."""
    return "system" if context == 0 else f"task {context}"


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
