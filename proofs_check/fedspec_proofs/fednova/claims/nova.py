"""FedNova's general rule and weights, as identities of the server rules.

Models have two coordinates, which is enough to see that coordinates do not mix; the argument for any number of clients
is in the docstrings. For the accumulation vectors see :mod:`fedspec_proofs.fednova.claims.accumulation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from fedspec.algorithms import fedavg, fednova
from fedspec.arith import Vector
from fedspec.mixing.nova import effective_steps, general_update, general_weights, normalised_gradient
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Message
from fedspec.readings import NovaWeights, TauEff
from fedspec.server.average import average
from fedspec_proofs.claim import Finding, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.kit.bounds import chi_squared
from fedspec_proofs.fednova.kit.responses import shares
from fedspec_proofs.fednova.kit.settings import record_of

CLIENTS = (1, 2, 3)


def _sizes(body: Any) -> Mapping[str, Body]:
    """The body for each number of clients."""
    return {f"m = {m}": partial(body, m=m) for m in CLIENTS}


def _normalised(deltas: Any, a: Vector, eta: Any) -> Any:
    return np.stack([normalised_gradient(d, eta_l=eta, a_norm=a_i) for d, a_i in zip(deltas, a, strict=True)])


def _rewritten(draw: Draw, m: int, w: NovaWeights = NovaWeights.IMPLIED) -> Iterable[Any]:
    """The average of the changes less the general rule; that w sums to one; tau_eff w_i = p_i ||a_i||_1."""
    p, a = shares(draw, m), draw("A", m, positive=True)
    x, deltas, eta = draw("x", 2), draw("Delta", m, 2), draw("eta", positive=True)
    weights = general_weights(p, a, w)
    tau_eff = effective_steps(p, a, [1] * m, TauEff.WEIGHTED_NORM)
    averaged = average(x, weighted_mean(deltas, p))
    general = general_update(x, _normalised(deltas, a, eta), weights, tau_eff=tau_eff, eta_l=eta)
    yield from averaged - general
    yield sum(weights) - 1
    yield from tau_eff * weights - p * a


@claim(
    "fednova.general-rule",
    statement="Averaging the changes is the general rule with tau_eff = sum p_i ||a_i||_1 and w_i = p_i ||a_i||_1 / "
    "tau_eff, and these w_i sum to one",
    source="eqs. (4)-(6) (L93-116)",
    sizes="up to three clients, d = 2",
    assumptions={"implied": "w_i = p_i ||a_i||_1 / tau_eff"},
)
def general_rule() -> Finding:
    """Proof on the server rules for m = 1, 2, 3 clients; counterexample without the assumption: w = p.

    For any m: tau_eff w_i eta_l d_i = p_i ||a_i||_1 eta_l (-Delta_i) / (eta_l ||a_i||_1) = -p_i Delta_i, client by
    client.
    """
    other = {"m = 2, w = p": lambda draw: _rewritten(draw, 2, NovaWeights.NOVA)}
    return identities(_sizes(_rewritten), without={"implied": other})


def _messages(draw: Draw, norms: Sequence[Any] | Vector) -> list[Message]:
    m = len(norms)
    n, deltas = draw("n", m, positive=True), draw("Delta", m, 2)
    return [Message(delta=deltas[i], examples=n[i], steps=1, a_norm=norms[i]) for i in range(m)]


def _steps(draw: Draw, norms: Sequence[Any] | Vector, w: NovaWeights) -> Iterable[Any]:
    """FedNova's server less FedAvg's on the same messages."""
    messages, x, eta = _messages(draw, norms), draw("x", 2), draw("eta", positive=True)
    nova, _ = fednova.server(fednova.FedNova(eta_l=eta, nova_weights=w), x, messages)
    plain, _ = fedavg.server(fedavg.FedAvg(eta_l=eta), x, messages)
    yield from nova - plain


@claim(
    "fednova.implied-weights-are-fedavg",
    statement="The server of FedNova with the implied weights of eq. (6) is the server of FedAvg",
    source="eq. (6) (L116)",
    sizes="up to three clients, d = 2",
    assumptions={"implied": "w_i = p_i ||a_i||_1 / tau_eff"},
)
def implied_weights() -> Finding:
    """Proof as in :func:`general_rule`, on the algorithms; counterexample: w = p."""

    def body(draw: Draw, m: int, w: NovaWeights = NovaWeights.IMPLIED) -> Iterable[Any]:
        return _steps(draw, draw("A", m, positive=True), w)

    return identities(_sizes(body), without={"implied": {"m = 2, w = p": lambda draw: body(draw, 2, NovaWeights.NOVA)}})


@claim(
    "fednova.equal-norms-are-fedavg",
    statement="With equal ||a_i||_1 the server of FedNova is the server of FedAvg",
    source="ours, from eqs. (6) and (12) (L116, L198)",
    sizes="up to three clients, d = 2",
    assumptions={"equal": "||a_i||_1 is the same for all clients"},
)
def equal_norms() -> Finding:
    """Proof for m = 1, 2, 3; for any m, tau_eff = ||a||_1, so tau_eff w_i eta_l d_i = -p_i Delta_i."""

    def body(draw: Draw, m: int) -> Iterable[Any]:
        return _steps(draw, [draw("A", positive=True)] * m, NovaWeights.NOVA)

    def unequal(draw: Draw) -> Iterable[Any]:
        return _steps(draw, draw("A", 2, positive=True), NovaWeights.NOVA)

    return identities(_sizes(body), without={"equal": {"m = 2": unequal}})


def _coefficients(draw: Draw, m: int, w: NovaWeights = NovaWeights.IMPLIED) -> Iterable[Any]:
    """The sum of the coefficients less 1 + chi^2, and chi^2 less E_p[A] E_p[1/A] - 1."""
    p, a, eta = shares(draw, m), draw("A", m, positive=True), draw("eta", positive=True)
    tau_eff = effective_steps(p, a, [1] * m, TauEff.WEIGHTED_NORM)
    own = general_weights(p, a, NovaWeights.NOVA)
    # The update is linear in the changes: from x = 0 with every change 1 it is the sum of the coefficients.
    zero = draw("x", 1) * 0
    total = general_update(zero, _normalised(np.stack([zero + 1] * m), a, eta), own, tau_eff=tau_eff, eta_l=eta)[0]
    chi = chi_squared(p, general_weights(p, a, w))
    yield total - 1 - chi
    yield chi - (sum(p * a) * sum(p / a) - 1)


@claim(
    "fednova.coefficients",
    statement="FedNova's coefficients on the changes sum to 1 + chi^2(p||w), w the implied weights, and chi^2(p||w) = "
    "E_p[||a||_1] E_p[1/||a||_1] - 1",
    source="ours, from eqs. (6), (12) and the chi^2 of Theorem 2 (L116, L198, L175)",
    sizes="up to three clients",
    assumptions={"implied": "w_i = p_i ||a_i||_1 / tau_eff in chi^2"},
)
def coefficients() -> Finding:
    """Proof on the server rule, with all changes equal to 1.

    For any m, with E = sum p_j ||a_j||_1: the coefficient of Delta_i is p_i E / ||a_i||_1, and (p_i - w_i)^2 / w_i =
    p_i E / ||a_i||_1 - 2 p_i + w_i.
    """
    other = {"m = 2, w = p": lambda draw: _coefficients(draw, 2, NovaWeights.NOVA)}
    return identities(_sizes(_coefficients), without={"implied": other})


def _scaled(draw: Draw, m: int, choice: TauEff = TauEff.FIXED) -> Iterable[Any]:
    """A step with the accumulation vectors a_i less a step with c_i a_i, for the same gradients."""
    x, eta, tau_eff = draw("x", 2), draw("eta", positive=True), draw("tau_eff", positive=True)
    gradients, a = draw("G", m, 2, 2), draw("a", m, 2, positive=True)
    n, scale = draw("n", m, positive=True), draw("c", m, positive=True)
    h = record_of(fednova.FedNova, eta_l=eta, tau_eff=tau_eff, tau_eff_choice=choice)
    plain, scaled = (
        fednova.server(h, x, [_accumulated(gradients[i], a[i] * c[i], n[i], eta) for i in range(m)])[0]
        for c in ([1] * m, scale)
    )
    yield from plain - scaled


def _accumulated(G: Any, a: Vector, n: Any, eta: Any) -> Message:
    return Message(delta=-eta * (G @ a), examples=n, steps=len(a), a_norm=sum(a))


@claim(
    "fednova.local-scale",
    statement="For fixed tau_eff FedNova does not change when a client rescales its accumulation vector by "
    "c_i > 0: a_i -> c_i a_i, for the same gradients",
    source="ours, from eq. (4) and d_i = G_i a_i / ||a_i||_1 (L93-99)",
    sizes="up to three clients, two local steps each, d = 2",
    assumptions={"fixed": "tau_eff does not depend on the a_i"},
)
def local_scale() -> Finding:
    """Proof for changes -eta_l G_i a_i, any gradients G_i and accumulation vectors a_i, two local steps each;
    counterexample: tau_eff = sum p_i ||a_i||_1. For any m and tau_i, d_i depends on a_i only by a_i / ||a_i||_1.
    """
    default = {"m = 2, default": lambda draw: _scaled(draw, 2, TauEff.WEIGHTED_NORM)}
    return identities(_sizes(_scaled), without={"fixed": default})
