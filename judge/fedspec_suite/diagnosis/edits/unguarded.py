"""The specification without its refusals: a wrong rule leads out of a domain, and a subject with it continues there."""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

from fedspec_suite.measure.call_graph import Spaces
from fedspec_suite.measure.closed_form_rounding import make_room
from fedspec_suite.measure.edited_sessions import Form

WHERE = ("fedspec.algorithms.", "fedspec.client.", "fedspec.mixing.", "fedspec.server.")

CHECKS = "check_"
"""Prefix of the names of functions that only refuse values and return none."""

MOST = 1 << 10
"""Largest number of turns in a rule's loop: cases of a diagnosis have some dozens of clients, steps, coordinates."""


@cache
def opened(form: Form) -> Form:
    """Hyper-parameters, counts, weights and matrices are taken as they are.

    What nothing refuses might run for ever: no rule loops over more than a case has.
    """
    return form.changed(refuse_nothing)


def refuse_nothing(names: Spaces) -> None:
    """Let the functions of some modules take every value."""
    make_room(names)
    names.get("fedspec.rules", {})["_counted_or_measured"] = _taken
    for module in (m for n, m in names.items() if n.startswith(WHERE)):
        module["range"] = few
        module.update({n: _nothing for n, f in module.items() if n.startswith(CHECKS) and isinstance(f, FunctionType)})


def _nothing(*given: Any, **named: Any) -> None:
    pass


def _taken(name: str, value: Any, note: str) -> Any:
    # Numbers that keep a bound have no whole part of their own.
    return int(value if isinstance(value, int) else float(value)) if note == "int" else value


def few(*ends: int) -> range:
    """The numbers of a range, as long as it is no longer than a case of a diagnosis asks for.

    Raises:
        ArithmeticError: it is longer: something that is no count stands for one.
    """
    numbers = range(*ends)
    if len(numbers) > MOST:
        raise ArithmeticError(f"a loop over {len(numbers)} numbers, where cases have at most {MOST}")
    return numbers
