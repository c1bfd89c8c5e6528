# As it could be written at commit 2c63185, where delays counted steps: ``epoch`` came with commit 266dfb0.
"""Level client: AdaGrad with delayed updates."""

import numpy as np

from fedspec.contract import Begin, Offer, SubjectInfo


class Session:
    """One case of it."""

    def __init__(self, case):
        """Begin with the model and the accumulators of the case."""
        self.h = case.hyper
        self.begin(case.x0)

    def begin(self, x0):
        """Start a round at a model."""
        self.x = {name: np.array(block) for name, block in x0.items()}
        self.v = {name: np.full_like(block, self.h["v0"]) for name, block in self.x.items()}
        self.t = 0

    def step(self, event):
        """Take one local step, or begin a round."""
        if isinstance(event, Begin):
            self.begin(event.x)
            return {"x": self.x, "v": self.v}
        self.t += 1
        if (self.t - 1) % int(self.h["z"]) == 0:
            self.v = {name: v + event.g[name] ** 2 for name, v in self.v.items()}
        u = {name: event.g[name] / (np.sqrt(v) + self.h["eps"]) for name, v in self.v.items()}
        length = np.sqrt(sum(np.sum(block**2) for block in u.values()))
        if length >= self.h["eps_s"]:
            self.x = {name: x - self.h["eta_l"] * u[name] for name, x in self.x.items()}
        return {"x": self.x, "v": self.v}


class Subject:
    """What it offers."""

    info = SubjectInfo("delayed", "1.0", (Offer("agdu", "client", "fedada2", intermediates=("v",)),))

    def start(self, case):
        """Begin a case with fresh state."""
        return Session(case)


SUBJECT = Subject()
