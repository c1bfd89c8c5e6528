"""Held-out data for tuning: a part of the clients' data on which no run of the tuning trains.

If possible, some clients are held out, since a model should serve clients that it never trained on. Some examples of
every client are held out instead if a smaller population would be another task: in a graph, which clients can't leave;
if clients keep state, since its age depends on their number; if there are few clients; and if the plan is for all of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from fedspec.arith import Array
from fedspec.costs import UNRECORDED
from fedspec.entry import Algorithm
from fedspec.errors import FedspecError, ParameterError, PlanError
from fedspec.plan import Setup
from fedspec_torch.data.examples import Examples, GeneratedPool, Held, examples_of
from fedspec_torch.federation.federation import Federation
from fedspec_torch.gradients.module_state import write_buffers
from fedspec_torch.run.client_memory import is_written_over
from fedspec_torch.run.rates import Rated
from fedspec_torch.run.schedules import Schedule
from fedspec_torch.run.simulation import begun

CLIENTS, EXAMPLES = "clients", "examples"
FEW = 20
"""Smallest number of clients of which some are held out: a fifth of fewer clients isn't representative."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Federation without its held-out data, and these data.

    Attributes:
        federation: the federation without the held-out data.
        examples: the held-out data, on which models are judged.
        words: description of the held-out data, and the reason for this choice.
    """

    federation: Federation
    examples: Any
    words: str


def of_the_population(row: Algorithm, h: Any, federation: Federation) -> str:
    """Return why clients can't be held out of this algorithm's population; "" without a known reason."""
    if row.event == "exchange":
        return "clients are a graph"
    if len(federation) < FEW:
        return f"there are {len(federation)} clients"
    return "clients remember" if _remember(row, h, federation) else ""


def of_the_plan(
    row: Algorithm, h: Any, federation: Federation, plan: Schedule, share: float, rated: Callable[[int], Schedule]
) -> str:
    """Return why clients can't be held out under this plan, which fixes the clients or their number; "" if they can.

    Args:
        row: the row of the algorithm.
        h: its hyper-parameters and options.
        federation: the federation of all clients.
        plan: the schedule of the run.
        share: the share of clients to hold out.
        rated: function of a number of clients that returns the plan for them, with the learning rates of the run.
    """
    why = f"the plan is of {len(federation)} clients"
    if type(plan).__module__.partition(".")[0] != __name__.partition(".")[0]:
        return why
    left = len(federation) - count_of(len(federation), share)
    setup = Setup(tuple(federation.setup.examples[:left]), federation.setup.shapes)
    try:
        some = rated(left)
        some.events(row, h, setup, federation.x0, 0)
    except FedspecError:
        return why
    return why if isinstance(some, Rated) and any(numbers.each for numbers in some.rates) else ""


def _remember(row: Algorithm, h: Any, federation: Federation) -> bool:
    if row.costs is not UNRECORDED:
        return row.costs.client != "0"
    return is_written_over(begun(row, h, federation.x0, federation.setup, federation))


def count_of(clients: int, share: float) -> int:
    """Return the number of clients to hold out."""
    return min(max(1, round(share * clients)), clients - 1)


def check_share(share: Any, who: str = "held_out", otherwise: str = ", or examples") -> float:
    """Return the held-out share as a float, or raise an error if it isn't between 0 and 1.

    Raises:
        ParameterError: the share isn't a number between 0 and 1.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise ParameterError(f"{who}: got {share!r}; give a share between 0 and 1, such as 0.2{otherwise}")
    return float(share)


def without_clients(federation: Federation, share: float, seed: int) -> HeldOut:
    """Hold out a share of the clients, drawn from the seed.

    Raises:
        PlanError: the federation has a single client.
    """
    n = len(federation)
    if n < 2:
        raise PlanError("held_out: there is only one client; hold out some of its examples, of='examples'")
    order = np.random.default_rng([seed, 5]).permutation(n).tolist()
    out, left = sorted(order[: count_of(n, share)]), sorted(order[count_of(n, share) :])
    pool = federation.pool
    if isinstance(pool, Held):
        some = _with(federation, [federation.structure.tree(pool.leaves[i]) for i in left])
    else:
        make: Any = pool.make if isinstance(pool, GeneratedPool) else None
        some = _with(federation, lambda k: make(left[k]), tuple(pool.examples[i] for i in left))
    held = _joined([examples_of(pool, i) for i in out])
    return HeldOut(some, federation.structure.tree(held), f"{len(out)} of {n} clients")


def without_examples(federation: Federation, share: float, seed: int, why: str = "") -> HeldOut:
    """Hold out a share of every client's examples, drawn from the seed; each client keeps at least one.

    Raises:
        PlanError: every client has a single example.
    """
    pool = federation.pool
    rows = [_rows(n, share, seed, i) for i, n in enumerate(pool.examples)]
    some = _kept(federation, rows)
    if sum(some.pool.examples) == sum(pool.examples):
        raise PlanError(
            "held_out: every client has a single example, so none can be held out; give held_out=(inputs, targets)"
        )
    held = _joined([_some(examples_of(pool, i), out) for i, (_, out) in enumerate(rows) if len(out)])
    words = f"{len(held[0])} of {sum(pool.examples)} examples"
    return HeldOut(some, federation.structure.tree(held), f"{words}, since {why}" if why else words)


def own_tests(federation: Federation, share: float, seed: int) -> tuple[Federation, list[Any]]:
    """Split off a share of every client's examples as the client's own test set, drawn from the seed.

    Returns:
        the federation without these examples, and each client's test set; None for a client without one.
    """
    rows = [_rows(n, share, seed, i) for i, n in enumerate(federation.pool.examples)]
    tree, pool = federation.structure.tree, federation.pool
    tests = [tree(_some(examples_of(pool, i), out)) if len(out) else None for i, (_, out) in enumerate(rows)]
    return _kept(federation, rows), tests


def _kept(federation: Federation, rows: Sequence[tuple[Array, Array]]) -> Federation:
    """The federation with the kept examples of each client."""
    pool = federation.pool
    if isinstance(pool, Held):
        kept = [_some(leaves, keep) for leaves, (keep, _) in zip(pool.leaves, rows, strict=True)]
        return _with(federation, [*map(federation.structure.tree, kept)])
    counts = tuple(len(keep) for keep, _ in rows)
    return _with(federation, lambda i: federation.structure.tree(_some(examples_of(pool, i), rows[i][0])), counts)


def _rows(n: int, share: float, seed: int, client: int) -> tuple[Array, Array]:
    """Split a client's examples into kept and held-out examples, by the average share of held-out ones."""
    rng = np.random.default_rng([seed, 6, client])
    out = min(int(share * n + rng.random()), n - 1)
    order = rng.permutation(n)
    return np.sort(order[out:]), np.sort(order[:out])


def _some(leaves: Examples, rows: Array) -> Examples:
    at = torch.from_numpy(rows)
    return tuple(part[at.to(part.device)] for part in leaves)


def _joined(every: list[Examples]) -> Examples:
    return tuple(map(torch.cat, zip(*every, strict=True)))


def _with(federation: Federation, data: Any, examples: tuple[int, ...] = ()) -> Federation:
    """The federation with other data."""
    return remake(federation, data=data, examples=examples, parts=None, keys=None, cached=False)


def remake(federation: Federation, **given: Any) -> Federation:
    """Rebuild the federation with changed arguments, from its initial model and not its module's present one."""
    with federation.network.lent(), federation.in_its_modes():
        federation.network.put(federation.x0)
        write_buffers(federation.network.running, federation.b0)
        return replace(federation, **given)
