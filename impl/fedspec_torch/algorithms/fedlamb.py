"""Fed-LAMB, all participants of a round at once: Fed-AMS whose local steps have one length in every layer.

    for each client i in D:
        x_i = x;  m_i, v_i as it left them
        T times:
            g = g_i(x_i)
            m_i = beta1 m_i + (1 - beta1) g;  v_i = beta2 v_i + (1 - beta2) g^2
            p = m_i / (1 - beta1^t) / (sqrt(v_hat) + eps)
            for each layer l, all from the same x_i:
                q = p^l + lam x_i^l
                x_i^l = x_i^l - eta_l phi(||x_i^l||) q / ||q||
        s_i = v_i
    x = mean over D of x_i
    v_hat = max(v_hat, mean over D of s_i)

A layer is a block of the model: a slice of the flat vector, whose lengths are taken for all clients at once.

Source: Fed-LAMB, Alg. 1 (L127-156).
"""

from __future__ import annotations

from typing import Any

import torch

from fedspec.algorithms.fedlamb import FedLamb
from fedspec.client.lamb import layer_step
from fedspec_torch.algorithms.local_ams import State, init, run
from fedspec_torch.arith import Mask, Stack, masked
from fedspec_torch.plan import Clients, Plan

__all__ = ["FedLamb", "init", "step"]


def step(h: FedLamb, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round."""

    def move(h: FedLamb, state: State, x: Stack, p: Stack, active: Mask | None) -> Stack:
        parts = [masked(layer_step, active)(x[:, at], p[:, at], **h.of(layer_step)) for at in state.layers]
        return torch.cat(parts, dim=1)

    return run(h, state, clients, plan, move)
