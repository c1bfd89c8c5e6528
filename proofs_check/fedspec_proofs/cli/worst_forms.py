"""``fedspec worst-case --lyapunov``: factors of quadratic forms, beside those of methods whose clients keep a vector.

Peers that average by a given matrix (``--mixing``), servers with a momentum buffer or with late changes, and a class of
compressors (``--alpha``) or of mixing matrices (``--eigenvalues``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec.entry import Algorithm
from fedspec.errors import ParameterError
from fedspec.usual import usual
from fedspec_proofs.cli.worst_case_lines import Words, falling, in_words, others


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


def exchange_factor(
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
    state = "all x_i - x* and all c_i + grad F_i(x*) but the last"
    about = {"steps": steps, "numbers": in_words(numbers), "mixing": W, "state": state}
    return falling(row, asked, search.certified, **about)


def is_outer(row: Algorithm) -> bool:
    """True if the algorithm's server keeps a momentum buffer or applies late changes."""
    from fedspec_proofs.worst_cases import outer

    return row.id in (*outer.MOMENTA, *outer.LATE)


def refuse_delay(row: Algorithm, delay: int, lyapunov: bool) -> None:
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


def server_factor(
    row: Algorithm, steps: tuple[int, ...], numbers: dict[str, Any], mu: Fraction, delay: int
) -> dict[str, Any]:
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


def interval(text: str) -> tuple[str, str] | None:
    """Parse two eigenvalues, the smaller first; None if the text is empty.

    Raises:
        ParameterError: the text isn't two fractions from -1 to 1 in ascending order.
    """
    if not text:
        return None
    try:
        low, high = map(Fraction, text.split(","))
    except (ValueError, ZeroDivisionError):
        low = high = Fraction(0)
    if not -1 <= low < high < 1:
        raise ParameterError(f"--eigenvalues {text}: expected the least and the second largest, such as 0,1/2")
    return str(low), str(high)


def refuse_class(
    row: Algorithm, lyapunov: bool, *, alpha: str, eta: str, eigenvalues: tuple[str, str] | None, W: Words
) -> None:
    """Reject ``--alpha``, ``--eta`` and ``--eigenvalues`` for other algorithms, and algorithms that need them.

    Raises:
        ParameterError: an option doesn't fit the algorithm; the message has the remedy.
    """
    from fedspec_proofs.worst_cases.compressed import ROWS as compressing
    from fedspec_proofs.worst_cases.exchanges import KEPT as kept

    if (alpha or eta) and row.id not in compressing:
        raise ParameterError(f"--alpha, --eta: they apply to {', '.join(compressing)}, not to {row.id}; leave them out")
    if row.id in compressing and not (alpha and lyapunov):
        raise ParameterError(
            f"worst-case: {row.id} sends the largest entries of a vector, and worst-case computes with whole vectors; "
            "bound a class of compressors instead, for example with --alpha 1/2 --eta 1/16 --lyapunov"
        )
    if not eigenvalues:
        return
    if row.id not in kept:
        raise ParameterError(f"--eigenvalues: they apply to {', '.join(kept)}, not to {row.id}; leave them out")
    if W:
        raise ParameterError("--eigenvalues: a matrix is given too; leave --mixing out")
    if not lyapunov:
        raise ParameterError("--eigenvalues: they apply to --lyapunov alone; add --lyapunov")


def compressed(
    row: Algorithm, clients: int, numbers: dict[str, Fraction], mu: Fraction, alpha: Fraction
) -> dict[str, Any]:
    """Certify a Lyapunov function's contraction factor per round, after the first, for any compressor of the class.

    Raises:
        ParameterError: a number is outside its domain.
    """
    from fedspec_proofs.worst_cases import compressed as module
    from fedspec_proofs.worst_cases.search import forms as search

    if not 0 < alpha < 1:
        raise ParameterError(
            f"--alpha {alpha}: expected a fraction between 0 and 1, such as k/d for the k largest of d entries"
        )
    if "eta" not in numbers:
        raise ParameterError(
            f"worst-case: the rate of {row.id}'s server is missing; give it by --eta, such as --eta 1/16"
        )
    if more := [n for n in numbers if n != "eta"]:
        raise ParameterError(f"--set {more[0]}: --alpha covers every compressor of its class; leave --set out")
    asked = module.Compressed(str(alpha), str(numbers["eta"]), clients, mu=str(mu))
    state = "w - x* and all g_i - grad F_i(w)"
    about = {"clients": clients, "numbers": {"eta": str(numbers["eta"])}, "alpha": str(alpha), "state": state}
    return falling(row, asked, search.certified, **about)


def mixed(
    row: Algorithm, tau: int, numbers: dict[str, Fraction], mu: Fraction, eigenvalues: tuple[str, str]
) -> dict[str, Any]:
    """Certify a Lyapunov function's contraction factor per exchange, for any mixing matrix of the class."""
    from fedspec_proofs.worst_cases import exchanges
    from fedspec_proofs.worst_cases import spectral as module
    from fedspec_proofs.worst_cases.search import forms as search

    numbers = exchanges.OTHERS[row.id] | numbers
    asked = module.Mixed(row.id, *eigenvalues, tau, str(numbers["eta_l"]), mu=str(mu), numbers=others(numbers))
    state = "the mean x of x_i - x*, each x_i less it, and c_i + grad F_i(x*)"
    about = {"steps": (tau,), "numbers": in_words(numbers), "eigenvalues": list(eigenvalues), "state": state}
    return falling(row, asked, search.certified, **about)
