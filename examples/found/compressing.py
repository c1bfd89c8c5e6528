"""Driver of other projects' compressors: rounds of clients on quadratics, whose changes pass through a compressor.

Local steps, the mean and the server's step are written here; the project compresses the messages. Clients are numbered
as in the case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import beside  # noqa: F401
import numpy as np

from fedspec.contract import Answer, Case, Claim, Event, Info, Round
from fedspec.errors import ContractError
from fedspec.params import flatten, unflatten

Array = np.ndarray[Any, Any]
Send = Callable[[Mapping[int, Array], Mapping[int, Array]], Sequence[Any]]
"""Function that returns the clients' messages, from their changes and their draws by client."""

Make = Callable[[Mapping[str, Any], int], Send]
"""Function that makes a Send from the case's hyper-parameters and the number of coordinates."""


def make_offer(algorithm: str, reading: str, **more: Any) -> Claim:
    """Make a claim of FedPAQ, or of FedCAMS with a top-k compressor."""
    if algorithm == "fedcams":
        more = {"options": {"compressor": "top-k"}, "nonzero": ("eps",), **more}
    return Claim(algorithm, "round", reading, intermediates=("delta",), **more)


class Session:
    """Session of a case: a model, FedAMS's moments, and the project's compressors."""

    def __init__(self, case: Case, make: Make) -> None:
        assert case.problem is not None
        self.case, self.x = case, flatten(case.x0)
        self.H, self.e = (np.asarray(a, dtype=self.x.dtype) for a in (case.problem.H, case.problem.e))
        self.send = make(case.hyper, len(self.x))
        self.m, self.v, self.v_hat = (np.zeros_like(self.x) for _ in range(3))

    def step(self, event: Event) -> Answer:
        """Run one round."""
        if not isinstance(event, Round):
            raise ContractError(f"event: {type(event).__name__} at level round; send Round")
        changes = {i: self.trained(i, tau) for i, tau in zip(event.participants, event.steps, strict=True)}
        draws = {i: np.asarray(u) for i, u in zip(event.participants, event.draws, strict=False)}
        sent = self.send(changes, draws)
        delta = np.asarray(sum(np.asarray(s) for s in sent) / len(sent))
        if self.case.algorithm == "fedpaq":
            self.x = self.x + delta
        else:
            self.ams(delta)
        return {"x": unflatten(self.x, self.case.x0), "delta": unflatten(delta, self.case.x0)}

    def trained(self, i: int, tau: int) -> Array:
        """Return a client's change by tau local steps."""
        y = self.x
        for _ in range(tau):
            y = y - self.case.hyper["eta_l"] * (self.H[i] @ y - self.e[i])
        return np.asarray(y - self.x, dtype=self.x.dtype)

    def ams(self, delta: Any) -> None:
        """Take FedAMS's step, option 1."""
        h = self.case.hyper
        self.m = h["beta1"] * self.m + (1 - h["beta1"]) * delta
        self.v = h["beta2"] * self.v + (1 - h["beta2"]) * delta**2
        self.v_hat = np.maximum(np.maximum(self.v_hat, self.v), h["eps"])
        self.x = self.x + h["eta"] * self.m / np.sqrt(self.v_hat)


class Compressors:
    """Adapter of a project's compressors."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Claim, Make]]) -> None:
        self.info = Info(name, version, tuple(o for o, _ in made))
        self.made = {(o.algorithm, o.reading, o.variant): m for o, m in made}

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, self.made[case.algorithm, case.reading, case.variant])
