"""The specification without its refusals: a rule that is wrong leads out of a domain, and who has it goes on there."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from fedspec import rules

CHECKS = "check_"
"""How the names of functions begin that refuse something and give nothing."""

MOST = 1 << 10
"""Over how many numbers a rule may loop: cases of a diagnosis have some dozens of clients, steps and coordinates."""


@contextmanager
def unguarded() -> Iterator[None]:
    """Hyper-parameters, counts, weights and matrices are taken as they are, until the block ends.

    What nothing refuses might run for ever: no rule loops over more than a case has.
    """
    guard = rules._counted_or_measured
    places, counting = _places(), _counting()
    before = [vars(module).get("range") for module in counting]
    try:
        rules._counted_or_measured = _as_it_is
        for module in counting:
            vars(module)["range"] = few
        for module, name, _ in places:
            setattr(module, name, _nothing)
        yield
    finally:
        rules._counted_or_measured = guard
        for module, name, check in places:
            setattr(module, name, check)
        for module, own in zip(counting, before, strict=True):
            if own is None:
                del vars(module)["range"]
            else:
                vars(module)["range"] = own


def few(*ends: int) -> range:
    """The numbers of a range, as long as it is no longer than a case of a diagnosis asks for.

    Raises:
        ArithmeticError: it is longer: something that is no count stands for one.
    """
    numbers = range(*ends)
    if len(numbers) > MOST:
        raise ArithmeticError(f"a loop over {len(numbers)} numbers, where cases have at most {MOST}")
    return numbers


def _as_it_is(name: str, value: Any, note: str) -> Any:
    # Numbers that keep a bound have no whole part of their own.
    return int(value if isinstance(value, int) else float(value)) if note == "int" else value


def _nothing(*given: Any, **named: Any) -> None:
    """Refuse nothing."""


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
