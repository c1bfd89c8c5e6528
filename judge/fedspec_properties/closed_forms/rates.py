"""Rounds with changing rates on linear objectives: client i's gradient is g_i everywhere, so that moves are sums.

A client's move is -g_i times a number that its own rate, pull or momentum decides; what the server divides by knows the
same. Numbers are those of the event where it says them, else the case's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from fedspec.arith import Array
from fedspec.contract import Arrival, Case, Round
from fedspec_properties.closed_forms.sums import total

Moves = Callable[[Case, Sequence[Any], Array], list[Array]]
"""Function from a case in fractions, its events and the clients' gradients to the move of every event."""


def said(case: Case, e: Any, name: str, n: int = 1) -> list[Any]:
    """Return a hyper-parameter's value for each of n clients in an event."""
    number = e.hyper.get(name, case.hyper.get(name, 0))
    return list(number) if isinstance(number, tuple) else [number] * n


def shares(case: Case, e: Round) -> list[Fraction]:
    """Return the weights of a round's participants."""
    assert case.problem is not None
    uniform = case.options.get("weights", "uniform") == "uniform"
    n = [Fraction(1) if uniform else case.problem.examples[i] for i in e.participants]
    return [n_i / sum(n) for n_i in n]


def length(eta_l: Any, mu: Any, tau: int) -> Any:
    """Return the length of tau proximal steps along -g: a geometric sum, or eta_l tau for mu = 0."""
    return total(eta_l * (1 - eta_l * mu) ** k for k in range(tau))


def buffered(rho: Any, tau: int) -> Any:
    """Return ||a||_1 of tau momentum steps: after step k + 1, the buffer holds rho^0 + ... + rho^k gradients."""
    return total(rho**j for k in range(tau) for j in range(k + 1))


def _fedavg(case: Case, events: Sequence[Any], g: Array) -> list[Array]:
    moves = []
    for e in events:
        n = len(e.participants)
        columns = (said(case, e, name, n) for name in ("eta_l", "mu"))
        parts = zip(shares(case, e), e.participants, e.steps, *columns, strict=True)
        (eta,) = said(case, e, "eta")
        moves.append(-eta * total(p * length(eta_l, mu, tau) * g[i] for p, i, tau, eta_l, mu in parts))
    return moves


def _fednova(case: Case, events: Sequence[Any], g: Array) -> list[Array]:
    """Every d_i is g_i, whatever its solver; tau_eff is the mean of the norms."""
    moves = []
    for e in events:
        p, n = shares(case, e), len(e.participants)
        norms = map(buffered, said(case, e, "rho", n), e.steps)
        tau_eff = total(p_i * a_i for p_i, a_i in zip(p, norms, strict=True))
        (eta_l,) = said(case, e, "eta_l")
        moves.append(-eta_l * tau_eff * total(p_i * g[i] for p_i, i in zip(p, e.participants, strict=True)))
    return moves


def _slowmo(case: Case, events: Sequence[Any], g: Array) -> list[Array]:
    """The slow momentum is a sum of gradients, each times the factors since; their old rates are forgotten."""
    moves, v = [], 0 * g[0]
    for e in events:
        (eta,), (eta_l,), (beta,) = (said(case, e, name) for name in ("eta", "eta_l", "beta"))
        v = beta * v + total(p * tau * g[i] for p, i, tau in zip(shares(case, e), e.participants, e.steps, strict=True))
        moves.append(-eta * eta_l * v)
    return moves


def _mifa(case: Case, events: Sequence[Any], g: Array) -> list[Array]:
    """Moves of MIFA: it remembers a sum of gradients, at any rate; the step has the rate of its round."""
    steps: dict[int, int] = {}
    moves = []
    for e in events:
        steps |= dict(zip(e.participants, e.steps, strict=True))
        (eta_l,) = said(case, e, "eta_l")
        moves.append(-eta_l * total([0 * g[0], *(tau * g[i] for i, tau in steps.items())]) / len(g))
    return moves


