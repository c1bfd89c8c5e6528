"""How a run begins: at the federation's model, or where a saved one has stopped."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from fedspec.catalogue import Algorithm, LocalSolver, Method, find
from fedspec.errors import PlanError
from fedspec.plan import Setup
from fedspec_torch.arith import Vector, check_whole
from fedspec_torch.covers import with_axes
from fedspec_torch.data.examples import Examples
from fedspec_torch.federation.checking import check_test
from fedspec_torch.federation.federation import Federation
from fedspec_torch.ranks import sharded
from fedspec_torch.ranks.processes import here
from fedspec_torch.ranks.shards import Shards
from fedspec_torch.refusals import ModuleError
from fedspec_torch.run import kept, saved
from fedspec_torch.run.agreement import divided, fingerprint
from fedspec_torch.run.asked import check_finite, hyper_of, trainer
from fedspec_torch.run.rates import Rate, Rated, check_same, rated
from fedspec_torch.run.runs import Run
from fedspec_torch.run.schedules import Schedule


def simulate(
    algorithm: str | Algorithm,
    federation: Federation,
    *,
    plan: Schedule,
    rounds: int = 100,
    reading: str | None = None,
    block: int | None = None,
    test: Examples | None = None,
    test_every: int = 1,
    shards: int | None = None,
    client_state: str | Path | None = None,
    rates: Mapping[str, Rate] | None = None,
    **hyper: Any,
) -> Run:
    """A run of an algorithm of the catalogue, from the federation's model; nothing is computed yet.

    Args:
        algorithm: its id (``fedspec list``), or an own one: its row.
        federation: model, loss and data.
        plan: who takes part when: ``cohorts``, ``exchanges`` or ``arrivals``, or anything with their method.
        rounds: after how many the run ends.
        reading: a reading of the algorithm; None: the canonical one.
        block: how many clients are trained at once; None: as many as fit the cache.
        test: inputs and targets on which the model is evaluated.
        test_every: after how many rounds it is.
        shards: into how many parts the clients are divided, of which a rank holds whole ones; the numbers depend on it
            in their last bits, and not on how many ranks there are. None: one for each rank of the default group of
            ``torch.distributed``, or one where there is none.
        client_state: a folder for what clients remember (control variates, moments of their own): it stands in a file
            there that is gone with the process, and needs no memory for those that are not asked. None: in memory.
        rates: of eta, eta_l, mu, rho and gamma what is other from round to round, or for each client too: by name, a
            function of the round's number, or of it and the client's; or an array [rounds], or [rounds, clients].
        hyper: hyper-parameters and options by the names of ``fedspec show ALGORITHM``.

    Raises:
        UnknownNameError: there is no such algorithm, reading, hyper-parameter or option.
        ParameterError: a hyper-parameter is missing, outside its domain or beyond the model's type, or an option
            contradicts the reading.
        PlanError: the algorithm is a local solver, there are no rounds, there are fewer shards than ranks, or the
            folder for what clients remember does not exist or has no room.
        RankError: the ranks do not begin from the same model, data and hyper-parameters, or one of them is gone.
    """
    row = trainer(algorithm)
    check_federation(federation)
    assert not isinstance(row.run, LocalSolver)
    check_whole("rounds", rounds, "a run has at least one round")
    check_whole("test_every", test_every, "a model is evaluated after at least one round")
    check_counted(block, shards, test)
    if not hasattr(plan, "events"):
        raise PlanError(
            f"plan: got {plan!r}; give cohorts(...), exchanges(...) or arrivals(...), or an object with their method"
        )
    plan, hyper = rated(plan, rates, row, hyper, rounds, len(federation))
    h = hyper_of(row, reading, hyper)
    check_finite(h, federation.x0.dtype)
    told = plan.told(0, rounds, len(federation)) if isinstance(plan, Rated) else {}
    parts = divided(federation, shards, block, (row.id, repr(h), rounds, test_every, repr(told)))
    x = federation.x0
    if "peers" in row.takes:
        x = x.repeat(len(federation))
    state = begun(row, h, x, federation.setup, federation, block, parts, client_state)
    return Run(row, h, federation, plan, state, rounds, block, test, test_every, shards=parts)


def check_federation(federation: Any) -> None:
    """Refuse what is no federation.

    Raises:
        ModuleError: with what was given.
    """
    if not isinstance(federation, Federation):
        got = type(federation).__name__
        raise ModuleError(f"federation: got {got}; make a Federation(model, loss, data, batch_size=...)")


def check_counted(block: Any, shards: Any, test: Any) -> None:
    """Refuse a block or shards that are no numbers, and what no model is evaluated on.

    Raises:
        PlanError: there are less than one, or not a whole number of them.
        ShapeError: the test examples are no pair of tensors.
    """
    if block is not None:
        check_whole("block", block, "a block holds at least one client")
    if shards is not None:
        check_whole("shards", shards, "a rank holds one or more")
    if test is not None:
        check_test(test)


def begun(
    row: Algorithm,
    h: Any,
    x: Vector,
    setup: Setup,
    federation: Federation,
    block: int | None = None,
    shards: Shards | None = None,
    client_state: str | Path | None = None,
) -> Any:
    """The state with which a run begins; where there is a server, its clients' rows are written where they are."""
    assert not isinstance(row.run, LocalSolver)
    served = "peers" not in row.takes
    with ExitStack() as entered:
        if served and shards is None:
            entered.enter_context(kept.Alike(setup.clients))
        entered.enter_context(sharded.population(federation, block, shards))
        state = row.run.init(h, x) if isinstance(row.run, Method) else row.run.init(h, x, setup)
        state = with_axes(state, h, setup.shapes)
        state = sharded.spread(state, shards) if shards else state
    return held(row, state, setup.clients, client_state)


