"""The steps of Proposition 9 (ii) about Student's law: where |xi| p(xi) peaks, a majorant of it, and a contraction."""

from __future__ import annotations

from fractions import Fraction

from fedspec_proofs.claim import FEDADA2, Dropped, Engine, Extent, Finding, Severity, Source, Verdict, claim
from fedspec_proofs.engines import enclosure
from fedspec_proofs.fedada2.claims.student_t import quantile
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.refutation import refutation
from fedspec_proofs.solvers import mpmath


@claim(
    "fedada2.l407",
    statement="Eq. (5): E |xi|/(|x_t + xi| + eps) <= int h/(|xi| + eps), h a ramp of slope -1/x_1 up to x_1 = "
    "(3/2 + 2/(i+1))^(-1/2) and |xi| p_(i+1)(xi) beyond",
    source=Source(FEDADA2, "eq. (5) (L411) with h as printed (L407), proof of Proposition 9 (ii)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
)
def majorant() -> Finding:
    """At the end of its ramp h is -1 + sup |xi| p + epsilon, which is negative; so is its integral over the ramp.

    Beyond x_1 both sides have the same integrand at x_t = 0. Over [0, x_1] that of h is (s + 1/x_1) log(1 + x_1) - 1
    with s = sup |xi| p + epsilon, for eps = 1, and that of |xi| p is not negative.
    """
    top, small, above, below = enclosure.sqrt_above(F(1, 27)), F(1, 100), enclosure.sqrt_above(F(2, 5)), F(63, 100)
    eps = F(1)
    return refutation(
        instance=f"i = 1, x_t = 0, eps = {eps}, epsilon = {small}, sup |xi| p(xi) = 3^(-3/2) from above, x_1 = "
        "sqrt(2/5); the sides over [0, x_1], where alone they differ: 0 from below on the left, a rational upper "
        "bound on the right",
        conditions={
            "epsilon << 1": small < F(1, 10),
            "eps lies in (0, 1]": 0 < eps <= 1,
            "63/100 <= x_1 <= its upper bound": below**2 <= F(2, 5) <= above**2,
        },
        left=F(0),
        right=(top + small + 1 / below) * enclosure.log(1 + above)[1] - 1,
    )


def at_one(nu: int) -> Fraction:
    """p_nu(1) from above, by interval arithmetic."""
    before = mpmath.iv.dps
    mpmath.iv.dps = 30
    try:
        n = mpmath.iv.mpf(nu)
        value = (
            mpmath.iv.gamma((n + 1) / 2)
            / (mpmath.iv.sqrt(mpmath.iv.pi * n) * mpmath.iv.gamma(n / 2))
            * (1 + 1 / n) ** (-(n + 1) / 2)
        )
        return Fraction(*mpmath.libmp.to_rational(value._mpi_[1]))
    finally:
        mpmath.iv.dps = before


@claim(
    "fedada2.proposition-9-ii-b",
    statement="B = 2 p(1) log((1 + eps)/eps) + 2 int_1^oo xi p/(xi + eps) < 2 sqrt(3), with the majorant that stays "
    "at p(1) "
    "up to 1, for eps >= 1/100 and 2 to 40 degrees of freedom",
    source=Source(FEDADA2, "proof of Proposition 9 (ii) (L411, L424)"),
    engine=Engine.EXACT,
    verdict=Verdict.PROVED,
    extent=Extent.PART,
    assumptions={"eps >= 1/100": "the client's stabiliser"},
    repairs="fedada2.l407",
)
def constant() -> Finding:
    """The second term is at most P(|xi| > 1) <= 1, and the first falls as eps grows: every number of degrees in turn,
    by intervals. That B bounds the mean for every x is a rearrangement, in words, and not claimed here.
    """
    worst = F(0)
    for nu in range(2, 41):
        worst = max(worst, 2 * at_one(nu) * enclosure.log(F(101))[1] + 1)
    below = enclosure.sqrt_below(F(12))
    tiny = 2 * at_one(40) * enclosure.log(1 + F(10) ** 9)[0]
    words = f"eps = 10^-9, 40 degrees: the first term alone is {float(tiny):.3f}, 2 sqrt(3) is {float(below):.3f}"
    return Finding(
        Verdict.PROVED if worst < below else Verdict.REFUTED,
        f"39 degrees of freedom at eps = 1/100, where B is largest: at most {float(worst):.4f} < {float(below):.4f}",
        {"eps >= 1/100": Dropped(bool(tiny > below), words)},
    )


@claim(
    "fedada2.l401",
    statement="For every x_t some eps_i <= 1 and ehat_i <= 1/2 (the text: << 1) have 1 > I_i(eps) >= 1 - ehat_i, I_i = "
    "E 1/(|x_t + xi_i| + eps), for eps in [eps_i, 1]",
    source=Source(FEDADA2, "proof of Proposition 9 (ii) (L401)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.PROOF_BREAKS,
)
def contraction() -> Finding:
    """I depends on x_t and falls to 0 as |x_t| grows; at x_t = 10 and eps = 1 it is below 1/5.

    P(xi <= -49/10) = 1/51 by the specification's quantile; beyond that |x_t + xi| is at least 51/10.
    """
    u, x, eps = F(1, 51), F(10), F(1)
    edge = quantile(u)
    return refutation(
        instance="i = 1, x_t = x_0 = 10, eps = 1, which lies in every [eps_i, 1]; ehat_1 at most 1/2; the left side "
        "is an upper bound of I_1(1)",
        conditions={
            "the quantile at 1/51 is -49/10": edge == F(-49, 10),
            "eps = 1 lies in (0, 1]": 0 < eps <= 1,
        },
        left=u * 1 / eps + (1 - u) / (x + edge + eps),
        right=F(1, 2),
        relation=">=",
    )
