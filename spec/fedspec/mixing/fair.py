"""q-FedAvg: a mean of the changes weighted by powers of the clients' losses."""

from __future__ import annotations

from fedspec.arith import Column, Scalar, Stack, Vector, power, total
from fedspec.rules import rule


@rule
def fair_parts(deltas: Stack, F: Column, *, eta_l: Scalar, q: Scalar, guard: Scalar = 0) -> tuple[Stack, Column]:
    """Step of each client, and the curvature in its divisor; F_i(x) is the client's loss before its local steps.

        F_i = F_i(x) + guard                             q-fedavg.F_i
        g_i = -L Delta_i                                 q-fedavg.g_i
        d_i = F_i^q g_i                                  q-fedavg.d_i
        b_i = q F_i^(q - 1) ||g_i||^2 + L F_i^q          q-fedavg.b_i

    L = 1 / eta_l, and the length is over the whole model. F_i is positive. The paper has no guard; codes have.
    External: Li, Sanjabi, Beirami and Smith (2020), Algorithm 2.
    """
    L = 1 / eta_l
    F = F + guard
    g_i = -L * deltas
    d_i = power(F, q) * g_i
    b_i = q * power(F, q - 1) * total(g_i * g_i) + L * power(F, q)
    return d_i, b_i


@rule
def fair_step(x: Vector, d_i: Stack, b_i: Column) -> Vector:
    """Server step of q-FedAvg: the sum of the clients' steps over the sum of their curvatures.

        x = x - sum_i d_i / sum_i b_i          q-fedavg.step

    External: Li, Sanjabi, Beirami and Smith (2020), Algorithm 2.
    """
    x = x - d_i.sum(axis=0) / b_i.sum(axis=0)
    return x
