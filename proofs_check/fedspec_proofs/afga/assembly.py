"""The explicit bound of Theorems 4.6 and D.3 from its steps: added up with multipliers that are not negative.

Every expectation, summed over the R rounds, is a variable of its own here. A step is an inequality between them, which
other rows show or hold to a search; :func:`assembly` shows that the steps, each times its multiplier, add up to the
bound of :mod:`.explicit` exactly, so that nothing is lost or lent between them.
"""

from __future__ import annotations

from typing import Any

from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.certificate import Step, Sum, added
from fedspec_proofs.engines.draw import Draw

STEPS: dict[str, str] = {
    "descent": "f(z_(r+1)) <= f(z_r) + <grad f(z_r), dz> + L/2 |dz|^2 with dz of eq. (13): 4.1 and afga.eq-13",
    "f_*": "f_* <= f(z_(R+1)): what f_* is",
    "V with Delta": "-<grad f(x_r), D_r Delta_r> <= G B ||D_r||_1 with D_r = V_(r-1)^(-1/2) - V_r^(-1/2): "
    "afga.theorem-4-6-lines",
    "V with m": "-<grad f(z_r), D_r m_(r-1)> <= G B ||D_r||_1: afga.theorem-4-6-lines",
    "z beside x": "<grad f(z_r) - grad f(x_r), V_r^(-1/2) Delta_r> <= eta L/(2 eps) (kappa^2 |m_(r-1)|^2 + "
    "|Delta_r|^2): afga.theorem-4-6-lines",
    "dz": "|dz|^2 <= 2 eta^2 (|Delta_r|^2/eps + kappa^2 B^2 ||D_r||_F^2): afga.theorem-4-6-lines",
    "Lemma F.7": "sum |m_r|^2 <= sum |Delta_r|^2: afga.lemma-f-7",
    "Lemma F.9, first": "sum ||D_r||_1 <= d/sqrt(eps): afga.lemma-f-9",
    "Lemma F.9, second": "sum ||D_r||_F^2 <= d/eps: afga.lemma-f-9",
    "eq. (15)": "E<grad f(x_r), V_(r-1)^(-1/2) Delta_r> = -eta_l p sum_t E<grad f(x_r), V_(r-1)^(-1/2) g_t> with g_t = "
    "1/N sum_i grad f_i(x^i_t): afga.eq-12 and eq-9, and that the draws and the noise have their means",
    "eq. (17)": "-<x, y> <= (|x - y|^2 + |x - z|^2 + |y - z|^2 - |x|^2 - |y|^2 - |z|^2)/4 with z the slopes at the "
    "clusters' means: afga.eq-17",
    "grad f in V": "I |grad f(x_r)|^2/C_0 <= sum_t |grad f(x_r)|^2 in V^(-1/2): afga.eq-17-eps-repaired",
    "g in V": "|g_t|^2/C_0 <= |g_t|^2 in V^(-1/2): afga.eq-17-eps-repaired",
    "z in V": "0 <= |z|^2: a square",
    "x - y": "|grad f(x_r) - g_t|^2 in V^(-1/2) <= L^2/sqrt(eps) (consensus error + drift): afga.theorem-4-6-slopes",
    "x - z": "|grad f(x_r) - z|^2 in V^(-1/2) <= L^2/sqrt(eps) drift: afga.theorem-4-6-slopes",
    "y - z": "|g_t - z|^2 in V^(-1/2) <= L^2/sqrt(eps) consensus error: afga.theorem-4-6-slopes",
    "Lemma F.3": "sum_(t<I) (consensus error + drift) <= T C_1 eta_l^2 (a_1 (|grad f|^2 + sigma_c^2) + s_1): "
    "afga.lemma-f-3-assembly",
    "Lemma F.5": "E|Delta_r|^2 by the consensus errors, the variances and sum_t E|g_t|^2: afga.eq-86-assembly",
    "Lemma F.4, t = I": "consensus error at I <= I C_1 eta_l^2 (a_2 (|grad f|^2 + sigma_c^2) + s_2): "
    "afga.lemma-f-3-assembly",
    "Lemma F.4, t < I": "sum_(t<I) consensus error <= T C_1 eta_l^2 (a_2 (|grad f|^2 + sigma_c^2) + s_2): likewise",
    "second condition": "C_D e_1 <= eta eta_l p/(4 C_0): one of the theorem's three",
    "third condition": "3 L^2 eta eta_l p/(4 sqrt(eps)) T C_1 eta_l^2 a_1 + C_D e_2 a_2 <= eta eta_l p I/(8 C_0): "
    "likewise",
}
"""Every step in words, with the row that it is taken from."""


