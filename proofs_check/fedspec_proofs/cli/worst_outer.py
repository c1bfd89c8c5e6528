"""``fedspec worst-case --lyapunov`` of servers that keep a momentum buffer, or models from which changes come late."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec.entry import Algorithm
from fedspec.errors import ParameterError
from fedspec.usual import usual
from fedspec_proofs.cli.worst_case_lines import falling, others


def is_outer(row: Algorithm) -> bool:
    """True if its server is one of these."""
    from fedspec_proofs.worst_cases import outer

    return row.id in (*outer.MOMENTA, *outer.LATE)


def refuse(row: Algorithm, delay: int, lyapunov: bool) -> None:
    """Refuse a delay where no change comes late, or where rounds begin at one model; and late changes without a form.

    Raises:
        ParameterError: there is a delay, and it is one of these; or no form is asked for where changes come late.
    """
    from fedspec_proofs.worst_cases.outer import LATE as late

    if row.id in late and not lyapunov:
        raise ParameterError(f"worst-case: {row.id} is run by arrivals; ask for a form that falls (--lyapunov)")
    if delay and not (lyapunov and row.id in late):
        raise ParameterError(f"--delay {delay}: it is about --lyapunov of {', '.join(late)}; leave it out")


def factor(row: Algorithm, steps: tuple[int, ...], numbers: dict[str, Any], mu: Fraction, delay: int) -> dict[str, Any]:
    """The factor by which two states come closer in a round, by a form.

    Raises:
        ParameterError: clients take unequally many steps.
    """
    from fedspec_proofs.worst_cases import outer
    from fedspec_proofs.worst_cases.search import forms as search

    if len({*steps}) > 1:
        counts = ",".join(map(str, steps))
        raise ParameterError(f"--steps {counts}: --lyapunov of {row.id} is about equally many of all")
    given = {n: c for n, c in numbers.items() if n not in ("eta_l", "buffer")}
    unsaid = {n: Fraction(str(c)) for n, c in usual(row, given=numbers).items() if n not in ("eta_l", "buffer")}
    said, rate = others({**unsaid, **given}), str(numbers["eta_l"])
    asked = outer.Outer(row.id, steps[0], rate, said, delay, len(steps), mu=str(mu))
    about = {
        "steps": steps,
        "numbers": {**dict(said), "eta_l": rate},
        "unsaid": sorted(unsaid),
        **({"delay": delay} if row.id in outer.LATE else {}),
        "state": f"({', '.join(asked.names)}) of one run less that of another",
    }
    return falling(row, asked, search.certified, **about)
