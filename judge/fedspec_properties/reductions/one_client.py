"""Reductions of methods to local solvers: with one client and eta = 1 the server has nothing to do."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np

from fedspec.arith import digits
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Begin, Event, Gradient, Round
from fedspec.params import flatten, unflatten
from fedspec.reference import SUBJECT as REFERENCE
from fedspec_properties.reductions.edge import Edge, fixing, told
from fedspec_suite.measure.scenario import Scenario, lift


def _as_solver(target: str, goes_on: bool = False) -> Callable[[Scenario], Scenario]:
    """The gradients that the only client sees, a round of the solver for each round; floats by way of decimals.

    Where what it keeps goes on from round to round, all rounds are one of the solver.
    """

    def carry(s: Scenario) -> Scenario:
        if s.case.dtype == "object":
            return told(s, target, sights(s), level="client")
        with digits():
            events = [_rounded(e) for e in sights(lift(s, _decimal))]
        return told(s, target, events, level="client")

    def sights(s: Scenario) -> list[Event]:
        exact = told(s, target, (), level="client")
        problem = exact.case.problem
        assert problem is not None
        session = REFERENCE.start(exact.case)
        like, x = s.case.x0, flatten(exact.case.x0)
        events: list[Event] = []
        for e in s.events:
            assert isinstance(e, Round)
            if not goes_on:
                events.append(Begin(unflatten(x, like)))
                session.step(events[-1])
            for _ in range(e.steps[0]):
                events.append(Gradient(unflatten(problem.H[0] @ x - problem.e[0], like)))
                x = np.asarray(session.step(events[-1])["x"])
        return events

    return carry


def _decimal(q: Fraction) -> Decimal:
    return Decimal(q.numerator) / Decimal(q.denominator)


def _rounded(e: Event) -> Event:
    match e:
        case Begin(x=x):
            return Begin({n: a.astype(float) for n, a in x.items()})
        case Gradient(g=g):
            return Gradient({n: a.astype(float) for n, a in g.items()})
    return e


def _last_step(s: Scenario, k: int) -> int:
    """The last gradient of round k, where each round is a beginning and its gradients."""
    return sum(1 + e.steps[0] for e in s.events[: k + 1] if isinstance(e, Round)) - 1


def _last_of_all(s: Scenario, k: int) -> int:
    """The same, where no round begins anew."""
    return _last_step(s, k) - (k + 1)


def _going_on(*, source: str, target: str, cited: str) -> Edge:
    """Of a server with momentum, whose clients keep what their solver has."""
    return Edge(
        id=f"{source}-is-{target}",
        source=source,
        target=target,
        when="there is one client; eta = 1 and beta = 0",
        cited=cited,
        level="round",
        carry=_as_solver(target, goes_on=True),
        narrow=fixing(eta=1.0, beta=0.0),
        needs=("eta", "beta"),
        zeroes=("beta",),
        at=_last_of_all,
        draw={"clients": (1, 1), "everyone": True},
        roots=True,
    )


def _alone(*, source: str, target: str, cited: str, solver: str = "", roots: bool = False) -> Edge:
    rate = {"eta": 1.0} if "eta" in CATALOGUE[source].numbers else {}
    return Edge(
        id=f"{source}-is-{target}",
        source=source,
        target=target,
        when="there is one client" + (f" whose solver is {solver}" if solver else "; eta = 1" if rate else ""),
        cited=cited,
        level="round",
        carry=_as_solver(target),
        narrow=fixing(**rate),
        options={"solver": solver, "tau_eff_choice": "weighted-norm"} if solver else {},
        needs=tuple(rate),
        at=_last_step,
        draw={"clients": (1, 1)},
        roots=roots,
    )


EDGES = (
    _alone(source="fedavg", target="sgd", cited="FedNova, eq. (2) (L52)"),
    _alone(source="fedprox", target="proximal-sgd", cited="FedNova, eqs. (7) and (31)"),
    _alone(source="fedavg-normalised", target="normalised-sgd", cited="FedAda2, App. A, eq. (2) (L377)", roots=True),
    _alone(
        source="fednova",
        target="momentum",
        cited="FedNova, eq. (12) (L198): tau_eff d_1 is -Delta_1 / eta_l",
        solver="momentum",
    ),
    _going_on(source="diloco-muon", target="muon", cited="Therien et al. (2025), by its definition"),
)
