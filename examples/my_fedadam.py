import numpy as np

from fedspec.contract import Claim, Info


class FedAdam:
    """FedAdam as a reader of the paper wrote it; two lines are wrong."""

    def __init__(self, x, eta, beta1, beta2, tau, v0):
        self.x, self.eta, self.beta1, self.beta2, self.tau = x, eta, beta1, beta2, tau
        self.m, self.v = np.zeros_like(x), np.full_like(x, v0)

    def aggregate(self, changes, examples):
        change = np.mean(changes, axis=0)
        self.m = self.beta1 * self.m + (1 - self.beta1) * change
        self.v = self.beta2 * self.v + (1 - self.beta2) * change**2
        self.x = self.x + self.eta * self.m / np.sqrt(self.v + self.tau)
        return self.x


class Session:
    def __init__(self, case):
        h = case.hyper
        self.parts = {n: FedAdam(x, h["eta"], h["beta1"], h["beta2"], h["tau"], h["v0"]) for n, x in case.x0.items()}

    def step(self, event):
        examples = [m.weight for m in event.messages]
        x = {n: part.aggregate([m.delta[n] for m in event.messages], examples) for n, part in self.parts.items()}
        return {"x": x}


class Adapter:
    info = Info("mine", "0.1", (Claim("fedadam", "server", "reddi-2021", {"weights": "examples"}),))
    start = Session


# ruff: noqa: D100, D101, D102
