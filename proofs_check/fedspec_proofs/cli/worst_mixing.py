"""The option ``--mixing`` of ``fedspec worst-case``: peers without a server, which average by a given matrix."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec.entry import Algorithm
from fedspec.errors import ParameterError
from fedspec_proofs.cli.worst_case_lines import Words, falling, in_words, others

STATE = "all x_i - x* and all c_i + grad F_i(x*) but the last"


def matrix(text: str) -> Words:
    """Parse the rows of a mixing matrix; a single row is the first row of a ring's matrix; no text, no rows."""
    from fedspec_proofs.worst_cases import exchanges

    rows = tuple(tuple(entry.strip() for entry in row.split(",")) for row in text.split(";")) if text else ()
    found: Words = exchanges.circulant(*rows[0]) if len(rows) == 1 else rows
    return tuple(tuple(str(c) for c in row) for row in exchanges.mixing_of(found))


def of_all(counts: tuple[int, ...], W: Words, *, alike: bool = False) -> tuple[int, ...]:
    """Local steps of every peer, from one number; without a matrix or a class of matrices, the steps as given.

    Raises:
        ParameterError: the peers have unequal numbers of steps.
    """
    if (W or alike) and len({*counts}) > 1:
        raise ParameterError(
            f"--steps {','.join(map(str, counts))}: all peers must take equally many steps; give one number"
        )
    return counts[:1] * len(W) if W else counts


def refuse(W: Words) -> None:
    """Reject ``--mixing`` together with ``--coefficients``.

    Raises:
        ParameterError: both options are given.
    """
    if W:
        raise ParameterError("--mixing: peers have no server, which --coefficients needs; leave one of the two out")


def factor(
    row: Algorithm, W: Words, steps: tuple[int, ...], numbers: dict[str, Fraction], mu: Fraction
) -> dict[str, Any]:
    """Certify a Lyapunov function's contraction factor per exchange, for this mixing matrix.

    Raises:
        ParameterError: the algorithm's clients keep no vectors that converge to gradients.
    """
    from fedspec_proofs.worst_cases import exchanges
    from fedspec_proofs.worst_cases.search import forms as search

    if row.id not in exchanges.KEPT:
        raise ParameterError(
            f"worst-case --lyapunov: with a matrix it covers {', '.join(exchanges.KEPT)}, but not {row.id}; leave "
            f"--lyapunov out"
        )
    numbers = exchanges.OTHERS[row.id] | numbers
    asked = exchanges.Exchanged(row.id, W, steps[0], str(numbers["eta_l"]), mu=str(mu), numbers=others(numbers))
    about = {"steps": steps, "numbers": in_words(numbers), "mixing": W, "state": STATE}
    return falling(row, asked, search.certified, **about)
