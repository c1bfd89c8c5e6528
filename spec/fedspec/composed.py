"""Rows that join a server and another local solver: ``fedadam-with-yogi`` is FedAdam with clients that run Yogi.

    for each participating client i:
        y = begin(x);  tau_i times: y = rule(y, g_i(y))
        Delta_i = y - x
    then the server's step, as its own row has it

A parameter of the solver has its name with ``_l`` at its end, except eta_l: the decay beta1 of Adam clients is beta1_l.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, field, fields, make_dataclass, replace
from typing import Any

from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.derived import entered
from fedspec.domains import COUNTS, DOMAINS, Parameter, check_steps
from fedspec.entry import Algorithm, LocalSolver, Method
from fedspec.errors import ParameterError
from fedspec.facts import Fact
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.plan import Oracle
from fedspec.plugins import BETWEEN
from fedspec.usual import BY_NAME, LOCALLY

GIVEN = ("x", "state", "g", "anchor", "k")
"""Arguments of a solver's rule that a round can pass without the model's block shapes."""


def with_solver(server: Algorithm, solver: Algorithm) -> Algorithm:
    """Return the row of a server whose clients run another local solver.

    Raises:
        ParameterError: the server doesn't accept another local solver, or the solver needs inputs that the server's
            clients don't have.
    """
    run, local = server.run, solver.run
    if not isinstance(local, LocalSolver):
        raise ParameterError(
            f"solver: {solver.id} is no local solver; give one that `fedspec list` shows at level client"
        )
    if not isinstance(run, Method):
        raise ParameterError(
            f"solver: {server.id} has its clients and its server in one function, so their solver can't be replaced; "
            f"choose fedavg, fedavgm, fedadam, fedyogi or another algorithm with the levels server and round"
        )
    if run.norm in run.steps:
        raise ParameterError(
            f"solver: the server of {server.id} divides by ||a_i||_1, which is known for its own solvers only; "
            f"choose one of them, or a server that reads only changes, such as fedavg"
        )
    if more := [p for p in inspect.signature(local.rule).parameters.values() if _is_missing(p)]:
        raise ParameterError(
            f"solver: {solver.id} reads the {more[0].name} of a model, which the clients of {server.id} don't get; "
            f"use fedada2 or fed-lamb, whose clients do"
        )
    of_server = entered([run.server]).rules
    return Algorithm(
        id=f"{server.id}{BETWEEN}{solver.id}",
        family=server.family,
        title=f"{server.title}; local steps of {solver.id}",
        source=f"composed: {server.source}; {solver.source}",
        basis=server.basis,
        levels=("round",),
        rules=(*solver.rules, *(r for r in server.rules if r in of_server)),
        readings=tuple(replace(r, levels=(), formerly=()) for r in server.readings),
        shows=server.shows,
        when=dict(server.when) | {_ours(n): rules for n, rules in solver.when.items()},
        run=Method(
            hyper=_hyper(server, solver),
            init=run.init,
            server=run.server,
            local=_local(local, tuple(solver.parameters)),
            norm=steps_taken,
            whole=run.whole,
            losses=run.losses,
            reads=run.reads,
            takes=run.takes,
        ),
        costs=Costs(**{**vars(server.costs), "working": solver.costs.working}),
        traps=(*server.traps, *solver.traps),
        facts=tuple(fact for fact in server.facts if fact in solver.facts),
        denies=server.denies,
        usual=_usual(server, solver),
    )


def declare_beside(solver: Algorithm) -> None:
    """Register the names (with suffix ``_l``) of a local solver's parameters in a composed row."""
    for name in solver.numbers:
        if (ours := _ours(name)) not in DOMAINS:
            domain, meaning, _ = DOMAINS[name]
            DOMAINS[ours] = Parameter(domain, f"{meaning}, of the client's solver", of_clients=True)
            if name in COUNTS:
                COUNTS.add(ours)


