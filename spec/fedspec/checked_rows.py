"""Checks of a user's own row when it joins the catalogue; each message contains the remedy."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import ModuleType
from typing import Any

from fedspec.contract import LEVELS
from fedspec.costs import SYMBOLS, floats
from fedspec.domains import DOMAINS, require
from fedspec.entry import Algorithm, Basis, Family
from fedspec.errors import FedspecError, ParameterError, PluginError
from fedspec.functions import LocalSolver, Method, Program
from fedspec.hyper import Hyper
from fedspec.rules import RULES, equations

SLUG = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
ID = "use lower-case letters, digits and single hyphens; for example, fed-exp"
"""Message fragment that lists the allowed characters of an id."""

TUPLES = ("levels", "readings", "traps", "facts")
READ_OFF = ("rules", "shows")
"""Tuples that fedspec reads off the row's functions, which fails if its readings or hyper-parameters are wrong."""


def check_row(row: Any, where: str) -> Algorithm:
    """Return a plugin's row if it is a valid ``Algorithm``; else raise PluginError.

    Raises:
        PluginError: the object isn't a row, or has an invalid value; the message has the file, the row and the remedy.
    """
    if not isinstance(row, Algorithm):
        raise PluginError(f"plugin: the ROW of {where} is of type {type(row).__name__}; want Algorithm")
    try:
        wrong = next(_wrong(row), "")
    except FedspecError as error:
        wrong = str(error)
    except Exception as error:
        # Whatever a row holds, it is the file's fault and not a bug of fedspec.
        wrong = f"{type(error).__name__}: {error}"
    if wrong:
        raise PluginError(f"plugin: {where}, row {row.id!r}: {wrong}")
    return row


def check_printed(module: ModuleType, rows: Sequence[Algorithm], where: str) -> None:
    """Raise an error for a rule that no row of its file uses: fedspec would neither show nor check its equations.

    Raises:
        PluginError: no row uses the rule; the message names the rule.
    """
    known = {e.id for row in rows for rule in row.rules for e in equations(rule)}
    for name, function in vars(module).items():
        if getattr(function, "__module__", "") != module.__name__ or f"{module.__name__}.{name}" not in RULES:
            continue
        if left := [e.id for e in equations(function) if e.id not in known]:
            remedy = "call it, or write rules=(...)"
            raise PluginError(f"plugin: {where}: {name} prints {left[0]}, but no row uses {name}; {remedy}")


def _wrong(row: Any) -> Iterator[str]:
    """Yield the faults of a row, the first one first: each check relies on the checks before it."""
    if not isinstance(row.id, str) or not SLUG.fullmatch(row.id):
        yield f"id: got {row.id!r}; {ID}"
    if not isinstance(row.family, Family):
        yield f"family: got {row.family!r}; want one of Family.{', Family.'.join(Family.__members__)}"
    if not isinstance(row.basis, Basis):
        yield f"basis: got {row.basis!r}; want one of Basis.{', Basis.'.join(Basis.__members__)}"
    if not isinstance(row.run, Method | LocalSolver | Program):
        yield f"run: got {type(row.run).__name__}; want Method, Program or LocalSolver (fedspec.functions)"
    yield from _wrong_tuples(row, TUPLES)
    for level in row.levels:
        if level not in LEVELS:
            yield f"levels: got {level!r}; known: {', '.join(LEVELS)}"
    if not row.readings:
        yield "readings: the tuple is empty; give at least one Reading(name=..., words=...), a published definition"
    yield from _wrong_numbers(row)
    for reading in row.readings:
        if unknown := [n for n in reading.fixes if n not in row.options]:
            yield f"reading {reading.name!r} fixes {unknown[0]!r}; its options: {', '.join(row.options) or 'none'}"
        row.resolve(reading.name, {})
    yield from _wrong_tuples(row, READ_OFF)
    if not row.rules:
        yield "rules: the row's functions call none that fedspec can find; list them, rules=(...,)"
    for rule in row.rules:
        if f"{rule.__module__}.{getattr(rule, '__qualname__', '')}" not in RULES:
            yield f"rules: {getattr(rule, '__name__', rule)} is no rule; put @rule (fedspec.rules) above it"
    for rule in row.rules:
        equations(rule, row.defaults())
    for what, said in (("dimensions", row.dimensions), ("usual", row.usual)):
        for name in said:
            if name not in row.numbers:
                yield f"{what}: {name!r} is none of its hyper-parameters; known: {', '.join(row.numbers)}"
    for name, value in row.usual.items():
        try:
            require(name, value)
        except ParameterError as error:
            yield f"usual: {error}"
    for what, formula in vars(row.costs).items():
        try:
            floats("0" if what == "note" else formula, dict.fromkeys(SYMBOLS, 1))
        except KeyError as error:
            yield f"costs: {what} is {formula!r}, and {error} is no symbol; known: {', '.join(SYMBOLS)}"
        except FedspecError as error:
            yield f"costs: {what} is {formula!r}: {error}, as in 'm (1 + d / 32)'"


def _wrong_tuples(row: Any, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if not isinstance(given := getattr(row, name), tuple):
            yield f"{name}: got a {type(given).__name__}; want a tuple; one of a single entry ends in a comma, (...,)"


def _wrong_numbers(row: Algorithm) -> Iterator[str]:
    if isinstance(row.run, LocalSolver):
        return
    record: Any = row.run.hyper
    if not (isinstance(record, type) and issubclass(record, Hyper) and is_dataclass(record)):
        yield f"hyper: {getattr(record, '__name__', record)} is no frozen dataclass derived from fedspec.hyper.Hyper"
    hints = typing.get_type_hints(record)
    for name in (f.name for f in fields(record)):
        option = isinstance(hints[name], type) and issubclass(hints[name], StrEnum)
        if name not in DOMAINS and not option and name != "cover":
            yield (
                f"hyper: {name!r} has no domain and is no option; before the record write "
                f"declare({name!r}, Parameter(POSITIVE, 'what it is')), of fedspec.domains"
            )
