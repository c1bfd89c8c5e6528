"""Level trace: asynchronous client-centric FedSGD. ``fedspec check examples/async_trace.py:ADAPTER``."""

import numpy as np

from fedspec.contract import Claim, Info


class BufferedServer:
    """Implementation under test: a server that keeps every version of the model, and steps when its buffer is full."""

    def __init__(self, model, size, lr):
        self.versions, self.pending = [model], []
        self.size, self.lr = size, lr

    def receive(self, update):
        """Add an update to the buffer; if it is full, step by the mean of its updates and return the mean."""
        self.pending.append(update)
        if len(self.pending) < self.size:
            return None
        mean, self.pending = np.mean(self.pending, axis=0), []
        self.versions.append(self.versions[-1] + self.lr * mean)
        return mean


def train(start, gradient, steps, lr):
    """Take local steps from an old version; return the change of one step."""
    x = start
    for _ in range(steps):
        x = x - lr * gradient(x)
    return (x - start) / steps


class Session:
    """Session of a case: clients and server of the implementation under test."""

    def __init__(self, case):
        x = np.concatenate([block.ravel() for block in case.x0.values()])
        self.problem, self.h = case.problem, case.hyper
        self.server = BufferedServer(x, self.h["buffer"], self.h["eta"])

    def step(self, event):
        """Receive one update, which a client began ``delay`` versions ago."""
        H, e = self.problem.H[event.client], self.problem.e[event.client]
        start = self.server.versions[-1 - event.delay]
        update = train(start, lambda x: H @ x - e, event.steps, self.h["eta_l"])
        mean = self.server.receive(update)
        shown = {"x": self.server.versions[-1], "delta_i": update}
        if mean is not None:
            shown["delta"] = mean
        return shown


class Adapter:
    """Adapter of the implementation, with its claims."""

    info = Info(
        name="buffered",
        version="1.0",
        claims=(
            Claim(
                algorithm="cc-fedsgd",
                level="trace",
                reading="client-centric",
                options={"normalise": "per-step"},
                intermediates=("delta_i", "delta"),
            ),
        ),
    )

    def start(self, case):
        """Begin a case with fresh state."""
        return Session(case)


ADAPTER = Adapter()
