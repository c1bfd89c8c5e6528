"""Wrong servers and clients as somebody could write them, and the right ones beside them.

Each is right but for one thing that no usual case shows: digits that are lost, the last of equal ones, a constant.
"""

from __future__ import annotations

import numpy as np
from carrying import StateDict, carrying, counters, offered
from right import DOUBLE, MCMAHAN, REDDI, SINGLE, FedAdam, FedAvg, FedYogi, Subject, flat, named

from fedspec.contract import Offer


class Server(FedAvg):
    """A server that takes some move for the changes, at rate eta."""

    def update(self, messages):
        self.x = self.x + self.h["eta"] * self.move(np.stack([flat(m.delta) for m in messages]))
        return {}


class Krum(Server):
    """Change whose neighbours are nearest."""

    def move(self, D):
        near = max(1, len(D) - int(self.h["f"]) - 2)
        apart = self.apart(D)
        return self.elected(D, np.array([np.sort(np.delete(row, i))[:near].sum() for i, row in enumerate(apart)]))

    def apart(self, D):
        return np.array([[((a - b) ** 2).sum() for b in D] for a in D])

    def elected(self, D, scores):
        return D[np.argmin(scores)]


class KrumOfRoots(Krum):
    """The lengths of the differences, squared."""

    def apart(self, D):
        return np.array([[np.linalg.norm(a - b) ** 2 for b in D] for a in D])


class KrumOfModels(Krum):
    """The distances of the models."""

    def move(self, D):
        return super().move(self.x + D) - self.x


class KrumOfProducts(Krum):
    """||a||^2 + ||b||^2 - 2 ab."""

    def apart(self, D):
        squares = (D * D).sum(axis=1)
        return np.maximum(squares[:, None] + squares[None, :] - 2 * D @ D.T, 0)


class KrumTheLast(Krum):
    """Krum that takes the last of equal scores."""

    def elected(self, D, scores):
        return super().elected(D[::-1], scores[::-1])


class MultiKrum(Krum):
    """The mean of those whose neighbours are nearest."""

    def elected(self, D, scores):
        return D[np.argsort(scores, kind="stable")[: int(self.h["keep"])]].mean(axis=0)


class MultiKrumOfProducts(MultiKrum, KrumOfProducts):
    pass


class MultiKrumTheLast(MultiKrum):
    def elected(self, D, scores):
        return super().elected(D[::-1], scores[::-1])


class Trimmed(Server):
    """The mean of what is left of each coordinate."""

    def move(self, D):
        b, ordered = int(np.floor(self.h["trim"] * len(D))), np.sort(D, axis=0)
        return self.kept(ordered[:b], ordered[b : len(D) - b], ordered[len(D) - b :])

    def kept(self, low, middle, high):
        return middle.mean(axis=0)


class TrimmedTotal(Trimmed):
    """The total less the extremes."""

    def kept(self, low, middle, high):
        total = sum(part.sum(axis=0) for part in (low, middle, high))
        return (total - low.sum(axis=0) - high.sum(axis=0)) / len(middle)


class Median(Trimmed):
    """The middle one, or the mean of the two."""

    def move(self, D):
        b, ordered = (len(D) - 1) // 2, np.sort(D, axis=0)
        return self.kept(ordered[:b], ordered[b : len(D) - b], ordered[len(D) - b :])


class MedianTotal(Median):
    kept = TrimmedTotal.kept


class Ef21:
    """Compressed differences of gradients; ``keep`` says which entries are sent."""

    def __init__(self, case):
        self.p, self.h, self.like, self.x = case.problem, case.hyper, case.x0, flat(case.x0)
        self.whole = case.options["first"] == "whole"
        self.g = [np.zeros_like(self.x) for _ in self.p.e]

    def step(self, event):
        for i, (H, e) in enumerate(zip(self.p.H, self.p.e, strict=True)):
            apart = H @ self.x - e - self.g[i]
            self.g[i] = self.g[i] + (apart if self.whole else self.keep(apart, int(self.h["kept"])))
        self.whole = False
        self.x = self.x - self.h["eta"] * sum(self.g) / len(self.g)
        return {"x": named(self.x, self.like)}

    def keep(self, p, k):
        kept = np.zeros_like(p)
        at = np.argsort(-np.abs(p), kind="stable")[:k]
        kept[at] = p[at]
        return kept


class Ef21AllOfOneSize(Ef21):
    """All entries that are as large as the k-th."""

    def keep(self, p, k):
        return np.where(np.abs(p) >= np.sort(np.abs(p))[-min(k, p.size)], p, 0).astype(p.dtype)


class Ef21TheLast(Ef21):
    def keep(self, p, k):
        return super().keep(p[::-1], k)[::-1]


class Floor(FedAdam):
    """No second moment is below a constant."""

    def second(self, delta):
        super().second(delta)
        self.v = np.maximum(self.v, self.least())

    def least(self):
        return 1e-8


class FloorOfTau(Floor):
    def least(self):
        return self.h["tau"] ** 2


class FloorInTheStep(FedAdam):
    def direction(self):
        return self.m / (np.sqrt(np.maximum(self.v, 1e-12)) + self.h["tau"])


