"""Steps of Theorem 4.1's sum that its proof only sketches, for every size: terms, drift and delays."""

from __future__ import annotations

from fedspec_proofs.claim import Engine, Finding, claim
from fedspec_proofs.client_centric.kit import every_size as each
from fedspec_proofs.client_centric.kit import term_sums
from fedspec_proofs.client_centric.kit.term_sums import added_up
from fedspec_proofs.engines import Draw, Step, Sum, added, all_proved, decide, several
from fedspec_proofs.kit.balls import one_more_term

TIMEOUT_MS = 4000

BOUNDS = {
    "root >= E": "sqrt(v_hat_t) + eps >= E: client-centric.v-0-repaired",
    "|g| <= G": "no gradient of f is longer than G, at x_t or at z_t",
    "|d| <= D": "|d_t| <= eta_l G = D: client-centric.bounds",
    "a-5-roots": "the root grows, by at most |Delta_t|: client-centric.a-5-roots",
}


@claim(
    "client-centric.terms",
    statement="Where sqrt(v_hat) + eps >= E: A_1 <= (eta^2 L/(2 E^2)) (C^2 |d_t|^2 + |Delta_t|^2), A_3 <= eta eta_l "
    "G^2 C |a_t - a_(t+1)|_1, A_4 <= (L eta^2/E^2) |Delta_t|^2 + L eta^2 eta_l^2 G^2 C^2 |a_t - a_(t+1)|^2 and A_5 <= "
    "(eta G/E^2) |Delta_t|^2; here A_1 = eta <grad f(z_t) - grad f(x_t), a_(t+1) Delta_t>, A_3 = -eta C <grad f(z_t), "
    "(a_t - a_(t+1)) d_t>, A_4 = (L/2) |z_(t+1) - z_t|^2 and A_5 = eta <grad f(x_t), (a_(t+1) - a_t) Delta_t>",
    source="ours: bounds of A_1 (L595-616), A_5 (L635-659), A_3 and A_4 (L773-842) for any E",
    assumptions=BOUNDS,
    chain="a-5-roots bounds v-0-repaired",
)
def terms() -> Finding:
    """Per coordinate; kappa = L eta in A_1, where |grad f(z_t) - grad f(x_t)|^2 <= L^2 eta^2 C^2 |a_t d_t|^2.

    A_3 takes the gradient at z_t as a whole, which is no longer than G either, so that it has no term with L.
    """
    bodies = {"A_1": each.a_1, "A_3": each.a_3, "A_4": each.a_4, "A_5": each.a_5, "quotients": each.quotient}
    parts = {
        name: decide(body, sample=each.nearby, instances=20, timeout_ms=TIMEOUT_MS) for name, body in bodies.items()
    }
    parts["sums"] = added_up(A_1=term_sums.a_1, A_4=term_sums.a_4)
    return all_proved(parts, BOUNDS)


DRIFT = {
    "noise": "E |x_(k+1) - y|^2 <= E |x_k - y|^2 - 2 eta_l E <x_k - y, w> + eta_l^2 E |w|^2 + eta_l^2 sigma_l^2, w the "
    "gradient of the client at x_k: assumption 3; noise is unbiased, whatever came before",
    "Young": "-2 eta_l <x_k - y, w> <= |x_k - y|^2/(2K - 1) + (2K - 1) eta_l^2 |w|^2",
    "three": "|w|^2 <= 3 (|grad f_i(x_k) - grad f_i(y)|^2 + |grad f_i(y) - grad f(y)|^2 + |grad f(y)|^2)",
    "smooth": "the first is at most L^2 |x_k - y|^2: assumption 1",
    "variance": "the second is at most sigma_g^2, for every client at every point",
}


