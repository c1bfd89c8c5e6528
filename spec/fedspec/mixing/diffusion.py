"""Exact diffusion: each step compensates for what mixing undid of a client's last step. Row i of a stack is client i's.

External to the five papers.
"""

from __future__ import annotations

from fedspec.arith import Mixing, Scalar, Stack
from fedspec.mixing.gossip import check_mixing
from fedspec.readings import MixedBy
from fedspec.rules import rule


@rule
def d2_step(
    X: Stack, X_before: Stack, G_before: Stack, G: Stack, W: Mixing, *, eta_l: Scalar, matrix: MixedBy = MixedBy.WHOLE
) -> Stack:
    """Step of D2, or of exact diffusion under the other reading.

        X = W (2 X - X_before - eta_l (G - G_before))              d2.step
        X = (I + W) / 2 (2 X - X_before - eta_l (G - G_before))    d2.step [matrix=half]

    Raises:
        MixingError: W is not doubly stochastic.

    External: Tang, Lian, Yan, Zhang and Liu (2018), as ``epfml/quasi-global-momentum`` has it,
    ``code/pcode/optim/decentralized_d2.py`` at 0683d7a; Yuan, Ying, Zhao and Sayed (2018).
    """
    check_mixing(W)
    moved = 2 * X - X_before - eta_l * (G - G_before)
    return (moved + W @ moved) / 2 if matrix is MixedBy.HALF else W @ moved


@rule
def held_back(Phi: Stack, G: Stack, dual: Stack, *, steps: int, eta_l: Scalar) -> Stack:
    """Local step of local exact diffusion, minus a share dual / tau of the steps that mixing has undone so far.

        Phi = Phi - eta_l G(Phi) - dual / tau      led.Phi

    External: Alghunaim (2024), as ``OscarYau525/FSPDA`` has it, ``pcode/optim/led.py``, lines 129-137 at 0808887.
    """
    return Phi - eta_l * G - dual / steps


@rule
def combined(Phi: Stack, W: Mixing) -> Stack:
    """Models after the clients exchange the results of their local steps.

        X = W Phi                                  led.step

    Raises:
        MixingError: W is not doubly stochastic.

    External: the same, line 154.
    """
    check_mixing(W)
    return W @ Phi


@rule
def undone(dual: Stack, Phi: Stack, X: Stack) -> Stack:
    """Accumulated part of each client's steps that mixing has undone; it sums to 0 over the clients.

        dual = dual + Phi - X                      led.dual

    External: the same, line 150.
    """
    return dual + Phi - X
