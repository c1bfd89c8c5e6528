"""What the paper calls convergence: Lemma 18 and Definition 19."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from fedspec.algorithms.local import local_solve
from fedspec.arith import Vector, least
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import Solver
from fedspec_proofs.claim import FEDADA2, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fedada2.rational import F

LENGTHS = 5


@claim(
    "fedada2.lemma-18",
    statement="If min over t <= T of |grad f(x_t)| is at most r(T), an algorithm that outputs the best model so far "
    "has |grad f| <= r(T) at its T-th output; with r(T) = C T^(-alpha) this falls to 0 (T = 5)",
    source=Source(FEDADA2, "Lemma 18 (L826)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"least <= r": "the bound on the smallest gradient so far"},
)
def lemma() -> Finding:
    """For sequences of up to five lengths, by z3; the argument is the same for any number.

    In Corollaries 23 and 24 the client rate depends on T, so that bounds for different T are about different runs: to
    them the lemma does not apply as it stands.
    """

    def body(draw: Draw) -> Statement:
        a, r = draw("a", LENGTHS), draw("r")
        best = a[0]
        outputs = [best]
        for length in a[1:]:
            best = least([best, length])
            outputs.append(best)
        return Statement(
            {"least <= r": least(a) <= r},
            {
                "the last output is one of the lengths, at most r": outputs[-1] <= r,
                "outputs never rise": every([after <= before for before, after in pairwise(outputs)]),
            },
        )

    return decide(body)


@dataclass(frozen=True)
class Sequence:
    """Models of gradient descent on a quadratic.

    Attributes:
        xs: the models.
        element: which of them is claimed to be a limit.
        constant: whether phi may take one value for ever.
    """

    xs: tuple[Vector, ...]
    element: int
    constant: bool


def _sequence(choose: Choose) -> Sequence:
    H, e = exact.vector(choose.rational(1, 2)).reshape(1, 1, 1), exact.vector(choose.rational(-2, 2)).reshape(1, 1)
    (client,) = QuadraticClients(H, e).clients
    x = exact.vector(choose.rational(-3, 3, 2))
    n = choose.whole(2, 6)
    xs = [x]
    for _ in range(n):
        xs.append(local_solve(Solver.SGD, xs[-1], client, 1, eta_l=F(1, 4)))
    return Sequence(tuple(xs), choose.whole(0, n - 1), choose.of(True, True, False))


@claim(
    "fedada2.definition-19",
    statement="Precompact convergence asks for some phi: N -> N, which need not rise: every sequence converges so to "
    "each of its own elements, by a constant phi",
    source=Source(FEDADA2, "Definition 19 (L836), admitted after it (L840)"),
    engine=Engine.SEARCH,
    verdict=Verdict.NOT_CONTRADICTED,
    assumptions={"phi": "phi may take one value for ever, as printed; a subsequence needs phi to rise"},
)
def definition() -> Finding:
    """Gradient descent on quadratics: its models come as near to any of them as one likes, namely to distance 0.

    With a phi that rises from there on the distance to an element that is left behind stays away from 0.
    """

    def sides(s: Sequence) -> Iterable[Sides]:
        y = s.xs[s.element]
        visited = [s.xs[s.element]] * 3 if s.constant else s.xs[s.element + 1 :]
        yield (min(abs(x - y).sum() for x in visited), F(0))

    return searched(Inequality(_sequence, {"phi": lambda s: s.constant}, sides), 300)
