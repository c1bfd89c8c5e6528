"""The specification without its refusals: a rule that is wrong leads out of a domain, and who has it goes on there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from fedspec import rules

CHECKS = "check_"
"""How the names of functions begin that refuse something and give nothing."""


@contextmanager
def unguarded() -> Iterator[None]:
    """Hyper-parameters, counts, weights and matrices are taken as they are, until the block ends."""
    guard = rules._counted_or_measured
    places = _places()
    try:
        rules._counted_or_measured = _as_it_is
        for module, name, _ in places:
            setattr(module, name, _nothing)
        yield
    finally:
        rules._counted_or_measured = guard
        for module, name, check in places:
            setattr(module, name, check)


def _as_it_is(name: str, value: Any, note: str) -> Any:
    # Numbers that keep a bound have no whole part of their own.
    return int(value if isinstance(value, int) else float(value)) if note == "int" else value


def _nothing(*given: Any, **named: Any) -> None:
    """Refuse nothing."""


@cache
def _places() -> tuple[tuple[ModuleType, str, FunctionType], ...]:
    """Where each such function is known, and under which name."""
    modules = [m for n, m in list(sys.modules.items()) if n.startswith(WHERE)]
    found = ((m, name, f) for m in modules for name, f in vars(m).items() if name.startswith(CHECKS))
    return tuple((m, name, f) for m, name, f in found if isinstance(f, FunctionType))


WHERE = ("fedspec.algorithms.", "fedspec.client.", "fedspec.mixing.", "fedspec.server.")
"""Where rules stand; what reads events and cases refuses what it refused."""
