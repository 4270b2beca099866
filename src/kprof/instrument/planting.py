"""Compiler mode's text to text: a preprocessed unit in, the unit with triggers out."""

from __future__ import annotations

from collections.abc import Mapping

from kprof.errors import InstrumentError
from kprof.instrument.compiler_settings import Compiling
from kprof.instrument.functions import Unbalanced
from kprof.instrument.listing import Skipped
from kprof.instrument.select import attribute_reason
from kprof.instrument.unit import Unit, plant_unit, scan_unit
from kprof.names import Function, NameEntry, allocate_functions


def instrument_unit(raw: str, path: str, options: Compiling, notices: list[Skipped | str]) -> str:
    """A preprocessed unit with triggers; what there is to say is added to `notices`.

    Raises
    ------
    InstrumentError
        It has triggers already.
    """
    try:
        unit = scan_unit(raw)
    except Unbalanced:
        # The compiler says what is wrong, and where. If it should find nothing wrong, we say it.
        reason = "the braces of the unit do not match: no function of it has triggers"
        notices.append(Skipped(path, path, 1, reason))
        return raw
    if unit.planted:
        raise InstrumentError([f"{path}: has been instrumented already; compile the original"])
    wanted: dict[int, Function] = {}
    for brace, function in unit.functions.items():
        place = unit.places[brace]
        reason = options.selection.reason(function.name, place.file)
        by_user = bool(reason)
        declared = unit.declared.get(function.head.name, frozenset())
        reason = reason or attribute_reason(function.head, declared)
        if reason:
            mine = by_user or "no_instrument" in reason
            notices.append(Skipped(function.name, place.file, place.line, reason, mine))
        else:
            static = function.head.static or function.outer is not None
            wanted[brace] = Function(function.name, place.file, static)
    if not wanted:
        return raw
    entries = allocate_functions(options.names, wanted.values(), first_tag=options.first_tag)
    tags = _tags(unit, wanted, entries, notices)
    text, failed = plant_unit(unit, tags, options.target)
    warning = options.target.warning(max(tags.values(), default=0) + 1)
    if warning:
        notices.append(f"{options.names}: {warning}")
    for function, reason in failed:
        place = unit.places[function.brace]
        notices.append(Skipped(function.name, place.file, place.line, reason))
    return text


def _tags(
    unit: Unit,
    wanted: Mapping[int, Function],
    entries: Mapping[Function, NameEntry],
    notices: list[Skipped | str],
) -> dict[int, int]:
    tags: dict[int, int] = {}
    for brace, function in wanted.items():
        entry = entries[function]
        if entry.value and entry.exit_tag is not None:
            tags[brace] = entry.value
            continue
        place = unit.places[brace]
        why = "value 0" if not entry.value else "an inline trigger has its name"
        reason = f"{why} in the name file"
        notices.append(
            Skipped(function.name, place.file, place.line, reason, wanted=not entry.value)
        )
    return tags
