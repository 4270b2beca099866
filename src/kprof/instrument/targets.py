"""What fires a trigger on each kind of target.

A target is a template of C statements. In it ``{address}`` becomes base + (tag << shift) (in
decimal; with a symbol as the base, ``symbol+offset``), ``{tag}`` the tag, and ``{size}`` the 68k's
size suffix. Users add their own in a file of sections (see `read_targets`)::

    [z80]
    fire = __asm__ __volatile__("in a,({tag})" : : : "a");
    strategy = returns
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kprof.errors import InstrumentError, UsageError
from kprof.files import read_bytes

STRATEGIES = ("cleanup", "returns")
_SYMBOL = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Cpu:
    """A processor, and how its compilers are known.

    Attributes
    ----------
    words
        A word of these in a compiler's name, and it compiles for this processor.
    machines
        What ``uname -m`` begins with on such a machine.
    compilers
        Cross compilers to look for.
    variants
        Options with which its compilers compile for another target, and that target's name.
    """

    words: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()
    variants: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Target:
    """A way to fire a trigger.

    Attributes
    ----------
    name
        What ``--target`` calls it.
    fire
        The template: statements, each with its semicolon.
    far
        The template where the address is past `near`; "" where `fire` will do.
    near
        The highest address that `fire` reaches.
    declares
        What stands once before the first function.
    strategy
        "cleanup" or "returns" (see `strategy`).
    base, shift
        The address of a tag is base + (tag << shift); the base may be a symbol.
    symbol_fire, symbol_declares
        `fire` and `declares` where the base is a symbol, ``{base}``; "" where it may not be one.
    computed
        The template of a trigger whose tag is only known when the program runs; "" where there is
        none.
    past_near
        What the user should know where a trigger's address is past `near`.
    reads_memory
        It reads an address, which a program of a host does not have.
    library
        The example's source that its programs are linked with, or "".
    cpu
        The processor that it is for.
    """

    name: str
    fire: str
    far: str = ""
    near: int = 0x7FFF
    declares: str = ""
    strategy: str = "cleanup"
    base: int | str = 0
    shift: int = 0
    symbol_fire: str = ""
    symbol_declares: str = ""
    computed: str = "(void)*(__volatile__ unsigned char *)({address});"
    past_near: str = ""
    reads_memory: bool = True
    library: str = ""
    cpu: Cpu = Cpu()

    def statement(self, tag: int) -> str:
        """The C statements that fire `tag`."""
        offset = tag << self.shift
        template = self.fire
        if isinstance(self.base, str):
            address, size = f"{self.base}+{offset}", ""
            template = self.symbol_fire
        else:
            place = self.base + offset
            short = place <= 0x7FFF or place >= 0xFFFF8000
            address, size = str(place), ".w" if short else ".l"
            if self.far and place > self.near:
                template = self.far
        filled = template.replace("{address}", address).replace("{size}", size)
        return filled.replace("{tag}", str(tag))

    def statement_for(self, tag: str) -> str:
        """The C statements that fire the tag that an expression of type unsigned gives."""
        offset = f"((unsigned long)({tag})<<{self.shift})"
        if isinstance(self.base, str):
            declared = f"extern __volatile__ unsigned char {self.base}[]; "
            return declared + self.computed.replace("{address}", f"{self.base}+{offset}")
        filled = self.computed.replace("{address}", f"{self.base}ul+{offset}")
        return filled.replace("{tag}", tag)

    @property
    def plants(self) -> bool:
        """Does it put anything into the code?"""
        return bool(self.fire)

    @property
    def declaration(self) -> str:
        """What stands once before the first function."""
        if isinstance(self.base, str):
            return self.symbol_declares.replace("{base}", self.base)
        return self.declares

    def warning(self, tag: int) -> str:
        """What the user should know when tags go as high as `tag`, or ""."""
        if not self.past_near or isinstance(self.base, str):
            return ""
        address = self.base + (tag << self.shift)
        if address <= self.near or address >= 0xFFFF8000:
            return ""
        return f"tags go up to {tag}, address {address:#x}: past {self.near:#x} {self.past_near}"


_BYTE = "(*(__volatile__ unsigned char *)({address}ul))"
_TEST_BYTE = '__asm__ __volatile__("{testb %%al,{address}|test BYTE PTR ds:{address},al}":::"cc");'
_TARGETS = (
    Target(
        "m68k",
        '__asm__ __volatile__("tst.b {address}{size}");',
        symbol_fire='__asm__ __volatile__("tst.b {address}");',
        past_near="the trigger is tst.b with a long address, 6 bytes instead of 4 (give the "
        "functions that matter low values)",
        cpu=Cpu(
            ("m68k",), ("m68k",), ("m68k-linux-gnu-gcc", "m68k-elf-gcc", "m68k-unknown-elf-gcc")
        ),
    ),
    Target(
        "i386",
        _TEST_BYTE,
        symbol_fire=_TEST_BYTE,
        cpu=Cpu(("i386", "i486", "i586", "i686"), ("i386", "i486", "i586", "i686")),
    ),
    Target(
        "x86-64",
        _TEST_BYTE,
        far='__asm__ __volatile__("{testb %%al,(%0)|test BYTE PTR [%0],al}"::"r"({address}):"cc");',
        near=0x7FFFFFFF,
        cpu=Cpu(("x86_64",), ("x86_64", "amd64"), variants=(("-m32", "i386"),)),
    ),
    Target(
        "aarch64",
        '__asm__ __volatile__("ldrb wzr,[%0]"::"r"({address}ul));',
        cpu=Cpu(
            ("aarch64", "arm64"),
            ("aarch64", "arm64"),
            ("aarch64-none-elf-gcc", "aarch64-linux-gnu-gcc"),
        ),
    ),
    Target(
        "arm",
        "unsigned long kprof_t;"
        '__asm__ __volatile__("ldrb %0,[%1]":"=r"(kprof_t):"r"({address}ul));',
        cpu=Cpu(
            ("arm",),
            ("arm",),
            ("arm-none-eabi-gcc", "arm-linux-gnueabihf-gcc", "arm-linux-gnueabi-gcc"),
            (("-mthumb", "thumb"),),
        ),
    ),
    Target(
        "thumb",
        "unsigned long kprof_t;"
        '__asm__ __volatile__("ldrb %0,[%1]":"=l"(kprof_t):"l"({address}ul));',
        cpu=Cpu(compilers=("arm-none-eabi-gcc", "arm-linux-gnueabihf-gcc")),
    ),
    Target(
        "riscv",
        '__asm__ __volatile__("lbu zero,0(%0)"::"r"({address}ul));',
        cpu=Cpu(("riscv",), ("riscv",), ("riscv64-unknown-elf-gcc", "riscv64-linux-gnu-gcc")),
    ),
    Target(
        "mmio",
        f"(void){_BYTE};",
        strategy="returns",
        symbol_fire="(void)*({address});",
        symbol_declares="extern __volatile__ unsigned char {base}[];",
    ),
    Target(
        "soft",
        "kprof_event({tag}u);",
        declares="extern void kprof_event(unsigned);",
        computed="kprof_event({tag});",
        reads_memory=False,
        library="kprof_ram.c",
    ),
    Target("none", "", computed="", reads_memory=False),
)
TARGETS = {target.name: target for target in _TARGETS}


def find_target(
    name: str,
    *,
    base: str | None = None,
    shift: int | None = None,
    strategy: str | None = None,
    file: Path | str | None = None,
) -> Target:
    """The target of this name, a user's own from `file` first.

    Parameters
    ----------
    base
        A number in C's notation, or a symbol of the program.
    shift
        0, 1 or 2 for an event RAM on an 8, 16 or 32-bit bus.

    Raises
    ------
    UsageError
        There is no such target, or a setting makes no sense.
    """
    known = {**TARGETS, **(read_targets(file) if file else {})}
    target = known.get(name)
    if target is None:
        raise UsageError(f"no target {name!r}; expected one of {', '.join(known)}")
    if base is not None:
        target = replace(target, base=_base(base, target))
    if shift is not None:
        if not 0 <= shift <= 8:
            raise UsageError(f"the shift is {shift}; expected 0 to 8")
        target = replace(target, shift=shift)
    return replace(target, strategy=strategy) if strategy else target


def target_of(compiler: str, options: Sequence[str]) -> str:
    """The name of the target that a compiler of this name compiles for with these options.

    Where the compiler's name does not say it, it is this machine's. "" where that is not known.
    """
    machine = os.uname().machine
    named = [t for t in _TARGETS if any(word in compiler for word in t.cpu.words)]
    for target in named or _TARGETS:
        if named or machine.startswith(target.cpu.machines or "?"):
            variants = (other for option, other in target.cpu.variants if option in options)
            return next(variants, target.name)
    return ""


def read_targets(path: Path | str) -> dict[str, Target]:
    """The targets of a file: a section each, with ``fire`` and optionally ``far``, ``near``,
    ``declares``, ``computed``, ``strategy``, ``base`` and ``shift``.

    Raises
    ------
    InstrumentError
        With every problem in it.
    """
    import configparser

    parser = configparser.RawConfigParser()
    try:
        parser.read_string(read_bytes(path).decode("utf-8"), str(path))
    except (configparser.Error, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InstrumentError([f"{path}: not a file of targets: {reason}"]) from error
    problems: list[str] = []
    targets: dict[str, Target] = {}
    for name in parser.sections():
        try:
            targets[name] = _target(name, dict(parser.items(name)))
        except ValueError as error:
            problems.append(f"{path}: [{name}]: {error}")
    if problems:
        raise InstrumentError(problems)
    return targets


def _target(name: str, settings: dict[str, str]) -> Target:
    known = {"fire", "far", "near", "declares", "computed", "strategy", "base", "shift", "like"}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise ValueError(f"unknown setting {unknown[0]!r}; expected {', '.join(sorted(known))}")
    like = settings.get("like")
    if like is not None and like not in TARGETS:
        raise ValueError(f"like = {like!r}; expected one of {', '.join(TARGETS)}")
    # A statement of the user's may do anything.
    target = (
        replace(TARGETS[like], name=name)
        if like
        else Target(name, "", computed="", reads_memory=False)
    )
    if not like and "fire" not in settings:
        raise ValueError("no 'fire'; expected the C statement that fires a trigger")
    strategy = settings.get("strategy", target.strategy)
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy = {strategy!r}; expected {' or '.join(STRATEGIES)}")
    if "fire" in settings:
        target = replace(target, computed="")
        declares = settings.get("declares", "")
        target = replace(
            target, symbol_fire=settings["fire"], symbol_declares=declares, past_near=""
        )
    return replace(
        target,
        fire=settings.get("fire", target.fire),
        far=settings.get("far", target.far),
        near=_number("near", settings.get("near", str(target.near))),
        declares=settings.get("declares", target.declares),
        computed=settings.get("computed", target.computed),
        strategy=strategy,
        base=_base(settings["base"], target) if "base" in settings else target.base,
        shift=_number("shift", settings.get("shift", str(target.shift))),
    )


def _number(name: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"{name} = {text!r}; expected a number such as 0x4000") from None


def _base(text: str, target: Target) -> int | str:
    if not _SYMBOL.fullmatch(text):
        try:
            value = int(text, 0)
        except ValueError:
            raise UsageError(
                f"the base is {text!r}; expected an address such as 0xfe0000, or a symbol"
            ) from None
        if value < 0:
            raise UsageError(f"the base is {text!r}; expected an address from 0 up")
        return value
    if not target.symbol_fire:
        raise UsageError(f"target {target.name} takes a number as its base, not the symbol {text}")
    return text
