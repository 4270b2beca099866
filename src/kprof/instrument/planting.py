"""Compiler mode's text to text: a preprocessed unit in, the unit with triggers out."""

from __future__ import annotations

from collections.abc import Mapping

from kprof.errors import InstrumentError, KprofError
from kprof.instrument.compiler_settings import Compiling
from kprof.instrument.functions import Function as Definition
from kprof.instrument.functions import Unbalanced
from kprof.instrument.listing import Skipped
from kprof.instrument.reading import NoTree, Reading, user_memory
from kprof.instrument.select import Selection, attribute_reason
from kprof.instrument.unit import Unit, plant_unit, scan_unit
from kprof.names import Function, NameEntry, allocate_functions
from kprof.names.calls import update_calls


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
    readings = unit.read(user_memory())
    wanted: dict[int, Function] = {}
    for brace, function in unit.functions.items():
        reason, mine = _reason(unit, function, readings[brace], options.selection)
        if reason:
            notices.append(_listed(unit, function, reason, wanted=mine))
        else:
            static = function.head.static or function.outer is not None
            wanted[brace] = Function(function.name, unit.places[brace].file, static)
    entries: Mapping[Function, NameEntry] = {}
    if wanted:
        entries = allocate_functions(options.names, wanted.values(), first_tag=options.first_tag)
    keys = {brace: entries[function].name for brace, function in wanted.items()}
    _keep_facts(unit, readings, keys, path, options, notices)
    if not wanted:
        return raw
    tags = _tags(unit, wanted, entries, notices)
    text, failed = plant_unit(unit, tags, options.target)
    warning = options.target.warning(max(tags.values(), default=0) + 1)
    if warning:
        notices.append(f"{options.names}: {warning}")
    notices += [_listed(unit, function, reason) for function, reason in failed]
    without = {function.brace for function, _ in failed}
    for brace in tags:
        reading = readings[brace]
        if isinstance(reading, NoTree) and brace not in without:
            reason = f"read without the parser: {reading.reason}"
            notices.append(_listed(unit, unit.functions[brace], reason, planted=True))
    return text


def _reason(
    unit: Unit, function: Definition, reading: Reading | NoTree, selection: Selection
) -> tuple[str, bool]:
    """Why a function is left without triggers, or "", and whether the user wants that."""
    reason = selection.reason(function.name, unit.places[function.brace].file)
    reason = reason or selection.structure_reason(reading)
    if reason:
        return reason, True
    declared = unit.declared.get(function.head.name, frozenset())
    reason, wish = attribute_reason(function.head, declared)
    return (reason, wish) if reason else (unit.disagreement(function, reading), False)


def _keep_facts(
    unit: Unit,
    readings: Mapping[int, Reading | NoTree],
    keys: Mapping[int, str],
    path: str,
    options: Compiling,
    notices: list[Skipped | str],
) -> None:
    """Write who can call whom beside the name file."""
    try:
        update_calls(options.names, path, unit.facts(readings, keys, path, options.names))
    except KprofError as error:
        notices.append(f"the call graph is not written: {error}")


def _listed(
    unit: Unit, function: Definition, reason: str, *, wanted: bool = False, planted: bool = False
) -> Skipped:
    file, line = unit.place(function)
    return Skipped(function.name, file, line, reason, wanted, planted)


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
        why = "value 0" if not entry.value else "an inline trigger has its name"
        reason = f"{why} in the name file"
        notices.append(_listed(unit, unit.functions[brace], reason, wanted=not entry.value))
    return tags
