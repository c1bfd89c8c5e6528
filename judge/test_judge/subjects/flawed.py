"""Adaptive servers by hand, with one flaw of a person's at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from test_judge.by_hand import Move, adaptive

from fedspec.arith import Array

ALL = ("fedavg", "fedavgm", "fedadagrad", "fedadam", "fedyogi", "fedamsgrad")
ADAPTIVE, DECAYING = ALL[2:], ALL[3:]
Numbers = Callable[[Any], dict[str, Any]]


def each_round(numbers: Numbers) -> Move:
    """A move that sets numbers."""
    return lambda s: vars(s).update(numbers(s))


def at_first(numbers: Numbers) -> Move:
    """A move that sets numbers in the first round alone."""
    return lambda s: vars(s).update(numbers(s) if s.t == 1 else {})


def stabiliser(to: Callable[[float], float]) -> Move:
    return at_first(lambda s: {n: to(getattr(s, n)) for n in ("tau", "eps") if hasattr(s, n)})


def again(s: Any) -> None:
    """The round once more, from where it ended."""
    first, s.m_old, s.v_old, s.v_hat_old = s.step, s.m, s.v, s.v_hat
    for name in ("m", "v", "v_hat", "step"):
        setattr(s, name, s.rule.get(name, lambda s, name=name: getattr(s, name))(s))
    s.step = first + s.step


def last_alike(s: Any, alike: Array) -> Any:
    last = [int(np.flatnonzero(alike == a)[-1]) for a in {*alike}]
    return s.n[last] @ s.rows[last] / s.n[last].sum()


def by_blocks(s: Any, of: Callable[..., Array], *vectors: Array) -> Array:
    ends = np.cumsum([np.size(a) for a in s.x0.values()])[:-1]
    return np.concatenate([of(*parts) for parts in zip(*(np.split(v, ends) for v in vectors), strict=True)])


def corrected(s: Any) -> Any:
    return np.maximum(s.v_hat_old, s.v / (1 - s.beta2**s.t))


MOVES: dict[str, dict[str, Move]] = {
    "begin": {
        "betas exchanged": at_first(lambda s: {"beta1": s.beta2, "beta2": s.beta1}),
        "stabiliser squared": stabiliser(lambda v: v**2),
        "stabiliser dropped": stabiliser(lambda v: 0.0),
        "stabiliser fixed": stabiliser(lambda v: 1e-8),
        "rate twice": at_first(lambda s: {"eta": s.eta**2}),
        "rate ignored": at_first(lambda s: {"eta": 1.0}),
        "no momentum": at_first(lambda s: {"beta1": 0.0}),
        "v0 ignored": at_first(lambda s: {"v_old": 0 * s.v_old}),
        "forgets all": each_round(lambda s: {"m_old": 0, "v_old": getattr(s, "v0", 0) + 0 * s.x, "v_hat_old": 0}),
        "forgets m": each_round(lambda s: {"v_old" if hasattr(s, "beta") else "m_old": 0 * s.x}),
        "m begins at -v_0": at_first(lambda s: {"m_old": -s.v_old}),
        "v_hat begins at 1": at_first(lambda s: {"v_hat_old": s.v_hat_old + 1}),
    },
    "delta": {
        "uphill": lambda s: -s.p @ s.rows,
        "last client": lambda s: s.rows[-1],
        "first client": lambda s: s.rows[0],
        "unweighted": lambda s: s.rows.mean(axis=0),
        "by steps": lambda s: s.steps @ s.rows / s.steps.sum(),
        "sum": lambda s: s.p @ s.rows * s.M,
        "not normalised": lambda s: s.n @ s.rows,
        "once more over n": lambda s: s.p @ s.rows / s.M,
        "per step": lambda s: s.p @ (s.rows / s.steps[:, None]),
        "one too many": lambda s: s.n @ s.rows / (s.n.sum() + 1),
        "clipped": lambda s: s.p @ np.clip(s.rows, -0.3, 0.3),
        "decayed": lambda s: s.p @ s.rows - 0.003 * s.x,
        "models by percents": lambda s: np.round(100 * s.p) / 100 @ (s.x + s.rows) - s.x,
        "models by bytes": lambda s: np.floor(256 * s.p) / 256 @ (s.x + s.rows) - s.x,
        "models by FedNova's shares": lambda s: (s.p @ s.steps) * s.p / s.steps @ (s.x + s.rows) - s.x,
        "the old model once": lambda s: (sum(s.x + s.rows) - s.x) / s.M,
        "the last of equal steps": lambda s: last_alike(s, s.steps),
        "the last of one size": lambda s: last_alike(s, s.n),
    },
    "square": {
        "mean of squares": lambda s: (s.rows**2).mean(axis=0),
        "mean of squares, undamped": lambda s: (s.rows**2).mean(axis=0),
    },
    "m": {
        "m begins at -Delta": lambda s: s.beta1 * (s.m_old if s.t > 1 else -s.delta) + (1 - s.beta1) * s.delta,
        "mean of squares, undamped": lambda s: s.beta1 * s.m_old + s.delta,
        "divided first": lambda s: s.beta1 * s.m_old + (1 - s.beta1) * s.delta / (np.sqrt(s.rule["v"](s)) + s.tau),
    },
    "v": {"squares one by one": lambda s: reduce(lambda v, g: s.beta2 * v + (1 - s.beta2) * g**2, s.rows, s.v_old)},
    "v_hat": {
        "corrected maximum": corrected,
        "one number a block": lambda s: np.maximum(s.v_hat_old, by_blocks(s, lambda a: 0 * a + a.max(), s.v)),
        "the longer vector": lambda s: by_blocks(s, lambda *of: max(of, key=np.linalg.norm), s.v_hat_old, s.v),
        "corrected v": corrected,
    },
    "step": {
        "corrected maximum": lambda s: s.m / (1 - s.beta1**s.t) / np.sqrt(s.v_hat + s.eps),
        "divided first": lambda s: s.m,
    },
    "end": {
        "first round lost": at_first(lambda s: {"step": 0 * s.x, "m": s.m_old, "v": s.v_old, "v_hat": s.v_hat_old}),
        "first round only moves the state": at_first(lambda s: {"step": 0 * s.x}),
        "late": each_round(lambda s: {"step": getattr(s, "late", 0 * s.x), "late": s.step}),
        "every round twice": again,
        "halved": each_round(lambda s: {"step": s.step / 2}),
        "over the round": each_round(lambda s: {"step": s.step / s.t}),
        "weight decay": each_round(lambda s: {"step": s.step - s.x / 128 / s.eta}),
        "float32": each_round(lambda s: {"x": (s.x + s.eta * s.step).astype("float32").astype(float), "step": 0 * s.x}),
    },
}
"""Moves of each flaw, by what they take the place of."""

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


def flawed(algorithm: str, flaw: str = "") -> Any:
    """A server with a flaw, as a subject."""
    return adaptive(algorithm, **{name: moves[flaw] for name, moves in MOVES.items() if flaw in moves})
