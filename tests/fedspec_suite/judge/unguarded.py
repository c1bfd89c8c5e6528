"""The specification without its refusals: a rule that is wrong leads out of a domain, and who has it goes on there."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from types import FunctionType, ModuleType
from typing import Any

from fedspec import rules

CHECKS = "check_"
"""How the names of functions begin that refuse something and give nothing."""

MOST = 1 << 10
"""Over how many numbers a rule may loop: cases of a diagnosis have some dozens of clients, steps and coordinates."""


@dataclass
class _Guards:
    """Whether the rules have guards that open, and how many blocks have opened them."""

    there: bool = False
    opened: int = 0


_GUARDS = _Guards()


@contextmanager
def openable() -> Iterator[None]:
    """The rules with guards that open, until the block ends: a search opens them for each answer of each candidate."""
    if _GUARDS.there:
        yield
        return
    places, counting, guard = _places(), _counting(), rules._counted_or_measured
    before = [vars(module).get("range") for module in counting]

    def taken(name: str, value: Any, note: str) -> Any:
        if not _GUARDS.opened:
            return guard(name, value, note)
        # Numbers that keep a bound have no whole part of their own.
        return int(value if isinstance(value, int) else float(value)) if note == "int" else value

    try:
        _GUARDS.there = True
        rules._counted_or_measured = taken
        for module in counting:
            vars(module)["range"] = few
        for module, name, check in places:
            setattr(module, name, _nothing_where_open(check))
        yield
    finally:
        _GUARDS.there = False
        rules._counted_or_measured = guard
        for module, name, check in places:
            setattr(module, name, check)
        for module, own in zip(counting, before, strict=True):
            if own is None:
                del vars(module)["range"]
            else:
                vars(module)["range"] = own


@contextmanager
def unguarded() -> Iterator[None]:
    """Hyper-parameters, counts, weights and matrices are taken as they are, until the block ends.

    What nothing refuses might run for ever: no rule loops over more than a case has.
    """
    with openable():
        _GUARDS.opened += 1
        try:
            yield
        finally:
            _GUARDS.opened -= 1


def few(*ends: int) -> range:
    """The numbers of a range, as long as it is no longer than a case of a diagnosis asks for.

    Raises:
        ArithmeticError: it is longer: something that is no count stands for one.
    """
    numbers = range(*ends)
    if _GUARDS.opened and len(numbers) > MOST:
        raise ArithmeticError(f"a loop over {len(numbers)} numbers, where cases have at most {MOST}")
    return numbers


@cache
def _nothing_where_open(check: FunctionType) -> Callable[..., None]:
    @wraps(check)
    def asked(*given: Any, **named: Any) -> None:
        if not _GUARDS.opened:
            check(*given, **named)

    return asked


@cache
def _counting() -> tuple[ModuleType, ...]:
    """The modules whose text counts by a range."""
    modules = [m for n, m in list(sys.modules.items()) if n.startswith(WHERE)]
    return tuple(m for m in modules if "range(" in inspect.getsource(m))


@cache
def _places() -> tuple[tuple[ModuleType, str, FunctionType], ...]:
    """Where each such function is known, and under which name."""
    modules = [m for n, m in list(sys.modules.items()) if n.startswith(WHERE)]
    found = ((m, name, f) for m in modules for name, f in vars(m).items() if name.startswith(CHECKS))
    return tuple((m, name, f) for m, name, f in found if isinstance(f, FunctionType))


WHERE = ("fedspec.algorithms.", "fedspec.client.", "fedspec.mixing.", "fedspec.server.")
"""Where rules stand; what reads events and cases refuses what it refused."""