def _usual(server: Algorithm, solver: Algorithm) -> dict[str, float]:
    found = {n: value for n, value in server.usual.items() if n not in ("eta_l", *map(_ours, solver.parameters))}
    known = BY_NAME | (LOCALLY if solver.has(Fact.ADAPTIVE) else {}) | dict(solver.usual)
    return found | {_ours(n): known[n] for n in solver.numbers if n in known}


def _is_missing(parameter: inspect.Parameter) -> bool:
    return (parameter.kind is not parameter.KEYWORD_ONLY and parameter.name not in GIVEN) or parameter.name == "cover"


def _ours(name: str) -> str:
    """The name of a solver's parameter, or of an option and its value, beside the server's."""
    own, equals, value = name.partition("=")
    return f"{own if own.endswith('_l') else f'{own}_l'}{equals}{value}"


def _hyper(server: Algorithm, solver: Algorithm) -> type[Hyper]:
    """Record of the server's parameters and the solver's, without the parameters of the server's own clients."""
    assert isinstance(server.run, Method) and isinstance(solver.run, LocalSolver)
    names: dict[str, Any] = {_ours(n): kind for n, kind in solver.parameters.items()}
    of_server = {
        n: kind
        for n, kind in server.parameters.items()
        if n not in names and (n not in DOMAINS or n in server.run.reads or not DOMAINS[n].of_clients)
    }
    given = _defaults(server.run.hyper) | {_ours(n): v for n, v in _defaults(solver.run.rule).items()}
    if solver.run.begin:
        given = {_ours(n): v for n, v in _defaults(solver.run.begin).items()} | given
    asked = [(n, kind) for n, kind in {**of_server, **names}.items() if n not in given]
    free = [(n, kind, field(default=given[n])) for n, kind in {**of_server, **names}.items() if n in given]
    plays = {n: p for n, p in server.plays.items() if n in of_server}
    plays |= {_ours(n): tuple(map(_ours, values)) for n, values in solver.plays.items()}
    made: Any = make_dataclass(
        f"{server.id}{BETWEEN}{solver.id}",
        [*asked, *free],
        bases=(Hyper,),
        frozen=True,
        # The catalogue finds it by this name, as a saved run does.
        namespace={
            "__module__": "fedspec.catalogue",
            "__doc__": f"Hyper-parameters of {server.id} and of {solver.id} clients.",
            "plays": plays,
        },
    )
    return made  # type: ignore[no-any-return]


def _defaults(by: Any) -> dict[str, Any]:
    """Defaults of a record's fields, or of a function's keywords."""
    if isinstance(by, type):
        return {f.name: f.default for f in fields(by) if f.default is not MISSING}
    parameters = inspect.signature(by).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _local(solver: LocalSolver, names: tuple[str, ...]) -> Callable[[Any, Vector, Oracle, int], Vector]:
    rule, begin, takes = solver.rule, solver.begin, inspect.signature(solver.rule).parameters
    starts = inspect.signature(begin).parameters if begin else {}
    own = {name: _ours(name) for name in names}

    def local(h: Any, x: Vector, gradient: Oracle, tau: int) -> Vector:
        """The local model after tau steps of the solver from x."""
        check_steps(tau)
        told = {n: v for n, field in own.items() if (v := getattr(h, field)) is not NOT_GIVEN}
        state: Any = begin(x, **{n: v for n, v in told.items() if n in starts}) if begin else x
        steps = {n: v for n, v in told.items() if n in takes}
        for k in range(tau):
            place = {"anchor": x, "k": k}
            g = gradient(k, state.x if begin else state)
            state = rule(state, g, **{n: v for n, v in place.items() if n in takes}, **steps)
        end: Vector = state.x if begin else state
        return end

    return local


def steps_taken(h: Any, tau: int) -> Scalar:
    """Return tau in place of ||a_i||_1, which no server that accepts other solvers reads."""
    return tau
