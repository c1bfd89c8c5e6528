"""The corrected Theorem 20 as a sum of steps: one round, eq. (11), then all rounds.

In any number of coordinates: squares and products are summed over them, W bounds 1/theta of a local step from above,
``rate`` is eta_l times the number n of gradients in a client's change, Z = 2 rate W^2/(gamma1 tau). Lengths |Phi1| and
|Phi2| are of vectors of d equal coordinates. The bound is the one that the searches look at, on symbols; none of its
Psi is typed again.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fedspec_proofs.claim import Finding, claim, false
from fedspec_proofs.engines import Draw, Step, Sum, record, several
from fedspec_proofs.fedada2.kit.bounds import Constants, Functions, terms
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.kit.adding import spoiled, summed

ROUND = {
    "smooth": "f(x_t) <= f(x_(t-1)) + T_1 + T_2 + (L/2) |x_t - x_(t-1)|^2: Assumption 1; T_1 and T_2 are <grad "
    "f(x_(t-1)), x_t - x_(t-1)> with the denominators of x_t less those of x_(t-1), and with the latter",
    "T_1": "T_1 <= (eta G Phi1/tau) (1 - b) sum_(r <= t) b^(t-r) sum_j Delta_t^2/v_t: fedada2.round-lines",
    "T_2": "T_2 = -plain + cross: plain has gamma_r q g^2, cross the drift h of every gradient that was used",
    "Young": "cross <= plain/4 + eta rate Z (L^2 |Phi2|^2 lags + D weights): fedada2.round-lines; weights is (1 - b) "
    "sum_(r <= t) b^(t-r), lags has (t - r)^2 on top",
    "Lemma 16": "|x_t - x_(t-1)|^2 <= d (eta Phi1/tau)^2: fedada2.lemma-16",
}


def _risen(k: Any, shares: Any, lags: Any, weights: Any) -> Any:
    """Bound of the increase in a round, except for the length of the round's step."""
    drift = k.eta * k.rate * k.Z * (k.L**2 * k.d * k.Phi2**2 * lags + k.D * weights)
    return k.eta * k.G * k.Phi1 / k.tau * shares + drift


def one_round(draw: Draw) -> Sum:
    """Steps to eq. (11), with Phi1 as its proof has it, L^2 in the third sum and D in place of Ltilde |Phi1|^2."""
    k = record(draw, "eta rate Z L G tau Phi1 Phi2 D d")
    shares, lags, weights = several(draw, "shares, lags, weights", positive=True)
    f, after, T_1, T_2, plain, cross, moved = several(draw, "f, f', T_1, T_2, plain, cross, moved")
    steps = {
        "smooth": Step(1, after, f + T_1 + T_2 + k.L / 2 * moved),
        "T_1": Step(1, T_1, k.eta * k.G * k.Phi1 / k.tau * shares),
        "T_2": Step(1, T_2, -plain + cross),
        "Young": Step(1, cross, plain / 4 + _risen(k, 0, lags, weights)),
        "Lemma 16": Step(k.L / 2, moved, k.d * (k.eta * k.Phi1 / k.tau) ** 2),
    }
    right = {
        "": f - F(3, 4) * plain,
        "step": k.L / 2 * k.d * (k.eta * k.Phi1 / k.tau) ** 2,
        "T_1": _risen(k, shares, 0, 0),
        "server": _risen(k, 0, lags, 0),
        "clients": _risen(k, 0, 0, weights),
    }
    return Sum(steps, after, right)


@claim(
    "fedada2.round-assembly",
    statement="f(x_t) <= f(x_(t-1)) + (L/2) d (eta Phi1/tau)^2 + (eta G Phi1/tau) shares + eta rate Z (L^2 |Phi2|^2 "
    "lags + D weights) - (3/4) plain: the five steps that are assumed here add up to it, in every dimension",
    source="ours: eq. (11) (L948), repaired",
    assumptions=ROUND,
    chain="round-lines lemma-16",
)
def round_falls() -> Finding:
    """The sum holds for any clients, participants, weights b^(t-r) and constants."""
    return summed(one_round, ROUND)


ROUNDS = {
    "rounds": "f(x_T) <= f(x_0) + the sums over t of what a round adds: fedada2.round-assembly",
    "f*": "f* <= f(x_T)",
    "d >= 1": "there is a coordinate",
    "sqrt(d) >= 1": "likewise: Psi5 has |Phi1| where Phi1 is enough",
    "gain": "sum_t plain >= (1 - b) eta gamma1 T least/(sqrt(v_0 + T |Phi1|^2) + tau): of r <= t the term r = t, "
    "gamma_r >= gamma1, and the ends of v: fedada2.round-lines",
    "Lemma 22": "sum_t shares <= d (1 - b + log(1 + T |Phi1|^2/tau^2)): fedada2.lemma-22, in each coordinate",
    "Lemma 21": "sum_t lags <= (1 - b) c(b) T: fedada2.lemma-21",
    "weights": "sum_t weights = sum_t (1 - b^t) <= T (1 - b^T)",
}