def one_local_step(draw: Draw) -> Sum:
    """Steps to D_(k+1) <= (1 + 1/(2K-1) + 6 K eta_l^2 L^2) D_k + eta_l^2 (sigma_l^2 + 6 K (sigma_g^2 + |grad f|^2))."""
    theta, eta, L, l2, g2, square = several(draw, "theta, eta_l, L, sigma_l2, sigma_g2, |grad f|^2", positive=True)
    D, later, along, w2, apart, unlike = several(draw, "D, later, along, w2, apart, unlike")
    K, b = (theta + 1) / 2, theta * eta**2 + eta**2
    steps = {
        "noise": Step(1, later, D - 2 * eta * along + eta**2 * w2 + eta**2 * l2),
        "Young": Step(1, -2 * eta * along, D / theta + theta * eta**2 * w2),
        "three": Step(b, w2, 3 * (apart + unlike + square)),
        "smooth": Step(3 * b, apart, L**2 * D),
        "variance": Step(3 * b, unlike, g2),
    }
    right = D * (1 + 1 / theta + 6 * K * eta**2 * L**2) + eta**2 * (l2 + 6 * K * (g2 + square))
    return Sum(steps, later, right)


@claim(
    "client-centric.drift-every-k",
    statement="E |y - x_k|^2 <= 5 k eta_l^2 (sigma_l^2 + 6 K sigma_g^2 + 6 K |grad f(y)|^2) after k < K local steps "
    "from y, for every K, n and d, if every client deviates by at most sigma_g^2 from the mean gradient; k <= K gives "
    "the lemma",
    source="ours: local drift, step of A_8 (L735-739), corrected, for every K",
    engine=Engine.SYMBOLIC,
    assumptions={**DRIFT, "rate": "eta_l <= 1/(8 K L), so that 64 K^2 eta_l^2 L^2 <= 1"},
)
def drift_every_k() -> Finding:
    """Proof of one step as a sum, then induction over k: 5 k (1/(2K - 1) + 6/(64 K)) is at most 4.

    client-centric.drift-repaired has the lemma by worst cases of the rule itself, at K up to 6.
    """
    again = decide(each.drift_again, sample=each.drifting, instances=20, timeout_ms=TIMEOUT_MS)
    lines = decide(each.drift_step, sample=each.drifting, instances=20)
    parts = {"one step": added(one_local_step, DRIFT), "its inequalities": lines, "k + 1 steps": again}
    return all_proved(parts, {*DRIFT, "rate"})


@claim(
    "client-centric.delays",
    statement="For delays of at most tau, any T: sum_t |x_t - x_(t - tau_t)|^2 <= (tau^2 eta^2/E^2) sum_t |Delta_t|^2, "
    "and sum_t |grad f(x_(t - tau_t))|^2 <= (tau + 1) sum_t |grad f(x_t)|^2; so it is for means over clients",
    source="ours: delay terms (L741-748, L992-1006) and L1072, corrected, for every tau and T",
    assumptions={
        "root >= E": "a step is eta |y_k|, y_k = d_(k+1)/(sqrt(v_hat_(k+1)) + eps) and sqrt(v_hat) + eps >= E, "
        "which is eps for v_0 = 0 and 2 eps for v_0 = eps^2: client-centric.v-0-repaired",
        "one lag": "terms are not negative, and those of one lag are at most the whole",
        "part": "a delay is made of lags 1 to tau, each of them whole or not at all",
    },
    chain="delay-sum v-0-repaired d-t-squares",
)
def delays() -> Finding:
    """The square of a sum over s rounds is at most s times the squares (induction over s), a step has length eta
    |y_k|, and terms s rounds ago sum to at most all terms (induction over T); lags are taken one by one up to tau.
    """
    bodies = {"root": each.a_1, "steps": one_more_term, "rounds": each.one_more_round, "lags": each.one_more_lag}
    samples = {"root": each.nearby}
    parts = {
        name: decide(body, sample=samples.get(name, each.on_the_line), instances=20, timeout_ms=TIMEOUT_MS)
        for name, body in bodies.items()
    }
    parts["together"] = added_up(delays=term_sums.delays)
    return all_proved(parts, {"root >= E", "one lag", "part"})
