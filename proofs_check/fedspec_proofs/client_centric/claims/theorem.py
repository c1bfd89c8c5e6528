"""Theorem 4.1: false for partial participation, and corrected; runs that break it, or violate an assumption."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec_proofs.claim import Dropped, Extent, Finding, Severity, Verdict, claim, refutation
from fedspec_proofs.client_centric.claims.assembly import theorem_adds_up
from fedspec_proofs.client_centric.kit.family import Schedule
from fedspec_proofs.client_centric.kit.problems import Clients, huber
from fedspec_proofs.client_centric.kit.regimes import CORRECTED, PRINTED, as_corrected, corrected, printed
from fedspec_proofs.client_centric.kit.runs import Regime, gradient_after, measure
from fedspec_proofs.engines.combine import all_refuted, with_instances
from fedspec_proofs.kit.adding import confirmed, in_setting


def two_clients(v0: int, eta_l: Fraction, m: int = 1) -> Regime:
    """Run of two clients with minimisers 1 and -1, one sampled per round, from the minimum of f."""
    clients = Clients(((huber(1, 2),), (huber(-1, 2),)))
    return Regime(
        clients=clients,
        server="adagrad",
        eta=Fraction(50),
        eta_l=eta_l,
        eps=Fraction(1),
        gamma=Fraction(0),
        v0=Fraction(v0),
        m=m,
        steps=((1, 1), (1, 1)),
        delays=((0, 0), (0, 0)),
        **clients.constants,
    )


def long(
    r: Regime,
    T: int,
    at: tuple[int, int],
    *,
    x0: Fraction | int,
    K: tuple[int, int] = (1, 1),
    delay: int = 0,
    nu: Fraction | int = 0,
    **changed: Any,
) -> Regime:
    """Longer run of two Huber clients with the given minimisers, with some settings changed."""
    clients = Clients(tuple((huber(c, 2),) for c in at), Fraction(nu))
    rows = tuple((min(t, delay),) * 2 for t in range(T))
    own = {"G": clients.bound, "sigma_l2": clients.local_variance, "sigma_g2": clients.per_client_variance}
    return replace(
        r, clients=clients, x0=np.array([Fraction(x0)], dtype=object), steps=(K,) * T, delays=rows, **{**own, **changed}
    )


def unlike() -> tuple[str, Regime]:
    """Run of clients that differ, also in numbers of steps, while sigma_g = 0 is claimed."""
    both = two_clients(0, Fraction(1, 1000), m=2)
    return "K = (1, 4), c = (1, -1), T = 2, sigma_g = 0", long(both, 2, (1, -1), x0=0, K=(1, 4), sigma_g2=Fraction(0))


def swings() -> tuple[str, Regime]:
    """Run at a server rate that is too large to settle."""
    both = two_clients(0, Fraction(1, 1000), m=2)
    r = long(both, 60, (0, 0), x0=Fraction(1, 100), eta=Fraction(5000), tau=0)
    return "eta = 5000, eta_l = 1/1000, one quadratic, x_0 = 1/100, T = 60", r


def broken_by_hand() -> dict[str, tuple[str, Regime]]:
    """Runs that break an assumption common to both versions of the theorem, and the bound."""
    both = two_clients(0, Fraction(1, 1000), m=2)
    late = long(both, 400, (0, 0), x0=Fraction(1, 100), delay=30, eta=Fraction(80), tau=0)
    return {
        "smooth": (
            "K = (1, 4), c = (1, -1), T = 2, L = 1e-6",
            long(both, 2, (1, -1), x0=0, K=(1, 4), L=Fraction(1, 10**6)),
        ),
        "local variance": (
            "twice the same client at its minimum, noise 1/2, sigma_l = 0",
            long(both, 2, (0, 0), x0=0, nu=Fraction(1, 2), sigma_l2=Fraction(0)),
        ),
        "bounded": (
            "grad f(x) = x / 100 cut off at 2, x_0 = 560, eta = 5, eta_l = 1/2, T = 1000, G = 1/1000",
            far(1000, 560, Fraction(1, 2), G=Fraction(1, 1000)),
        ),
        "delays": ("eta = 80, eta_l = 1/1000, every delay 30, tau = 0, x_0 = 1/100, T = 400", late),
    }


def broken_corrections() -> dict[str, tuple[str, Regime]]:
    """Runs that each break one of the additional assumptions of the corrected theorem."""
    alone = two_clients(0, Fraction(1, 10**5), m=1)
    return {
        "uniform": (
            "c = (1, -1), the second client never heard, eta = 1000, eta_l = 1e-5, T = 500",
            long(alone, 500, (1, -1), x0=0, eta=Fraction(1000), uniform=False, tau=0),
        ),
        "every client's variance": unlike(),
        "start": (
            "v_0 = 1e8, one quadratic, x_0 = 1, eta = 200, eta_l = 1/1000, T = 60",
            long(two_clients(10**8, Fraction(1, 1000), m=2), 60, (0, 0), x0=1, eta=Fraction(200), tau=0),
        ),
        "B": swings(),
    }


def far(T: int, x0: int, eta_l: Fraction, **changed: Any) -> Regime:
    """Run of two equal clients far out, where gradients are 2: v grows and steps shrink over all T rounds."""
    r = long(two_clients(0, eta_l, m=2), T, (0, 0), x0=x0, eta=Fraction(5), tau=0)
    clients = Clients(((huber(0, 2, Fraction(1, 100)),),) * 2)
    return replace(r, clients=clients, L=clients.smoothness, **changed)


PLACE = "Theorem 4.1 (L223-246)"
TRIES = 900

ASSUMED = {
    "smooth": "assumption 1: every f_i is L-smooth, f has a minimum",
    "bounded": "assumption 2: stochastic gradients are no longer than G",
    "local variance": "assumption 3: their variance is at most sigma_l^2",
    "delays": "tau_(t,i) <= tau",
    "uniform": "S_t is drawn uniformly among the sets of m clients, whatever came before; tau_(t,i), K_(t,i) are given",
    "local rate": "eta_l <= 1 / (8 K_max L)",
    "horizon": "eta_l <= eps / (sqrt(T) G)",
}
ASSUMED_PRINTED = {
    **ASSUMED,
    "global variance": "assumption 4: the mean squared deviation of the grad f_i is at most sigma_g^2",
    "delay rate": "eta_l <= sqrt(1 / (120 L^2 eps tau K_max^2))",
    "H": "H_1 eta_l^2 + H_2 eta_l <= eps^2, H_1 = 2 eta^2 L^2 tau^2, H_2 = 4 eta L C^2 + 6 eta L eps + 2 G eps",
}
RIGHT = (
    "8 eps (f(z_0) - f*) / (eta eta_l T) + Phi / T + Phi_g sigma_g^2 + Phi_l sigma_l^2, with C = beta / (1 - beta), "
    "phi_1, phi_2, phi_3 the means of K, K^2, 1/K, Phi = 4 d G^2 C + 4 d L eta eta_l G^2 C^2 / eps, "
    "Phi_g = 240 eta_l^2 L^2 phi_2 and Phi_l = 40 eta_l^2 L^2 phi_1 + (4 eta eta_l L C^2 + 6 L eta eta_l + 2 eta_l G) "
    "phi_3 / (m eps) + 2 eta^2 eta_l^2 L^2 tau^2 phi_3 / (eps^2 m)"
)

PRINTED_PROOF = (
    "eq-4 a-1 a-2 a-5 v-0 a-7 a-8 drift delay a-3 a-4 telescoping delta-square d-t-squares y-t merge delay-sum "
    "participation-all participation-drawn h bracket delay-rate hits phi"
)
"""Claims about the lines of the theorem's printed proof, in order."""


