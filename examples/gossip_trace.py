"""Level trace: AFGA, gossip with a server, on quadratics. ``fedspec check examples/gossip_trace.py:ADAPTER``."""

import numpy as np

from fedspec.contract import Claim, Info

INTERMEDIATES = ("delta", "m", "v", "v_hat")


class Network:
    """Implementation under test: clients that exchange models after every local step, and an AMSGrad server."""

    def __init__(self, model, gradients, local_lr, lr, beta1, beta2, eps):
        self.model, self.gradients = model, gradients
        self.local_lr, self.lr, self.beta1, self.beta2, self.eps = local_lr, lr, beta1, beta2, eps
        self.m = self.v = self.v_hat = np.zeros_like(model)

    def round(self, computing, mixing, senders):
        """Take local steps at the clients of each set, mix all models after each step, and take one server step."""
        models = np.stack([self.model] * len(self.gradients))
        for active in computing:
            for i in active:
                models[i] -= self.local_lr * self.gradients[i](models[i])
            models = mixing @ models
        self.delta = np.mean([models[i] - self.model for i in senders], axis=0)
        self.m = self.beta1 * self.m + (1 - self.beta1) * self.delta
        self.v = self.beta2 * self.v + (1 - self.beta2) * self.delta**2
        self.v_hat = np.maximum(self.v_hat, self.v)
        self.model = self.model + self.lr * self.m / np.sqrt(self.v_hat + self.eps)


class Session:
    """Session of a case: builds the network, and passes each round's sets and mixing matrix to it."""

    def __init__(self, case):
        x = np.concatenate([block.ravel() for block in case.x0.values()])
        h, H, e = case.hyper, case.problem.H, case.problem.e
        gradients = [lambda x, i=i: H[i] @ x - e[i] for i in range(len(H))]
        self.network = Network(x, gradients, h["eta_l"], h["eta"], h["beta1"], h["beta2"], h["eps"])

    def step(self, event):
        """Run the round of one Exchange."""
        self.network.round(event.computing, event.mixing, event.senders)
        shown = {name: getattr(self.network, name) for name in INTERMEDIATES}
        return {"x": self.network.model, **shown}


class Adapter:
    """Adapter of the implementation, with its claims."""

    info = Info(
        name="network",
        version="1.0",
        claims=(Claim(algorithm="afga", level="trace", reading="afga", intermediates=INTERMEDIATES),),
    )

    def start(self, case):
        """Begin a case with fresh state."""
        return Session(case)


ADAPTER = Adapter()
