"""Start of a run: ``simulate`` begins at the federation's model, ``resume`` at a saved run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import UnionType
from typing import Any

from fedspec.catalogue import Algorithm, LocalSolver, Method, find
from fedspec.errors import PlanError
from fedspec.plan import Setup
from fedspec.usual import usual
from fedspec_torch.arith import Vector, check_whole
from fedspec_torch.federation.federation import Federation
from fedspec_torch.ranks import sharded
from fedspec_torch.ranks.processes import here
from fedspec_torch.ranks.shards import Shards
from fedspec_torch.refusals import ModuleError
from fedspec_torch.run import checkpoints, client_memory
from fedspec_torch.run.agreement import federation_differences, shard_federation, unlike
from fedspec_torch.run.arguments import hyper_of, trainer, with_own_solver
from fedspec_torch.run.local_work import Epochs
from fedspec_torch.run.metrics import Metric, Told
from fedspec_torch.run.monitoring import check_monitoring
from fedspec_torch.run.rates import Rate, Rated, check_held, check_same, rated
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
    test: Any = None,
    client_tests: Sequence[Any] | None = None,
    test_every: int = 1,
    shards: int | None = None,
    client_state: str | Path | None = None,
    rates: Mapping[str, Rate] | None = None,
    metrics: Mapping[str, Metric] | None = None,
    on_round: Told | Sequence[Told] | None = None,
    log: str | Path | None = None,
    **hyper: Any,
) -> Run:
    """Return the run of an algorithm from the federation's model; nothing is computed yet.

    Args:
        algorithm: id of the algorithm (``fedspec list``), or the row of your own algorithm.
        federation: model, loss and data.
        plan: the participants by round: ``cohorts``, ``exchanges`` or ``arrivals``, or an object with the same method
            ``events``.
        rounds: the number of rounds after which the run ends.
        reading: a reading of the algorithm; None: the canonical one.
        block: number of clients that are trained at once; None: as many as fit the cache.
        test: inputs and targets on which the model is evaluated, or a Dataset, which is read once and kept in memory.
        client_tests: each client's own test set, of the same kinds as ``test``, or None for a client without one. If
            clients keep models between rounds, as in gossip, each client's own model is evaluated, else the server's,
            with the client's own running statistics if these are ``kept``. The results, with the user's metrics, are in
            ``clients`` of the evaluated rounds. It needs a single process.
        test_every: number of rounds from one evaluation to the next.
        shards: number of parts into which the clients are divided; each rank holds whole parts. Results depend on it in
            their last bits, but not on the number of ranks. None: one for each rank of the default group of
            ``torch.distributed``, or one without a group.
        client_state: folder for the clients' state, such as control variates or moments: a file there holds the state,
            disappears with the process, and needs no memory for clients that don't take part. None: in memory.
        rates: values of eta, eta_l, mu, rho and gamma that vary by round, or by round and client: by name, a function
            of the round's number, or of the round's and the client's number; or an array [rounds], or [rounds,
            clients].
        metrics: functions by name, each of which returns a number from the model's output on the test set and the
            targets; the results are in ``metrics`` of the evaluated rounds. If a function raises an error, the run ends
            after the round, which is done; the run can be saved and continued.
        on_round: a function, or several, called on every rank with the run and each finished round; an error ends the
            run as for ``metrics``. :class:`~fedspec_torch.Stop` ends the run early without an error.
        log: a file, ``.csv`` or ``.jsonl``; a row is written after each round. The first round replaces the file's old
            content.
        hyper: hyper-parameters and options, by the names of ``fedspec show ALGORITHM``. A hyper-parameter that has no
            default and isn't given has an untuned usual value (:mod:`fedspec.usual`), listed in ``usual`` of the run.
            ``solver`` may be any local solver, an id or a row of your own: its parameters end in ``_l``.

    Raises:
        UnknownNameError: the algorithm, reading, hyper-parameter or option is unknown.
        ParameterError: a hyper-parameter without a usual value is missing, a value is outside its domain or the range
            of the model's type, or an option contradicts the reading.
        PlanError: the algorithm is a local solver, ``rounds`` is less than 1, there are fewer shards than ranks, the
            folder ``client_state`` doesn't exist or is full, or client tests, metrics, ``on_round`` or the log are
            invalid.
        RankError: the ranks begin from different models, data or hyper-parameters, or a rank has ended.
    """
    row, hyper = with_own_solver(trainer(algorithm), hyper)
    check_federation(federation)
    assert not isinstance(row.run, LocalSolver)
    check_whole("rounds", rounds, "a run has at least one round")
    check_whole("test_every", test_every, "a model is evaluated after at least one round")
    check_counted(block, shards)
    test, own, metrics, told = check_monitoring(federation, test, client_tests, metrics, on_round, log)
    if not hasattr(plan, "events"):
        raise PlanError(
            f"plan: got {plan!r}; give cohorts(...), exchanges(...) or arrivals(...), or an object with a method events"
        )
    check_epochs(plan, federation)
    plan, hyper = rated(plan, rates, row, hyper, rounds, len(federation))
    taken = usual(row, reading, hyper)
    h = hyper_of(row, reading, {**taken, **hyper})
    check_held(vars(h), federation.x0.dtype)
    by_round = plan.told(0, rounds, len(federation)) if isinstance(plan, Rated) else {}
    parts = shard_federation(federation, shards, block, (row.id, repr(h), rounds, test_every, repr(by_round)))
    # Its own, which rounds write over.
    x = federation.x0.repeat(len(federation) if "peers" in row.takes else 1)
    state = begun(row, h, x, federation.setup, federation, block, parts, client_state)
    more: dict[str, Any] = {"shards": parts, "usual": taken, "metrics": metrics, "told": told, "client_tests": own}
    return Run(row, h, federation, plan, state, rounds, block, test, test_every, **more)


def check_federation(federation: Any) -> None:
    """Raise an error if the argument isn't a Federation.

    Raises:
        ModuleError: the argument isn't a Federation; the message has its type.
    """
    if not isinstance(federation, Federation):
        got = type(federation).__name__
        raise ModuleError(f"federation: got {got}; make a Federation(model, loss, data, batch_size=...)")


def check_epochs(plan: Any, federation: Federation) -> None:
    """Raise an error if the plan's epochs assume another minibatch size or accumulation than the federation has.

    Raises:
        PlanError: the two differ; the message has both.
    """
    steps, b, times = getattr(plan, "steps", None), federation.batch_size, federation.accumulate
    if not isinstance(steps, Epochs):
        return
    # All examples at once, whatever is said of it.
    whole = b is None and steps.batch_size >= max(federation.setup.examples)
    if (steps.batch_size, steps.accumulate) != (steps.batch_size if whole else b, times):
        of_plan, of_clients = ("" if a == 1 else f", accumulate={a}" for a in (steps.accumulate, times))
        raise PlanError(
            f"plan: got epochs({steps.passes}, batch_size={steps.batch_size}{of_plan}), but "
            f"Federation(batch_size={b}{of_clients}); give both the same values, otherwise the number of passes is "
            "another one"
        )


def check_counted(block: Any, shards: Any) -> None:
    """Raise an error if ``block`` or ``shards`` isn't a positive integer.

    Raises:
        PlanError: ``block`` or ``shards`` is less than 1 or not a whole number.
    """
    if block is not None:
        check_whole("block", block, "a block holds at least one client")
    if shards is not None:
        check_whole("shards", shards, "a rank holds one or more")


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
    """Return the initial state of a run; with a server, the per-client rows are updated in place."""
    assert not isinstance(row.run, LocalSolver)
    served = "peers" not in row.takes
    with ExitStack() as entered:
        if served and shards is None:
            entered.enter_context(client_memory.Alike(setup.clients))
        entered.enter_context(sharded.population(federation, block, shards))
        state = row.run.begin(h, x, setup.shapes) if isinstance(row.run, Method) else row.run.init(h, x, setup)
        state = sharded.spread(state, shards) if shards else state
    return held(row, state, setup.clients, client_state)


def held(row: Algorithm, state: Any, clients: int, client_state: str | Path | None) -> Any:
    """Return the state with its per-client rows in place, in memory or in a file; a state of peers is unchanged."""
    return state if "peers" in row.takes else client_memory.remembered(state, clients, client_state)


ENTRIES: Mapping[str, type | UnionType] = {
    "algorithm": str,
    "h": object,
    "plan": object,
    "state": object,
    "rounds": int,
    "block": int | None,
    "test_every": int,
    "history": tuple,
    "choices": dict,
    "federation": dict,
}
"""Required entries of a saved run, and their types, which are checked because files aren't trusted."""


