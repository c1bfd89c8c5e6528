"""Methods written out by hand, in NumPy: adaptive servers with other right sides for some of their quantities, and
methods of clients on quadratics; ``does`` says what one of these does otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from test_judge.diagnosing import offer_of, written
from test_judge.subjects import right

from fedspec.arith import Array
from fedspec.contract import Arrival, Begin, Case, Gradient, Level, Messages, Offer, Round
from fedspec.params import flatten

Move = Callable[[Any], Any]


def adaptive(
    algorithm: str,
    reading: str = "",
    shows: tuple[str, ...] = (),
    weights: str = "",
    dtypes: tuple[str, ...] = ("float64",),
    **moves: Move,
) -> Any:
    """A server: ``p`` are the shares, ``delta`` is the mean. Moves may begin or end a round, too."""
    rule: dict[str, Move] = {
        "m": lambda s: s.beta1 * s.m_old + (1 - s.beta1) * s.delta,
        "v": lambda s: s.beta2 * s.v_old + (1 - s.beta2) * s.square,
        "v_hat": lambda s: np.maximum(s.v_hat_old, s.v),
        "step": lambda s: s.m / (np.sqrt(s.v) + s.tau),
    }
    match algorithm:
        case "fedavg":
            rule = {"step": lambda s: s.delta}
        case "fedavgm":
            rule = {"v": lambda s: s.beta * s.v_old + s.delta, "step": lambda s: s.v}
        case "fedadagrad":
            rule["v"] = lambda s: s.v_old + s.square
        case "fedyogi":
            rule["v"] = lambda s: s.v_old - (1 - s.beta2) * s.square * np.sign(s.v_old - s.square)
        case "fedamsgrad":
            rule["step"] = lambda s: s.m / np.sqrt(s.v_hat + s.eps)
    weights = weights or ("examples" if algorithm in {"fedavg", "fedavgm"} else "uniform")
    mean: dict[str, Move] = {"p": lambda s: s.n / s.n.sum(), "delta": lambda s: s.p @ s.rows}
    rule = {"begin": lambda s: None, **mean, "square": lambda s: s.delta**2, **rule, **moves}

    def start(case: Case) -> Any:
        x = flatten(case.x0)
        v = 0 * x + case.hyper.get("v0", 0)
        s = SimpleNamespace(**case.hyper, x=x, t=0, m=0 * x, v=v, v_hat=0 * x, delta=0 * x, rule=rule, x0=case.x0)

        def step(e: Messages) -> Any:
            s.n = np.array([m.weight if weights == "examples" else 1.0 for m in e.messages], dtype=float)
            s.rows, s.steps = np.stack([flatten(m.delta) for m in e.messages]), np.array([m.steps for m in e.messages])
            s.t, s.M, s.delta_old, s.m_old, s.v_old, s.v_hat_old = s.t + 1, len(s.n), s.delta, s.m, s.v, s.v_hat
            with np.errstate(all="ignore"):
                for name, move in rule.items():
                    setattr(s, name, np.asarray(move(s)))
            s.x = (s.x + s.eta * s.step).astype(case.dtype)
            return {"x": s.x, **{n: getattr(s, n) for n in shows}}

        return SimpleNamespace(step=step, state=s)

    options = {"weights": weights}
    return written(offer_of(algorithm, "server", reading, dtypes=dtypes, intermediates=shows, options=options), start)


def subject(method: type[Any], *does: str, **more: Any) -> Any:
    """A subject of a method."""
    said = {"options": method.options, "dtypes": ("float64",), **more}
    offer = Offer(method.algorithm, method.level, method.reading, **said)
    return written(offer, lambda case: method(case, *does))


class Clients:
    """Base of the methods of rounds: the clients' problems, rows that clients keep, and vectors of the server."""

    algorithm = ""
    level: Level = "round"
    reading = ""
    options: Mapping[str, str] = {}

    def __init__(self, case: Case, *does: str) -> None:
        assert case.problem
        self.H, self.e, self.n, self.f = case.problem.H, case.problem.e, case.problem.examples, case.problem.f
        self.h, self.does, self.dtype, self.x = case.hyper, does, case.dtype, flatten(case.x0)
        self.kept, self.m = np.zeros((len(self.e), self.x.size)), 0 * self.x
        self.v = self.m + self.h.get("v0", 0)
        self.last: dict[int, Any] = {}

    def step(self, event: Round) -> Mapping[str, Any]:
        shown = self.round([*event.participants], [*event.steps])
        self.x = np.asarray(self.x).astype(self.dtype)
        return {**(shown or {}), "x": self.x}

    def round(self, S: list[int], T: list[int]) -> Mapping[str, Any] | None:
        """Move the model, and return what is shown beside it."""
        raise NotImplementedError

    def g(self, i: int, y: Array) -> Array:
        out: Array = self.H[i] @ y - self.e[i]
        return out

    def local(self, i: int, tau: int, pull: Callable[[Array], Any] = lambda y: 0, rate: float = 1.0) -> Array:
        """The end of a client's steps, whose gradients have something added; the rate is a multiple of eta_l."""
        y = self.x
        for k in range(tau):
            y = y - rate * self.h["eta_l"] * (self.g(i, y) + pull(y)) / (k + 1 if "falls" in self.does else 1)
        return y

    def shares(self, S: list[int]) -> Array:
        n: Array = self.n[S] / self.n[S].sum()
        return n


