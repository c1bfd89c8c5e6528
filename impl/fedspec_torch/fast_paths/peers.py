"""Decentralised algorithms (no server) with double-buffered models: an exchange reads one stack and writes the other.

The state that a round begins from is only read, so that a round makes two stacks of models, and Adam a copy of its
moments; as the text has it, it holds four and eleven. A round of ten exchanges of 100 clients x 9610 on a ring in
float32 took one core of an EPYC, with torch 2.13.0 and beside other work, 0.5 to 0.7 of the time of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from fedspec.algorithms.dadam import AdaptivePeers, Dadam
from fedspec.algorithms.peers import Dsgd, GossipPga, Peers, check_everyone
from fedspec.mixing.dadam import Moments
from fedspec.plan import Exchange
from fedspec.population import Clients, gradients
from fedspec.readings import Denominators, Order
from fedspec_torch.arith import Stack
from fedspec_torch.fast_paths.gossip import Links, links
from fedspec_torch.population import default_block

Result = tuple[Any, dict[str, Any]]


class Two:
    """Double buffer of the clients' models.

    Attributes:
        now: the current models; at first a stack that must not be overwritten.
        next: the stack to which the next models are written.
    """

    def __init__(self, X: Any) -> None:
        self.now: Any = X
        self.next: Any = torch.empty_like(X, memory_format=torch.contiguous_format)
        self._first = True

    def turn(self) -> None:
        """Swap the two stacks after the next models are written."""
        spare = torch.empty_like(self.next) if self._first else self.now
        self.now, self.next, self._first = self.next, spare, False

    def mix(self, W: Links) -> None:
        """Mix the current models by W."""
        self.now, self.next = W.mixed(self.now, self.next)


def computed(clients: Clients, t: int, X: Stack) -> Iterator[tuple[slice, Any]]:
    """Yield all clients' gradients at local step t, block by block; use each before you ask for the next."""
    size = default_block(X[0])
    for begin in range(0, len(X), size):
        rows = slice(begin, min(begin + size, len(X)))
        yield rows, gradients(clients, list(range(len(X)))[rows], t, X[rows])


def adapt(eta_l: float, clients: Clients, t: int, at: Any, X: Any, out: Any) -> None:
    """Write X - eta_l G to ``out``, where G are the clients' gradients at the models ``at``."""
    for rows, g in computed(clients, t, at):
        torch.sub(X[rows], g, alpha=eta_l, out=out[rows])


def dsgd(h: Dsgd, state: Peers, clients: Clients, plan: Exchange) -> Result:
    """:func:`fedspec.algorithms.peers.dsgd` in two stacks."""
    check_everyone(plan, clients)
    X, W = Two(state.X), links(plan, len(clients))
    for t in range(len(plan.computing)):
        if h.order is Order.ADAPT_THEN_COMBINE:
            adapt(h.eta_l, clients, t, X.now, X.now, X.next)
            X.turn()
            X.mix(W)
        else:
            mixed = W.times(X.now, X.next)
            adapt(h.eta_l, clients, t, mixed if h.order is Order.GRADIENT_AT_COMBINED else X.now, mixed, mixed)
            X.turn()
    return Peers(X.now), {}


def gossip_pga(h: GossipPga, state: Peers, clients: Clients, plan: Exchange) -> Result:
    """:func:`fedspec.algorithms.peers.gossip_pga` in two stacks."""
    check_everyone(plan, clients)
    X, W, last = Two(state.X), links(plan, len(clients)), len(plan.computing) - 1
    for t in range(len(plan.computing)):
        adapt(h.eta_l, clients, t, X.now, X.now, X.next)
        X.turn()
        if t == last:
            X.now.copy_(X.now.sum(0).div_(len(X.now)).expand_as(X.now))
        else:
            X.mix(W)
    return Peers(X.now), {}


def dadam(h: Dadam, state: AdaptivePeers, clients: Clients, plan: Exchange) -> Result:
    """:func:`fedspec.algorithms.dadam.dadam` in two stacks."""
    check_everyone(plan, clients)
    X, W = Two(state.X), links(plan, len(clients))
    past: Any = state.moments
    m, v, v_hat = past.m.clone(), past.v.clone(), past.v_hat.clone()
    tracked = h.denominators is Denominators.TRACKED
    u = Two(state.u_tilde) if tracked else None
    for t in range(len(plan.computing)):
        mixed = W.times(X.now, X.next)
        if u:
            W.times(u.now, u.next)
            u.turn()
        for rows, g in computed(clients, t, X.now):
            m[rows].lerp_(g, 1 - h.beta1)
            v[rows].mul_(h.beta2).addcmul_(g, g, value=1 - h.beta2)
            largest = torch.maximum(v_hat[rows], v[rows])
            if u:
                before = v_hat[rows].clone()
                below = u.now[rows].clamp_min(h.eps).sqrt_()
                u.now[rows].add_(v_hat[rows].lerp_(largest, 1 - h.beta3).sub(before))
            else:
                below = v_hat[rows].lerp_(largest, 1 - h.beta3).sqrt().add_(h.eps)
            mixed[rows].addcdiv_(m[rows], below, value=-h.eta_l)
        X.turn()
    u_tilde = u.now if u else v_hat
    shown = {"m": m, "v": v, "v_hat": v_hat, "u_tilde": u_tilde}
    return AdaptivePeers(X.now, Moments(m, v, v_hat), u_tilde), {name: rows.reshape(-1) for name, rows in shown.items()}
