"""Reductions of methods to local solvers: with one client and eta = 1 the server has no effect."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedspec.arith import Array, digits
from fedspec.contract import Begin, Blocks, Event, Gradient, Round
from fedspec.params import flatten, unflatten
from fedspec.reference import SUBJECT as REFERENCE
from fedspec_properties.closed_forms.compressed import decimal
from fedspec_properties.closed_forms.sums import events_of
from fedspec_properties.reductions.edge import rooted, translated
from fedspec_properties.reductions.rounds import ALONE, in_rounds
from fedspec_suite.measure.scenario import Scenario, lift, problem_of, with_blocks


def _as_solver(target: str, goes_on: bool = False) -> Callable[[Scenario], Scenario]:
    """The gradients that the only client sees, a round of the solver for each round; floats by way of decimals.

    Where what it keeps goes on from round to round, all rounds are one of the solver.
    """

    def carry(s: Scenario) -> Scenario:
        if s.case.dtype == "object":
            return translated(s, target, sights(s))
        with digits():
            events = [with_blocks(e, _rounded) for e in sights(lift(s, decimal))]
        return translated(s, target, events)

    def sights(s: Scenario) -> list[Event]:
        exact = translated(s, target, ())
        problem = problem_of(exact)
        session = REFERENCE.start(exact.case)
        like, x = s.case.x0, flatten(exact.case.x0)
        events: list[Event] = []
        for e in events_of(Round, s):
            if not goes_on:
                events.append(Begin(unflatten(x, like)))
                session.step(events[-1])
            for _ in range(e.steps[0]):
                events.append(Gradient(unflatten(problem.H[0] @ x - problem.e[0], like)))
                x = np.asarray(session.step(events[-1])["x"])
        return events

    return carry


def _rounded(blocks: Blocks) -> dict[str, Array]:
    return {n: a.astype(float) for n, a in blocks.items()}


def _last_step(s: Scenario, k: int) -> int:
    """The last gradient of round k, where each round is a beginning and its gradients."""
    return sum(1 + e.steps[0] for e in s.events[: k + 1] if isinstance(e, Round)) - 1


def _last_of_all(s: Scenario, k: int) -> int:
    """Index of a run's last step, if no round begins again."""
    return _last_step(s, k) - (k + 1)


EDGES = (
    in_rounds("fedavg", "sgd", "FedNova, eq. (2) (L52)")
    .under("there is one client; eta = 1", eta=1.0, **ALONE)
    .having(carry=_as_solver("sgd"), at=_last_step),
    in_rounds("fedprox", "proximal-sgd", "FedNova, eqs. (7) and (31)")
    .under("there is one client; eta = 1", eta=1.0, **ALONE)
    .having(carry=_as_solver("proximal-sgd"), at=_last_step),
    rooted("fedavg-normalised", "normalised-sgd", "FedAda2, App. A, eq. (2) (L377)")
    .under("there is one client", **ALONE)
    .having(carry=_as_solver("normalised-sgd"), at=_last_step),
    in_rounds("fednova", "momentum", "FedNova, eq. (12) (L198): tau_eff d_1 is -Delta_1 / eta_l")
    .under("there is one client whose solver is momentum", solver="momentum", tau_eff_choice="weighted-norm", **ALONE)
    .having(carry=_as_solver("momentum"), at=_last_step),
    rooted("diloco-muon", "muon", "Therien et al. (2025), by its definition")
    .under("there is one client; eta = 1 and beta = 0", eta=1.0, beta=0.0, everyone=True, **ALONE)
    .having(carry=_as_solver("muon", goes_on=True), at=_last_of_all),
)