class Average(Clients):
    """FedAvg: a decay in every gradient, the sum of models less the old one, or weights of the first clients."""

    algorithm, reading = "fedavg", "mcmahan-2017"

    def g(self, i: int, y: Array) -> Array:
        return super().g(i, y) + 0.003 * y * ("decay" in self.does)

    def round(self, S: list[int], T: list[int]) -> None:
        mean = self.shares([*range(len(S))] if "place" in self.does else S) @ np.stack(
            [self.local(i, tau) for i, tau in zip(S, T, strict=True)]
        )
        base = self.x / self.n[S].sum() if "subtracted once" in self.does else self.x
        self.x = self.x + self.h["eta"] * (mean - base)


class Proximal(Clients):
    """FedProx, whose pull may be to the model of the step before."""

    algorithm, reading = "fedprox", "fednova"

    def round(self, S: list[int], T: list[int]) -> None:
        ends = []
        for i, tau in zip(S, T, strict=True):
            y = before = self.x
            for _ in range(tau):
                pull = self.h["mu"] * (y - (before if "step before" in self.does else self.x))
                before, y = y, y - self.h["eta_l"] * (self.g(i, y) + pull)
            ends.append(y)
        self.x = self.x + self.h["eta"] * (self.shares(S) @ np.stack(ends) - self.x)


class Nova(Clients):
    """FedNova with heavy-ball clients: another norm, another mean of the norms, or models in the place of changes."""

    algorithm, reading, options = "fednova", "fednova", {"solver": "momentum"}

    def round(self, S: list[int], T: list[int]) -> Mapping[str, Any]:
        rho, ends, norms = self.h["rho"], [], []
        for i, tau in zip(S, T, strict=True):
            y, u = self.x, 0 * self.x
            for _ in range(tau):
                u = rho * u + self.g(i, y)
                y = y - self.h["eta_l"] * u
            ends.append(y)
            entries = [(1 - rho ** (tau - k)) / (1 - rho) for k in range(tau)]
            norms.append(sum(entries[1:]) or 1.0 if "one short" in self.does else sum(entries))
            norms[-1] = max(entries) if "largest" in self.does else norms[-1]
        p, a = self.shares(S), np.array(norms)
        tau_eff = p @ a
        match self.does:
            case ("root",):
                p, tau_eff = np.full(len(p), 1 / len(p)), np.sqrt(p @ a**2)
            case ("all",):
                tau_eff = self.n[S] @ a / self.n.sum()
            case ("inverse",):
                tau_eff = 1 / (p @ (1 / a))
        base = 0 if "models" in self.does else self.x
        self.x = self.x * ("models" not in self.does) + tau_eff * (p / a @ (np.stack(ends) - base))
        return {"tau_eff": np.array([tau_eff])}


class Scaffold(Clients):
    """SCAFFOLD, option II.

    ``turned``: the correction has the wrong sign. ``place``: what a client keeps lies by its place in the round.
    ``own``: a client divides by the steps of its last round. ``busiest``: it divides by the most steps of this one.
    ``no rate``: it divides by its steps alone. ``in turn``: c moves within the loop. ``of those``: c moves by the mean
    over the participants. ``seen``: c is the mean over the clients seen so far. ``examples``: changes are weighted by
    them. ``half``: half of what is kept stays out of the new c_i. ``slow``: c decays. ``mean``: the mean change stands
    for each client's own in its c_i.
    """

    algorithm, reading = "scaffold", "karimireddy-2020"

    def round(self, S: list[int], T: list[int]) -> Mapping[str, Any]:
        does, kept, ends = self.does, self.kept.copy(), []
        sign, rate = -1 if "turned" in does else 1, 1 if "no rate" in does else self.h["eta_l"]
        for place, (i, tau) in enumerate(zip(S, T, strict=True)):
            j, steps = place if "place" in does else i, self.last.get(i, tau) if "own" in does else tau
            steps = max(T) if "busiest" in does else steps
            y, self.last[i] = self.local(i, tau, lambda y, j=j: sign * (self.m - self.kept[j])), tau  # type: ignore[misc]
            still = 0.5 if "half" in does else 1
            kept[j] = still * (self.kept[j] - self.m) + (self.x - y) / (rate * steps)
            ends.append(y)
            if "in turn" in does:
                self.m = self.m + (kept[j] - self.kept[j]) / len(self.e)
        for i, tau in zip(S, T, strict=True) if "mean" in does else ():
            kept[i] = self.kept[i] - self.m - (np.mean(ends, axis=0) - self.x) / (rate * tau)
        if "in turn" not in does:
            self.m = self.m * (0.9 if "slow" in does else 1)
            self.m = self.m + (kept - self.kept).sum(axis=0) / (len(S) if "of those" in does else len(self.e))
        self.m = np.mean([kept[i] for i in sorted(self.last)], axis=0) if "seen" in does else self.m
        p = self.shares(S) if "examples" in does else np.full(len(S), 1 / len(S))
        delta, self.kept = p @ np.stack(ends) - self.x, kept
        self.x = self.x + self.h["eta"] * delta
        return {"delta": delta, "c_i": kept, "c": self.m}


