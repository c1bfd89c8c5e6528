"""An algorithm on quadratics: its round as it runs, and its closed forms.

A round is always :func:`fedspec.algorithms.synchronous.run_round` with the functions of the catalogue: local training
on the gradients H_i x - e_i, messages, server. On quadratics it is an affine map R(x) = M x + b; M is found from R
alone, by running it at zero and at the basis vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from fedspec.algorithms.fedavg import FedAvg
from fedspec.algorithms.fednova import FedNova
from fedspec.algorithms.fedprox import FedProx
from fedspec.algorithms.synchronous import model, run_round
from fedspec.arith import Array, Vector, Weights, numbers
from fedspec.catalogue import CATALOGUE, Method
from fedspec.hyper import Hyper, plays_part
from fedspec.linear import eye
from fedspec.mixing.weighted import shares
from fedspec.plan import Oracle, Plan
from fedspec.problems.quadratic import QuadraticClients, limit, local_matrix
from fedspec.readings import NovaWeights, Solver, TauEff

H = TypeVar("H", bound=Hyper)


def record_of(kind: type[H], **given: Any) -> H:
    """Make the record of the hyper-parameters that have an effect under the given options, without all others."""
    options = {f.name: str(given.get(f.name, f.default)) for f in fields(kind)}
    return kind(**{n: v for n, v in given.items() if plays_part(kind.plays, n, options)})


@dataclass(frozen=True)
class Setting:
    """An algorithm with hyper-parameters, problem, steps and examples, for its round and its closed forms.

    Attributes:
        h: the algorithm's hyper-parameters.
        problem: the clients' quadratics.
        steps: local steps of each client.
        examples: sample size of each client.
    """

    h: Hyper
    problem: QuadraticClients
    steps: tuple[int, ...]
    examples: tuple[Any, ...]

    @property
    def method(self) -> Method:
        """Functions of the algorithm, from the catalogue."""
        run = CATALOGUE[type(self.h).__name__.lower()].run
        assert isinstance(run, Method)
        return run

    @property
    def solver(self) -> dict[str, Any]:
        """Local solver with its parameters, as ``local_matrix`` takes them."""
        match self.h:
            case FedNova(eta_l=eta_l, mu=mu, rho=rho, gamma=gamma, solver=solver):
                return {"solver": solver, "eta_l": eta_l, "mu": mu, "rho": rho, "gamma": gamma}
            case FedProx(eta_l=eta_l, mu=mu):
                return {"solver": Solver.PROXIMAL, "eta_l": eta_l, "mu": mu}
            case FedAvg(eta_l=eta_l):
                return {"solver": Solver.SGD, "eta_l": eta_l}
        raise TypeError(f"solver: got {type(self.h).__name__}; closed forms are for FedNova, FedProx and FedAvg")

    def round(self, x: Vector, xi: Vector | None = None) -> Vector:
        """Model after one round of the algorithm from x, with noise xi added to the gradients if given.

        The noise has d entries for each local step of each client, client after client.
        """
        run = self.method
        plan = Plan(tuple(range(len(self.steps))), self.steps, self.examples)
        clients = self.problem.clients if xi is None else tuple(map(self._noisy(xi), range(len(self.steps))))
        trace = run_round(self.h, x, clients, plan, local=run.local, norm=run.norm, server=run.server)
        return model(trace.state)

    def _noisy(self, xi: Vector) -> Callable[[int], Oracle]:
        d = self.problem.e.shape[1]

        def client(i: int) -> Oracle:
            first, exact = sum(self.steps[:i]), self.problem.clients[i]
            return lambda k, x: exact(k, x) + xi[(first + k) * d : (first + k + 1) * d]

        return client

    def linear_part(self, zero: Vector) -> Array:
        """Matrix M of R(x) = M x + b, by running R at zero and at every basis vector."""
        b = self.round(zero)
        identity_matrix = eye(self.problem.H[0])
        return np.stack([self.round(zero + basis) - b for basis in identity_matrix], axis=1)

    def shares(self) -> Weights:
        """Weights p_i of the clients."""
        return shares(self.examples, self.problem.e[0])

    def norms(self) -> Weights:
        """Norms ||a_i||_1 of the accumulation vectors."""
        return numbers([self.method.norm(self.h, tau) for tau in self.steps], self.problem.e[0])

    def local_matrices(self) -> Array:
        """Matrices K_i of the clients' local training."""
        pairs = zip(self.problem.H, self.steps, strict=True)
        return np.stack([local_matrix(H=H_i, tau=t, **self.solver) for H_i, t in pairs])

    def client_weights(self) -> Weights:
        """Weights W_i of the changes: p_i in a plain average, p_i / ||a_i||_1 with FedNova's weights."""
        nova = isinstance(self.h, FedNova) and self.h.nova_weights is NovaWeights.NOVA
        return self.shares() / self.norms() if nova else self.shares()

    def limit(self) -> Vector:
        """Limit x~ of the rounds, in closed form."""
        return limit(self.client_weights(), self.local_matrices(), self.problem)


def algorithms(
    problem: QuadraticClients, steps: tuple[int, ...], examples: tuple[Any, ...], **h: Any
) -> Iterator[Setting]:
    """Yield FedAvg, FedProx, and FedNova with every solver: implied weights, own, and own with constant tau_eff."""
    yield Setting(FedAvg(eta_l=h["eta_l"]), problem, steps, examples)
    yield Setting(FedProx(eta_l=h["eta_l"], mu=h["mu"]), problem, steps, examples)
    for solver in Solver:
        for w in NovaWeights:
            yield Setting(record_of(FedNova, **h, solver=solver, nova_weights=w), problem, steps, examples)
        yield Setting(record_of(FedNova, **h, solver=solver, tau_eff_choice=TauEff.FIXED), problem, steps, examples)


def label(s: Setting) -> str:
    """Name of the algorithm, with FedNova's readings."""
    if not isinstance(s.h, FedNova):
        return type(s.h).__name__
    return f"FedNova({s.h.solver}, {s.h.nova_weights}, {s.h.tau_eff_choice})"
