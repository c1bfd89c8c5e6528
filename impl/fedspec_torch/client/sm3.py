"""SM3: AdaGrad with one accumulator for each set of a cover instead of one for each coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fedspec.readings import Sm3Zero
from fedspec_torch.arith import Mask, Scalar, Sets, Stack, keep, on_stacks
from fedspec_torch.covers import Cover


@dataclass(frozen=True)
class Sm3:
    """The local models, the accumulators mu (one for each set) and the coordinate bounds nu that the step used."""

    x: Stack
    mu: Sets
    nu: Stack


def begin(x: Stack, cover: Cover) -> Sm3:
    """The state at the start of a round: all accumulators at zero."""
    return Sm3(x=x, mu=x.new_zeros(len(x), cover.q), nu=torch.zeros_like(x))


def accumulate_i(mu: Sets, g_squared: Stack, cover: Cover) -> tuple[Sets, Stack]:
    """The accumulators of SM3-I: each set adds its largest squared gradient.

        mu(r) = mu(r) + max over j in S_r of g(j)^2          sm3-i.mu
        nu(j) = min over r with j in S_r of mu(r)            sm3-i.nu

    Source: FedAda2, Alg. 3 with z = 1 (L701).
    """
    mu = mu + cover.greatest(g_squared)
    nu = cover.least(mu)
    return mu, nu


def accumulate_ii(mu: Sets, g_squared: Stack, cover: Cover) -> tuple[Sets, Stack]:
    """The accumulators of SM3-II: bounds first, then each set takes the largest of its bounds.

        nu(j) = min over r with j in S_r of mu(r) + g(j)^2   sm3-ii.nu
        mu(r) = max over j in S_r of nu(j)                   sm3-ii.mu

    Source: FedAda2, Alg. 4 with z = 1 (L717), where mu is cleared before the maximum is taken.
    """
    nu = cover.least(mu) + g_squared
    mu = cover.greatest(nu)
    return mu, nu


def _ratio(g: Stack, nu: Stack, eps: Scalar, zero: Sm3Zero) -> Stack:
    if zero is Sm3Zero.EPSILON:
        return g / (torch.sqrt(nu) + eps)
    # 0/0 = 0: nu(j) = 0 only where every gradient so far was 0 at j.
    return g / torch.sqrt(torch.where(nu == 0, 1, nu))


@on_stacks
def sm3_i(
    state: Sm3,
    g: Stack,
    cover: Cover,
    *,
    eta_l: Scalar,
    eps: Scalar = 0,
    zero: Sm3Zero = Sm3Zero.EPSILON,
    active: Mask | None = None,
) -> Sm3:
    """One local step of SM3-I.

        x = x - eta_l g / (sqrt(nu) + eps)                   sm3-i.step

    Source: FedAda2, Alg. 3 with z = 1 (L701).
    """
    mu, nu = accumulate_i(state.mu, g**2, cover)
    x = state.x - eta_l * _ratio(g, nu, eps, zero)
    return keep(active, Sm3(x=x, mu=mu, nu=nu), state)


@on_stacks
def sm3_ii(
    state: Sm3,
    g: Stack,
    cover: Cover,
    *,
    eta_l: Scalar,
    eps: Scalar = 0,
    zero: Sm3Zero = Sm3Zero.EPSILON,
    active: Mask | None = None,
) -> Sm3:
    """One local step of SM3-II.

        x = x - eta_l g / (sqrt(nu) + eps)                   sm3-ii.step

    Source: FedAda2, Alg. 4 with z = 1 (L717).
    """
    mu, nu = accumulate_ii(state.mu, g**2, cover)
    x = state.x - eta_l * _ratio(g, nu, eps, zero)
    return keep(active, Sm3(x=x, mu=mu, nu=nu), state)
