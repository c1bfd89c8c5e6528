"""Level round: FedNova with momentum clients on quadratics. ``fedspec check examples/fednova_round.py:ADAPTER``."""

import numpy as np

from fedspec.contract import Claim, Info


def train(x, gradient, steps, lr, rho):
    """Take local momentum steps from x; return the change and ||a||_1 of this many steps."""
    local, u = x, np.zeros_like(x)
    counter = norm = 0.0
    for _ in range(steps):
        u = rho * u + gradient(local)
        local = local - lr * u
        counter = rho * counter + 1
        norm = norm + counter
    return local - x, norm


class Session:
    """Session of a case: clients and server of the implementation under test."""

    def __init__(self, case):
        self.x = np.concatenate([block.ravel() for block in case.x0.values()])
        self.problem, self.h = case.problem, case.hyper

    def step(self, event):
        """Run one round: local work, normalised averaging, one step."""
        H, e, n = self.problem.H, self.problem.e, self.problem.examples
        total = sum(n[i] for i in event.participants)
        tau_eff, direction = 0.0, np.zeros_like(self.x)
        for i, steps in zip(event.participants, event.steps, strict=True):
            p = float(n[i] / total)
            delta, norm = train(self.x, lambda x, i=i: H[i] @ x - e[i], steps, self.h["eta_l"], self.h["rho"])
            tau_eff += p * norm
            direction = direction + p / norm * delta
        self.x = self.x + tau_eff * direction
        return {"x": self.x, "tau_eff": tau_eff}


class Adapter:
    """Adapter of the implementation, with its claims."""

    info = Info(
        name="nova",
        version="1.0",
        claims=(
            Claim(
                algorithm="fednova",
                level="round",
                reading="fednova",
                options={"weights": "examples", "solver": "momentum"},
                intermediates=("tau_eff",),
            ),
        ),
    )

    def start(self, case):
        """Begin a case with fresh state."""
        return Session(case)


ADAPTER = Adapter()