def _refuted(r: Regime) -> Finding:
    left, spread = measure(r, exact=True)
    conditions = {f"{words} ({name})": PRINTED[name](r) for name, words in ASSUMED_PRINTED.items()}
    return refutation(
        instance=f"n = 2, m = 1, d = 1, T = 2, K = 1, no delay, tau = {r.tau}, beta = 0, eps = 1, eta = {r.eta}, "
        f"eta_l = {r.eta_l}, v_0 = {r.v0}, x_0 = 0, CC-FedAdagrad; grad f_i(x) = x - c_i cut off at {r.G}, c "
        "= (1, -1), "
        f"so L = {r.L}, sigma_g^2 = {r.sigma_g2}, sigma_l = 0; spread of the clients' gradients {spread}; "
        f"both draws of the only round that counts are taken",
        conditions=conditions,
        left=left,
        right=printed(r),
        again=typed(r),
    )


def typed(r: Regime) -> Fraction:
    """Right side L233-L246 typed again for these runs, from the minimum, beta = sigma_l = 0, K = L = sigma_g = 1."""
    return 240 * r.eta_l**2


def _independently(r: Regime) -> Finding:
    """Each of the two clients is in with probability 1/2, whatever the other does: all four sets of them.

    A round that nobody is in leaves the model where it is; two that are heard cancel.
    """
    half = Fraction(1, 2)
    sets: dict[tuple[int, ...], Fraction] = {(): half**2, (0,): half**2, (1,): half**2, (0, 1): half**2}
    later = sum(chance * (g @ g) for S, chance in sets.items() for g in [gradient_after(r, S)])
    begun = gradient_after(r, ())
    left = (begun @ begun + later) / r.T
    kept = {name: words for name, words in ASSUMED_PRINTED.items() if name != "uniform"}
    alone = [sum(p for S, p in sets.items() if i in S) for i in range(r.n)]
    return refutation(
        instance=f"the first instance, eta = {r.eta}, eta_l = {r.eta_l}, v_0 = {r.v0}, with each of the two clients in "
        "with probability m/n = 1/2, independently, as L231 prints: the sets (), (0), (1), (0, 1) of the first round",
        conditions={
            **{f"{words} ({name})": PRINTED[name](r) for name, words in kept.items()},
            "each client is in with probability m/n": all(p == Fraction(r.m, r.n) for p in alone),
            "independently of the other": sets[0, 1] == alone[0] * alone[1],
        },
        left=left,
        right=printed(r),
        again=typed(r),
    )