def _mime(case: Case, events: Sequence[Any], g: Array) -> list[Array]:
    """The buffer knows no rate; a client that has one of its own goes by it, server and buffer by the round's."""
    moves, m, averages = [], 0 * g[0], case.options["momentum_sum"] == "average"
    for e in events:
        (eta,), (beta,) = (said(case, e, name) for name in ("eta", "beta"))
        p, share = shares(case, e), 1 - beta if averages else 1
        mean = total(p_i * g[i] for p_i, i in zip(p, e.participants, strict=True))
        seen = [g[i] if case.algorithm == "mime-lite" else mean for i in e.participants]
        parts = zip(p, seen, e.steps, said(case, e, "eta_l", len(e.participants)), strict=True)
        moves.append(-eta * total(p_i * eta_l * tau * (share * g_i + beta * m) for p_i, g_i, tau, eta_l in parts))
        m = beta * m + share * mean
    return moves


def _fedcm(case: Case, events: Sequence[Any], g: Array) -> list[Array]:
    """Moves of FedCM: a round takes each gradient by its own steps and rate, and a share of the last change."""
    moves, D, averages = [], 0 * g[0], case.options.get("direction") != "change"
    for e in events:
        p, n, (eta,) = shares(case, e), len(e.participants), said(case, e, "eta")
        lengths = [eta_l * tau for eta_l, tau in zip(said(case, e, "eta_l", n), e.steps, strict=True)]
        parts = zip(p, e.participants, lengths, said(case, e, "rho", n), strict=True)
        down = total(p_i * ((1 - rho) * far * g[i] + rho * (far if averages else 1) * D) for p_i, i, far, rho in parts)
        moves.append(-eta * down)
        D = down / total(p_i * far for p_i, far in zip(p, lengths, strict=True)) if averages else down
    return moves


def _scaffold(case: Case, events: Sequence[Any], g: Array) -> list[Array]:
    """A control variate is the client's gradient once it has taken part, at whatever rate."""
    seen: set[int] = set()
    moves = []
    for e in events:
        n, mean = len(g), total([0 * g[0], *(g[i] / len(g) for i in seen)])
        rates = said(case, e, "eta_l", len(e.participants))
        parts = zip(shares(case, e), e.participants, e.steps, rates, strict=True)
        (eta,) = said(case, e, "eta")
        moves.append(-eta * total(p * eta_l * tau * (mean + (i not in seen) * g[i]) for p, i, tau, eta_l in parts))
        seen |= {i for i in e.participants if i < n}
    return moves


def _fedbuff(case: Case, events: Sequence[Any], g: Array) -> list[Array]:
    """An update has the rate that it was begun with, the server's step that of the update which fills the buffer."""
    moves, waiting = [], list[Array]()
    for e in events:
        assert isinstance(e, Arrival)
        (eta_l,), (eta,) = said(case, e, "eta_l"), said(case, e, "eta")
        waiting.append(-eta_l * e.steps * g[e.client])
        full = len(waiting) == case.hyper["buffer"]
        moves.append(eta * total(waiting) / len(waiting) if full else 0 * g[0])
        waiting = [] if full else waiting
    return moves


MOVES: dict[str, tuple[Moves, dict[str, tuple[str, ...]]]] = {
    "fedavg": (_fedavg, {"weights": ("uniform", "examples")}),
    "fedprox": (_fedavg, {"weights": ("uniform", "examples")}),
    "fednova": (
        _fednova,
        {"solver": ("sgd", "momentum"), "weights": ("uniform", "examples"), "tau_eff": ("weighted-norm",)},
    ),
    "fedsam": (_fedavg, {"weights": ("uniform", "examples")}),
    "scaffold": (_scaffold, {"weights": ("uniform",), "control": ("mean-gradient", "gradient-at-x")}),
    "mifa": (_mifa, {}),
    **dict.fromkeys(("mime-lite", "mime"), (_mime, {"weights": ("uniform", "examples")})),
    "fedcm": (_fedcm, {"weights": ("uniform", "examples"), "direction": ("gradient", "change")}),
    "mofedsam": (_fedcm, {"weights": ("uniform", "examples")}),
    "slowmo": (_slowmo, {"weights": ("uniform", "examples")}),
    "fedbuff": (_fedbuff, {"staleness": ("constant",)}),
}
"""Moves of each algorithm, with the option values for which they hold."""
