"""Specification without argument checks, since a wrong rule may leave a domain and a subject then continues."""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

from fedspec_suite.measure.call_graph import Spaces
from fedspec_suite.measure.closed_form_rounding import make_room
from fedspec_suite.measure.edited_sessions import Form

WHERE = ("fedspec.algorithms.", "fedspec.client.", "fedspec.mixing.", "fedspec.server.")

CHECKS = "check_"
"""Prefix of functions that only validate arguments."""

MOST = 1 << 10
"""Largest number of iterations of a loop in a rule; cases of a diagnosis have far fewer clients and steps."""


@cache
def opened(form: Form) -> Form:
    """Return a copy of a form that accepts hyper-parameters, counts, weights and matrices unchecked.

    What nothing refuses might run for ever: no rule loops over more than a case has.
    """
    return form.changed(refuse_nothing)


def refuse_nothing(names: Spaces) -> None:
    """Disable the argument checks in copied namespaces."""
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
    """Return ``range(*ends)``, or raise if it is longer than a case of a diagnosis needs.

    Raises:
        ArithmeticError: it is longer: something that is no count stands for one.
    """
    numbers = range(*ends)
    if len(numbers) > MOST:
        raise ArithmeticError(f"a loop over {len(numbers)} numbers, where cases have at most {MOST}")
    return numbers
