"""FedBuff: a buffer of updates, taken as they are; a relative of the client-centric algorithms.

    x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
    Delta_i = s(tau) (x_i - x_mu)                   (s = 1 in the box)
    when m of them wait:
        Delta = mean of the buffer;  x = x + eta Delta;  the buffer is emptied

A step takes one arrival, or several that fit the buffer, whose clients are then trained at once.
External: Nguyen et al. (2022), Algorithm 1, whose clients all take equally many steps; Client-Centric names it and does
not define it (L390-392). Its experiments have s(tau) = 1 / sqrt(1 + tau).
"""

from __future__ import annotations

from typing import Any

from fedspec.algorithms.fedbuff import FedBuff
from fedspec.plan import Arrival, Setup
from fedspec.readings import Normalise
from fedspec.server.average import average
from fedspec_torch.algorithms.buffered import Waiting, begin, collect, downloaded, run
from fedspec_torch.algorithms.local import local_sgd
from fedspec_torch.arith import Vector, column
from fedspec_torch.mixing.arrivals import discount, local_change
from fedspec_torch.plan import Clients

__all__ = ["FedBuff", "init", "run", "step"]


def init(h: FedBuff, x: Vector, setup: Setup, largest_delay: int | None = None) -> Waiting:
    """The first version and an empty buffer."""
    return begin(x, largest_delay)


def step(h: FedBuff, state: Waiting, clients: Clients, *arrivals: Arrival) -> tuple[Waiting, dict[str, Any]]:
    """Arrivals at FedBuff."""
    x_mu = downloaded(state.versions, [a.delay for a in arrivals])
    steps = [a.steps for a in arrivals]
    x = local_sgd(h, x_mu, clients.oracle([a.client for a in arrivals]), steps)
    weights = column([discount(1.0, delay=a.delay, **h.of(discount)) for a in arrivals], x)
    deltas = weights * local_change(x, x_mu, steps=steps, normalise=Normalise.NONE)
    return collect(h, state, deltas, average)
