"""Methods written out once more, in plain NumPy, each with a slip of a kind that any method may have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.contract import Arrival, Begin, Case, Gradient, Offer, Round, SubjectInfo


class Session:
    """Base of all sessions: one flat model, answered in blocks."""

    def __init__(self, case: Case, slip: str) -> None:
        self.case, self.h, self.slip = case, case.hyper, slip
        self.x = self.flat(case.x0)
        self.begin()

    def begin(self) -> None:
        self.m, self.v = np.zeros_like(self.x), np.zeros_like(self.x)

    def flat(self, blocks: Any) -> Any:
        return np.concatenate([np.ravel(blocks[b]) for b in self.case.x0]).astype(float)

    def answer(self) -> dict[str, Any]:
        ends = np.cumsum([a.size for a in self.case.x0.values()])[:-1]
        parts = np.split(self.x, ends)
        return {"x": {b: p.reshape(a.shape) for (b, a), p in zip(self.case.x0.items(), parts, strict=True)}}


class Local(Session):
    """Local solvers: heavy ball, Adam and ADMU."""

    def begin(self) -> None:
        super().begin()
        self.u, self.start = np.zeros_like(self.x), self.x
        self.k = self.updates = 0
        if "eps_s" in self.h:
            self.v, self.v_hat = self.v + self.h["v0"], self.v

    def delayed(self, g: Any) -> None:
        """ADMU; one that returns before it has counted a step that it does not take has counted the update of v."""
        h = self.h
        self.m = h["beta1"] * self.m + (1 - h["beta1"]) * g
        if self.k // h["epoch"] % h["z"] == 0:
            self.updates += 1
            self.v = h["beta2"] * self.v + (1 - h["beta2"]) * g**2
            self.v_hat = self.v / (1 - h["beta2"] ** self.updates)
        u = self.m / (1 - h["beta1"] ** (self.k + 1)) / (np.sqrt(self.v_hat) + h["eps"])
        taken = np.linalg.norm(u) >= h["eps_s"]
        self.x = self.x - h["eta_l"] * u if taken else self.x
        self.k += bool(taken or self.slip != "uncounted")

    def spoilt(self, g: Any) -> Any:
        match self.slip:
            case "decay":
                return g + 0.003 * self.x
            case "clipped":
                return np.clip(g, -0.7, 0.7)
            case "shortened":
                return g * min(1.0, 1.5 / float(np.linalg.norm(g))) if np.linalg.norm(g) else g
        return g

    def step(self, event: Gradient | Begin) -> dict[str, Any]:
        h = self.h
        if isinstance(event, Begin):
            self.x = self.flat(event.x)
            self.begin()
            return self.answer()
        g = self.spoilt(self.flat(event.g))
        if "eps_s" in h:
            self.delayed(g)
            return self.answer()
        if self.k == 0 and self.slip == "u_0 = -g":
            self.u = -g
        self.k += 1
        if "rho" in h:
            self.u = h["rho"] * self.u + g
            self.x = self.x - h["eta_l"] * self.u
        elif "beta1" in h:
            self.m = h["beta1"] * self.m + (1 - h["beta1"]) * g
            self.v = h["beta2"] * self.v + (1 - h["beta2"]) * g**2
            m, v = self.m / (1 - h["beta1"] ** self.k), self.v / (1 - h["beta2"] ** self.k)
            decay = h.get("wd", 0) * (self.x - self.start if self.slip == "to the start" else self.x)
            self.x = self.x - h["eta_l"] * (m / (np.sqrt(v) + h["eps"]) + decay)
        return self.answer()


class Clients(Session):
    """Rounds on quadratics: FedAvg, FedNova with momentum, SCAFFOLD."""

    def begin(self) -> None:
        super().begin()
        assert self.case.problem
        self.problem = self.case.problem
        self.c_i = np.zeros((len(self.problem.e), self.x.size))
        self.c = np.zeros_like(self.x)
        self.seen: set[int] = set()

    def g(self, i: int, y: Any) -> Any:
        g = self.problem.H[i] @ y - self.problem.e[i]
        return g + 0.003 * y if self.slip == "decay" else g

    def local(self, i: int, tau: int) -> Any:
        y, u = self.x, np.zeros_like(self.x)
        for k in range(tau):
            g = self.g(i, y) / (k + 1 if self.slip == "falls" else 1)
            if "rho" in self.h:
                u = self.h["rho"] * u + g
                g = u
            y = y - self.h["eta_l"] * (g - self.c_i[i] + self.c)
        return y

    def step(self, event: Round) -> dict[str, Any]:
        S, T = list(event.participants), list(event.steps)
        ends = [self.local(i, tau) for i, tau in zip(S, T, strict=True)]
        n = np.array([float(self.problem.examples[k if self.slip == "by place" else i]) for k, i in enumerate(S)])
        p = n / n.sum()
        match self.case.algorithm:
            case "fednova":
                self.nova(p, T, ends)
            case "scaffold":
                self.controlled(S, T, ends)
            case _:
                mean, base = p @ np.stack(ends), self.x
                if self.slip == "subtracted once":
                    mean, base = sum(k * y for k, y in zip(n, ends, strict=True)) / n.sum(), self.x / n.sum()
                self.x = self.x + self.h["eta"] * (mean - base)
        return self.answer()

    def nova(self, p: Any, T: list[int], ends: list[Any]) -> None:
        rho = self.h["rho"]
        a = [sum((1 - rho ** (tau - k)) / (1 - rho) for k in range(tau)) for tau in T]
        if self.slip == "one short":
            a = [sum((1 - rho ** (tau - k)) / (1 - rho) for k in range(1, tau)) or 1.0 for tau in T]
        if self.slip == "largest":
            a = [(1 - rho**tau) / (1 - rho) for tau in T]
        tau_eff = float(p @ np.array(a))
        if self.slip == "models":
            w = [tau_eff * q / b for q, b in zip(p, a, strict=True)]
            self.x = sum(s * y for s, y in zip(w, ends, strict=True))
            return
        self.x = self.x + tau_eff * sum(q * (y - self.x) / b for q, b, y in zip(p, a, ends, strict=True))

    def controlled(self, S: list[int], T: list[int], ends: list[Any]) -> None:
        new = self.c_i.copy()
        for i, tau, y in zip(S, T, ends, strict=True):
            steps = max(T) if self.slip == "busiest" else tau
            new[i] = self.c_i[i] - self.c + (self.x - y) / (self.h["eta_l"] * steps)
        self.seen |= set(S)
        come = (new - self.c_i).sum(axis=0)
        self.c_i = new
        self.c = self.c + come / len(new)
        if self.slip == "mean over the seen":
            self.c = np.mean([new[i] for i in sorted(self.seen)], axis=0)
        self.x = self.x + self.h["eta"] * (np.mean(ends, axis=0) - self.x)


class Remembered(Clients):
    """MIFA; its mean is over the clients heard, or moves by the mean change of those present, or forgets."""

    def begin(self) -> None:
        super().begin()
        self.last: dict[int, int] = {}
        self.k = 0

    def step(self, event: Round) -> dict[str, Any]:
        S, eta_l, before = event.participants, self.h["eta_l"], self.c_i.copy()
        self.k += 1
        self.last.update(dict.fromkeys(S, self.k))
        if self.slip == "forgets":
            self.c_i[[i for i, k in self.last.items() if self.k - k > 2]] = 0
        # Its stored gradients correct nobody's steps.
        stored, self.c_i = self.c_i, 0 * self.c_i
        for i, tau in zip(S, event.steps, strict=True):
            stored[i] = (self.x - self.local(i, tau)) / eta_l
        self.c_i = stored
        self.m = self.m + (stored - before).sum(axis=0) / len(S)
        mean = stored.sum(axis=0) / (len(self.last) if self.slip == "heard" else len(stored))
        self.x = self.x - eta_l * (self.m if self.slip == "moves" else mean)
        return self.answer()


class Dual(Clients):
    """FedPD; a client's dual variable moves after every local step."""

    def begin(self) -> None:
        super().begin()
        self.x_i = np.stack([self.x] * len(self.c_i))

    def step(self, event: Round) -> dict[str, Any]:
        mu, eta_l = self.h["mu"], self.h["eta_l"]
        for i, tau in sorted(zip(event.participants, event.steps, strict=True)):
            for k in range(tau):
                y = self.x_i[i]
                self.x_i[i] = y - eta_l * (self.g(i, y) + self.c_i[i] + mu * (y - self.x))
                if self.slip or k == tau - 1:
                    self.c_i[i] += mu * (self.x_i[i] - self.x)
        self.x = np.mean(self.x_i + self.c_i / mu, axis=0)
        return self.answer()