class Dynamic(Clients):
    """FedDyn: clients are pulled to their ``own`` last model, or their duals move when the server's model is ``new``.

    ``slow``: a client's old dual decays by a tenth.
    """

    algorithm, reading = "feddyn", "gradient-steps"

    def round(self, S: list[int], T: list[int]) -> None:
        mu, ends = self.h["mu"], []
        for i, tau in zip(S, T, strict=True):
            to = self.last.get(i, self.x) if "own" in self.does else self.x
            self.last[i] = self.local(i, tau, lambda y, i=i, to=to: mu * (y - to) - self.kept[i])  # type: ignore[misc]
            ends.append(self.last[i])
        self.m = self.m - mu * sum(y - self.x for y in ends) / len(self.e)
        old, self.x = self.x, sum(ends) / len(ends) - self.m / mu
        for i, y in zip(S, ends, strict=True):
            self.kept[i] *= 0.9 if "slow" in self.does else 1
            self.kept[i] -= mu * (y - (self.x if "new" in self.does else old))


class Fair(Clients):
    """q-FedAvg, with losses of the client's last round, in parts of the largest, or with one added."""

    algorithm = "q-fedavg"

    def round(self, S: list[int], T: list[int]) -> None:
        x, L, q = self.x, 1 / self.h["eta_l"], self.h["q"]
        now = {i: float(x @ self.H[i] @ x / 2 - self.e[i] @ x + self.f[i]) + self.h["guard"] for i in S}  # type: ignore[index]
        said = {i: self.last.get(i, F) for i, F in now.items()} if "stale" in self.does else now
        self.last |= now
        above, below = 0 * x, 0.0
        for i, tau in zip(S, T, strict=True):
            F = said[i] / max(said.values()) if "largest" in self.does else said[i] + ("one" in self.does)
            g = L * (x - self.local(i, tau))
            above, below = above + F**q * g, below + q * F ** (q - 1) * float(g @ g) + L * F**q
        self.x = x - above / below


class Remembered(Clients):
    """MIFA: its mean is over the clients heard, or moves by the mean change of those present; rows may be lost."""

    algorithm, reading = "mifa", "gu-2021-code"
    came = 0

    def round(self, S: list[int], T: list[int]) -> None:
        self.came += 1
        self.last |= dict.fromkeys(S, self.came)
        before = self.kept.copy()
        if "loses" in self.does:
            self.kept[[i for i, there in self.last.items() if self.came - there > 2]] = 0
        for i, tau in zip(S, T, strict=True):
            self.kept[i] = (self.x - self.local(i, tau)) / self.h["eta_l"]
        self.m = self.m + (self.kept - before).sum(axis=0) / len(S)
        mean = self.kept.sum(axis=0) / (len(self.last) if "heard" in self.does else len(self.kept))
        self.x = self.x - self.h["eta_l"] * (self.m if "moves" in self.does else mean)


class PrimalDual(Clients):
    """FedPD: a client's dual variable may move after every local step."""

    algorithm, reading = "fedpd", "zhang-2021"

    def __init__(self, case: Case, *does: str) -> None:
        super().__init__(case, *does)
        self.ends = np.stack([self.x] * len(self.e))

    def round(self, S: list[int], T: list[int]) -> None:
        mu, eta_l = self.h["mu"], self.h["eta_l"]
        for i, tau in zip(S, T, strict=True):
            for k in range(tau):
                y = self.ends[i]
                self.ends[i] = y - eta_l * (self.g(i, y) + self.kept[i] + mu * (y - self.x))
                self.kept[i] += mu * (self.ends[i] - self.x) * ("each step" in self.does or k == tau - 1)
        self.x = np.mean(self.ends + self.kept / mu, axis=0)