def held(row: Algorithm, state: Any, clients: int, client_state: str | Path | None) -> Any:
    """A state with the rows of its clients as they are kept; peers, who are the state, have none that are."""
    return state if "peers" in row.takes else kept.remembered(state, clients, client_state)


def resume(
    file: str | Path,
    federation: Federation,
    *,
    plan: Schedule | None = None,
    test: Examples | None = None,
    shards: int | None = None,
    client_state: str | Path | None = None,
    rates: Mapping[str, Rate] | None = None,
) -> Run:
    """A saved run, ready to go on as if it had never been stopped.

    Args:
        file: what :meth:`Run.save` has written.
        federation: the same model, loss and data as before; data and code are not in the file.
        plan: needed only where the run's schedule was none of fedspec_torch's own.
        test: as before.
        shards: None: as many as before, with which the run goes on bit for bit on any number of ranks up to that; with
            more ranks, one for each.
        client_state: as in :func:`simulate`; all of it is in memory for a moment.
        rates: as before; functions are not in the file, but some of their numbers are, and must be the same.

    Raises:
        CheckpointError: the file is truncated or none of fedspec's, or was written by a run of another federation.
        PlanError: the folder for what clients remember does not exist or has no room.
    """
    check_federation(federation)
    check_counted(None, shards, test)
    found = saved.read(Path(file), device=federation.x0.device)
    ours = fingerprint(federation)
    for what, there in found["federation"].items():
        # A function that makes the data is not asked for them here.
        unknown = what == "data's digest" and None in (ours[what], there)
        # A module that was called already may hold what forward had left in it when the run was saved.
        if ours[what] not in (there, found.get("later", {}).get(what, there)) and not unknown:
            raise saved.CheckpointError(
                f"{file}: written by a run whose {what} was {there}, here it is {ours[what]}; "
                f"resume with the federation it was begun with"
            )
    if plan is None and found["plan"] is None:
        raise saved.CheckpointError(f"{file}: its schedule is not one of fedspec_torch's own; give it as plan")
    row, done, n = find(found["algorithm"]), len(found["history"]), len(federation)
    schedule, _ = rated(plan or found["plan"], rates, row, {}, found["rounds"], n)
    check_same(file, found.get("rates"), schedule, done, found["rounds"], n)
    federation.choices.update(found["choices"])
    count = shards or max(found.get("shards", 1), here().size)
    parts = divided(federation, count, found["block"], (found["algorithm"], repr(found["h"]), len(found["history"])))
    state = found["state"]
    state = held(row, sharded.spread(state, parts) if parts else state, len(federation), client_state)
    return Run(
        row,
        found["h"],
        federation,
        schedule,
        state,
        found["rounds"],
        found["block"],
        test,
        found["test_every"],
        list(found["history"]),
        parts,
        found.get("lends", False),
    )
