"""H_1 and H_2, the merged coefficients, and the constants at the end of the proof."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from fedspec_proofs.claim import Extent, Finding, Severity, claim, refutation
from fedspec_proofs.client_centric.kit.regimes import H, printed
from fedspec_proofs.engines import Draw, Statement, all_refuted, decide, identities, several

NAMES = ("eta", "eta_l", "eps", "L", "G", "C", "tau")


def _coefficient(v: Any) -> Any:
    """Coefficient of E |sum over S_t|^2 / m^2 at L1038, divided by eta eta_l."""
    delta = (v.eta * v.L * v.C**2 / 2 + (3 * v.L * v.eta + v.G) / 4) / v.eps**2
    return delta * v.eta_l + v.eta**2 * v.L**2 * v.tau**2 * v.eta_l**2 / (4 * v.eps**3)


def _absorbed(draw: Draw, repaired: bool) -> Statement:
    v: Any = SimpleNamespace(**{name: draw(name) for name in NAMES})
    # H's first term with eps, by asking the printed one of C^2 eps in the place of C^2 in it.
    extra = 4 * v.eta * v.L * v.C**2 * (v.eps - 1) * v.eta_l if repaired else 0
    return Statement(
        {
            "eta_l > 0": v.eta_l > 0,
            "eps > 0": v.eps > 0,
            "eta >= 0": v.eta >= 0,
            "H": H(v) + extra <= v.eps**2,
        },
        {"absorbed": _coefficient(v) * 8 * v.eps <= 1},
    )


@claim(
    "client-centric.h",
    statement="H_1 eta_l^2 + H_2 eta_l <= eps^2 makes the coefficient of E |sum over S_t|^2 at most eta "
    "eta_l / (8 eps m^2)",
    source="H_1 and H_2 (L231, L1035-1038)",
    severity=Severity.CONSTANT,
    assumptions={
        "H": "H_1 eta_l^2 + H_2 eta_l <= eps^2",
        "local rate": "eta_l <= 1 / (8 K L)",
        "delay rate": "eta_l <= sqrt(1 / (120 L^2 eps tau K^2))",
        "horizon": "eta_l <= eps / (sqrt(T) G)",
    },
)
def h_printed() -> Finding:
    """The first term of H_2 lacks a factor eps: too weak for eps > 1, too strong for eps < 1."""
    ones = dict.fromkeys(NAMES, Fraction(1))
    v: Any = SimpleNamespace(**ones | {"eta_l": Fraction(1, 25), "eps": Fraction(4), "C": Fraction(9)})
    return all_refuted(
        refutation(
            instance="eta = L = G = tau = T = K = 1, eta_l = 1/25, eps = 4, beta = 9/10, both sides times "
            "m^2 / (eta eta_l)",
            conditions={
                "H_1 eta_l^2 + H_2 eta_l <= eps^2": H(v) <= v.eps**2,
                "eta_l <= 1 / (8 K L)": 8 * v.eta_l * v.L <= 1,
                "eta_l <= sqrt(1 / (120 L^2 eps tau K^2))": 120 * v.eps * v.eta_l**2 <= 1,
                "eta_l <= eps / (sqrt(T) G)": v.eta_l <= v.eps,
            },
            left=_coefficient(v),
            right=1 / (8 * v.eps),
        ),
        decide(lambda draw: _absorbed(draw, False), ablate=False),
    )


@claim(
    "client-centric.h-repaired",
    statement="With H_2 = 4 eta L C^2 eps + 6 eta L eps + 2 G eps it does, and the two are the same inequality",
    source="ours: H_1 and H_2 (L231, L1035-1038), corrected",
    extent=Extent.WHOLE,
    assumptions={
        "eta_l > 0": "rates are positive",
        "eps > 0": "eps is positive",
        "eta >= 0": "the server's rate is not negative",
        "H": "H_1 eta_l^2 + H_2 eta_l <= eps^2",
    },
)
def h_repaired() -> Finding:
    """Proof by real algebra in all seven constants."""
    return decide(lambda draw: _absorbed(draw, True))


def _merged(draw: Draw, half: bool) -> Any:
    eta, L, G, eps = several(draw, "eta, L, G, eps", positive=True)
    A_1, A_5, A_4 = eta**2 * L / (2 * eps**2), eta * G / (4 * eps**2), L * eta**2 / (4 * eps**2)
    return [A_1 / (2 if half else 1) + A_5 + A_4 - (3 * L * eta**2 + eta * G) / (4 * eps**2)]


@claim(
    "client-centric.merge",
    statement="The terms in |Delta_t|^2 of the bounds of A_1, A_5 and A_4 add up to (3 L eta^2 + eta G) / (4 eps^2)",
    source="merging (L966-1006)",
    extent=Extent.WHOLE,
    assumptions={"A_1": "A_1's term is eta^2 L / (2 eps^2)"},
)
def merge() -> Finding:
    """Proof from the three bounds as printed; the sharper bound of A_1 for v_0 >= eps^2 would give less."""
    return identities(
        {"coefficients": lambda draw: _merged(draw, False)},
        without={"A_1": {"halved": lambda draw: _merged(draw, True)}},
    )


def _averaged(draw: Draw, eight: int) -> Any:
    """8 eps / (eta eta_l T) times the right side of L1078, less the theorem's right side."""
    v: Any = SimpleNamespace(**{name: draw(name, positive=True) for name in (*NAMES, "T", "m")})
    v.sigma_l2, v.sigma_g2, d, F = several(draw, "l2, g2, d, F", positive=True)
    phi = {1: draw("K1", positive=True), 2: draw("K2", positive=True), -1: draw("K3", positive=True)}
    step, noises = v.eta * v.eta_l, v.T / v.m * phi[-1]
    noise = 5 * step * v.eta_l**2 * v.L**2 * v.T * phi[1] / v.eps
    noise += step * v.eta_l * (2 * v.eta * v.L * v.C**2 + 3 * v.L * v.eta + v.G) / (4 * v.eps**2) * noises
    noise += step**3 * v.L**2 * v.tau**2 / (4 * v.eps**3) * noises
    falls = (step**2 * v.G**2 * v.L / (2 * v.eps) * v.C**2 + step * v.G**2 * v.C) * d / (2 * v.eps)
    falls += v.L * step**2 * v.G**2 * v.C**2 * d / (4 * v.eps**2)
    unlike = 30 * step * v.eta_l**2 * v.L**2 * v.T * phi[2] / v.eps * v.sigma_g2
    run: Any = SimpleNamespace(**vars(v), x0=None, phi=lambda p: phi[p], clients=SimpleNamespace(d=d, gap=lambda x0: F))
    return [eight * v.eps / (step * v.T) * (F + unlike + noise * v.sigma_l2 + falls) - printed(run)]


@claim(
    "client-centric.phi",
    statement="8 eps / (eta eta_l T) times the last inequality gives Phi, Phi_g and Phi_l as the theorem defines them",
    source="averaging (L1078-1100)",
    extent=Extent.WHOLE,
    assumptions={"factor": "the factor is 8 eps / (eta eta_l T)"},
)
def phi() -> Finding:
    """Statement with G where the text conversion has G T^-1 (L1060, L1078); Phi at L1100 has the same form."""
    return identities(
        {"all terms": lambda draw: _averaged(draw, 8)}, without={"factor": {"4 eps": lambda draw: _averaged(draw, 4)}}
    )
