"""Level server: FedAdam behind an adapter. ``fedspec check examples/fedadam_server.py:ADAPTER``."""

import numpy as np

from fedspec.contract import Claim, Info


class AdamServer:
    """Implementation under test: averages the clients' models, then takes Adam's step; v_0 is tau^2."""

    def __init__(self, lr, beta1, beta2, tau):
        self.lr, self.beta1, self.beta2, self.tau = lr, beta1, beta2, tau
        self.m = self.v = None

    def aggregate(self, model, updates):
        """Return the next model; ``updates`` are pairs of a client's change and its number of examples."""
        total = sum(n for _, n in updates)
        delta = [sum(n / total * d[i] for d, n in updates) for i in range(len(model))]
        if self.m is None:
            self.m = [np.zeros_like(d) for d in delta]
            self.v = [np.full_like(d, self.tau**2) for d in delta]
        self.m = [self.beta1 * m + (1 - self.beta1) * d for m, d in zip(self.m, delta, strict=True)]
        self.v = [self.beta2 * v + (1 - self.beta2) * d**2 for v, d in zip(self.v, delta, strict=True)]
        return [x + self.lr * m / (np.sqrt(v) + self.tau) for x, m, v in zip(model, self.m, self.v, strict=True)]


class Session:
    """Session of a case: builds the server, and passes each round's messages to it."""

    def __init__(self, case):
        h = case.hyper
        self.x = dict(case.x0)
        self.server = AdamServer(lr=h["eta"], beta1=h["beta1"], beta2=h["beta2"], tau=h["tau"])

    def step(self, event):
        """Run one round."""
        updates = [([m.delta[name] for name in self.x], m.weight) for m in event.messages]
        x = self.server.aggregate(list(self.x.values()), updates)
        self.x = dict(zip(self.x, x, strict=True))
        m, v = (dict(zip(self.x, moment, strict=True)) for moment in (self.server.m, self.server.v))
        return {"x": self.x, "m": m, "v": v}


class Adapter:
    """Adapter of the implementation, with its claims."""

    info = Info(
        name="adam_server",
        version="1.0",
        claims=(
            Claim(
                algorithm="fedadam",
                level="server",
                reading="reddi-2021",
                options={"weights": "examples", "v0": "tau-squared"},
                intermediates=("m", "v"),
            ),
        ),
    )

    def start(self, case):
        """Begin a case with fresh state."""
        return Session(case)


ADAPTER = Adapter()