class Late(Clients):
    """FedBuff: updates that began at one version are one, or began one later; a full buffer slides, or is by client."""

    algorithm, level, reading = "fedbuff", "trace", "nguyen-2022"

    def __init__(self, case: Case, *does: str) -> None:
        super().__init__(case, *does)
        self.versions = [self.x]
        self.waits: list[tuple[Array, Arrival, int]] = []

    def step(self, event: Arrival) -> Mapping[str, Any]:  # type: ignore[override]
        begun = max(len(self.versions) - 1 - event.delay, 0)
        begun = (begun + 1) % len(self.versions) if "later" in self.does else begun
        self.x = self.versions[begun]
        change = self.local(event.client, event.steps) - self.x
        if "by client" in self.does:
            self.waits = [w for w in self.waits if w[1].client != event.client]
        self.waits.append((change, event, begun))
        shown = {"delta_i": change / event.steps}
        if len(self.waits) == self.h["buffer"]:
            shown["delta"] = self.divided()
            self.versions.append(self.versions[-1] + self.h["eta"] * shown["delta"])
            del self.waits[: 1 if "slides" in self.does else None]
        return {**shown, "x": self.versions[-1].astype(self.dtype)}

    def divided(self) -> Array:
        """Change that the server makes of a full buffer."""
        groups: dict[int, list[Array]] = {}
        for k, (change, _, begun) in enumerate(self.waits):
            groups.setdefault(begun if "version" in " ".join(self.does) else k, []).append(change)
        of = {"last of a version": lambda ds: ds[-1], "mean of a version": lambda ds: np.mean(ds, axis=0)}
        one: Callable[[list[Array]], Array] = of.get(*self.does, sum) if self.does else sum  # type: ignore[arg-type, assignment]
        return np.asarray(np.mean([one(ds) for ds in groups.values()], axis=0))


class Solver(right.Solver):  # type: ignore[misc]
    """Base of local solvers whose gradients are spoilt first."""

    level = "client"
    options: Mapping[str, str] = {}

    def __init__(self, case: Case, does: str = "") -> None:
        self.does = does
        super().__init__(case)

    def step(self, event: Gradient | Begin) -> Any:
        if isinstance(event, Gradient):
            g = flatten(event.g)
            spoilt = {
                "decay": g + 0.003 * self.x,
                "clipped": np.clip(g, -0.7, 0.7),
                "shortened": g * min(1.0, 1.5 / (float(np.linalg.norm(g)) or 1.0)),
            }
            event = Gradient(right.named(spoilt.get(self.does, g), self.like))
        return super().step(event)


class HeavyBall(Solver, right.Momentum):  # type: ignore[misc]
    """Momentum, whose buffer may start at minus the first gradient."""

    algorithm, reading = "momentum", "fednova"

    def move(self, g: Array) -> Any:
        self.u = -g if self.does == "u_0 = -g" and self.t == 1 else self.u
        return super().move(g)


class Adam(Solver, right.Adam):  # type: ignore[misc]
    algorithm, reading = "adam", "kingma-2015"


class AdamW(Solver, right.Adam):  # type: ignore[misc]
    """AdamW, whose decay may pull to the model with which the round began."""

    algorithm, reading = "adamw", "torch"

    def begin(self, x: Array) -> None:
        super().begin(x)
        self.begun = x

    def move(self, g: Array) -> Any:
        decay = self.h["wd"] * (self.x - self.begun * (self.does == "to the start"))
        shown = super().move(g)
        self.x = self.x - self.h["eta_l"] * decay
        return shown


class Admu(Solver):
    """ADMU; one that returns before it has counted a step that it does not take has counted the update of v."""

    algorithm, reading = "admu", "fedada2"

    def begin(self, x: Array) -> None:
        super().begin(x)
        self.k = self.updates = 0
        self.v = self.v_hat = self.v + self.h["v0"]

    def move(self, g: Array) -> Any:
        h = self.h
        self.m = h["beta1"] * self.m + (1 - h["beta1"]) * g
        if self.k // h["epoch"] % h["z"] == 0:
            self.updates += 1
            self.v = h["beta2"] * self.v + (1 - h["beta2"]) * g**2
            self.v_hat = self.v / (1 - h["beta2"] ** self.updates)
        u = self.m / (1 - h["beta1"] ** (self.k + 1)) / (np.sqrt(self.v_hat) + h["eps"])
        taken = np.linalg.norm(u) >= h["eps_s"]
        self.x = self.x - h["eta_l"] * u if taken else self.x
        self.k += bool(taken or self.does != "uncounted")
        return {}
