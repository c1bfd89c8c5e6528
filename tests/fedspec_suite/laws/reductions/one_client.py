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
from fedspec_suite.laws.reductions.edge import Edge, fixing, told
from fedspec_suite.measure.scenario import Scenario, lift


def _as_solver(target: str) -> Callable[[Scenario], Scenario]:
    """The gradients that the only client sees, a round of the solver for each round; floats by way of decimals."""

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
)
