"""Appendix C.2: Adam on the server and, compressed by SM3, on the clients: the steps of its printed sketch."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms import fedada2
from fedspec.algorithms.server_update import Covered
from fedspec.client.sm3_adam import average_ii, begin, sm3_adam
from fedspec.covers import Cover
from fedspec.hyper import NOT_GIVEN
from fedspec.plan import Plan, Setup
from fedspec.readings import Adaptivity
from fedspec.server.adagrad import Adaptive
from fedspec.server.adam import adam
from fedspec_proofs.claim import Extent, Finding, Severity, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, Induction, Statement, curried, decided, every, exact, several
from fedspec_proofs.fedada2.kit.conditions import bounded, smooth
from fedspec_proofs.fedada2.kit.inductive import inductive
from fedspec_proofs.fedada2.kit.problems import problem
from fedspec_proofs.fedada2.kit.rational import F, second_moment
from fedspec_proofs.fedada2.kit.sm3_inductions import small_covers

ONE = Cover(((0,),), 1)


@claim(
    "fedada2.l1132",
    statement="SM3-Adam has v_k >= v_0 + the sum of the squares at the updates, as SM3-AdaGrad does (ours read "
    "with the "
    "usual mean in place of SM3's sum, since the paper does not write SM3-Adam down)",
    source="ours, about App. C.2 (L1132)",
    verdict=Verdict.REFUTED,
)
def sum_of_squares() -> Finding:
    """The second moment is a mean, not a sum: after one step it equals (1 - beta2) g^2."""
    g, beta2, G = exact.vector(1), F(3, 4), F(1)
    state = sm3_adam(begin(exact.vector(0), ONE), g, ONE, eta_l=F(1), beta1=F(0), beta2=beta2, eps=F(1))
    return refutation(
        instance="d = 1, k = z = 1, v_0 = 0, g = 1, beta2 = 3/4 (SM3-Adam is never written down; the specification's "
        "has the usual mean in place of the sum)",
        conditions={"|g| <= G = 1": abs(g[0]) <= G, "beta2 in [0, 1)": 0 <= beta2 < 1},
        left=state.nu[0],
        right=F(1),
        relation=">=",
    )


@curried
def _means(draw: Draw, cover: Cover) -> Induction[Any]:
    """Difference of SM3's means and the unapproximated mean of squares s, with the same decay."""
    g, beta2 = draw("g", cover.d), draw("beta2")

    def stepped(state: dict[str, Any]) -> dict[str, Any]:
        mu, nu = average_ii(state["mu"], g**2, cover, beta2=beta2)
        return {"mu": mu, "nu": nu, "s": beta2 * state["s"] + (1 - beta2) * g**2}

    def invariant(state: dict[str, Any]) -> dict[str, Any]:
        held = [state["mu"][r] >= state["s"][j] for r, S in enumerate(cover.sets) for j in S]
        return {"mu(r) >= s(j) for j in S_r": every(*held)}

    def above(_: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        return {"nu(j) >= s(j)": every(*[n >= s for n, s in zip(after["nu"], after["s"], strict=True)])}

    start = begin(g, cover)
    arbitrary = {"mu": draw("mu", len(cover.sets)), "nu": draw("nu", cover.d), "s": draw("s", cover.d)}
    inputs = {"0 <= beta2 < 1": every(beta2 >= 0, beta2 < 1)}
    return Induction({"mu": start.mu, "nu": start.nu, "s": start.nu}, arbitrary, stepped, inputs, invariant, above)


@claim(
    "fedada2.l1132-repaired",
    statement="SM3-Adam's v_k is at least (1 - beta2) times the sum of beta2^(n-l) g_l^2 over its updates: Adam's mean",
    source="App. C.2 (L1132)",
    sizes="every cover of one or two coordinates and a chain of three; any number of updates",
    assumptions={"0 <= beta2 < 1": "the clients' beta2"},
)
def mean_of_squares() -> Finding:
    """For any number of updates, every cover of one or two coordinates and a chain of three."""
    chosen = {label: cover for label, cover in small_covers().items() if cover.d <= 2}
    chosen["((0, 1), (1, 2))"] = Cover(((0, 1), (1, 2)), 3)
    return inductive(
        {label: _means(cover) for label, cover in chosen.items()}, kept=("beta2",), ablate="((0, 1),)", runs=12, steps=4
    )


@claim(
    "fedada2.l1150",
    statement="sum over t and r of Phi1 G b^(t-r) (1 - beta2)/tau Delta_t^2/v_t is at most that of "
    "Phi1^3 G b^(t-r) (1 - beta2)/tau^2",
    source="App. C.2 (L1150)",
    severity=Severity.PROOF_BREAKS,
)
def decayed_moment() -> Finding:
    """The claim assumes v_t >= tau, but server Adam's v_t decays from tau^2 in rounds with zero change.

    Fifteen rounds of a client that is at its minimiser, then one of another client: only the last term of the left sum
    is not 0. Phi1 is taken as large as Lemma 28 may mean it, with Phi_0.
    """
    f, T = problem((1, 0), (1, -2)), 16
    h = fedada2.FedAda2(
        eta_l=F(1, 100),
        eps=F(1),
        eta=F(1),
        beta1=F(0),
        tau=F(1),
        v0=F(1),
        beta2=F(1, 2),
        server=Adaptivity.ADAM,
        client=Adaptivity.ADAM,
        beta1_l=F(0),
        beta2_l=F(0),
    )
    state = fedada2.init(h, exact.vector(0), Setup((1, 1), {"w": (1,)}))
    terms, moments = [], []
    delta, v = exact.vector(0), state.server.v
    for t in range(1, T + 1):
        client = f.clients[0 if t < T else 1]
        g = client(0, state.x)
        delta = _change(h, state, client)
        v = second_moment(adam, v, delta, beta2=h.beta2)
        terms.append(delta[0] ** 2 / v[0])
        moments.append(v[0])
        assert t == T or not g.any()
    phi, G = 2 * h.eta_l, F(1)
    return refutation(
        instance="two Huber clients of scale 1 about 0 and -2, x_0 = 0, the first drawn in rounds 1 to 15 and "
        f"the second in round 16; K = z = d = 1, beta1 = 0, beta2 = 1/2, eps = tau = v_0 = 1, eta_l = 1/100, "
        "Phi1 = 1/50; "
        f"v_16 = {moments[-1]}",
        conditions={
            "|Delta_t| <= Phi1 = eta_l (1 + G/eps) in every round": abs(delta[0]) <= phi,
            "Assumptions 1 and 2 with L = G = 1 (z3)": smooth(f, F(1)) and bounded(f, G),
            "v_0 >= tau^2": h.v0 >= h.tau**2,
            "only the last round moves": all(term == 0 for term in terms[:-1]) and terms[-1] > 0,
        },
        left=sum(phi * G * (1 - h.beta2) / h.tau * term for term in terms),
        right=T * phi**3 * G * (1 - h.beta2) / h.tau**2,
    )


def _change(h: Any, state: Covered, client: Any) -> Any:
    """Message of one client, by the algorithm's own round with a server whose roots are rational."""
    plain = Covered(Adaptive(x=state.x, m=state.x * 0, v=state.x * 0, t=0), state.cover)
    once = type(h)(**{**vars(h), "server": Adaptivity.ADAGRAD, "beta2": NOT_GIVEN})
    quiet = fedada2.step(once, plain, (client,), Plan((0,), (1,), (1,)))
    return quiet[1]["delta"]


def _pythagorean(rng: np.random.Generator) -> Mapping[str, Fraction]:
    n = int(rng.integers(2, 9))
    s = F(3, 5)
    # a^2 + (s Delta)^2 = b^2 with a = n^2 - 1, s Delta = 2 n, b = n^2 + 1, beta2 = 16/25, v = a^2/beta2.
    a, change, b = F(n * n - 1), F(2 * n) / s, F(n * n + 1)
    return {"a": a, "b": b, "s": s, "v_0": a**2 / (1 - s * s), "delta_0": change, "phi": change, "tau": F(n, 3)}


@claim(
    "fedada2.l1150-repaired",
    statement="Delta_t^2/v_t <= 1/(1 - beta2), and |T_(1,r)| <= G b^(t-r) Phi1^2 sqrt(1 - beta2)/tau^2 a coordinate, "
    "so that Psi5 becomes eta d G Phi1^2 sqrt(1 - beta2) T/tau^2: of order eta eta_l^2 T in place of eta eta_l^3 T",
    source="App. C.2 (L1150)",
    extent=Extent.WHOLE,
    assumptions={
        "roots": "a, b, s are the roots of beta2 v_(t-1), v_t and 1 - beta2",
        "0 <= beta2 < 1": "the server's beta2",
        "|Delta| <= Phi": "every change is at most Phi_1 in every coordinate",
        "tau > 0": "the server's stabiliser",
    },
)
@decided(sample=_pythagorean)
def bounded_moment(draw: Draw) -> Statement:
    """Bound of one round of server Adam: T_(1,r) is 1/(sqrt(beta2 v_(t-1)) + tau) - 1/(sqrt(v_t) + tau) times |Delta_r|
    <= Phi1 and |grad f| <= G; the difference is the difference of the roots, divided by the product of the
    denominators.

    Divided by Psi6 of order eta eta_l T this falls as eta_l, so that the rate O(T^(-1/2)) is not touched by it.
    """
    # One round of server Adam from v_(t-1): b is the root of v_t, a that of beta2 v_(t-1), s that of 1 - beta2.
    a, b, s, tau, phi = several(draw, "a, b, s, tau, phi")
    delta, v = draw("delta", 1), draw("v", 1)
    beta2 = 1 - s * s
    (after,) = second_moment(adam, v, delta, beta2=beta2)
    (change,) = delta
    given = {
        "roots": every(a >= 0, b >= 0, b * b == after, a * a == beta2 * v[0]),
        "0 <= beta2 < 1": every(s > 0, s <= 1),
        "|Delta| <= Phi": every(change <= phi, -change <= phi),
        "tau > 0": tau > 0,
    }
    shown = {
        "(1 - beta2) Delta_t^2 <= v_t": s * s * change * change <= after,
        "sqrt(v_t) - sqrt(beta2 v_(t-1)) <= Phi sqrt(1 - beta2)": b - a <= phi * s,
        "and it is >= 0": b >= a,
        "tau^2 <= (sqrt(beta2 v_(t-1)) + tau) (sqrt(v_t) + tau)": tau * tau <= (a + tau) * (b + tau),
    }
    return Statement(given, shown)
