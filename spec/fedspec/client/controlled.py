"""Local steps whose gradient gets a correction that the client computed in earlier rounds."""

from __future__ import annotations

from fedspec.arith import Scalar, Shared, Vector
from fedspec.rules import rule


@rule
def corrected_sgd(x: Vector, g: Vector, c_i: Vector, c: Shared, *, eta_l: Scalar) -> Vector:
    """Local step of SCAFFOLD.

        y = y - eta_l (g - c_i + c)                scaffold.y

    External: Karimireddy et al. (2020), Algorithm 1.
    """
    return x - eta_l * (g - c_i + c)


@rule
def drift_free_sgd(x: Vector, g: Vector, v_i: Vector, *, eta_l: Scalar) -> Vector:
    """Local step of VRL-SGD.

        x_i = x_i - eta_l (g - v_i)                vrl-sgd.x_i

    External: Liang et al. (2019), Algorithm 1, where v_i is called Delta_i.
    """
    return x - eta_l * (g - v_i)


@rule
def dynamic_sgd(x: Vector, g: Vector, lam_i: Vector, anchor: Vector, *, eta_l: Scalar, mu: Scalar) -> Vector:
    """Gradient step on FedDyn's local objective, F_i(y) - lam_i' y + mu/2 |y - x|^2.

        y = y - eta_l (g - lam_i + mu (y - x))     feddyn.y

    The anchor x is the model that the round began with. External: Acar et al. (2021), Algorithm 1, which minimises that
    objective exactly.
    """
    return x - eta_l * (g - lam_i + mu * (x - anchor))


@rule
def corrected_gradient(g: Vector, c_i: Vector) -> Vector:
    """Gradient for a local solver under cross-client variance reduction: the client's gradient plus its correction.

        g = g + c_i                                fednova-vr.g

    Source: FedNova, L204; Alg. 2, line 7 (L979).
    """
    return g + c_i
