"""Which options of `kprof upload` go with which protocol: none is taken and then ignored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kprof.errors import UsageError
from kprof.upload.protocols import AGENT, DUMPS, MEMORY

# Option: its name in the message, and the protocols that use it.
_FOR = {
    "raw": ("--raw", AGENT),
    "valid_only": ("--valid-only", AGENT),
    "stay": ("--stay", (*AGENT, "gdb")),
    "ask": ("--ask", (*DUMPS, "raw")),
    "little": ("--little", ("hexdump",)),
    "addr": ("--addr", MEMORY),
    "banks": ("--banks", MEMORY),
    "stride": ("--stride", MEMORY),
    "records": ("--records", MEMORY),
    "valid": ("--valid", MEMORY),
    "hz": ("--hz", MEMORY),
}
_HINTS = {
    "addr": "the agent knows its RAM",
    "banks": "the agent knows its RAM",
    "stride": "the agent knows its RAM",
    "records": "the agent says how many there are",
    "valid": "the agent says it; where it cannot: kprof convert --valid afterwards",
    "hz": "the agent says it",
}
# Option: others that it makes useless, and why.
_AGAINST = {
    "ask": (("send", "expect", "send_delay"), "--ask types the commands itself"),
    "banks": (("addr",), "the banks' addresses say where the RAM is"),
}

# Options that may be left out, but not empty: what is expected.
_FILLED = {
    "names": "the name of a file",
    "elf": "the name of a file",
    "trace_line": "the name of a file",
    "ask": "the text of a command",
    "banks": "five addresses",
}


def check_options(proto: str, given: Collection[str]) -> None:
    """Refuse the options that `proto` has no use for.

    Parameters
    ----------
    given
        The names of the options on the command line, such as ``send_delay``.

    Raises
    ------
    UsageError
        There is one; the message says what it is for.
    """
    for key, (option, protocols) in _FOR.items():
        if key in given and proto not in protocols:
            hint = f" ({_HINTS[key]})" if key in _HINTS else ""
            raise UsageError(f"{option} is for --proto {_listed(protocols)}, not for {proto}{hint}")
    for key, (others, why) in _AGAINST.items():
        for other in others:
            if key in given and other in given:
                raise UsageError(f"{_option(other)} cannot be used with {_option(key)}: {why}")
    if "send_delay" in given and "send" not in given:
        raise UsageError("--send-delay is for --send, which is not given")
    if proto not in AGENT and {"start_baud", "baud"} <= set(given):
        raise UsageError(
            f"--start-baud and --baud: with --proto {proto} the rate does not change; expected "
            "one of them"
        )


def check_values(options: Mapping[str, Any], given: Collection[str]) -> None:
    """Refuse options that are given empty, as by a variable of a shell that is not set.

    Raises
    ------
    UsageError
    """
    for key, expected in _FILLED.items():
        if key in given and not options[key]:
            raise UsageError(f"{_option(key)}: is empty; expected {expected} (or leave it out)")


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"
