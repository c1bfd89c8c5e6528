"""Server step that FedAda2's methods share, and a server state with the cover of the model's coordinates."""

from __future__ import annotations

from typing import Any

from fedspec.arith import Scalar, Stack, Vector
from fedspec.covers import AnyCover, named_cover
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Plan, Setup
from fedspec.readings import Adaptivity, CoverName, Weighting
from fedspec.records import record
from fedspec.server.adagrad import Adaptive, adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import adam

SYMBOLS = {
    "delta": "Delta_t",
    "m": "m~_t, and in the costs |S^t|",
    "v": "v~_t",
    "beta1": "beta~_1",
    "v0": "v~_0",
    "tau": "tau, the stabiliser; as an argument of a client K, its number of steps",
}
"""Symbols of FedAda2 that differ from ours; it writes a tilde over the server's quantities."""

LOCALLY = {"beta1_l": "beta_1", "beta2_l": "beta_2"}
"""Symbols of the paper for Adam clients."""


@record
class Covered:
    """Server state, and the cover: the sets of coordinates that share an accumulator."""

    server: Adaptive
    cover: AnyCover

    @property
    def x(self) -> Vector:
        """The model."""
        return self.server.x


def covered(x: Vector, setup: Setup, *, v0: Scalar, cover: CoverName) -> Covered:
    """Initial state: no momentum; second moment v_0, which the paper wants to be at least tau^2."""
    return Covered(init_adaptive(x, v0=v0), named_cover(cover, setup.shapes))


def server_update(
    state: Adaptive,
    deltas: Stack,
    plan: Plan,
    *,
    eta: Scalar,
    beta1: Scalar,
    tau: Scalar,
    beta2: Scalar = 0,
    server: Adaptivity = Adaptivity.ADAGRAD,
) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes and take one server step.

        Delta = 1/|S| sum over S of Delta_i

    Source: FedAda2, eq. (SU) (L100); with Adam: App. C.2 (L1136).
    """
    delta = weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))
    return server_step(state, delta, eta=eta, beta1=beta1, tau=tau, beta2=beta2, server=server)


def server_step(
    state: Adaptive, delta: Vector, *, eta: Scalar, beta1: Scalar, tau: Scalar, beta2: Scalar, server: Adaptivity
) -> tuple[Adaptive, dict[str, Any]]:
    """Server step along an aggregate; also return the intermediates.

        m = beta1 m + (1 - beta1) Delta
        v = v + Delta^2 (AdaGrad), or beta2 v + (1 - beta2) Delta^2 (Adam)
        x = x + eta m / (sqrt(v) + tau)

    Source: FedAda2, eq. (SU) (L100); with Adam: App. C.2 (L1136).
    """
    if server is Adaptivity.ADAM:
        after = adam(state, delta, eta=eta, beta1=beta1, beta2=beta2, tau=tau)
    else:
        after = adagrad(state, delta, eta=eta, beta1=beta1, tau=tau)
    return after, {"delta": delta, "m": after.m, "v": after.v}