@claim(
    "client-centric.theorem-4-1",
    statement="Where every round hears m of the n clients, drawn uniformly, or each client is in with probability m/n, "
    "independently of the others, the mean over t < T of E |grad f(x_t)|^2 is at most " + RIGHT,
    source=PLACE,
    severity=Severity.FALSE_RESULT,
    assumptions=ASSUMED_PRINTED,
    chain=PRINTED_PROOF,
)
def theorem() -> Finding:
    """Start at the minimum of f: any sampled client moves the model away, and no term of the bound covers this move.

    The variance of drawing m of n clients is of order eta eta_l L sigma_g^2 / (m eps); the bound has sigma_g^2 only
    with eta_l^2. The second instance has v_0 = eps^2; its eta_l makes 1 + eta_l^2 a square. beta = 0, T = 2 and a
    start at the minimum make the numbers small; that the bound fails by more than any factor is the claim about the
    corollary.
    """
    s = Fraction(1, 2000)
    first, second = two_clients(0, Fraction(1, 1000)), two_clients(1, 2 * s / (1 - s**2))
    return all_refuted(_refuted(first), _refuted(second), _independently(first))


SERVER = {
    "server": "CC-FedAdagrad or CC-FedAMS with eps outside the root, whose v_hat starts at v_0 and never falls (the "
    "paper says CC-Federated Adaptive Optimization and proves Adagrad, footnote 3; the v of CC-FedAdam falls)",
}
ALL_ASSUMED = {
    **ASSUMED,
    "unbiased": "given everything before, and the noise of all other clients, stochastic gradients are unbiased: the "
    "noises of different clients are uncorrelated",
    **SERVER,
    "uniform": ASSUMED["uniform"] + "; n >= 2, or at n = 1 no term for the drawing",
    "local rate": "eta_l <= 1 / (8 K_max L), which the condition on the delays implies",
    "every client's variance": "|grad f_i - grad f|^2 <= sigma_g^2 for every client at every point",
    "start": "v_0 is 0 or eps^2, and no momentum at first",
    "delay rate": "eta_l^2 <= c_1 / (120 c_2 L^2 K_max^2 (tau + 1))",
    "B": "4 c_2 eta_l B <= c_1^2 eps",
}


