"""Right implementations in plain NumPy, written from the docstrings of ``fedspec.contract`` alone.

The three forms of an answer are all used: blocks by name, a list in the order of x0, one flat vector.
"""

from __future__ import annotations

import numpy as np

from fedspec.contract import Begin, ClientMessage, Offer, Round, SubjectInfo

DOUBLE, SINGLE = ("float64",), ("float32",)


def flat(blocks):
    return np.concatenate([np.ravel(a) for a in blocks.values()])


def parts(x, like):
    """The flat vector as a list of arrays in the order of ``like``."""
    ends = np.cumsum([a.size for a in like.values()])
    return [piece.reshape(a.shape) for piece, a in zip(np.split(x, ends[:-1]), like.values(), strict=True)]


def named(x, like):
    return dict(zip(like, parts(x, like), strict=True))


class Subject:
    """Subject with its info, and a session for each case."""

    def __init__(self, session, *offers, **more):
        self.info = SubjectInfo(session.__name__, "1", offers, **more)
        self.session = session

    def start(self, case):
        return self.session(case)


class FedAvg:
    """Level server: the mean of the changes, added with rate eta. Level round: the clients too."""

    def __init__(self, case):
        self.h, self.o, self.like, self.problem = case.hyper, case.options, case.x0, case.problem
        self.x = flat(case.x0)
        self.m = np.zeros_like(self.x)
        self.v = np.full_like(self.x, self.h.get("v0", 0.0))
        self.v_hat = np.zeros_like(self.x)
        self.t = 0

    def step(self, event):
        messages = self.train(event) if isinstance(event, Round) else event.messages
        self.t += 1
        return {**self.answer(self.update(messages)), "x": named(self.x, self.like)}

    def answer(self, shown):
        return {n: named(a, self.like) if isinstance(a, np.ndarray) else a for n, a in shown.items()}

    def update(self, messages):
        delta = self.mean(messages)
        self.x = self.x + self.h["eta"] * delta
        return {"delta": delta}

    def weights(self, messages):
        n = np.array([1 if self.o["weights"] == "uniform" else m.weight for m in messages], dtype=self.x.dtype)
        return n / n.sum()

    def mean(self, messages):
        return self.weights(messages) @ np.stack([flat(m.delta) for m in messages])

    def train(self, event):
        return [
            ClientMessage(
                client=i,
                delta=named(self.local(self.problem.H[i], self.problem.e[i], tau) - self.x, self.like),
                weight=self.problem.examples[i],
                steps=tau,
                a_norm=self.norm(tau),
            )
            for i, tau in zip(event.participants, event.steps, strict=True)
        ]

    def local(self, H, e, tau):
        x = self.x
        for _ in range(tau):
            x = x - self.h["eta_l"] * (H @ x - e)
        return x

    def norm(self, tau):
        return tau


class FedProx(FedAvg):
    """FedAvg whose clients are pulled to the model that the round began with."""

    def local(self, H, e, tau):
        x = self.x
        for _ in range(tau):
            x = x - self.h["eta_l"] * (H @ x - e + self.h["mu"] * (x - self.x))
        return x


class FedNova(FedAvg):
    """Changes normalised by ||a_i||_1, then a step of effective length tau_eff; clients with momentum."""

    def update(self, messages):
        p, a = self.weights(messages), self.norms(messages)
        tau_eff = self.effective(p, a, messages)
        self.x = self.x + tau_eff * sum(w * flat(m.delta) / n for w, n, m in zip(p, a, messages, strict=True))
        return {"tau_eff": float(tau_eff)}

    def norms(self, messages):
        return np.array([m.a_norm for m in messages], dtype=self.x.dtype)

    def effective(self, p, a, messages):
        return p @ a

    def local(self, H, e, tau):
        x, u = self.x, np.zeros_like(self.x)
        for _ in range(tau):
            u = self.h.get("rho", 0.0) * u + (H @ x - e)
            x = x - self.h["eta_l"] * u
        return x

    def norm(self, tau):
        rho = self.h.get("rho", 0.0)
        return sum((1 - rho ** (tau - k)) / (1 - rho) for k in range(tau))


class ClosedNova(FedNova):
    """||a_i||_1 in the closed forms that FedNova prints, which lose digits where alpha or 1 - rho is small."""

    def norm(self, tau):
        if self.o["solver"] == "proximal":
            alpha = self.h["eta_l"] * self.h["mu"]
            return (1 - (1 - alpha) ** tau) / alpha if alpha else tau
        rho = self.h["rho"]
        return (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)

    def local(self, H, e, tau):
        return FedProx.local(self, H, e, tau) if self.o["solver"] == "proximal" else super().local(H, e, tau)


class FedAdam(FedAvg):
    """Adam on the server, as Reddi et al. (2021) print it."""

    def update(self, messages):
        h, delta = self.h, self.mean(messages)
        self.m = h["beta1"] * self.m + (1 - h["beta1"]) * delta
        self.second(delta)
        self.x = self.x + h["eta"] * self.direction()
        return {"delta": delta, "m": self.m, "v": self.v}

    def second(self, delta):
        b = self.h["beta2"]
        self.v = b * self.v + (1 - b) * delta**2

    def direction(self):
        return self.m / (np.sqrt(self.v) + self.h["tau"])


class FedYogi(FedAdam):
    """FedAdam with Yogi's second moment."""

    def second(self, delta):
        self.v = self.v - (1 - self.h["beta2"]) * delta**2 * np.sign(self.v - delta**2)


class FedAMSGrad(FedAdam):
    """AMSGrad on the server, eps inside the root."""

    def update(self, messages):
        return {**super().update(messages), "v_hat": self.v_hat}

    def direction(self):
        self.v_hat = np.maximum(self.v_hat, self.v)
        return self.m / np.sqrt(self.v_hat + self.h["eps"])


