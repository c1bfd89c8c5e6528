"""``fedspec worst-case --lyapunov`` for a class of compressors (``--alpha``) or mixing matrices (``--eigenvalues``)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec.entry import Algorithm
from fedspec.errors import ParameterError
from fedspec_proofs.cli.worst_case_lines import Words, falling, in_words, others


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


def refuse(
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
