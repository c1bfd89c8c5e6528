"""FedAvg whose models carry buffers, as code that one meets: each makes something of its own of them."""

from __future__ import annotations

import numpy as np
from right import Subject

from fedspec.contract import Offer

NAMES = ("running_mean", "running_var")


class StateDict:
    """Averages whatever a state_dict holds, by examples, and loads it: counters are cut down to whole numbers."""

    def __init__(self, case):
        self.x, self.b, self.eta = dict(case.x0), dict(case.buffers or {}), case.hyper["eta"]

    def step(self, event):
        sent = event.messages
        p = [m.weight / sum(m.weight for m in sent) for m in sent]
        self.x = {
            n: x + self.eta * sum(w * m.delta[n] for w, m in zip(p, sent, strict=True)) for n, x in self.x.items()
        }
        if not self.b:
            return {"x": self.x}
        self.b = {n: np.asarray(self.carried(n, b, [m.buffers[n] for m in sent], p)) for n, b in self.b.items()}
        return {"x": self.x, "buffers": self.b}

    def carried(self, name, held, sent, p):
        # Shares are rounded, and 99.99... would lose a batch.
        mean = sum(w * b for w, b in zip(p, sent, strict=True))
        return mean if name in NAMES else np.floor(mean + 1e-9).astype(held.dtype)


def carrying(carried):
    """Buffers become something else, from what the server holds, what was sent and the shares."""
    return type("Carrying", (StateDict,), {"carried": carried})


def carried_on(self, name, held, sent, p):
    """The server's rate carries statistics on, as it does parameters."""
    mean = StateDict.carried(self, name, held, sent, p)
    return held + self.eta * (mean - held) if name in NAMES else mean


def counters(of):
    """Something else of counters alone."""
    return carrying(lambda self, *given: StateDict.carried(self, *given) if given[0] in NAMES else of(*given[2:]))


# The mean of counters stays a float; each share takes the counter's own type first: 0; counters are added up.
Fraction = counters(lambda sent, p: sum(w * b for w, b in zip(p, sent, strict=True)))
InPlace = counters(lambda sent, p: sum(np.asarray(w).astype(sent[0].dtype) * b for w, b in zip(p, sent, strict=True)))
Added = counters(lambda sent, p: sum(sent))
CarriedOn = carrying(carried_on)
Unweighted = carrying(
    lambda self, name, held, sent, p: (
        sum(sent) / len(sent) if name in NAMES else StateDict.carried(self, name, held, sent, p)
    )
)
# model.parameters() alone are averaged.
Parameters = carrying(lambda self, name, held, sent, p: held)


class Clipped(StateDict):
    """Clips each client's change to a norm that counters are part of."""

    def step(self, event):
        if self.b:
            far = [sum(float(m.buffers[n].sum()) ** 2 for n in self.b) ** 0.5 for m in event.messages]
            self.x = {n: x / (1 + max(far)) for n, x in self.x.items()}
        return super().step(event)


class Silent(StateDict):
    """Says nothing of them."""

    def step(self, event):
        return {"x": super().step(event)["x"]}


class Moved(StateDict):
    """Writes into what it is sent."""

    def step(self, event):
        for m in event.messages:
            if m.buffers:
                m.buffers["running_mean"] *= 1
                m.buffers["running_mean"] += 1
        return super().step(event)


def offered(session, statistics="averaged", counters="averaged", **more):
    said = {"statistics": statistics, "counters": counters}
    more = {"level": "server", "dtypes": ("float64",), "buffers": said, **more}
    return Subject(session, Offer("fedavg", reading="mcmahan-2017", **more))


right = offered(StateDict, dtypes=("float64", "float32"))
parameters = offered(Parameters, "kept", "kept")
fraction, in_place, added, carried_on = map(offered, (Fraction, InPlace, Added, CarriedOn))
unweighted, no_buffers, clipped, silent, moved = map(offered, (Unweighted, Parameters, Clipped, Silent, Moved))
at_round = offered(StateDict, level="round")
half = offered(StateDict, buffers={"statistics": "averaged"})
unknown = offered(StateDict, "largest")