class Late(Session):
    """FedBuff; updates that began at one version are one, or updates begin one version later."""

    def begin(self) -> None:
        super().begin()
        assert self.case.problem
        self.problem, self.versions, self.pending = self.case.problem, [self.x], []

    def step(self, event: Arrival) -> dict[str, Any]:
        h, begun = self.h, len(self.versions) - 1 - event.delay
        begun = (begun + 1) % len(self.versions) if self.slip == "later" else begun
        y = self.versions[begun]
        for _ in range(event.steps):
            y = y - h["eta_l"] * (self.problem.H[event.client] @ y - self.problem.e[event.client])
        self.pending.append((begun, y - self.versions[begun]))
        if len(self.pending) == h["buffer"]:
            groups: dict[Any, list[Any]] = {}
            for k, (version, d) in enumerate(self.pending):
                groups.setdefault(version if "version" in self.slip else k, []).append(d)
            match self.slip:
                case "last of a version":
                    parts = [ds[-1] for ds in groups.values()]
                case "mean of a version":
                    parts = [np.mean(ds, axis=0) for ds in groups.values()]
                case _:
                    parts = [sum(ds) for ds in groups.values()]
            self.x = self.x + h["eta"] * sum(parts) / len(parts)
            self.versions.append(self.x)
            self.pending = []
        return self.answer()


@dataclass(frozen=True)
class Slipped:
    """A method with a slip, as a subject; without one it is right."""

    method: Callable[[Case, str], Any]
    algorithm: str
    level: Any
    reading: str
    slip: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @property
    def info(self) -> SubjectInfo:
        offer = Offer(self.algorithm, self.level, self.reading, dict(self.options), dtypes=("float64",))
        return SubjectInfo("slipped", "1", (offer,))

    def start(self, case: Case) -> Any:
        return self.method(case, self.slip)
