"""WilliamYi96/VR-ProxSkip at b7673ad: stochastic ProxSkip and SCAFFOLD of ``main_0002.py``.

``SOURCE=path/to/VR-ProxSkip fedspec check examples/found/vr_proxskip_round.py:Adapter``

``Worker``, ``SProxSkip.step`` and ``Scaffold.step`` run as they stand; the rest of the file reads data sets. Ray, the
optimiser that they inherit from, and draws are stand-ins: the lengths of rounds and the cohorts are the judge's, and a
minibatch is all of a client's data.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import numpy as np
import source

from fedspec.contract import Answer, Case, Claim, Event, Info, Round
from fedspec.errors import ContractError

COMMIT, FILE = "b7673ad", "main_0002.py"
METHODS = {"scaffnew": ("SProxSkip", "sprox_skip"), "scaffold": ("Scaffold", "scaffold")}


class Numpy:
    """NumPy whose random choice returns the judge's cohort."""

    def __init__(self) -> None:
        self.cohort: Sequence[int] = ()
        self.random = SimpleNamespace(choice=lambda *_, **__: self.cohort, default_rng=np.random.default_rng)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class Remote:
    """Stand-in for an actor of Ray: ``actor.method.remote(...)`` calls the method."""

    def __init__(self, worker: Any) -> None:
        self.worker = worker

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=getattr(self.worker, name))


class Session:
    """Session of a case with the project's server and workers."""

    def __init__(self, case: Case, theirs: dict[str, Any]) -> None:
        self.case, self.numpy = case, theirs["np"]
        h, problem, (server, method) = case.hyper, case.problem, METHODS[case.algorithm]
        assert problem is not None
        n = len(problem.H)
        self.workers = []
        for H, e in zip(problem.H, problem.e, strict=True):
            loss = SimpleNamespace(stochastic_gradient=lambda x, batch_size, H=H, e=e: H @ x - e)
            self.workers.append(theirs["Worker"](method=method, loss=loss, it_local=1 / h.get("chance", 1.0)))
        self.made = object.__new__(theirs[server])
        vars(self.made).update(lr0=h["eta_l"], it_local=1, lr_decay_coef=0, lr_decay_power=1, lr_max=np.inf)
        vars(self.made).update(it=0, it_start_decay=0, n_workers=n, global_lr=h.get("eta", 1))
        self.made.workers = [Remote(worker) for worker in self.workers]
        self.made.x = np.concatenate([block.ravel() for block in case.x0.values()])
        self.made.c = self.made.x * 0

    def step(self, event: Event) -> Answer:
        """Run one round."""
        if not isinstance(event, Round):
            raise ContractError(f"event: {type(event).__name__} at level round; send Round")
        for i, steps in zip(event.participants, event.steps, strict=True):
            if self.case.algorithm == "scaffold":
                self.workers[i].it_local = steps
            self.workers[i].rng_skip = SimpleNamespace(geometric=lambda p, steps=steps: steps)
        self.made.cohort_size, self.numpy.cohort = len(event.participants), event.participants
        self.made.step()
        return {"x": self.made.x}


class Adapter:
    """Adapter of both algorithms."""

    def __init__(self) -> None:
        ray = SimpleNamespace(remote=lambda thing: thing, put=lambda thing: thing, get=lambda things: things)
        given = {"ray": ray, "np": Numpy(), "StochasticOptimizer": object, "choose_p": "local"}
        self.theirs = source.definitions(COMMIT, FILE, "Worker", "SProxSkip", "Scaffold", given=given)
        offers = (
            Claim("scaffnew", "round", "mishchenko-2022"),
            Claim("scaffold", "round", "karimireddy-2020", variant="cohorts"),
            Claim("scaffold", "round", "karimireddy-2020", participation="all", variant="everybody"),
        )
        self.info = Info("vr-proxskip", source.dated(COMMIT), offers)

    def start(self, case: Case) -> Session:
        """Begin a case with fresh state."""
        return Session(case, self.theirs)
