"""``fedspec worst-case --lyapunov`` for servers with a momentum buffer or with late changes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec.entry import Algorithm
from fedspec.errors import ParameterError
from fedspec.usual import usual
from fedspec_proofs.cli.worst_case_lines import falling, others


def is_outer(row: Algorithm) -> bool:
    """True if the algorithm's server keeps a momentum buffer or applies late changes."""
    from fedspec_proofs.worst_cases import outer

    return row.id in (*outer.MOMENTA, *outer.LATE)


def refuse(row: Algorithm, delay: int, lyapunov: bool) -> None:
    """Reject a delay for an algorithm without late changes, and an algorithm with late changes without ``--lyapunov``.

    Raises:
        ParameterError: a delay is given for an algorithm without late changes; or ``--lyapunov`` is missing for an
            algorithm with late changes.
    """
    from fedspec_proofs.worst_cases.outer import LATE as late

    if row.id in late and not lyapunov:
        raise ParameterError(f"worst-case: {row.id} is asynchronous; only --lyapunov analyses it, so add --lyapunov")
    if delay and not (lyapunov and row.id in late):
        raise ParameterError(f"--delay {delay}: it applies to --lyapunov of {', '.join(late)}; leave it out")


def factor(row: Algorithm, steps: tuple[int, ...], numbers: dict[str, Any], mu: Fraction, delay: int) -> dict[str, Any]:
    """Contraction factor between two runs in a round, in a quadratic norm.

    Raises:
        ParameterError: the clients take unequally many steps.
    """
    from fedspec_proofs.worst_cases import outer
    from fedspec_proofs.worst_cases.search import forms as search

    if len({*steps}) > 1:
        counts = ",".join(map(str, steps))
        raise ParameterError(f"--steps {counts}: for --lyapunov of {row.id}, all clients must take equally many steps")
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
