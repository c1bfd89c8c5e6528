"""FedNova's round against (91), for all smooth clients in every dimension.

Without noise (91) says F~(x') - F~(x) <= eta tau_eff (-|grad F~(x)|^2 / 4 + 3 eta^2 L^2 kappa^2 C), and its sum over
rounds is (97) for every T. The clients are any functions with Lipschitz gradients; the round is the rule's.

Why from half of a rate on, and not from zero: multipliers of two rates are mixed linearly between them, and the one
of Assumption 3 is at most 3 eta^3 tau_eff C, which no straight line from zero stays below. Smaller rates need no
certificate. ``fednova.round-assembly`` has this inequality, with noise, on symbols at every eta > 0 of (98) and (99),
for any clients, steps, w and dimension; ``fednova.theorem-1`` adds it up. What is certified here is another route, by
the rule itself and without the steps of the paper's proof, and how tight it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fedspec.algorithms.fednova import FedNova
from fedspec.algorithms.synchronous import model, run_round
from fedspec.arith import Vector
from fedspec.plan import Oracle, Plan
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights, Solver
from fedspec_proofs.claim import Claim, Dropped, Finding, Verdict, claim, false, refutation
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.worst_case.certificates import CERTIFIED, Case, certified, load, refuted, with_less
from fedspec_proofs.engines.worst_case.classes import Function, mean, smooth
from fedspec_proofs.engines.worst_case.forms import Form, basis
from fedspec_proofs.engines.worst_case.plays import Run, Start, play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.replay import Parabola, dropped, valued
from fedspec_proofs.engines.worst_case.values import Value, square
from fedspec_proofs.fednova.kit.bounds import Constants, printed, rational, repaired, theorem_1_rates, weights
from fedspec_proofs.fednova.kit.settings import Setting, record_of


@dataclass(frozen=True)
class Sizes:
    """Parameters of a round: solver, local steps of the clients, eta and beta^2.

    L and kappa^2 are 1, which is no restriction: F(x) becomes c F(x / r), eta becomes eta r^2 / c.
    """

    steps: tuple[int, ...]
    eta: str
    solver: Solver = Solver.SGD
    beta2: str = "3/2"
    of: tuple[tuple[str, str], ...] = ()
    weights: NovaWeights = NovaWeights.IMPLIED

    def setting(self, rate: Any = None) -> Setting:
        """Setting at the largest rate, or at ``rate``; its problem is a placeholder."""
        n, eta = len(self.steps), rational(self.eta) if rate is None else rate
        more = {name: rational(value) / (eta if name == "mu" else 1) for name, value in self.of}
        plain = {"mu": rational(0), "rho": rational(0), "gamma": rational(1)}
        h = record_of(FedNova, eta_l=eta, **{**plain, **more}, solver=self.solver, nova_weights=self.weights)
        unused = QuadraticClients(exact.vector(*[1] * n).reshape(n, 1, 1), exact.vector(*[0] * n).reshape(n, 1))
        return Setting(h, unused, self.steps, (1,) * n)

    def __str__(self) -> str:
        names = {"mu": "alpha"}
        more = "".join(f", {names.get(name, name)} = {value}" for name, value in self.of)
        return f"{self.solver}, tau = {self.steps}, eta = {self.eta}{more}"


def round_from(s: Setting, sizes: Sizes) -> Run:
    """Function that runs a round from any x."""
    plan, method = Plan(tuple(range(len(sizes.steps))), sizes.steps, s.examples), s.method

    def run(start: Start, clients: Sequence[Oracle]) -> list[Vector]:
        local, norm, server = method.local, method.norm, method.server
        x = start(basis("x"))
        return [model(run_round(s.h, x, tuple(clients), plan, local=local, norm=norm, server=server).state)]

    return run


def round_of(
    sizes: Sizes, constants: Callable[[Setting], Constants] = printed, part: Any = 1, eta: Any = None
) -> Problem:
    """(91) without noise for one round from any model, at ``eta`` or the largest rate, C multiplied by ``part``."""
    eta = rational(sizes.eta) if eta is None else eta
    functions = tuple(Function(f"F{i}", smooth(1)) for i in range(len(sizes.steps)))
    played = play(functions, round_from(sizes.setting(eta), sizes))

    def terms(c: Constants, length: Any) -> dict[str, Value]:
        return {"C": Value(constant=length * 3 * eta**2 * c.C * part)}

    return replace(compared(sizes, constants, eta, functions, played.ended[0], terms), play=played, terms={})


def compared(
    sizes: Sizes,
    constants: Callable[[Setting], Constants],
    eta: Any,
    functions: tuple[Function, ...],
    end: Form,
    terms: Callable[[Constants, Any], Mapping[str, Value]],
) -> Problem:
    """F~(x') - F~(x) <= -eta tau_eff |grad F~(x)|^2 / 4 + terms, for a round already run on ``functions``.

    Args:
        sizes: sizes of the round.
        constants: constants in the terms.
        eta: the rate.
        functions: the clients' functions, already evaluated at the points of the round.
        end: x', the model after the round.
        terms: function that returns the terms, from the constants and eta tau_eff.
    """
    # What does not depend on the rate is computed at one.
    w, c = weights(sizes.setting()), constants(sizes.setting())
    before, after = (mean(w, functions, point) for point in (basis("x"), end))
    length = eta * c.tau_eff
    made = terms(c, length)
    right = sum(made.values(), Value())
    given = {name: q for f in functions for name, q in f.obeys().items()}
    each = sum((w_i * square(f.at(basis("x")).g) for w_i, f in zip(w, functions, strict=True)), Value())
    given["dissimilar"] = each - rational(sizes.beta2) * square(before.g) - 1
    return Problem(after.f - before.f + length * square(before.g) / 4 - right, given, right, terms=made)


def problem_of(
    sizes: Sizes, constants: Callable[[Setting], Constants] = printed, part: Any = 1, eta: Any = None
) -> Problem:
    """Bound (91) for these sizes, after a check of their rates."""
    check_rates(sizes, constants)
    return round_of(sizes, constants, part, eta)


def check_rates(sizes: Sizes, constants: Callable[[Setting], Constants]) -> None:
    """Check that the largest rate satisfies (98) and (99).

    Raises:
        ValueError: the largest rate violates FedNova's (98) or (99); then smaller rates aren't all allowed.
    """
    c = constants(sizes.setting())
    if not all(theorem_1_rates(c, eta=rational(sizes.eta), L=1, beta2=rational(sizes.beta2))):
        raise ValueError(
            f"one round: eta = {sizes.eta} with steps {sizes.steps} breaks FedNova's condition (98) or (99); "
            f"give a smaller eta"
        )


SCHEDULES = (
    Sizes((2, 2), "3/25"),
    Sizes((1, 3), "1/10"),
    Sizes((3, 3), "7/100"),
    Sizes((4, 2), "1/20"),
    Sizes((2, 2, 3), "9/100"),
    Sizes((4, 4, 2), "1/25"),
    Sizes((5, 3, 2), "1/25"),
    Sizes((2, 2), "2/25", Solver.DECAYED, of=(("gamma", "1/2"),)),
    Sizes((3, 2), "1/20", Solver.DECAYED, of=(("gamma", "1/2"),)),
    Sizes((2, 2), "2/25", Solver.MOMENTUM, of=(("rho", "1/2"),)),
    Sizes((3, 2), "1/25", Solver.MOMENTUM, of=(("rho", "1/2"),)),
    Sizes((3, 3), "3/100", Solver.MOMENTUM, of=(("rho", "9/10"),)),
)

PROXIMAL = tuple(
    Sizes(steps, eta, Solver.PROXIMAL, beta2="2", of=(("mu", alpha),))
    for steps, eta, alpha in (
        ((2, 2), "1/8", "1"),
        ((3, 2), "1/12", "1"),
        ((3, 3), "1/16", "1/2"),
        ((2, 4), "1/16", "1"),
    )
)

ASSUMED = {
    "smooth": "every F_i has gradients that are Lipschitz with constant L, in any dimension (Assumption 1)",
    "dissimilar": "beta^2 >= 1 and kappa^2 bound the dissimilarity at x (Assumption 3)",
    "rate": "eta L <= 1 / (2 tau_eff) and 4 eta^2 L^2 C <= 1 / (2 beta^2 + 1), eqs. (98) and (99)",
}


def words(sizes: Sizes, share: Any = 1) -> str:
    low = rational(sizes.eta) * share
    return str(sizes) if share == 1 else str(sizes).replace(f"eta = {sizes.eta}", f"eta in [{low}, {sizes.eta}]")


def _still(sizes: Sizes, apart: int) -> tuple[list[Parabola], Any]:
    """Clients of different curvature with minimisers far apart, and the model that their round leaves unchanged."""
    n = len(sizes.steps)
    parabolas = [Parabola(rational(1, i + 1), rational(apart * i)) for i in range(n)]
    slopes = exact.vector(*(p.c for p in parabolas))
    shifts = exact.vector(*(p.c * p.e for p in parabolas))
    problem = QuadraticClients(slopes.reshape(n, 1, 1), shifts.reshape(n, 1))
    return parabolas, replace(sizes.setting(), problem=problem).limit()[0]


def without(sizes: Sizes, constants: Callable[[Setting], Constants] = printed) -> Mapping[str, Dropped]:
    """For each assumption, an instance in one coordinate that violates the assumption and breaks the inequality."""
    one, n = rational(1), len(sizes.steps)
    made, fast = round_of(sizes, constants), round_of(replace(sizes, eta="4"), constants)
    apart, still = _still(sizes, 10**4)
    steep, plain = [Parabola(rational(10**4))] * n, [Parabola(one)] * n
    return {
        "smooth": dropped(made, steep, but="F", words="F_i = 5000 x^2 from x = 1", x=one),
        "dissimilar": dropped(
            made, apart, but="dissimilar", words=f"F_i = (x - 10^4 i)^2 / (2 (i + 1)) from x = {still}", x=still
        ),
        "rate": dropped(fast, plain, but="", words="F_i = x^2/2 from x = 100, eta = 4", x=100 * one),
    }


def of_rounds(
    id: str,
    statement: str,
    place: str,
    sizes: tuple[Sizes, ...],
    share: Any,
    made: Callable[[Sizes, Any], Problem],
    dropped: Callable[[Sizes], Mapping[str, Dropped]],
    assumptions: Mapping[str, str],
    last: str,
    *,
    drop: bool = False,
) -> Claim:
    """Claim about these sizes, at rates from ``share`` times the largest to the largest.

    Args:
        id: id of the claim.
        statement: statement of the claim.
        place: place where the statement is printed.
        sizes: sizes of the rounds.
        share: smallest certified rate of each size, as a fraction of its largest rate.
        made: function that makes the claim about a round at a rate.
        dropped: outcomes after an assumption is dropped, at the first of the sizes.
        assumptions: descriptions of the assumptions, by name.
        last: further description of the sizes.
        drop: True if each term of the bound is left out in turn, at the first of the sizes.
    """

    def case(one: Sizes) -> Case:
        high = rational(one.eta)
        return Case(lambda eta: made(one, eta), share * high, high, drop=drop and one is sizes[0])

    return claim(
        id,
        statement=statement,
        source=place,
        verdict=Verdict.CERTIFIED,
        assumptions=assumptions,
        sizes="; ".join(words(one, share) for one in sizes)
        + f"; eta in units of 1/L; beta^2 = {sizes[0].beta2}; uniform p{last}",
    )(certified(id, {words(one, share): case(one) for one in sizes}, lambda: dropped(sizes[0])))


one_round = of_rounds(
    "fednova.eq-91-certified",
    "Without noise, F~(x') - F~(x) <= eta tau_eff (-|grad F~(x)|^2 / 4 + 3 eta^2 L^2 kappa^2 C) for a round from any "
    "x, in every dimension, for all clients with Lipschitz gradients; summed over rounds, (97) for every T",
    "eq. (91) (L596) with sigma^2 = 0",
    SCHEDULES,
    rational("1/2"),
    lambda one, eta: problem_of(one, eta=eta),
    without,
    ASSUMED,
    "",
)

for_fedprox = of_rounds(
    "fednova.eq-91-fedprox",
    "The same for FedProx with C' = max_i max_k ||a_i^(k)||_1^2, k <= tau_i - 1, for C: the noise-free round of the "
    "repaired (97)",
    "ours, in place of eq. (91) (L596) for FedProx",
    PROXIMAL,
    1,
    lambda one, eta: problem_of(one, repaired, eta=eta),
    lambda one: without(one, repaired),
    ASSUMED,
    "",
)


FALSE = "fednova.eq-91-fedprox-printed"
CERTIFIED[FALSE] = {
    words(PROXIMAL[0]): Case(
        lambda eta: round_of(PROXIMAL[0], eta=eta), rational(PROXIMAL[0].eta), rational(PROXIMAL[0].eta), holds=False
    )
}


@false(
    FALSE,
    of=for_fedprox,
    statement="The same with the C of eq. (9), which is 0 at alpha = 1 and two steps",
)
def printed_for_fedprox() -> Finding:
    """Refuted by two parabolas at their round's fixed point, where grad F~ is not zero; and by stored functions."""
    made = round_of(PROXIMAL[0])
    parabolas, x = _still(PROXIMAL[0], 1)
    given = {name: valued(made, parabolas, {"x": x}, q) for name, q in made.given.items()}
    by_hand = refutation(
        instance=f"F_1 = x^2/2, F_2 = (x-1)^2/4, {PROXIMAL[0]}, from x = {x}; left side less right side",
        conditions={f"{name} <= 0": value <= 0 for name, value in given.items()},
        left=valued(made, parabolas, {"x": x}, made.claimed),
        right=rational(0),
    )
    ((name, case),) = CERTIFIED[FALSE].items()
    needs = load(FALSE, name).needs
    assert needs is not None and needs.attained is not None, "functions are stored"
    by_program = refuted(case, needs.attained)
    both = by_hand.verdict is by_program.verdict is Verdict.REFUTED
    return replace(
        by_hand,
        verdict=Verdict.REFUTED if both else Verdict.UNKNOWN,
        evidence=f"{by_hand.evidence}\nthe worst functions that the program finds:\n{by_program.evidence}",
    )


@false(
    "fednova.eq-91-hundredth",
    of=one_round,
    statement="The same with C divided by 100",
)
def hundredth() -> Finding:
    """Refuted by the functions that need most of the right side at the first size."""
    return with_less("fednova.eq-91-certified", rational("1/100"))
