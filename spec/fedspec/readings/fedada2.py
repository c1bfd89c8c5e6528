"""Readings of FedAda2."""

from __future__ import annotations

from enum import StrEnum


class Sm3Zero(StrEnum):
    """Step of SM3 at a coordinate whose accumulator is zero."""

    EPSILON = "epsilon"
    """eps is added to the root (FedAda2)."""
    ZERO_OVER_ZERO = "zero-over-zero"
    """0/0 = 0 (Anil et al., 2019)."""


class WarmUp(StrEnum):
    """First rate of a client's warm-up, which the paper describes as "from 0" (L1663)."""

    FIRST_STEP = "first-step"
    """eta_l min(1, k / warm_up) at step k = 1, 2, ...: the rate 0 belongs to the time before the first step."""
    ZERO = "zero"
    """eta_l min(1, (k - 1) / warm_up): the first step has rate 0, so it updates the optimiser but not the model."""


class DeadZone(StrEnum):
    """Quantity that the dead zone of FedAda2's delayed Adam clears if a whole step u is shorter than eps_s."""

    STEP = "step"
    """The step: x stays, m is kept. In Algs. 2 and 10, where m_k is the gradient, clearing m_k does just this."""
    MOMENTUM = "momentum"
    """m = 0 from the next step on; this step is taken. Alg. 8 as printed (L1418-1421): it clears m_k when m_hat_k,
    which moves the model, is already formed, while the text sets a short update to 0 (L142)."""


class Idle(StrEnum):
    """Accumulators of SM3-II at a step that does not update them."""

    CARRIED = "carried"
    """mu_k = mu_(k-1) and nu_k = nu_(k-1): Alg. 4, line 12 (L731), and the bound of Lemma 15 on nu asks for this mu."""
    RESET = "reset"
    """mu_k = 0 and nu_k = nu_(k-1): Algs. 2 and 4 as printed (L675, L723). With z > 1 the first update of
    every due epoch then starts from nothing, and nu does not bound the sum of squares, as the text says (L689)."""
    RECOMPUTED = "recomputed"
    """mu_k = mu_(k-1) and nu_k(j) = min over r with j in S_r of mu_k(r): the only option if nu is not stored."""


class PrivateServer(StrEnum):
    """Server step along the noisy mean of its clients' clipped changes."""

    AVERAGE = "average"
    ADAGRAD = "adagrad"
    ADAM = "adam"


class Clipped(StrEnum):
    """Vector that is clipped to length c under differential privacy: the paper's gradient clip value (L1647)."""

    CHANGE = "change"
    """A client's whole change, once; the noise sigma c is scaled to it (DP-FedAvg)."""
    GRADIENTS = "gradients"
    """Every local gradient, before the client's solver reads it, and no change: L1647 to the letter. The solver then
    bounds a change, by eta_l tau c under SGD, while the noise stays sigma c.
    """


class Preconditioner(StrEnum):
    """Start of a client's second moment, and its storage (L192)."""

    COMPRESSED = "compressed"
    """Zero, over the sets of SM3: FedAda2; if each set is one coordinate, its baseline without communication of
    preconditioners."""
    SENT = "sent"
    """The server's, whole: direct joint adaptivity."""


class Strategy(StrEnum):
    """Local solver that blended optimisation may assign to a client; all have the dead zone, all but sgd the delay."""

    SGD = "sgd"
    ADAGRAD = "adagrad"
    """AGDU"""
    ADAM = "adam"
    """ADMU"""
    SM3_ADAGRAD = "sm3-adagrad"
    """SM3-II with delayed updates"""
    SM3_ADAM = "sm3-adam"


class Received(StrEnum):
    """Use of the server's second moments by a client's Adam, on which the paper is silent."""

    CORRECTED = "corrected"
    """v begins at the server's, and Alg. 6 (L1335) continues as printed, with its bias correction."""
    UNCORRECTED = "uncorrected"
    """v begins at the server's, and neither moment is corrected, as on the server (App. C.2, L1136)."""
    M_CORRECTED = "m-corrected"
    """v begins at the server's, and only m is corrected, since only m starts at zero."""
    WITHOUT_START = "without-start"
    """v_hat = max((v - beta2^t sent) / (1 - beta2^t), 0): the correction that L1390-1393 require for a v that does
    not begin at 0; it removes the server's v again.
    """
