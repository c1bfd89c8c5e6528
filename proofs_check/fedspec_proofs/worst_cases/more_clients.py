"""Extension of a round's certificate from a few clients to many, if clients with equal steps are interchangeable.

Clients are of one kind if they take equally many steps. Let a round depend on each kind through means over it, as
sums over all clients with equal weights do. Average a certificate over who of a kind is called first: that is one
again, for what is claimed and what is given stay as they are. Write each vector of a client as the mean of its kind and
what it is off that mean. Products of the two cancel in every sum over a kind, so that what is left over splits into a
form in the means and one in the deviations, which occur in (1/n) sum_i <u_i, v_i> alone. n is in neither; so

* the multipliers, divided among as many clients of each kind as one likes, prove the same number, and
* what two deviations reach, more of them reach too: deviations of two clients are of sum zero, like those of more.

Where there is one client of a kind it has no deviation, and the number may be smaller than for more of them.
Colla and Hendrickx (2024, arXiv 2403.11724) show for decentralised methods when a worst case is one for every number of
agents; this is that argument for rounds of a server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from fedspec.errors import ParameterError
from fedspec_proofs.engines.worst_case.falling import Matrix
from fedspec_proofs.worst_cases.one_round import Round

Q = TypeVar("Q")


def many(r: Round) -> bool:
    """True if there are at least two clients for each number of steps; the bound then holds for more clients too."""
    return all(len(kind) > 1 for kind in r.kinds)


def among(r: Round, proof: Mapping[str, Fraction], n: int) -> tuple[Round, dict[str, Fraction]]:
    """Extend a round and its multipliers to n clients, with the steps in the same proportions.

    A form P in x - x* and all c_i - grad F_i(x*) becomes the form with the same value in means and deviations.

    Raises:
        ParameterError: a number of steps belongs to fewer than two clients, before or after, or n isn't a multiple that
            keeps the proportions.
    """
    more = Fraction(n, len(r.steps))
    old = r.kinds
    sizes = [more * len(kind) for kind in old]
    if not many(r) or any(size.denominator > 1 or size < 2 for size in sizes):
        raise ParameterError(
            f"more clients: got n = {n} for steps {r.steps}; each number of steps needs two clients or more"
        )
    of = [k for k, size in enumerate(sizes) for _ in range(int(size))]
    steps = tuple(r.steps[old[k][0]] for k in of)
    new = [[i for i, k in enumerate(of) if k == kind] for kind in range(len(old))]
    form = tuple(tuple(map(str, row)) for row in spread(r.P, old, of, more)) if r.form else ()
    return replace(r, steps=steps, form=form), divided(proof, old, new)


def divided(
    proof: Mapping[str, Fraction], old: Sequence[Sequence[int]], new: Sequence[Sequence[int]], letters: str = "F"
) -> dict[str, Fraction]:
    """Divide the multipliers of each group of clients equally among another group with the same steps.

    Args:
        proof: the multipliers for the old clients.
        old: indices of the old clients, grouped by number of steps.
        new: indices of the new clients, in the same groups.
        letters: the first letters of names that belong to a single client; all other names stay the same.
    """
    out = {name: c for name, c in proof.items() if name[0] not in letters}
    for mine, theirs in zip(old, new, strict=True):
        for name, c in proof.items():
            who, _, points = name.partition(" ")
            if name[0] in letters and int(who[1:]) in mine:
                for i in theirs:
                    own = f"{name[0]}{i} {points}".rstrip()
                    out[own] = out.get(own, Fraction(0)) + c / len(theirs)
    return out


def shared(r: Q, proof: Mapping[str, Fraction], n: int) -> tuple[Q, dict[str, Fraction]]:
    """Extend a round to n clients with equal steps, and divide the multipliers of two clients among them."""
    return replace(r, n=n), divided(proof, [range(2)], [range(n)])  # type: ignore[type-var]


def spread(P: Matrix, old: list[list[int]], of: list[int], more: Fraction) -> list[list[Fraction]]:
    """Matrix of the form for more clients, with the same value in group means and in mean squared deviations."""

    def mean(found: list[Fraction]) -> Fraction:
        return sum(found, Fraction(0)) / len(found)

    def entry(a: int, b: int, own: bool) -> Fraction:
        """Mean entry of P over pairs of clients from two groups; ``own`` selects pairs of equal clients."""
        return mean([P[i + 1][j + 1] for i in old[a] for j in old[b] if (i == j) is own])

    first = [mean([P[0][i + 1] for i in old[k]]) / more for k in of]
    rows = [[P[0][0], *first]]
    for i, a in enumerate(of):
        shared = [entry(a, b, own=False) / more**2 for b in of]
        shared[i] += (entry(a, a, own=True) - entry(a, a, own=False)) / more
        rows.append([first[i], *shared])
    return rows
