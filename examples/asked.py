"""Update rules that public threads ask about, each a function of a few lines; docs/answers.md checks them one by one.

For example, ``fedspec identify examples/asked.py:ADAPTER --only unweighted:fedavg``. No rule is a copy of a
project's code.
"""

from dataclasses import replace

import numpy as np

from fedspec.contract import Begin, Claim, Info


def unweighted(x, kept, deltas, n, h):
    """Average the clients' changes without weights."""
    return x + h["eta"] * sum(deltas) / len(deltas)


def to_the_mean(x, kept, deltas, n, h):
    """Step from the model towards the mean of the clients' models."""
    mean = sum(n_i / sum(n) * (x + delta) for n_i, delta in zip(n, deltas, strict=True))
    return x - h["eta"] * (x - mean)


def squared_momentum(x, kept, deltas, n, h):
    """Adam whose v averages the square of m."""
    delta = sum(deltas) / len(deltas)
    kept["m"] = h["beta1"] * kept["m"] + (1 - h["beta1"]) * delta
    kept["v"] = h["beta2"] * kept["v"] + (1 - h["beta2"]) * kept["m"] ** 2
    return x + h["eta"] * kept["m"] / (np.sqrt(kept["v"]) + h["tau"])


def sum_less_one(x, kept, deltas, n, h):
    """FedDyn's server that subtracts x once from the sum of the models, not once for each client."""
    models = [x + delta for delta in deltas]
    kept["h"] = kept["h"] - h["mu"] / h["N"] * (sum(models) - x)
    return sum(models) / len(models) - kept["h"] / h["mu"]


def moving_anchor(x, g, anchor, h):
    """Proximal step whose anchor is an alias of the current model, so that the pull is zero."""
    anchor = x
    return x - h["eta_l"] * (g + h["mu"] * (x - anchor))


def length(x, g, anchor, h):
    """Proximal step with the gradient of mu/2 times each layer's distance from the anchor, not of its square."""
    away = x - anchor
    return x - h["eta_l"] * (g + h["mu"] / 2 * away / (np.linalg.norm(away) or 1))


def over_weights(deltas, ages):
    """Average a buffer by staleness weights, divided by their sum."""
    s = [(1 + u) ** -0.5 for u in ages]
    return sum(s_i * delta for s_i, delta in zip(s, deltas, strict=True)) / sum(s)


class Server:
    """Session at level server that applies a rule block by block."""

    def __init__(self, case, rule):
        self.rule, self.x, self.h = rule, dict(case.x0), {**case.hyper, "N": case.population}
        v0 = case.hyper.get("v0", 0)
        self.kept = {name: {"m": 0 * x, "v": 0 * x + v0, "h": 0 * x} for name, x in self.x.items()}

    def step(self, event):
        """Run one round."""
        n = [m.weight for m in event.messages]
        for name, x in self.x.items():
            self.x[name] = self.rule(x, self.kept[name], [m.delta[name] for m in event.messages], n, self.h)
        return {"x": self.x, "h": {name: kept["h"] for name, kept in self.kept.items()}}


class Client:
    """Session at level client that applies a rule layer by layer."""

    def __init__(self, case, rule):
        self.rule, self.x, self.anchor, self.h = rule, dict(case.x0), dict(case.x0), case.hyper

    def step(self, event):
        """Begin a round, or take one local step."""
        if isinstance(event, Begin):
            self.x, self.anchor = dict(event.x), dict(event.x)
        else:
            self.x = {name: self.rule(x, event.g[name], self.anchor[name], self.h) for name, x in self.x.items()}
        return {"x": self.x}


class Buffered:
    """FedBuff session that turns a full buffer into one change by a rule."""

    def __init__(self, case, rule):
        x = np.concatenate([block.ravel() for block in case.x0.values()])
        self.rule, self.problem, self.h = rule, case.problem, case.hyper
        self.versions, self.deltas, self.ages = [x], [], []

    def step(self, event):
        """Receive one update, which a client began ``delay`` versions ago."""
        H, e = self.problem.H[event.client], self.problem.e[event.client]
        x = start = self.versions[-1 - event.delay]
        for _ in range(event.steps):
            x = x - self.h["eta_l"] * (H @ x - e)
        self.deltas.append(x - start)
        self.ages.append(event.delay)
        if len(self.deltas) == self.h["buffer"]:
            self.versions.append(self.versions[-1] + self.h["eta"] * self.rule(self.deltas, self.ages))
            self.deltas, self.ages = [], []
        return {"x": self.versions[-1]}


CLAIMS = (
    (unweighted, Server, Claim("fedavg", "server", "mcmahan-2017")),
    (to_the_mean, Server, Claim("fedavg", "server", "mcmahan-2017")),
    (to_the_mean, Server, Claim("fedavgm", "server", "hsu-2019")),
    (squared_momentum, Server, Claim("fedadam", "server", "reddi-2021")),
    (sum_less_one, Server, Claim("feddyn", "server", "gradient-steps", intermediates=("h",))),
    (moving_anchor, Client, Claim("proximal-sgd", "client", "fednova")),
    (length, Client, Claim("proximal-sgd", "client", "fednova")),
    (over_weights, Buffered, Claim("fedbuff", "trace", "nguyen-2022-discounted", fixed={"twice_a": 1})),
)
"""Rule, the session class that drives it, and the published definition to compare it with."""


def called(rule):
    """Return the variant name that selects a rule."""
    return rule.__name__.replace("_", "-")


class Adapter:
    """Adapter with all rules, each as a variant."""

    info = Info("asked", "2026", tuple(replace(claim, variant=called(rule)) for rule, _, claim in CLAIMS))

    def start(self, case):
        """Begin a case with fresh state."""
        rule, driver = next((rule, driver) for rule, driver, _ in CLAIMS if called(rule) == case.variant)
        return driver(case, rule)


ADAPTER = Adapter()
