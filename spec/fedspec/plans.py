"""Plans from the settings of experiments: local steps from epochs, and simulated arrivals of late clients.

No other module of this package draws a number; a plan, once drawn, is data.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from fedspec.domains import COUNT, POSITIVE, WHOLE, Domain, outside
from fedspec.errors import PlanError
from fedspec.plan import Arrival


def _check(domain: Domain, **given: Any) -> None:
    """Refuse what lies outside a domain, by name; symbols too, since nothing can be drawn by them."""
    for name, number in given.items():
        if not isinstance(number, Real) or outside(number, domain):
            raise PlanError(f"{name}: got {number!r}; the number must be {domain.words}")


def drawn_delays(
    rng: np.random.Generator,
    *,
    clients: int,
    buffer: int,
    rounds: int,
    largest_delay: int,
    steps: int,
    randomness: int | None = None,
) -> list[Arrival]:
    """Simulate the client-centric experiments: draw clients, delays and step counts independently of earlier draws.

    In every round t = 0, 1, ... ``buffer`` clients are drawn without replacement; each begins at one of the last
    ``largest_delay`` + 1 versions, or of all t + 1 where there are fewer, and takes 1 to ``steps`` times ``randomness``
    local steps, all uniformly. How clients are drawn, and what happens in the first rounds, is not printed.

    Args:
        rng: generator of the draws.
        clients: number of clients.
        buffer: number of updates that the server waits for.
        rounds: number of model versions.
        largest_delay: tau, the largest delay in versions.
        steps: K, the default number of local steps.
        randomness: R, the range of random step counts; None: every client takes exactly K steps (R = 1 instead draws 1
            to K).

    Raises:
        PlanError: the buffer is larger than the number of clients, or a number is not whole or too small.

    Source: Client-Centric, sec. 5.1 (L306-312); its K counts epochs.
    """
    _check(
        COUNT,
        clients=clients,
        buffer=buffer,
        rounds=rounds,
        steps=steps,
        randomness=1 if randomness is None else randomness,
    )
    _check(WHOLE, largest_delay=largest_delay)
    if buffer > clients:
        raise PlanError(f"buffer: {buffer} different clients are drawn from {clients}; ask for at most {clients}")
    out = []
    for t in range(rounds):
        for i in rng.choice(clients, size=buffer, replace=False):
            delay = rng.integers(0, min(largest_delay, t), endpoint=True)
            K = steps if randomness is None else rng.integers(1, steps * randomness, endpoint=True)
            out.append(Arrival(int(i), int(K), int(delay)))
    return out


def busy_clients(
    rng: np.random.Generator, *, means: Sequence[float], steps: Sequence[int], buffer: int, arrivals: int
) -> list[Arrival]:
    """Simulate clients without idle time: each trains for an exponential time of its own mean, sends and restarts.

    Delays are not drawn but arise. The slower a client, the later and the rarer its updates, so that the limit point is
    the fast clients'; and it may send twice to one buffer.

    Args:
        rng: generator of the times.
        means: the mean time between two updates of each client.
        steps: the number of local steps of each client.
        buffer: number of updates that the server waits for.
        arrivals: number of updates to simulate.

    Raises:
        PlanError: there is no client; means and steps differ in number; a mean isn't positive; or another number isn't
            whole or is too small.

    Source: Client-Centric, sec. 3.1 (L131-133), in words: clients differ in speed and come when they are done.
    """
    if len(steps) != len(means):
        raise PlanError(f"steps: {len(steps)} numbers for {len(means)} clients; give one for each")
    if not len(means):
        raise PlanError("means: there is no client; give the mean time of at least one")
    _check(COUNT, buffer=buffer)
    _check(WHOLE, arrivals=arrivals)
    for i, (mean, tau) in enumerate(zip(means, steps, strict=True)):
        _check(POSITIVE, **{f"means[{i}]": mean})
        _check(COUNT, **{f"steps[{i}]": tau})
    begun = [0] * len(means)
    queue = [(rng.exponential(mean), i) for i, mean in enumerate(means)]
    heapq.heapify(queue)
    out = []
    for k in range(arrivals):
        time, i = heapq.heappop(queue)
        out.append(Arrival(i, steps[i], k // buffer - begun[i]))
        begun[i] = (k + 1) // buffer
        heapq.heappush(queue, (time + rng.exponential(means[i]), i))
    return out


def steps_of_epochs(examples: Sequence[int], *, epochs: int | Sequence[int], batch: int) -> tuple[int, ...]:
    """Convert each client's number of epochs to local steps: tau_i = floor(E_i n_i / B).

    An implementation that begins every epoch with a full batch, or ends it with a short one, takes other numbers.

    Args:
        examples: n_i, the sample size of every client.
        epochs: E, the same for all clients, or one for each.
        batch: B, the size of a minibatch.

    Raises:
        PlanError: a number is not a whole number >= 1, or a client has too few examples for one step.

    Source: FedNova, L48; its experiments draw E_i uniformly from 2, ..., 5 (L244).
    """
    E = list(epochs) if isinstance(epochs, Iterable) else [epochs] * len(examples)
    if len(E) != len(examples):
        raise PlanError(f"epochs: {len(E)} numbers for {len(examples)} clients; give one for each, or one for all")
    _check(COUNT, batch=batch)
    for i, (n_i, E_i) in enumerate(zip(examples, E, strict=True)):
        _check(COUNT, **{f"examples[{i}]": n_i, f"epochs[{i}]": E_i})
    steps = tuple(int(E_i * n_i // batch) for E_i, n_i in zip(E, examples, strict=True))
    if 0 in steps:
        i = steps.index(0)
        raise PlanError(
            f"examples: client {i} has {examples[i]} examples; {E[i]} epochs hold less than one batch of {batch}"
        )
    return steps
