"""Adaptive servers written down once more, in plain NumPy, with one flaw of a person's at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedspec.contract import Case, Messages, Offer, SubjectInfo

READINGS = {
    "fedavg": "mcmahan-2017",
    "fedavgm": "hsu-2019",
    "fedadagrad": "reddi-2021",
    "fedadam": "reddi-2021",
    "fedyogi": "reddi-2021",
    "fedamsgrad": "afga",
}

ADAPTIVE = ("fedadagrad", "fedadam", "fedyogi", "fedamsgrad")
DECAYING = ("fedadam", "fedyogi", "fedamsgrad")
ALL = tuple(READINGS)


class Session:
    """One server."""

    def __init__(self, algorithm: str, flaw: str, case: Case) -> None:
        self.algorithm, self.flaw, self.like = algorithm, flaw, case.x0
        self.weights = case.options["weights"]
        self.h = dict(case.hyper)
        self.x = self.flat(case.x0)
        self.m = np.zeros_like(self.x)
        self.v_hat = np.zeros_like(self.x)
        self.v = np.full_like(self.x, self.h.get("v0", 0.0))
        self.start = self.v.copy()
        self.t = 0
        self.spoil_numbers()

    def flat(self, blocks: Any) -> Any:
        return np.concatenate([np.ravel(blocks[n]) for n in self.like]).astype(float)

    def spoil_numbers(self) -> None:
        h, f = self.h, self.flaw
        below = "tau" if "tau" in h else "eps"
        if f == "betas exchanged":
            h["beta1"], h["beta2"] = h["beta2"], h["beta1"]
        elif f == "stabiliser squared":
            h[below] **= 2
        elif f == "stabiliser dropped":
            h[below] = 0.0
        elif f == "stabiliser fixed":
            h[below] = 1e-8
        elif f == "rate twice":
            h["eta"] **= 2
        elif f == "rate ignored":
            h["eta"] = 1.0
        elif f == "no momentum":
            h["beta1"] = 0.0
        elif f == "v0 ignored":
            self.v[:] = 0

    def mean(self, event: Messages) -> Any:
        sent = list(event.messages)
        deltas = np.stack([self.flat(m.delta) for m in sent])
        n = np.array([float(m.weight) if self.weights == "examples" else 1.0 for m in sent])
        match self.flaw:
            case "last client":
                return deltas[-1]
            case "first client":
                return deltas[0]
            case "uphill":
                deltas = -deltas
            case "sum":
                return n @ deltas / n.sum() * len(sent)
            case "unweighted":
                n = np.ones_like(n)
            case "by steps":
                n = np.array([float(m.steps) for m in sent])
            case "once more over n":
                deltas = deltas / len(sent)
            case "not normalised":
                return n @ deltas
            case "per step":
                deltas = deltas / np.array([[m.steps] for m in sent])
        return n @ deltas / n.sum()

    def moved(self, delta: Any) -> Any:
        h = self.h
        if self.algorithm == "fedavg":
            return h["eta"] * delta
        if self.algorithm == "fedavgm":
            self.m = h["beta"] * self.m + delta
            return h["eta"] * self.m
        self.m = h["beta1"] * self.m + (1 - h["beta1"]) * delta
        square = delta**2
        if self.algorithm == "fedadagrad":
            self.v = self.v + square
        elif self.algorithm == "fedyogi":
            self.v = self.v - (1 - h["beta2"]) * square * np.sign(self.v - square)
        else:
            self.v = h["beta2"] * self.v + (1 - h["beta2"]) * square
        if self.algorithm == "fedamsgrad":
            # Without its stabiliser it divides zero by zero where nothing ever changed.
            self.v_hat = np.maximum(self.v_hat, self.v)
            with np.errstate(invalid="ignore"):
                return h["eta"] * self.m / np.sqrt(self.v_hat + h["eps"])
        return h["eta"] * self.m / (np.sqrt(self.v) + h["tau"])

    def step(self, event: Messages) -> dict[str, Any]:
        before = self.x
        if self.flaw == "first round lost" and self.t == 0:
            self.t = 1
            return self.shown(self.x)
        if self.flaw == "forgets all":
            self.m, self.v, self.v_hat = self.m * 0, self.start.copy(), self.v_hat * 0
        if self.flaw == "forgets m":
            self.m = self.m * 0
        moved = self.moved(self.mean(event))
        if self.flaw == "every round twice":
            self.x = self.x + moved
            moved = self.moved(self.mean(event))
        if self.flaw == "halved":
            moved = moved / 2
        if self.flaw == "over the round":
            moved = moved / (self.t + 1)
        if self.flaw == "weight decay":
            moved = moved - self.x / 128
        self.t += 1
        self.x = self.x + moved
        if self.flaw == "first round only moves the state" and self.t == 1:
            self.x = before
        if self.flaw == "float32":
            self.x = self.x.astype("float32").astype(float)
        return self.shown(before if self.flaw == "late" else self.x)

    def shown(self, x: Any) -> dict[str, Any]:
        return {"x": x.copy()}


@dataclass(frozen=True)
class Flawed:
    """A server with a flaw, as a subject."""

    algorithm: str
    flaw: str
    info: SubjectInfo = field(init=False)

    def __post_init__(self) -> None:
        offer = Offer(self.algorithm, "server", READINGS[self.algorithm], dtypes=("float64",))
        object.__setattr__(self, "info", SubjectInfo("flawed", "1", (offer,)))

    def start(self, case: Case) -> Session:
        return Session(self.algorithm, self.flaw, case)


SAID: dict[str, tuple[tuple[str, ...], str]] = {
    "uphill": (ALL, "wrong sign|uphill|wrong way"),
    "last client": (ALL, "last client"),
    "first client": (ALL, "first client"),
    "unweighted": (ALL[:2], "uniform|weigh alike"),
    "by steps": (ALL, "weights = steps"),
    "sum": (ALL, "sum|added"),
    "not normalised": (ALL[:2], "not normalised"),
    "once more over n": (ALL, "once more"),
    "per step": (ALL, "divided by the client's steps"),
    "betas exchanged": (DECAYING, "beta1 and beta2 are exchanged"),
    "stabiliser squared": (ADAPTIVE, "(tau|eps) is squared|squared"),
    "stabiliser dropped": (ADAPTIVE, "(tau|eps) is ignored|without"),
    "stabiliser fixed": (ADAPTIVE, "1e-08"),
    "rate twice": (ALL, "eta is squared|rate is applied twice"),
    "rate ignored": (ALL, "eta is ignored"),
    "no momentum": (ADAPTIVE, "beta1 is ignored|momentum"),
    "v0 ignored": (ADAPTIVE[:3], "v0 is ignored|v starts at zero|v_0"),
    "first round lost": (ALL, "first event is lost"),
    "first round only moves the state": (ALL, "moves the state, not the model|first event is lost"),
    "late": (ALL, "one event late"),
    "forgets all": (ALL[1:], "forgotten"),
    "forgets m": (ALL[1:], "m is forgotten|beta1 is ignored|forgotten"),
    "every round twice": (ALL, "taken twice"),
    "halved": (ALL, "0.5|halved"),
    "over the round": (ALL, "t\\^-1"),
    "weight decay": (ALL, "-0.0078125 times x"),
    "float32": (ALL, "float32|single precision"),
}
"""Where each flaw can be, and what a diagnosis has to say of it."""
