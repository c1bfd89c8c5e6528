"""FedAda2's methods in closed form: sums over all gradients and all changes so far.

x_i - x = -eta_l (u_1 + ... + u_tau),    u_k from the sums of g_1 .. g_k and of their squares
x_T = x_0 + eta sum over t of m_t / (sqrt(v_t) + tau),
m_t = (1 - beta1) sum over s <= t of beta1^(t-s) Delta_s,    v_t = v_0 + sum over s <= t of Delta_s^2, ...
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.covers import named_cover
from fedspec.params import flatten, shapes
from fedspec.readings import Clipped, CoverName, Preconditioner, PrivateServer, Received, Strategy, WarmUp
from fedspec_properties.closed_forms import delayed_solvers
from fedspec_properties.closed_forms.adaptive import Numbers, Options, direction, second_moment
from fedspec_properties.closed_forms.sums import events_of, length, total
from fedspec_suite.measure.scenario import Scenario

RULE = {
    Strategy.ADAGRAD: "agdu",
    Strategy.ADAM: "admu",
    Strategy.SM3_ADAGRAD: "sm3-ii-delayed",
    Strategy.SM3_ADAM: "sm3-adam",
}
"""Name of the local solver of each strategy."""

CORRECTED = {"bias_correction": "moments"}

NORMALISED = "normalised"
"""Strategy name for steps divided by the gradient's length; blended optimisation does not have it."""


def strategy(s: Scenario, place: int, e: Round) -> str:
    """Return the local solver of a participant."""
    h, o = s.case.hyper, s.case.options
    if e.strategies:
        return e.strategies[place]
    if o.get("preconditioner") == Preconditioner.SENT:
        return o["client"]
    if "client" in o:
        return f"sm3-{o['client']}" if "cover" in o else o["client"]
    if "eps" not in h:
        return Strategy.SGD
    if "tau" not in h:
        return NORMALISED
    return Strategy.ADAM if "beta2_l" in h else Strategy.ADAGRAD


def clients_own(h: Numbers) -> dict[str, Any]:
    """Return the clients' hyper-parameters under their names in a local solver."""
    moments = {n: h.get(f"{n}_l", 0) for n in ("beta1", "beta2")}
    return {
        **moments,
        "eps": h.get("eps", 0),
        "eps_s": h.get("eps_s", 0),
        "z": h.get("z", 1),
        "epoch": h.get("epoch", 1),
        "v0": h.get("v0_l", 0),
        "m0": h.get("m0_l", 0),
    }


def last_step(kind: str, rows: Sequence[Array], sets: delayed_solvers.Sets, h: Numbers, o: Options) -> Array:
    """Return the direction of the last step, given all gradients so far, without the factor eta_l."""
    g = rows[-1]
    match kind:
        case _ if kind == NORMALISED:
            return np.asarray(g / (length(g) + h["eps"]))
        case Strategy.SGD:
            return g * 0 if total(a * a for a in g) < h["eps_s"] * h["eps_s"] else g
        case Strategy.ADAM if "received" in o:
            return received_step(rows, h, o["received"])
        case Strategy.SM3_ADAM:
            h = {**h, "m0": 0, "v0": 0}
    return delayed_solvers.steps(RULE[Strategy(kind)], rows, sets, h, o)[-1]


def received_step(rows: Sequence[Array], h: Numbers, received: str) -> Array:
    """Return the direction of the last Adam step of a client whose second moment began at the server's."""
    if received == Received.WITHOUT_START:
        return direction("adam", rows, {**h, "v0": 0}, CORRECTED, h["eps"])
    if received == Received.CORRECTED:
        return direction("adam", rows, h, CORRECTED, h["eps"])
    correction = 1 - h["beta1"] ** len(rows) if received == Received.M_CORRECTED else 1
    return direction("adam", rows, h, {}, h["eps"]) / correction


def sent(o: Options) -> bool:
    """True if the server sends its second moment to the clients."""
    return "received" in o or o.get("preconditioner") == Preconditioner.SENT


def shortened(row: Array, c: Any) -> Array:
    """Return the vector, scaled down to length c if it is longer."""
    size = length(row)
    return row if size <= c else row * (c / size)


def read(g: Array, h: Numbers, o: Options) -> Array:
    """Return the gradient as a client's solver receives it: clipped if the options say so."""
    return shortened(g, h["clip_norm"]) if o.get("clipped") == Clipped.GRADIENTS else g


def rates(h: Numbers, o: Options, tau: int) -> list[Any]:
    """Return the client's learning rate in each of tau local steps, warm-up included."""
    before = [h["eta_l"] * 0] if o.get("warm_up_from") == WarmUp.ZERO else []
    rising = [h["eta_l"] * k / h.get("warm_up", 1) for k in range(1, h.get("warm_up", 1))]
    return [*before, *rising, *[h["eta_l"]] * tau][:tau]


def change(s: Scenario, e: Round, place: int, x: Array, v: Array) -> Array:
    """Return a participant's change before weighting and clipping, given the server's second moment v."""
    h, o, problem = s.case.hyper, s.case.options, s.case.problem
    assert problem is not None
    i = e.participants[place]
    own = clients_own(h)
    if sent(o):
        own["v0"] = v
    sets = named_cover(CoverName(o.get("cover", "singletons")), shapes(s.case.x0)).sets
    rows: list[Array] = []
    steps: list[Array] = []
    for rate in rates(h, o, e.steps[place]):
        at = x - total(steps) if steps else x
        rows.append(read(problem.H[i] @ at - problem.e[i], h, o))
        steps.append(rate * (last_step(strategy(s, place, e), rows, sets, own, o) + h.get("wd", 0) * at))
    return np.asarray(-total(steps))


def aggregate(s: Scenario, e: Round, changes: Sequence[Array]) -> Array:
    """Return the mean over a round's draws of their weighted or clipped changes, plus noise."""
    h, o, n = s.case.hyper, s.case.options, len(changes)
    if "clip_norm" not in h:
        scales = e.scales or (1,) * n
        return np.asarray(total(c * row for c, row in zip(scales, changes, strict=True)) / n)
    whole = o["clipped"] == Clipped.GRADIENTS
    short = [row if whole else shortened(row, h["clip_norm"]) for row in changes]
    return np.asarray(total([*short, h["sigma"] * h["clip_norm"] * np.array(e.noise, dtype=object)]) / n)


@dataclass(frozen=True)
class Server:
    """State of a server after all changes so far: the direction of its next step and its second moment."""

    step: Array
    v: Array


def server(s: Scenario, past: Sequence[Array]) -> Server:
    """Return the server's state after the given changes."""
    h, o = s.case.hyper, s.case.options
    start = flatten(s.case.x0) * 0 + h.get("v0", 0)
    kind = o.get("server", PrivateServer.ADAGRAD if "tau" in h else PrivateServer.AVERAGE)
    if kind == PrivateServer.AVERAGE or not past:
        return Server(past[-1] if past else start, start)
    return Server(direction(kind, past, h, {}, h["tau"]), second_moment(kind, past, h, {}))


def models(s: Scenario) -> Iterator[Array]:
    """Yield the model after every round of a scenario."""
    x, past = flatten(s.case.x0), list[Array]()
    v = server(s, past).v
    for e in events_of(Round, s):
        past.append(aggregate(s, e, [change(s, e, p, x, v) for p in range(len(e.participants))]))
        after = server(s, past)
        x, v = x + s.case.hyper.get("eta", 1) * after.step, after.v
        yield x