def sum_of_steps(draw: Draw) -> Sum:
    """The steps over named variables; n - 1 = m + rest - 1 stands in fac alone."""

    def positive(*names: str) -> list[Any]:
        return [draw(name, positive=True) for name in names]

    K, n, m, I, R, L, G, B, d, T, C_1 = positive("K", "n", "m", "I", "R", "L", "G", "B", "d", "T", "C_1")
    eta, eta_l, root, C_0, kappa, fac = positive("eta", "eta_l", "root", "C_0", "kappa", "fac")
    sigma2, sbar2, sigma2_c, a_1, s_1, a_2, s_2 = positive("sigma2", "sbar2", "sigma2_c", "a_1", "s_1", "a_2", "s_2")
    slope2, g2 = positive("sum_slope2", "sum_g2")
    f_1, f_end, f_star = draw("f_1"), draw("f_end"), draw("f_star")
    A, a_delta, a_m, a_z, dz2, M2, D2, l_1, l_2 = (
        draw(name) for name in ("A", "a_delta", "a_m", "a_z", "dz2", "M2", "D2", "l_1", "l_2")
    )
    S, X, Y, Z, XY, XZ, YZ = (draw(name) for name in ("S", "X", "Y", "Z", "XY", "XZ", "YZ"))
    cons, cons_I, drift = draw("cons"), draw("cons_I"), draw("drift")

    eps, p, e2 = root**2, m / n, eta_l**2
    N, M, step = K * n, K * m, eta * eta_l * p
    senders = fac * n / m**2 / K
    C_D = eta**2 * L / (2 * eps) * (kappa**2 + 3)
    e_0 = e2 * (2 * I * M * sigma2 / N**2 + 4 * I * fac * sbar2 / N)
    e_1 = 2 * p**2 * I * e2
    e_2 = C_1 * e2 * (4 * L**2 * e2 * fac / N * T + I * senders)
    local = 3 * L**2 * step / (4 * root) * T * C_1 * e2
    both_errors = T * C_1 * e2 * (a_1 * (slope2 + R * sigma2_c) + R * s_1)
    one_error = C_1 * e2 * (a_2 * (slope2 + R * sigma2_c) + R * s_2)

    steps = {
        "descent": Step(1, f_end, f_1 + eta * (A - a_delta) - eta * kappa * a_m + eta * a_z + L / 2 * dz2),
        "f_*": Step(1, f_star, f_end),
        "V with Delta": Step(eta, -a_delta, G * B * l_1),
        "V with m": Step(eta * kappa, -a_m, G * B * l_1),
        "z beside x": Step(eta, a_z, eta * L / (2 * eps) * (kappa**2 * M2 + D2)),
        "dz": Step(L / 2, dz2, 2 * eta**2 * (D2 / eps + kappa**2 * B**2 * l_2)),
        "Lemma F.7": Step(eta**2 * L / (2 * eps) * kappa**2, M2, D2),
        "Lemma F.9, first": Step(eta * (1 + kappa) * G * B, l_1, d / root),
        "Lemma F.9, second": Step(eta**2 * L * kappa**2 * B**2, l_2, d / eps),
        "eq. (15)": Step(eta, A, -eta_l * p * S),
        "eq. (17)": Step(step, -S, (XY + XZ + YZ - X - Y - Z) / 4),
        "grad f in V": Step(step / 4, I * slope2 / C_0, X),
        "g in V": Step(step / 4, g2 / C_0, Y),
        "z in V": Step(step / 4, 0, Z),
        "x - y": Step(step / 4, XY, L**2 / root * (cons + drift)),
        "x - z": Step(step / 4, XZ, L**2 / root * drift),
        "y - z": Step(step / 4, YZ, L**2 / root * cons),
        "Lemma F.3": Step(step * L**2 / (2 * root), cons + drift, both_errors),
        "Lemma F.5": Step(
            C_D, D2, senders * cons_I + R * e_0 + 4 * L**2 * e2 * fac / N * cons + 2 * p**2 * I * e2 * g2
        ),
        "Lemma F.4, t = I": Step(C_D * senders, cons_I, I * one_error),
        "Lemma F.4, t < I": Step(C_D * 4 * L**2 * e2 * fac / N, cons, T * one_error),
        "second condition": Step(g2, C_D * e_1, step / (4 * C_0)),
        "third condition": Step(slope2, local * a_1 + C_D * e_2 * a_2, step * I / (8 * C_0)),
    }
    right = f_1 - f_star + eta * (1 + kappa) * G * B * d / root + eta**2 * L * kappa**2 * B**2 * d / eps
    right += R * (local * (a_1 * sigma2_c + s_1) + C_D * (e_0 + e_2 * (a_2 * sigma2_c + s_2)))
    # Eq. (18) has 3/4 of L^2, of which 1/2 is used.
    return Sum(steps, step * I / (8 * C_0) * slope2, right, step * L**2 / (4 * root) * both_errors)


@claim(
    "afga.theorem-4-6-assembly",
    statement="The 23 steps that are assumed here, each times a multiplier that is not negative, add up to the bound "
    "of theorem-4-6 and theorem-d-3, for all K, n, m, I, R and constants: the bound follows from them. How far "
    "a step is shown stands in the row that it names",
    source=Source(AFGA, "ours, for the proof of Theorems 4.6 and D.3 (L1123-2621)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions=STEPS,
)
def assembly() -> Finding:
    """Expectations summed over the rounds are free variables."""
    return added(sum_of_steps, STEPS)