def setting(draw: Draw) -> tuple[Any, Constants, Functions, Any]:
    """Symbolic setting with d = side^2, b = 1 - fresh, v_0 = top^2 - T |Phi1|^2; phi1, gamma1 and Z are free."""
    v = record(draw, "T eta eta_l L G tau ends lags fresh Phi1 gamma1 rate W D")
    side, top, log, phi2 = several(draw, "side, top, log, Phi2", positive=True)
    drift = 2 * v.rate**2 * v.W**2 / (v.eta_l * v.gamma1 * v.tau)
    k = Constants(v.Phi1, v.gamma1, drift)
    vt0 = top**2 - v.T * side**2 * v.Phi1**2
    s = SimpleNamespace(
        T=v.T, d=side**2, eta=v.eta, eta_l=v.eta_l, tau=v.tau, b=1 - v.fresh, vt0=vt0, L=v.L, G=v.G,
        gap=draw("f_0") - draw("f*"), ends=v.ends, lags=v.lags,
    )  # fmt: skip
    by = Functions(lambda q: side if q == side**2 else top, lambda _: log, lambda *_: phi2)
    return s, k, by, SimpleNamespace(**vars(v), side=side, top=top, log=log, Phi2=phi2, d=side**2)


def rounds(draw: Draw) -> Sum:
    """Steps over the sums of all rounds; the right side is Psi1/Psi6 to Psi5/Psi6."""
    s, bound, by, v = setting(draw)
    f_T, f_0, f_star, least = draw("f_T"), draw("f_0"), draw("f*"), draw("least")
    shares, lags, weights, plain = several(draw, "shares, all_lags, weights, plain")
    Z = 2 * v.rate * v.W**2 / (v.gamma1 * v.tau)
    k = SimpleNamespace(**{**vars(v), "Z": Z})
    M = 4 * (v.top + v.tau) / (3 * v.fresh * v.eta * v.gamma1 * v.T)
    step = k.L / 2 * v.T * v.d * (v.eta * v.Phi1 / v.tau) ** 2
    share = v.eta * v.G * v.Phi1 / v.tau
    drift = v.eta * v.rate * Z
    steps = {
        "rounds": Step(M, f_T, f_0 + step + _risen(k, shares, lags, weights) - F(3, 4) * plain),
        "f*": Step(M, f_star, f_T),
        "d >= 1": Step(M * step, 1, v.d),
        "sqrt(d) >= 1": Step(M * share * v.d * (v.fresh + v.log), 1, v.side),
        "gain": Step(M * F(3, 4), v.fresh * v.eta * v.gamma1 * v.T / (v.top + v.tau) * least, plain),
        "Lemma 22": Step(M * share, shares, v.d * (v.fresh + v.log)),
        "Lemma 21": Step(M * drift * v.L**2 * v.d * v.Phi2**2, lags, v.fresh * v.lags * v.T),
        "weights": Step(M * drift * v.D, weights, v.T * v.ends),
    }
    # Psi2 is twice what L/2 asks for.
    return Sum(steps, least, terms(s, bound, by, v.D), M * step * v.d)


@claim(
    "fedada2.theorem-20-assembly",
    statement="The steps that are assumed here add up to (Psi1 + ... + Psi5)/Psi6 with D and L^2, for every d, T and b "
    "and all constants Phi1, gamma1, W and n, where alpha1 = gamma1/(2 eta_l n)",
    source="ours: Theorem 20 (L842), repaired",
    assumptions=ROUNDS,
    chain="round-assembly round-lines lemma-21 lemma-22",
)
def theorem_adds_up() -> Finding:
    """Sum as before, with other constants; it gives the bounds of Theorem 25 and of Corollaries 27 and 29."""
    return summed(rounds, ROUNDS)


@false(
    "fedada2.theorem-20-half-psi3",
    of=theorem_adds_up,
    statement="They add up to the bound with half of Psi3",
)
def half_of_psi3() -> Finding:
    """Refuted: the printed line has D in place of 2 D, the factor from |a + b|^2 <= 2 |a|^2 + 2 |b|^2."""
    return spoiled(rounds, "Psi3/Psi6")


@false(
    "fedada2.theorem-20-half-psi5",
    of=theorem_adds_up,
    statement="They add up to the bound with half of Psi5",
)
def half_of_psi5() -> Finding:
    """Refuted: in one coordinate Psi5 has no slack."""
    return spoiled(rounds, "Psi5/Psi6")
