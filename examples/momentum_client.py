"""Level client: heavy-ball momentum behind an adapter. ``fedspec check examples/momentum_client.py:ADAPTER``."""

import numpy as np

from fedspec.contract import Begin, Claim, Gradient, Info


class HeavyBall:
    """Implementation under test: a heavy-ball optimiser, as your library may have."""

    def __init__(self, parameters, lr, momentum):
        self.parameters, self.lr, self.momentum = parameters, lr, momentum
        self.buffers = [np.zeros_like(p) for p in parameters]

    def update(self, gradients):
        """Change the parameters in place."""
        for p, u, g in zip(self.parameters, self.buffers, gradients, strict=True):
            u *= self.momentum
            u += g
            p -= self.lr * u


class Session:
    """Session of a case: builds the optimiser, passes gradients to it, and reads the model."""

    def __init__(self, case):
        self.case = case
        self.begin(case.x0)

    def begin(self, x):
        """Start a round with fresh parameters and a fresh optimiser. The copies keep the judge's arrays unchanged."""
        self.x = {name: a.copy() for name, a in x.items()}
        h = self.case.hyper
        self.optimiser = HeavyBall(list(self.x.values()), lr=h["eta_l"], momentum=h["rho"])

    def step(self, event):
        """Begin a round or take one step; return the model."""
        match event:
            case Begin(x=x):
                self.begin(x)
            case Gradient(g=g):
                self.optimiser.update([g[name] for name in self.x])
        u = dict(zip(self.x, self.optimiser.buffers, strict=True))
        return {"x": self.x, "u": u}


class Adapter:
    """Adapter of the implementation, with its claims."""

    info = Info(
        name="heavy_ball",
        version="1.0",
        claims=(Claim(algorithm="momentum", level="client", reading="fednova", intermediates=("u",)),),
    )

    def start(self, case):
        """Begin a case with fresh state."""
        return Session(case)


ADAPTER = Adapter()
