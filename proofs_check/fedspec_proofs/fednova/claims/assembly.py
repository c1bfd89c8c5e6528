"""Theorems 1 and 3 as sums of their steps: one round, then T rounds whose local steps and tau_eff may change.

Expectations are variables: of F~ and |grad F~|^2 at the model of a round, of the clients' mean h = sum w_i h_i, of
their drift S = sum_i w_i sum_k a_(i,k) E|x - x_(i,k)|^2/||a_i||_1. D = 4 eta^2 L^2 C is r/(1 + r), so that 0 < D < 1;
where C is 0, any larger one will do. The bound of the rounds is the one that the searches look at, on symbols; nothing
of it is typed again.
"""

from __future__ import annotations

from fractions import Fraction as F

from fedspec_proofs.claim import Finding, claim, false
from fedspec_proofs.engines import Draw, Step, Sum, record, several
from fedspec_proofs.fednova.kit.bounds import Constants, theorem_1_terms
from fedspec_proofs.kit.adding import spoiled, summed

ROUND = {
    "smooth": "E F~(x') <= E F~(x) + E<grad F~, x' - x> + (L/2) E|x' - x|^2 with x' - x = -eta tau_eff sum w_i d_i: "
    "Assumption 1 and the rule (4)",
    "unbiased": "E<grad F~, sum w_i d_i> = E<grad F~, h>: whatever came before, noise has mean zero",
    "eq. (56)": "-<grad F~, h> = (|grad F~ - h|^2 - |grad F~|^2 - |h|^2)/2: fednova.eq-56",
    "Young": "E|sum w_i d_i|^2 <= 2 E|sum w_i (d_i - h_i)|^2 + 2 E|h|^2: fednova.drift-lines",
    "Lemma 2": "E|sum w_i (d_i - h_i)|^2 <= sigma^2 A/(m tau_eff), the noise of all clients and steps in any order: "
    "fednova.lemma-2, Assumption 2",
    "(98)": "2 eta L tau_eff <= 1",
    "Jensen": "E|grad F~ - h|^2 <= sum w_i E|grad F_i(x) - h_i|^2, a mean with the weights w_i: fednova.drift-lines",
    "clients": "sum w_i E|grad F_i(x) - h_i|^2 <= L^2 S: h_i is a mean of gradients with weights a_(i,k)/||a_i||_1: "
    "fednova.drift-lines, Assumption 1",
    "drift": "S <= 2 eta^2 sigma^2 B + 4 eta^2 C (L^2 S + sum w_i |grad F_i|^2): fednova.drift-assembly",
    "dissimilar": "sum w_i |grad F_i|^2 <= beta^2 |grad F~|^2 + kappa^2: Assumption 3",
    "1/(1-D) <= 3/2": "fednova.eq-90, by (99)",
    "D beta^2/(1-D) <= 1/2": "fednova.eq-90, by (99)",
}


def one_round(draw: Draw) -> Sum:
    """Steps that add up to (96) for any clients, steps, w, tau_eff; (95) and (96) are times eta tau_eff here."""
    v = record(draw, "eta L tau_eff m A B sigma2 kappa2 beta2 r slope2 h2")
    v.D = v.r / (1 + v.r)
    v.C = v.D / (4 * v.eta**2 * v.L**2)
    f, after, along, inner, moved2, noise2, apart2, each2, S, slopes2 = several(
        draw, "f, f', along, inner, moved2, noise2, apart2, each2, S, slopes2"
    )
    length, L = v.eta * v.tau_eff, v.L
    half, low = length / 2, 4 * v.eta**2 * v.C
    solved = half * L**2 * (1 + v.r)
    steps = {
        "smooth": Step(1, after, f - length * along + L / 2 * length**2 * moved2),
        "unbiased": Step(length, inner, along),
        "eq. (56)": Step(length, -inner, (apart2 - v.slope2 - v.h2) / 2),
        "Young": Step(L / 2 * length**2, moved2, 2 * noise2 + 2 * v.h2),
        "Lemma 2": Step(L * length**2, noise2, v.sigma2 * v.A / (v.m * v.tau_eff)),
        "(98)": Step(half * v.h2, 2 * v.eta * L * v.tau_eff, 1),
        "Jensen": Step(half, apart2, each2),
        "clients": Step(half, each2, L**2 * S),
        "drift": Step(solved, S, 2 * v.eta**2 * v.sigma2 * v.B + low * (L**2 * S + slopes2)),
        "dissimilar": Step(solved * low, slopes2, v.beta2 * v.slope2 + v.kappa2),
        "1/(1-D) <= 3/2": Step(half * (2 * (v.eta * L) ** 2 * v.sigma2 * v.B + v.D * v.kappa2), 1 + v.r, F(3, 2)),
        "D beta^2/(1-D) <= 1/2": Step(half * v.slope2, v.r * v.beta2, F(1, 2)),
    }
    right = {
        "": f - length * v.slope2 / 4,
        "A": length * v.eta * v.L * v.sigma2 * v.A / v.m,
        "B": length * F(3, 2) * (v.eta * v.L) ** 2 * v.sigma2 * v.B,
        "C": length * 3 * (v.eta * v.L) ** 2 * v.kappa2 * v.C,
    }
    return Sum(steps, after, right)


