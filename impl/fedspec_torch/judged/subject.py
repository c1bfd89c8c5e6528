"""fedspec_torch as an adapter, so that the judge checks its rules and its engine like any other implementation.

:mod:`fedspec_torch.judged.sessions` describes the choice of the device.
"""

from __future__ import annotations

import fedspec_torch
from fedspec.catalogue import CATALOGUE as SPECIFIED
from fedspec.catalogue import LocalSolver, Method, Program, Served, find
from fedspec.contract import Case, Session, SubjectInfo
from fedspec.reference import offers, offers_varied
from fedspec_torch.judged.engine import ENGINES, EngineSession, engine_offers
from fedspec_torch.judged.sessions import MethodSession, ProgramSession, SolverSession


class Mirror:
    """Adapter of the whole catalogue in torch, with all readings."""

    info = SubjectInfo(
        name="fedspec_torch",
        version=fedspec_torch.__version__,
        variant="torch",
        offers=tuple(
            offer
            for a in SPECIFIED.values()
            for some in [*(offers(a, level) for level in a.levels), engine_offers(a)]
            for offer in some
        )
        + tuple(offers_varied()),
    )

    def start(self, case: Case) -> Session:
        """Begin the session of one case.

        Raises:
            ContractError: the mirror doesn't support the case's dtype, or this machine doesn't have the device.
        """
        algorithm = find(case.algorithm)
        if case.variant in ENGINES:
            return EngineSession(algorithm, case)
        match algorithm.run:
            case LocalSolver() as solver:
                return SolverSession(algorithm, solver, case)
            case Program(served=Served() as served) if case.level == "server":
                return MethodSession(algorithm, served, case)
            case Program() as program:
                return ProgramSession(algorithm, program, case)
            case Method() as method:
                return MethodSession(algorithm, method, case)


SUBJECT = Mirror()
"""Adapter that ``fedspec check torch`` runs."""
