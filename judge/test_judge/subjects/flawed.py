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
    """Server with one flaw."""

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

    def by_blocks(self, of: Any, *vectors: Any) -> Any:
        ends = np.cumsum([np.size(a) for a in self.like.values()])[:-1]
        return np.concatenate([of(*parts) for parts in zip(*(np.split(v, ends) for v in vectors), strict=True)])

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
        elif f == "m begins at -v_0":
            self.m = -self.v
        elif f == "v_hat begins at 1":
            self.v_hat = self.v_hat + 1

    def mean(self, event: Messages) -> Any:
        sent = list(event.messages)
        deltas = np.stack([self.flat(m.delta) for m in sent])
        n = np.array([float(m.weight) if self.weights == "examples" else 1.0 for m in sent])
        steps, p = np.array([float(m.steps) for m in sent]), n / n.sum()
        self.sent = deltas
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
                n = steps
            case "once more over n":
                deltas = deltas / len(sent)
            case "not normalised":
                return n @ deltas
            case "per step":
                deltas = deltas / steps[:, None]
            case "one too many":
                return n @ deltas / (n.sum() + 1)
            case "clipped":
                deltas = np.clip(deltas, -0.3, 0.3)
            case "decayed":
                return n @ deltas / n.sum() - 0.003 * self.x
            case "models by percents":
                return np.round(100 * p) / 100 @ (self.x + deltas) - self.x
            case "models by bytes":
                return np.floor(256 * p) / 256 @ (self.x + deltas) - self.x
            case "models by FedNova's shares":
                return (p @ steps) * p / steps @ (self.x + deltas) - self.x
            case "the old model once":
                return (sum(self.x + deltas) - self.x) / len(sent)
            case "the last of equal steps" | "the last of one size":
                alike = n if self.flaw == "the last of one size" else steps
                last = [int(np.flatnonzero(alike == a)[-1]) for a in {*alike}]
                n, deltas = n[last], deltas[last]
        return n @ deltas / n.sum()

    def moved(self, delta: Any) -> Any:
        h = self.h
        if self.algorithm == "fedavg":
            return h["eta"] * delta
        if self.algorithm == "fedavgm":
            self.m = h["beta"] * self.m + delta
            return h["eta"] * self.m
        if self.flaw == "m begins at -Delta" and self.t == 0:
            self.m = -delta
        square = (self.sent**2).mean(axis=0) if "squares" in self.flaw else delta**2
        comes = delta
        if self.flaw == "divided first":
            comes = delta / (np.sqrt(h["beta2"] * self.v + (1 - h["beta2"]) * square) + h["tau"])
        self.m = h["beta1"] * self.m + (1 - h["beta1"]) * comes
        if "undamped" in self.flaw:
            self.m = self.m + h["beta1"] * delta
        if self.algorithm == "fedadagrad":
            self.v = self.v + square
        elif self.algorithm == "fedyogi":
            self.v = self.v - (1 - h["beta2"]) * square * np.sign(self.v - square)
        else:
            for g_squared in self.sent**2 if self.flaw == "squares one by one" else [square]:
                self.v = h["beta2"] * self.v + (1 - h["beta2"]) * g_squared
        if self.flaw == "divided first":
            return h["eta"] * self.m
        if self.algorithm == "fedamsgrad":
            m, v, t = self.m, self.v, self.t + 1
            if self.flaw == "corrected maximum":
                m = m / (1 - h["beta1"] ** t)
            if "corrected" in self.flaw:
                v = v / (1 - h["beta2"] ** t)
            if self.flaw == "one number a block":
                v = self.by_blocks(lambda a: 0 * a + a.max(), v)
            larger = np.maximum(self.v_hat, v)
            if self.flaw == "the longer vector":
                larger = self.by_blocks(lambda *of: max(of, key=np.linalg.norm), self.v_hat, v)
            self.v_hat = larger
            # Without its stabiliser it divides zero by zero where nothing ever changed.
            with np.errstate(invalid="ignore"):
                return h["eta"] * m / np.sqrt(self.v_hat + h["eps"])
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
    "first client": (ALL, "first client|yours: p_i = \\[i = 1\\], wanted"),
    "unweighted": (ALL[:2], "uniform|weigh alike"),
    "by steps": (ALL, "weights = steps"),
    "sum": (ALL, "sum|added"),
    "not normalised": (ALL[:2], "p_i = n_i, wanted"),
    "once more over n": (ALL, "once more"),
    "per step": (ALL, "divided by the client's steps"),
    "betas exchanged": (DECAYING, "beta1 and beta2 (are exchanged|change places)"),
    "stabiliser squared": (ADAPTIVE, "(tau|eps) is squared|squared"),
    "stabiliser dropped": (
        ADAPTIVE,
        "(tau|eps) is ignored|without|eps is left out|max\\(sqrt\\(v\\), tau\\)|/ sqrt\\(v_hat\\), wanted",
    ),
    "stabiliser fixed": (ADAPTIVE, "1e-08"),
    "rate twice": (ALL, "eta is squared|rate is applied twice|the rate enters the buffer and the step"),
    "rate ignored": (ALL, "eta is ignored"),
    "no momentum": (ADAPTIVE, "beta1 is ignored|momentum"),
    "v0 ignored": (ADAPTIVE[:3], "v0 is ignored|v starts at zero|v_0"),
    "first round lost": (ALL, "first event is lost"),
    "first round only moves the state": (ALL, "moves the state, not the model|first event is lost"),
    "late": (ALL, "one event late|the step uses the buffer of the round before"),
    "forgets all": (ALL[1:], "forgotten"),
    "forgets m": (ALL[1:], "m is forgotten|beta1 is ignored|forgotten"),
    "every round twice": (ALL, "taken twice|every step is doubled"),
    "halved": (ALL, "0.5|halved"),
    "over the round": (ALL, "inverse/round period=1|t\\^-1|m is divided by the number of steps|\\(eta / t\\)"),
    "weight decay": (ALL, r"\(127 / 128\) x"),
    "float32": (ALL, "float32|single precision"),
    "one too many": (ALL[:1], "p_i = n_i / \\(1 \\+ sum\\(n_j\\)\\)"),
    "clipped": (DECAYING[:1], "every change is clipped to \\[-0.3, 0.3\\]"),
    "decayed": (DECAYING[:1], "0.003 x is subtracted from Delta before the server takes it"),
    "models by percents": (ALL[:1], "models, not changes, are averaged by shares rounded to 2 digits, which need not"),
    "models by bytes": (ALL[:1], "models, not changes, are averaged by shares cut off at multiples of 2\\^-8"),
    "models by FedNova's shares": (ALL[:1], "models, not changes, are averaged by shares of FedNova"),
    "the old model once": (ALL[:1], "with the old one subtracted once, where n times is due"),
    "the last of equal steps": (ALL[:1], "of clients that take equally many steps the last alone counts"),
    "the last of one size": (ALL[:1], "of clients of one size the last alone counts"),
    "m begins at -v_0": (DECAYING[:1], "m starts at minus what v does"),
    "m begins at -Delta": (DECAYING[:1], "m starts at minus the first Delta"),
    "v_hat begins at 1": (ALL[-1:], "v_hat starts at 1 in every coordinate|max\\(v_hat, 1\\)"),
    "corrected maximum": (ALL[-1:], "bias_correction = moments.* maximum_of = after-correction"),
    "one number a block": (ALL[-1:], "each block has one number for maximum\\(v_hat, v\\), the largest"),
    "the longer vector": (
        ALL[-1:],
        "v_hat or v, whichever is longer in each block, stands whole for maximum\\(v_hat, v\\)",
    ),
    "corrected v": (ALL[-1:], "v_hat = max\\(v_hat, v / \\(1 - beta2\\^t\\)\\)"),
    "mean of squares": (
        DECAYING[:2],
        "delta\\^2 is computed from each client's change and then averaged|\\(sum_i p_i Delta_i\\^2\\)",
    ),
    "mean of squares, undamped": (DECAYING[:1], "1 - beta1.*the clients' mean of delta\\^2|delta\\^2.*1 - beta1"),
    "squares one by one": (DECAYING[:1], "is done for each update by itself, one after another"),
    "divided first": (DECAYING[:1], "delta is divided by sqrt\\(v\\) \\+ tau before the momentum takes it, not the"),
}
"""Algorithms that each flaw can be in, and the words that its diagnosis must contain: of the flaw, or of its effect in
a server.

For example, AdaGrad's v is never below tau^2, so that max(sqrt(v), tau) has no tau; FedAvg taken twice is doubled.
"""