class Solver:
    """Level client: ``begin`` starts a round, ``move`` takes a step and says what it can show."""

    def __init__(self, case):
        self.h, self.like = case.hyper, case.x0
        self.begin(flat(case.x0))

    def begin(self, x):
        self.x = self.anchor = x
        self.u, self.m, self.v, self.t = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), 0

    def step(self, event):
        if isinstance(event, Begin):
            self.begin(flat(event.x))
            return self.answer({"x": self.x})
        self.t += 1
        shown = self.move(flat(event.g))
        return self.answer({"x": self.x, **shown})

    def answer(self, vectors):
        return {n: named(a, self.like) for n, a in vectors.items()}


class ProximalSGD(Solver):
    def move(self, g):
        self.x = self.x - self.h["eta_l"] * (g + self.h["mu"] * (self.x - self.anchor))
        return {}


class Momentum(Solver):
    def move(self, g):
        self.u = self.h["rho"] * self.u + g
        self.x = self.x - self.h["eta_l"] * self.u
        return {"u": self.u}


class Adam(Solver):
    """Kingma and Ba (2015), Algorithm 1."""

    def move(self, g):
        b1, b2 = self.h["beta1"], self.h["beta2"]
        self.m = b1 * self.m + (1 - b1) * g
        self.v = b2 * self.v + (1 - b2) * g**2
        t = self.exponent()
        self.x = self.x - self.h["eta_l"] * self.m / (1 - b1**t) / self.below(self.v / (1 - b2**t))
        return {"m": self.m, "v": self.v}

    def exponent(self):
        return self.t

    def below(self, v):
        return np.sqrt(v) + self.h["eps"]


class SM3(Solver):
    """SM3-II, one accumulator for each slice along each axis of each block."""

    def begin(self, x):
        super().begin(x)
        # A block without axes is one set.
        self.mu = {n: [np.zeros(length, x.dtype) for length in a.shape or (1,)] for n, a in self.like.items()}

    def move(self, g):
        xs, nus = [], []
        for name, x, part in zip(self.like, parts(self.x, self.like), parts(g, self.like), strict=True):
            part = np.atleast_1d(part)
            mu, axes = self.mu[name], range(part.ndim)
            across = [mu[i].reshape([-1 if i == j else 1 for j in axes]) for i in axes]
            low = across[0] + np.zeros_like(part)
            for other in across[1:]:
                low = np.minimum(low, other)
            nu = low + part**2
            self.mu[name] = [nu.max(axis=tuple(j for j in axes if j != i)) for i in axes]
            xs.append(np.ravel(x - self.h["eta_l"] * part / (np.sqrt(nu) + self.h["eps"])))
            nus.append(np.ravel(nu))
        self.x = np.concatenate(xs)
        return {"nu": np.concatenate(nus)}


class FlatMomentum(Momentum):
    """Momentum whose answers are flat vectors."""

    def answer(self, vectors):
        return vectors


class ListMomentum(Momentum):
    """Momentum whose answers are lists of arrays in the order of x0."""

    def answer(self, vectors):
        return {n: parts(a, self.like) for n, a in vectors.items()}


REDDI, MCMAHAN, NOVA = "reddi-2021", "mcmahan-2017", "fednova"

fedavg = Subject(
    FedAvg,
    Offer("fedavg", "server", MCMAHAN, intermediates=("delta",), dtypes=DOUBLE),
    Offer("fedavg", "server", MCMAHAN, {"weights": "uniform"}, dtypes=SINGLE),
    Offer("fedavg", "round", MCMAHAN, dtypes=DOUBLE),
)
fedprox = Subject(FedProx, Offer("fedprox", "round", NOVA, intermediates=("delta",), dtypes=DOUBLE))
fednova = Subject(
    FedNova,
    Offer("fednova", "server", NOVA, {"solver": "momentum"}, intermediates=("tau_eff",), dtypes=DOUBLE),
    Offer("fednova", "round", NOVA, {"solver": "momentum"}, dtypes=DOUBLE),
)
closed_nova = Subject(
    ClosedNova,
    Offer("fednova", "round", NOVA, {"solver": "momentum"}, intermediates=("tau_eff",), dtypes=DOUBLE),
    Offer("fednova", "round", NOVA, {"solver": "proximal"}, intermediates=("tau_eff",), dtypes=DOUBLE),
)
fedadam = Subject(
    FedAdam,
    Offer("fedadam", "server", REDDI, intermediates=("delta", "m", "v"), dtypes=DOUBLE),
    Offer("fedadam", "round", REDDI, dtypes=DOUBLE),
)
fedyogi = Subject(FedYogi, Offer("fedyogi", "server", REDDI, intermediates=("m", "v"), dtypes=DOUBLE))
fedamsgrad = Subject(FedAMSGrad, Offer("fedamsgrad", "server", "afga", intermediates=("v_hat",), dtypes=DOUBLE))
proximal = Subject(ProximalSGD, Offer("proximal-sgd", "client", NOVA, dtypes=DOUBLE))
momentum = Subject(Momentum, Offer("momentum", "client", NOVA, intermediates=("u",)))
flat_momentum, list_momentum = (
    Subject(kind, Offer("momentum", "client", NOVA, intermediates=("u",), dtypes=DOUBLE))
    for kind in (FlatMomentum, ListMomentum)
)
adam = Subject(Adam, Offer("adam", "client", "kingma-2015", intermediates=("m", "v"), dtypes=DOUBLE))
sm3 = Subject(SM3, Offer("sm3-ii", "client", "fedada2", intermediates=("nu",), dtypes=DOUBLE))
