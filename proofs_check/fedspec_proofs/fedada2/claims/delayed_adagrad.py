"""Appendix F: AdaGrad with delayed updates, its closed form, Lemma 30 and Corollary 29."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np

from fedspec.algorithms import fedadaadagrad
from fedspec.client.agdu import Agdu, agdu, begin
from fedspec.readings import Idle
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Severity, Verdict, claim
from fedspec_proofs.engines import Choose, Draw, Statement, all_proved, curried, decide, identities, roots, several
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fedada2.claims.blended import gamma_lower
from fedspec_proofs.fedada2.claims.derivation import derived, fits_gamma, symbols
from fedspec_proofs.fedada2.claims.descent import ends
from fedspec_proofs.fedada2.kit import runs
from fedspec_proofs.fedada2.kit.bounds import ABOVE, FLOAT, Constants, Functions, Setting
from fedspec_proofs.fedada2.kit.conditions import PRINTED
from fedspec_proofs.fedada2.kit.local_runs import COVERS, MET, WORDS, Local, agdu_change, drawn
from fedspec_proofs.fedada2.kit.rational import F, on_numerals
from fedspec_proofs.fedada2.kit.three_clients import rates, setting, unmoved
from fedspec_proofs.fedada2.kit.typed import Typed
from fedspec_proofs.kit.adding import confirmed, in_setting

REMARK = "after Algorithm 9 (L1510)"
LEMMA = "Lemma 30 (L1557)"
COROLLARY = "Corollary 29 (L1547)"
TRIES = 600
SIZES = tuple((t, z) for z in (1, 2, 3) for t in (1, 2, 4, 6))


@curried
def _unrolled(draw: Draw, t: int, z: int) -> Iterable[Any]:
    g, v0 = [draw(f"g{r}", 1) for r in range(1, t + 1)], draw("v0")
    state = Agdu(x=g[0] * 0, v=g[0] * 0 + v0, t=0)
    for row in g:
        state = _accumulated(state, row, z)
    return [state.v[0] - v0 - sum(g[(r - 1) * z][0] ** 2 for r in range(1, -(-t // z) + 1))]


def _accumulated(state: Agdu, g: Any, z: int) -> Agdu:
    """Step of the rule, with the model set back to 0."""
    after: Agdu = on_numerals(agdu, state, g, eta_l=F(1), eps=F(1), z=z)
    return replace(after, x=state.x)


@claim(
    "fedada2.agdu-closed-form",
    statement="v_t of AdaGrad with delayed updates is v_0 + sum_(r <= ceil(t/z)) g_((r-1)z+1)^2",
    source=REMARK,
    sizes="t in 1, 2, 4, 6 and z <= 3, d = 1, as every coordinate is by itself",
)
def closed_form() -> Finding:
    """Identity for t in 1, 2, 4, 6 and z up to 3."""
    return identities({f"t = {t}, z = {z}": _unrolled(t, z) for t, z in SIZES}, instances=4)


UPDATES, BETWEEN = ((2, 0), (3, 3), (4, 8)), ((2, 1), (3, 2), (4, 1), (4, 3))
"""Pairs (z, steps taken before): the next step is an update, or lies between updates."""


def _step(d: int, *, update: bool, z: int = 2, t: int | None = None, by_G: bool = False) -> Callable[[Draw], Statement]:
    """A local step from any state with v >= v_0 = r_0^2, at an update or between updates, the dead zone included.

    A coordinate does what it does alone, or stays where the dead zone takes the whole step, so that one stands for any.
    At an update a step is at most eta_l long; with ``by_G`` it is looked at as one between updates is.
    """
    free = update and not by_G
    taken = (0 if update else 1) if t is None else t

    def body(draw: Draw) -> Statement:
        x, g, v = draw("x", d), draw("g", d), draw("v", d)
        eta, eps, eps_s, G, r0 = several(draw, "eta, eps, eps_s, G, r0")
        if isinstance(eta, F) and min(eta, eps) <= 0:
            raise ValueError(f"eta_l, eps: got {eta} and {eps}; the rule needs both > 0")
        with roots() as known:
            after = agdu(Agdu(x=x, v=v, t=taken), g, eta_l=eta, eps=eps, z=z, eps_s=eps_s)
        most, times = (eta, 1) if free else (eta * G, r0 + eps)
        given = {
            "rates": every(eta > 0, eps > 0, eps_s >= 0, r0 >= 0),
            "roots": every(*known),
            "v >= v_0": every(*(a >= r0 * r0 for a in v)),
            **({} if free else {"|g| <= G": every(*[q <= G for q in (*g, *-g)])}),
        }
        bound = "eta_l" if free else "eta_l G/(sqrt(v_0) + eps)"
        return Statement(
            given,
            {
                f"|x' - x| <= {bound} a coordinate": every(
                    *(q * times <= most for q in (*(after.x - x), *(x - after.x)))
                ),
                "v grows by g^2 or not at all": every(
                    *(a == b + (q**2 if update else 0) for a, b, q in zip(after.v, v, g, strict=True))
                ),
            },
        )

    return body


def _squares(rng: np.random.Generator) -> dict[str, F]:
    """Second moments with rational roots, at an update and between."""
    k = F(int(rng.integers(1, 5)), 2)
    given = {"g_0": 3 * k, "v_0": 16 * k * k, "g_1": -4 * k, "v_1": 9 * k * k, "r0": k, "G": 4 * k}
    return {**given, "eps_s": F(int(rng.integers(0, 3)), 4)}


def _proved(*, update: bool) -> list[Finding]:
    whole = [_step(d, update=update) for d in (1, 2)]
    others = [_step(1, update=update, z=z, t=t) for z, t in (UPDATES if update else BETWEEN)[1:]]
    return [decide(body, sample=_squares, ablate=False, instances=20) for body in (*whole, *others)]


@claim(
    "fedada2.l1510",
    statement="Without delay no local step is longer than eta_l in a coordinate; with delay some are",
    source=REMARK,
    extent=Extent.WHOLE,
    assumptions={"z = 1": "the preconditioner is updated at every step"},
)
def unbounded_steps() -> Finding:
    """Proof for one step from any accumulator; with delay, the search finds a longer step."""

    def sides(c: Local) -> Iterable[Sides]:
        state = begin(c.g[0].astype(float) * 0, v0=float(c.v0))
        for row in c.g.astype(float):
            before = state.x
            state = agdu(state, row, eta_l=float(c.eta_l), eps=float(c.eps), z=c.z)
            for moved in abs(state.x - before):
                yield float(moved), float(c.eta_l)

    looked = searched(Inequality(drawn(longest=6), {"z = 1": lambda c: c.z == 1}, sides), TRIES)
    return confirmed(_proved(update=True), looked, TRIES)


def _one_more_step(draw: Draw) -> Statement:
    """Steps add up: n updates and ``idle`` other steps moved x by <= eta_l (n + idle q), q = G/(sqrt(v_0) + eps)."""
    way, n, idle, q, eta, due, late = several(draw, "way, n, idle, q, eta, due, late")
    given = {
        "so far": every(way <= eta * (n + idle * q), way >= 0),
        "an update": due <= eta,
        "between": late <= eta * q,
    }
    shown = {"n + 1": way + due <= eta * (n + 1 + idle * q), "idle + 1": way + late <= eta * (n + (idle + 1) * q)}
    return Statement(given, shown)


def _weighed(draw: Draw) -> Statement:
    """The change is Xi times the way after ``n`` + ``idle`` of at most K = N + I steps, N of which are updates."""
    way, n, idle, q, eta, N, I, Xi, B = several(draw, "way, n, idle, q, eta, N, I, Xi, B")
    given = {
        "way": every(way >= 0, way <= eta * (n + idle * q)),
        "signs": every(eta >= 0, q >= 0, n >= 0, idle >= 0),
        "weights": every(Xi <= B, -Xi <= B),
        "steps": every(n <= N, idle <= I),
    }
    most = eta * B * (N + I * q)
    shown = {
        "sharper": every(Xi * way <= most, -Xi * way <= most),
        "K for the steps between": most <= eta * B * (N + (N + I) * q),
    }
    return Statement(given, shown)


def _ways(rng: np.random.Generator) -> dict[str, F]:
    n, idle, q, eta, more, B, share = (F(int(k), 4) for k in rng.integers(0, 9, 7))
    way = eta * (n + idle * q) * share / 2
    known = {"n": n, "idle": idle, "q": q, "eta": eta, "N": n + more, "I": idle + more, "B": B, "Xi": B * (1 - share)}
    return {**known, "way": min(way, eta * (n + idle * q)), "due": eta * share / 2, "late": eta * q * share / 2}


def _counted(K: int, z: int) -> bool:
    """ceil(K/z) = floor((K - 1)/z) + 1 of K steps are updates, and no fewer of each kind in more steps."""
    due = [-(-k // z) for k in range(K + 1)]
    return due[K] == (K - 1) // z + 1 and all(b - a in (0, 1) for a, b in pairwise(due))


def _lemma_30(c: Local, *, later: int) -> float:
    """The bound with ``later`` steps in its second term; B is the weight itself."""
    return _bound_30(c, later=later, B=abs(float(c.scale)), K=c.K)


def _bound_30(c: Local, *, later: int, B: float, K: int) -> float:
    """Bound of Lemma 30 for another B and K than the run's."""
    second = later * float(c.G) / (sqrt(c.v0) + float(c.eps))
    return float(c.eta_l) * B * ((K - 1) // c.z + 1 + second)


def _changes(sharp: bool) -> Inequality[Local]:
    def sides(c: Local) -> Iterable[Sides]:
        later = c.K - c.n if sharp else c.K
        return ((float(change), _lemma_30(c, later=later)) for change in agdu_change(c))

    return Inequality(drawn(longest=8), MET, sides)


def _summed_parts() -> list[Finding]:
    lines = (_one_more_step, _weighed)
    steps = [decide(body, sample=_ways, ablate=False, instances=20) for body in lines]
    return [*_proved(update=True), *_proved(update=False), *steps]


def _heavier(*, sharp: bool) -> dict[str, Dropped]:
    """Weight of 3, and eight steps with z = 8, although the claimed constants are B = 1 and K = 1."""
    run = Local(
        np.full((1, 1), F(3)), F(3), 1, F(1), F(1, 1000), F(16), F(0), F(0), F(3), COVERS[1][0], Idle.CARRIED
    )  # fmt: skip
    long = replace(run, g=np.full((8, 1), F(3)), z=8, scale=F(1))
    words = {
        "weights": (run, "one step, g = G = 3, eta_l = 1, v_0 = 16, eps = 1/1000, Xi = 3 and B = 1"),
        "steps": (long, "eight such steps with z = 8, Xi = B = 1 and K = 1"),
    }
    dropped = {}
    for name, (c, told) in words.items():
        left, right = float(agdu_change(c)[0]), _bound_30(c, later=0 if sharp else 1, B=1, K=1)
        dropped[name] = Dropped(left > right, f"{told}: left side {left:.4g}, right side {right:.4g}")
    return dropped


def _summed(*, sharp: bool) -> Finding:
    if not all(_counted(K, z) for K in range(1, 41) for z in range(1, 41)):
        return Finding(Verdict.UNKNOWN, "the updates are counted otherwise")
    found = confirmed(_summed_parts(), searched(_changes(sharp), TRIES), TRIES)
    return replace(found, dropped={**found.dropped, **_heavier(sharp=sharp)})


LENGTHS = {
    **WORDS,
    "weights": "|Xi_i| <= B for the weight of the client's change",
    "steps": "the client takes at most K steps",
}


@claim(
    "fedada2.lemma-30",
    statement="|Delta_i| <= eta_l B (floor((K-1)/z) + 1 + K G/(sqrt(v_0) + eps)) for Algorithm 10",
    source=LEMMA,
    extent=Extent.WHOLE,
    assumptions=LENGTHS,
)
def lemma() -> Finding:
    """Proof from ``fedada2.lemma-30-sharper``, with K in place of the K - ceil(K/z) steps between updates.

    The first term, floor((K-1)/z) + 1, is not needed beside the second: no step at all is longer than eta_l
    G/(sqrt(v_0) + eps), an update's neither (z3), since v never falls below v_0.
    """
    shorter = decide(_step(1, update=True, by_G=True), sample=_squares, ablate=False, instances=20)
    found = _summed(sharp=False)
    if shorter.verdict is not Verdict.PROVED:
        return shorter
    return replace(found, evidence=f"{found.evidence}\nat an update too: {shorter.evidence}")


@claim(
    "fedada2.lemma-30-sharper",
    statement="|Delta_i| <= eta_l B (ceil(K/z) + (K - ceil(K/z)) G/(sqrt(v_0) + eps)) for Algorithm 10",
    source="ours, about Lemma 30 (L1557)",
    assumptions=LENGTHS,
)
def sharper() -> Finding:
    """Steps at updates are at most eta_l, other steps at most eta_l G/(sqrt(v_0) + eps), since v never falls below v_0.

    Through the rule: one step, at an update and between updates, z = 2, 3 and 4. The rule asks of z only whether the
    number of a step less 1 is a multiple of it, so that of K steps ceil(K/z) = floor((K - 1)/z) + 1 are updates. Then
    one step more at a time, for any number of either kind; a client with fewer steps has fewer of both.
    """
    return _summed(sharp=True)


def corollary_29(s: Setting, by: Functions, *, low: Any, B: Any, carried: bool, fewest: Any) -> Constants:
    """Constants gamma1 and alpha1 of Corollary 29, with Phi_1 of Lemma 30.

    Args:
        s: the setting; its K is the largest number of local steps of a client.
        by: functions that compute roots, exactly or as bounds.
        low, B: the smallest and the largest weight, eps_w and B.
        carried: True: include the factor B^2 in Psi3 and Psi4 that the printed statement lacks.
        fewest: K^-, the smallest number of local steps of a client.
    """
    root = by.sqrt(s.v0 + s.updates * s.G**2) + s.eps
    alpha1 = low * fewest / (2 * s.K * root)
    least = by.sqrt(s.v0) + s.eps
    drift = s.K * (B**2 if carried else 1) / (alpha1 * s.tau * least**2)
    phi = s.eta_l * B * ((s.K - 1) // s.z + 1 + s.K * s.G / least)
    return Constants(phi, s.eta_l * low * fewest / root, drift)


@claim(
    "fedada2.corollary-29",
    statement="The bound of Theorem 20 with gamma1 and alpha1 of Corollary 29 holds for Algorithm 10",
    source=COROLLARY,
    severity=Severity.FALSE_RESULT,
    assumptions={**PRINTED, "eps_w < Xi <= B": "the weights", "1 <= Kbar <= K": "local steps"},
)
def corollary() -> Finding:
    """Refuted by the three clients of Theorem 20."""
    h = fedadaadagrad.FedAdaAdagrad(**rates())
    low, B = F(1, 2), F(1)
    k = corollary_29(setting(h), ABOVE, low=low, B=B, carried=False, fewest=1)
    more = {"Xi = 1 <= B and Xi > eps_w = 1/2": low < 1 <= B, "Kbar = K^- = K = 1": setting(h).K == 1}
    # B (1 + K G/eps); eps_w/(G + eps); 1/alpha1 = 2 K (G + eps)/(eps_w K^-) = 8.
    again = Typed(phi=2, gamma=1 / 4, factor=8)
    return unmoved(fedadaadagrad.step, h, k, more, "Xi = B = 1, eps_w = 1/2, v_0 = 0", again, scales=(F(1),) * 3)


def _agdu_clients(choose: Choose, common: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return fedadaadagrad.FedAdaAdagrad(**common), {"scales": choose.of(F(1), F(1, 2), F(3))}


def _agdu_constants(case: runs.Case, s: Setting) -> Constants:
    w = case.who.scales[0]
    return corollary_29(s, FLOAT, low=float(w), B=float(w), carried=True, fewest=min(case.who.steps))


def _unequal(choose: Choose) -> runs.Case:
    """Instance in which one client takes fewer steps than the others."""
    case = runs.drawn(_agdu_clients)(choose)
    steps = (choose.whole(1, case.K), *case.who.steps[1:])
    return replace(case, who=replace(case.who, steps=steps))


def _ceiling(draw: Draw, z: int = 2) -> Statement:
    """A step through the rule, at an update and between updates, after n updates."""
    n, v, g, G, v0 = draw("n"), draw("v", 1), draw("g", 1), draw("G"), draw("v0")
    with roots():
        due, idle = (agdu(Agdu(x=g * 0, v=v, t=t), g, eta_l=F(1), eps=F(1), z=z).v[0] for t in (0, z - 1))
    given = {
        "so far": every(v[0] >= 0, v[0] <= v0 + n * G * G),
        "bounded": every(g[0] <= G, -g[0] <= G),
    }
    return Statement(given, {"at an update": due <= v0 + (n + 1) * G * G, "between": idle <= v0 + n * G * G})


def _in_reach(rng: np.random.Generator) -> dict[str, F]:
    k = F(int(rng.integers(1, 5)), 2)
    return {"g_0": 3 * k, "v_0": 16 * k * k, "G": 3 * k, "v0": 7 * k * k, "n": F(int(rng.integers(1, 4)))}


@claim(
    "fedada2.agdu-ceiling",
    statement="v <= v_0 + ceil(k/z) G^2 after k steps of AdaGrad with delayed updates, so that 1/(sqrt(v) + eps) >= "
    "1/(sqrt(v_0 + ceil(K/z) G^2) + eps) at every step k <= K",
    source="ours: gamma_1 of Corollary 29 (L1547)",
    assumptions=WORDS,
)
def ceiling() -> Finding:
    """Induction over steps through the rule: an update adds g^2 to v, a step between updates adds nothing."""
    later = [decide(partial(_ceiling, z=z), sample=_in_reach, ablate=False) for z in (3, 4)]
    parts = {"a step": decide(_ceiling, sample=_in_reach), "z = 3": later[0], "z = 4": later[1]}
    return all_proved({**parts, "roots": decide(ends, ablate=False, instances=10)}, WORDS)


def of_corollary_29(draw: Draw) -> tuple[Any, Constants, Any, Any]:
    """Symbols of Corollary 29: at most K gradients per change, each with a weight of at most B/(sqrt(v_0) + eps)."""
    s, by = symbols(draw)
    low, B, fewest = several(draw, "low, B, fewest", positive=True)
    return s, corollary_29(s, by, low=low, B=B, carried=True, fewest=fewest), s.K, B / (by.sqrt(s.v0) + s.eps)


def _gamma_1(draw: Draw, s: Any) -> Any:
    """eta_l K^- eps_w/M, M = sqrt(v_0 + ceil(K/z) G^2) + eps, whose root is one variable."""
    low, fewest, root = several(draw, "low, fewest, root", positive=True)
    return s.eta_l * fewest * low / (root + s.eps)


SETTING = {
    "weights": "eps_w < Xi_i <= B for the weights of the clients' changes, eps_w > 0",
    "start": "v_0 >= 0 on the clients, in every round",
    **runs.steps_of("K^- to K steps"),
    **runs.SETTING_WORDS,
}


@claim(
    "fedada2.corollary-29-repaired",
    statement="The bound of Corollary 29 with D, L^2, and B^2 in Psi3 and Psi4; K^- the fewest steps of anybody drawn, "
    "K the most",
    source=COROLLARY,
    engine=Engine.SYMBOLIC,
    extent=Extent.WHOLE,
    assumptions={**runs.WORDS, **runs.DRIFT_WORDS, **SETTING},
    chain="theorem-20-assembly lemma-30 agdu-ceiling gamma-lower",
)
def corollary_repaired() -> Finding:
    """The drift contains the squared weights, as in Corollary 27; one gradient a step, W is B times Theorem 20's."""
    looked = searched(runs.inequality(_unequal, _agdu_constants, printed=False), 400, drop=250)
    looked = replace(looked, dropped={**looked.dropped, **_broken()})
    parts = [*derived(of_corollary_29), ceiling.body(), gamma_lower.body(), fits_gamma(of_corollary_29, _gamma_1)]
    return confirmed(parts, in_setting(looked, SETTING), 400)


def _broken() -> dict[str, Dropped]:
    """Small weight; one step although the bound claims at least a hundred; a rate that warms up."""

    def own(case: runs.Case, s: Setting) -> Constants:
        return corollary_29(s, FLOAT, low=1, B=1, carried=True, fewest=s.K)

    h, one = fedadaadagrad.FedAdaAdagrad(**runs.SLOW), (F(1),)
    tired, few = fedadaadagrad.FedAdaAdagrad(**runs.TIRED), "it takes one step in a round, K^- = 100, eps = z = 100"
    return {
        **runs.dawdling(h, own, scales=one),
        "steps": runs.astray(tired, few, own, K=100, scales=one),
        "weights": runs.astray(h, "the client's weight is 10^-6, eps_w = B = 1", own, scales=(F(1, 10**6),)),
    }