class FloorOfYogi(Floor, FedYogi):
    pass


def heard(of):
    """FedAvg that takes something else for each change, a flat vector."""

    def mean(self, messages):
        return self.weights(messages) @ np.stack([of(flat(m.delta)) for m in messages])

    return type("Heard", (FedAvg,), {"mean": mean})


Float16 = heard(lambda d: d.astype("float16").astype(d.dtype))
ClippedAt100 = heard(lambda d: (d * (100 / max(100, np.linalg.norm(d.astype(float))))).astype(d.dtype))


def with_momentum(self, name, held, sent, p):
    """Statistics move with the server's momentum."""
    mean, u = StateDict.carried(self, name, held, sent, p), vars(self).setdefault("u", {})
    if held.dtype.kind != "f":
        return mean
    u[name] = 0.5 * u.get(name, 0) + mean - held
    return held + u[name]


def in_16_bits(sent, p):
    mean = np.floor(sum(w * b for w, b in zip(p, sent, strict=True)) + 1e-9)
    return mean.astype("int16").astype(sent[0].dtype)


BOTH = ("float64", "float32")


def one(kind, algorithm, reading, level="server", dtypes=BOTH):
    return Subject(kind, Offer(algorithm, level, reading, dtypes=dtypes))


BLANCHARD, YIN, EF21, ADAM = ("krum", "blanchard-2017"), ("trimmed-mean", "yin-2018"), "ef21", ("fedadam", REDDI)
MULTI, MEDIAN, AVERAGE = ("multi-krum", "blanchard-2017"), ("median", "yin-2018"), ("fedavg", MCMAHAN)

RIGHT = {
    "krum": one(Krum, *BLANCHARD),
    "krum, distances from roots": one(KrumOfRoots, *BLANCHARD),
    "krum, distances of models": one(KrumOfModels, *BLANCHARD),
    "krum, whole rounds": one(Krum, *BLANCHARD, "round"),
    "multi-krum": one(MultiKrum, *MULTI),
    "trimmed mean": one(Trimmed, *YIN),
    "median": one(Median, *MEDIAN),
    "ef21": one(Ef21, EF21, "richtarik-2021-code", "round"),
    "ef21, compressed from the start": one(Ef21, EF21, "compressed-start", "round"),
    "fedadam": one(FedAdam, *ADAM),
    "fedyogi": one(FedYogi, "fedyogi", REDDI),
    "buffers": offered(StateDict, dtypes=BOTH),
}

WRONG = {
    "krum by products in float32": one(KrumOfProducts, *BLANCHARD, dtypes=SINGLE),
    "krum by products in float64": one(KrumOfProducts, *BLANCHARD, dtypes=DOUBLE),
    "krum by products in whole rounds": one(KrumOfProducts, *BLANCHARD, "round", SINGLE),
    "multi-krum by products": one(MultiKrumOfProducts, *MULTI, dtypes=SINGLE),
    "krum takes the last of equals": one(KrumTheLast, *BLANCHARD, dtypes=SINGLE),
    "krum takes the last in whole rounds": one(KrumTheLast, *BLANCHARD, "round", DOUBLE),
    "multi-krum takes the last": one(MultiKrumTheLast, *MULTI, dtypes=DOUBLE),
    "ef21 sends all of one size": one(Ef21AllOfOneSize, EF21, "richtarik-2021-code", "round"),
    "ef21 sends all from the start": one(Ef21AllOfOneSize, EF21, "compressed-start", "round", DOUBLE),
    "ef21 sends the last of equals": one(Ef21TheLast, EF21, "richtarik-2021-code", "round", SINGLE),
    "trimmed mean by the total": one(TrimmedTotal, *YIN, dtypes=DOUBLE),
    "trimmed mean by the total in float32": one(TrimmedTotal, *YIN, dtypes=SINGLE),
    "trimmed mean by the total in rounds": one(TrimmedTotal, *YIN, "round", DOUBLE),
    "median by the total": one(MedianTotal, *MEDIAN, dtypes=DOUBLE),
    "counters in 16 bits": offered(counters(in_16_bits)),
    "buffers of one client": offered(carrying(lambda self, name, held, sent, p: sent[0])),
    "buffers with momentum": offered(carrying(with_momentum)),
    "changes clipped at 100": one(ClippedAt100, *AVERAGE, dtypes=DOUBLE),
    "changes clipped at 100 in rounds": one(ClippedAt100, *AVERAGE, "round", DOUBLE),
    "messages in float16": one(Float16, *AVERAGE, dtypes=SINGLE),
    "messages in float16 in rounds": one(Float16, *AVERAGE, "round", DOUBLE),
    "a floor of 1e-8 under v": one(Floor, *ADAM, dtypes=DOUBLE),
    "a floor of 1e-8 in rounds": one(Floor, *ADAM, "round", DOUBLE),
    "a floor of tau^2 under v": one(FloorOfTau, *ADAM, dtypes=SINGLE),
    "a floor in the step": one(FloorInTheStep, *ADAM, dtypes=DOUBLE),
    "a floor under yogi's v": one(FloorOfYogi, "fedyogi", REDDI, dtypes=DOUBLE),
}
