"""Splits of a data set over clients: an array of indices for each client.

Every function is pure: labels and an explicit generator go in, and nothing else is drawn from. Every example belongs to
exactly one client. Nobody is empty, unless ``least=0`` asks for it where a law may leave somebody without any. Indices
are in ascending order; ``Federation(..., data=dataset, parts=...)`` takes them as they are.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from fedspec.errors import PlanError
from fedspec_torch.arith import check_whole
from fedspec_torch.data.labels import Indices, Labels, kinds_of
from fedspec_torch.data.split_picture import picture

__all__ = ["dirichlet", "dirichlet_by_client", "iid", "natural", "one_class", "picture", "power_law", "shards"]


def iid(n: int, clients: int, rng: np.random.Generator) -> list[Indices]:
    """Split n examples at random into one part for each client; the parts' sizes differ by at most one."""
    check_whole("n", n, "say how many examples there are")
    _check(n, clients, rng)
    return [np.sort(part) for part in np.array_split(rng.permutation(n), clients)]


def dirichlet(labels: Labels, clients: int, alpha: float, rng: np.random.Generator, *, least: int = 1) -> list[Indices]:
    """Divide each class among the clients by shares from Dirichlet(alpha, ..., alpha).

    So clients differ in class mixture and in size. A client with fewer than ``least`` examples gets examples from the
    client with the most, from the last class of that client.

    Raises:
        PlanError: alpha is not positive, or there are too few examples.

    Source: Yurochkin et al. (2019).
    """
    kinds, names = kinds_of("labels", labels)
    _check(len(kinds), clients, rng, least)
    _check_alpha(alpha, clients)
    parts: list[list[int]] = [[] for _ in range(clients)]
    for kind in range(len(names)):
        who = rng.permutation(np.flatnonzero(kinds == kind))
        ends = np.round(np.cumsum(rng.dirichlet(np.full(clients, alpha))) * len(who)).astype(int)
        for part, some in zip(parts, np.split(who, ends[:-1]), strict=True):
            part.extend(some.tolist())
    return _filled(parts, least)


def dirichlet_by_client(labels: Labels, clients: int, alpha: float, rng: np.random.Generator) -> list[Indices]:
    """Draw each client's class mixture from Dirichlet(alpha p), p the class shares of all data, then its examples.

    All clients have equally many examples, up to one. alpha applies to all classes together: each of ten equally
    frequent classes has parameter alpha / 10. Clients draw in turns, in a new order each time. A class that is used up
    can't be drawn any more; a client that wants only such classes takes any remaining examples. So clients are more
    similar than their mixtures: for alpha = 0.5 and ten classes, the squares of a client's shares sum to 0.64 among 300
    clients and to 0.47 among ten; the distribution's value is 0.70.

    Raises:
        PlanError: alpha is not positive, or there are more clients than examples.

    Source: Hsu, Qi and Brown (2019); there clients draw one after another, and the last ones get what is left.
    """
    kinds, names = kinds_of("labels", labels)
    _check(len(kinds), clients, rng)
    _check_alpha(alpha, len(names))
    left = [rng.permutation(np.flatnonzero(kinds == kind)).tolist() for kind in range(len(names))]
    counts = np.bincount(kinds)
    mixtures = rng.dirichlet(alpha * counts / len(kinds), size=clients)
    parts: list[list[int]] = [[] for _ in range(clients)]
    for _ in range(0, len(kinds), clients):
        for i in rng.permutation(clients)[: counts.sum()]:
            wanted = np.cumsum(mixtures[i] * (counts > 0))
            if wanted[-1] < np.finfo(float).tiny:
                wanted = np.cumsum(counts)
            # Between 0, which is left out, and the last: nothing is drawn that nobody wants, or that is used up.
            kind = np.searchsorted(wanted, wanted[-1] * (1 - rng.random()))
            parts[i].append(left[kind].pop())
            counts[kind] -= 1
    return _filled(parts, 1)


