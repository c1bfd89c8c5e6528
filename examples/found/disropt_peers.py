"""disropt 0.1.9: ``GradientTracking``, with an agent in its own thread for each client.

``fedspec check examples/found/disropt_peers.py:Adapter``, with the package installed.

Its agents talk over MPI. Here an agent is a stand-in with the same attributes, whose exchange waits for all others.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import beside
import network
import numpy as np

from fedspec.contract import Case, Claim
from fedspec_suite.subjects import workers


class Agent:
    """Stand-in for its agent: weights, neighbours and objective of one client."""

    def __init__(self, i: int, case: Case) -> None:
        self.id = i
        self.in_neighbors: list[int] = []
        self.in_weights: dict[int, float] = {}
        self.problem = SimpleNamespace(objective_function=SimpleNamespace(subgradient=network.gradient(case, i)))

    def neighbors_exchange(self, thing: Any) -> dict[int, Any]:
        """Return the arrays that the neighbours sent."""
        held = workers.gather(np.array(thing))
        return {j: held[j] for j in self.in_neighbors}


class Agents:
    """Network in which its algorithm runs at every client."""

    def __init__(self, case: Case, algorithm: Any) -> None:
        (x,) = case.x0.values()
        self.rate, self.workers = case.hyper["eta_l"], workers.Workers(len(x))
        self.made = [algorithm(Agent(i, case), np.array(row)) for i, row in enumerate(x)]

    def run(self, W: network.Numbers, steps: int) -> list[network.Numbers]:
        """Run all agents in parallel, and return their models."""
        for i, made in enumerate(self.made):
            made.agent.in_neighbors = network.beside(W, i)
            made.agent.in_weights = dict(enumerate(W[i]))

        def ends(i: int) -> network.Numbers:
            for _ in range(steps):
                self.made[i].iterate_run(stepsize=self.rate)
            found: network.Numbers = self.made[i].get_result()
            return found

        return self.workers.run(ends)


def Adapter() -> network.Peers:
    """Adapter of its gradient tracking, which its documentation writes as DIGing."""
    version = beside.published("disropt", "0.1.9", "disropt", "disropt.agents", "disropt.algorithms")
    sys.modules["disropt.agents"].__dict__["Agent"] = Agent
    algorithm = import_module("disropt.algorithms.gradient_tracking").GradientTracking
    offer = Claim("diging", "trace", "nedic-2017")
    return network.Peers("disropt", version, [(offer, lambda case: Agents(case, algorithm))])


Subject = Adapter
"""Earlier name of the adapter."""