@claim(
    "fednova.round-assembly",
    statement="E F~(x') <= E F~(x) + eta tau_eff (-E|grad F~(x)|^2/4 + eta L sigma^2 A/m + 3/2 eta^2 L^2 sigma^2 B + "
    "3 eta^2 L^2 kappa^2 C): the steps that are assumed here add up to it, for any clients, steps, w and dimension",
    source="ours: a round of the proof of Theorem 1, eqs. (54)-(96) (L470-612)",
    assumptions=ROUND,
    chain="eq-56 drift-lines lemma-2 drift-assembly eq-90",
)
def round_falls() -> Finding:
    """Proof by adding the steps; the drift bound is solved for S as in (87), possible since 1 - D > 0."""
    return summed(one_round, ROUND)


@false("fednova.theorem-1-half-b", of=round_falls, statement="They add up to it with half of B")
def half_of_b() -> Finding:
    """Refuted: noise inside the drift enters with factor 1/(1 - D) = 3/2."""
    return spoiled(one_round, "B")


@false("fednova.theorem-1-half-c", of=round_falls, statement="They add up to it with half of C")
def half_of_c() -> Finding:
    """Refuted: kappa^2 inside the drift enters with 1/(1 - D) = 3/2."""
    return spoiled(one_round, "C")


ROUNDS = {
    "rounds": "E F~(x_T) <= F~(x_0) + the sums over t of what a round adds: fednova.round-assembly",
    "inf F~": "inf F~ <= E F~(x_T)",
}


def rounds(draw: Draw) -> Sum:
    """Steps that add up to (97) over T rounds; A, B, C, |grad F~|^2 are averaged with weights tau_eff^(t)."""
    v = record(draw, "eta L T m tau_eff A B C sigma2 kappa2 gap slope2")
    f_T, low, c = draw("f_T"), draw("inf F~"), Constants(v.A, v.B, v.C, v.tau_eff)
    each = v.eta * v.L * v.sigma2 * v.A / v.m + (v.eta * v.L) ** 2 * (F(3, 2) * v.sigma2 * v.B + 3 * v.kappa2 * v.C)
    length = v.eta * v.tau_eff * v.T
    steps = {
        "rounds": Step(4 / length, f_T, low + v.gap + length * (each - v.slope2 / 4)),
        "inf F~": Step(4 / length, low, f_T),
    }
    # From the same code as the random searches.
    terms = theorem_1_terms(c, gap=v.gap, eta=v.eta, L=v.L, sigma2=v.sigma2, kappa2=v.kappa2, m=v.m, T=v.T)
    return Sum(steps, v.slope2, terms)


@claim(
    "fednova.rounds-assembly",
    statement="Over any T rounds, whose steps and tau_eff may change, the average of E|grad F~|^2 is at most 4 gap / "
    "(eta tau_eff T) + 4 eta L sigma^2 A / m + 6 eta^2 L^2 sigma^2 B + 12 eta^2 L^2 kappa^2 C: A, B, C and the left "
    "side averaged with weights tau_eff^(t), tau_eff their plain average",
    source="ours: the sums of Theorems 1 and 3, eqs. (97) and (147) (L616, L817)",
    assumptions=ROUNDS,
    chain="round-assembly",
)
def rounds_add_up() -> Finding:
    """Proof by adding the steps. With one tau_eff the averages are unweighted; if nothing changes, the sum is (97)."""
    return summed(rounds, ROUNDS)