def shards(labels: Labels, clients: int, shards_per_client: int, rng: np.random.Generator) -> list[Indices]:
    """Sort the examples by label, cut them into shards of equal size (up to one), and deal each client the same number.

    Raises:
        PlanError: the clients need more shards than there are examples.

    Source: McMahan et al. (2017), section 3, who give two shards to each of 100 clients.
    """
    kinds, _ = kinds_of("labels", labels)
    check_whole("shards_per_client", shards_per_client, "everybody draws some")
    _check(len(kinds), clients, rng)
    count = clients * shards_per_client
    if count > len(kinds):
        raise PlanError(
            f"shards_per_client: {clients} clients of {shards_per_client} are {count} shards, of {len(kinds)} "
            f"examples; take fewer clients or shards"
        )
    pieces = np.array_split(np.argsort(kinds, kind="stable"), count)
    dealt = rng.permutation(count).reshape(clients, shards_per_client)
    return [np.sort(np.concatenate([pieces[j] for j in row])) for row in dealt]


def one_class(labels: Labels, clients: int) -> list[Indices]:
    """Give each client examples of one class: client i has class i mod C; a class's clients share it equally, in order.

    Raises:
        PlanError: there are fewer clients than classes, or a class has more clients than examples.
    """
    kinds, names = kinds_of("labels", labels)
    _check(len(kinds), clients)
    if clients < len(names):
        raise PlanError(
            f"clients: got {clients} for {len(names)} classes, so that no client would have some class; take "
            f"{len(names)} clients or more, or use shards"
        )
    parts: list[Indices] = [np.empty(0, int)] * clients
    for kind, name in enumerate(names):
        who, sharers = np.flatnonzero(kinds == kind), range(kind, clients, len(names))
        if len(sharers) > len(who):
            raise PlanError(
                f"clients: {len(sharers)} of {clients} would share class {name}, which has {len(who)} "
                f"example{'s' * (len(who) > 1)}; take fewer clients, or leave the class out"
            )
        for i, part in zip(sharers, np.array_split(who, len(sharers)), strict=True):
            parts[i] = part
    return parts


def power_law(n: int, clients: int, exponent: float, rng: np.random.Generator, *, least: int = 1) -> list[Indices]:
    """Give client i a random set of examples whose size is proportional to (i + 1)^-exponent.

    A client with fewer than ``least`` examples gets examples from the client with the most.

    Raises:
        PlanError: the exponent is negative, or there are too few examples.
    """
    check_whole("n", n, "say how many examples there are")
    _check(n, clients, rng, least)
    if not 0 <= exponent < np.inf:
        raise PlanError(f"exponent: got {exponent}; sizes decrease with it, so it must be a finite number >= 0")
    shares = np.arange(1, clients + 1) ** -float(exponent)
    quotas = n * shares / shares.sum()
    sizes = np.floor(quotas).astype(int)
    # The largest remainders are rounded up, which keeps sizes in order.
    sizes[np.argsort(sizes - quotas, kind="stable")[: n - sizes.sum()]] += 1
    parts = np.split(rng.permutation(n), np.cumsum(sizes)[:-1])
    return _filled([part.tolist() for part in parts], least)


def natural(groups: Labels) -> list[Indices]:
    """Make one client for each group, such as a writer or a hospital, sorted by the groups' numbers or names."""
    kinds, names = kinds_of("groups", groups)
    return np.split(np.argsort(kinds, kind="stable"), np.cumsum(np.bincount(kinds, minlength=len(names)))[:-1])


def _filled(parts: list[list[int]], least: int) -> list[Indices]:
    """Move examples to each client with fewer than ``least``: the last ones of the client with most."""
    most = [(-len(part), i) for i, part in enumerate(parts)]
    heapify(most)
    for part in parts:
        while len(part) < least:
            size, i = heappop(most)
            part.append(parts[i].pop())
            heappush(most, (size + 1, i))
    return [np.sort(np.array(part, int)) for part in parts]


def _check(n: int, clients: int, rng: Any = ..., least: int = 1) -> None:
    check_whole("clients", clients, "somebody has the examples")
    check_whole("least", least, "say how many everybody has at least", least=0)
    if clients * least > n:
        raise PlanError(
            f"clients: got {clients} for {n} examples, but each client needs at least {least}: take at most "
            f"{n // least} clients"
        )
    if rng is not ... and not isinstance(rng, np.random.Generator):
        raise PlanError(f"rng: got {type(rng).__name__}; give numpy.random.default_rng(seed)")


def _check_alpha(alpha: float, count: int) -> None:
    # Beyond that the sum of what NumPy draws overflows, and all shares are 0.
    if not 0 < alpha * count < np.inf:
        raise PlanError(f"alpha: got {alpha}; the parameter of a Dirichlet distribution must be positive and finite")