def resume(
    file: str | Path,
    federation: Federation,
    *,
    plan: Schedule | None = None,
    rounds: int | None = None,
    test: Any = None,
    client_tests: Sequence[Any] | None = None,
    shards: int | None = None,
    client_state: str | Path | None = None,
    rates: Mapping[str, Rate] | None = None,
    metrics: Mapping[str, Metric] | None = None,
    on_round: Told | Sequence[Told] | None = None,
    log: str | Path | None = None,
) -> Run:
    """Return a saved run, which continues as if it was never stopped.

    Args:
        file: a file that :meth:`Run.save` wrote.
        federation: the same model, loss and data as before; the file has neither data nor code.
        plan: needed only if the run's schedule isn't one of fedspec_torch's; one of fedspec_torch's must be the same as
            before.
        rounds: the total number of rounds, including the rounds in the file; None: as many as the saved run had.
        test: the test set, as before.
        client_tests: the clients' own test sets, as before.
        shards: None: as many as before; with as many shards, the run continues bit for bit on any number of ranks up to
            that; with more ranks than shards, one for each rank.
        client_state: as in :func:`simulate`; while the file is read, the whole state is in memory.
        rates: as before; the file has no functions, but some of their values, which must be the same.
        metrics: as before, or other metrics.
        on_round: as in :func:`simulate`.
        log: as in :func:`simulate`; the rounds in the file are in the log too, each once.

    Raises:
        CheckpointError: the file is truncated or isn't fedspec's, or the saved run had another federation, plan or
            rates; the message names the difference.
        PlanError: the folder ``client_state`` doesn't exist or is full; client tests, metrics, ``on_round`` or the log
            are invalid; or ``rounds`` is less than the number of finished rounds.
    """
    check_federation(federation)
    check_counted(None, shards)
    if rounds is not None:
        check_whole("rounds", rounds, "a run has at least one round")
    test, own, metrics, told = check_monitoring(federation, test, client_tests, metrics, on_round, log)
    found = checkpoints.read(Path(file), device=federation.x0.device, entries=ENTRIES)
    if other := federation_differences(found, federation):
        raise checkpoints.CheckpointError(
            f"{file}: written by a run of another federation: {'; '.join(other)}. Resume with the federation of that "
            "run"
        )
    if plan is None and found["plan"] is None:
        raise checkpoints.CheckpointError(
            f"{file}: its schedule isn't one of fedspec_torch's own, so the file lacks it; give it as plan"
        )
    if plan is not None and found["plan"] is not None and plan != found["plan"]:
        differs = unlike(found["plan"], plan)
        raise checkpoints.CheckpointError(
            f"{file}: written by a run with another plan: {differs}. Leave plan out, since the file contains it; to "
            "change it on purpose, set run.plan"
        )
    row, done, n = find(found["algorithm"]), len(found["history"]), len(federation)
    ends = found["rounds"] if rounds is None else rounds
    if ends < done:
        raise PlanError(f"rounds: got {ends}, but {done} rounds of {file} are done; ask for {done} or more")
    schedule, _ = rated(plan or found["plan"], rates, row, {}, ends, n)
    check_same(file, found.get("rates"), schedule, done, found["rounds"], n)
    federation.choices.update(found["choices"])
    count = shards or max(found.get("shards", 1), here().size)
    parts = shard_federation(federation, count, found["block"], (found["algorithm"], repr(found["h"]), done, ends))
    state = found["state"]
    state = held(row, sharded.spread(state, parts) if parts else state, len(federation), client_state)
    who, rows = found.get("own_b") or ((), ())
    return Run(
        row,
        found["h"],
        federation,
        schedule,
        state,
        ends,
        found["block"],
        test,
        found["test_every"],
        list(found["history"]),
        parts,
        found.get("lends", False),
        found.get("b"),
        dict(zip(who, rows, strict=True)),
        tuple(found.get("took", ())),
        found.get("usual", {}),
        metrics,
        told,
        list(found.get("times", ())),
        own,
    )