@claim(
    "client-centric.theorem-4-1-repaired",
    statement="With c_1, c_2 = 1, 2 for v_0 = 0 and 2, 29/12 for v_0 = eps^2, B = eta L (C^2 + 3) / 2 + G + "
    "eta^2 eta_l "
    "L^2 tau^2 / (c_1 eps), phi_1, phi_2, phi_3 the means of K, K^2, 1/K over all n clients and T rounds, and s^2 <= "
    "G^2 the largest over rounds of the spread of the clients' mean gradients, the mean of E |grad f(x_t)|^2 is "
    "at most 4 c_2 eps (f(x_0) - f*) / (eta eta_l T) + (4 c_2 d G^2 C / c_1) (1 + 2 L eta eta_l C / (c_1 eps)) / T + "
    "(4 c_2 / c_1) eta_l^2 L^2 (5 phi_1 sigma_l^2 + 30 phi_2 sigma_g^2) + (8 c_2 eta_l / (c_1^2 eps)) B (phi_3 "
    "sigma_l^2 / m + (n - m) s^2 / (m (n - 1)))",
    source=f"ours: {PLACE}, corrected",
    extent=Extent.PART,
    assumptions=ALL_ASSUMED,
    chain="theorem-4-1-assembly",
)
def theorem_repaired() -> Finding:
    """The paper's proof with its steps corrected: claims about A_1 to A_8 and the sums add up to it, for every n, m, d,
    K, T and tau.

    The preconditioner lies between 1 / (c_2 eps) and 1 / (c_1 eps); the noise is separated from the gradients at the
    price of a factor 2, since with several local steps it is not uncorrelated with them; the variance of drawing
    clients is kept. Looked at over the runs that break the printed bound (n <= 3, d <= 2, T <= 3), where the search
    stays far below it; the instances that break it exactly are looked at again.
    """
    s = Fraction(1, 2000)
    for r in (two_clients(0, Fraction(1, 1000)), two_clients(1, 2 * s / (1 - s**2))):
        left, spread = measure(r, exact=True)
        if not (all(holds(r) for holds in CORRECTED.values()) and left <= corrected(r, spread)):
            return Finding(Verdict.UNKNOWN, f"v_0 = {r.v0}: {left} and {corrected(r, spread)}, or a condition fails")
    found = with_instances(as_corrected(), TRIES, {**broken_by_hand(), **broken_corrections()}, drop=40)
    member = Schedule(4, 4**7)
    r = replace(member.regime, steps=((4, 4),) * member.T, delays=((0, 0),) * member.T)
    ratio = member.bounds()[1] / corrected(r, member.spread)
    if not all(holds(r) for holds in CORRECTED.values()) or ratio > 1:
        return replace(found, verdict=Verdict.UNKNOWN)
    words = f"the corollary's two clients, K = 4, T = 4^7, exact moments: {float(ratio):.4g}"
    found = replace(found, evidence=f"{found.evidence}\n{words}", dropped={**found.dropped, "unbiased": one_coin()})
    return confirmed((theorem_adds_up.body(),), in_setting(found, SERVER), TRIES)


def one_coin() -> Dropped:
    """Dropped assumption: 400 equal clients that share each round's noise send what one of them sends."""
    clients = Clients(((huber(0, 1),),) * 400, Fraction(1))
    many = replace(
        two_clients(0, Fraction(1, 10**9), m=400),
        clients=clients,
        eta=Fraction(8 * 10**7),
        steps=((1,) * 400,) * 6,
        delays=((0,) * 400,) * 6,
        tau=0,
        **clients.constants,
    )
    one = replace(many, clients=Clients(clients.slopes[:1], clients.nu), m=1, steps=((1,),) * 6, delays=((0,),) * 6)
    left, right = measure(one, exact=False)[0], float(corrected(many, 0))
    met = all(holds(many) for holds in CORRECTED.values())
    words = "n = m = 400 clients x^2/2, a line beyond 1, that share a noise of 1 or -1 in every round, x_0 = 0, "
    words += f"v_0 = 0, K = 1, eta_l = 1e-9, eta = 8e7, T = 6: left side {left:.4g}, right side {right:.4g}"
    return Dropped(bool(met and left > right), words)
