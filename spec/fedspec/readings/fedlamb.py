"""Readings of Fed-LAMB."""

from __future__ import annotations

from enum import StrEnum


class LocalGradient(StrEnum):
    """Point at which Fed-LAMB's clients take the gradients of their local steps."""

    FRESH = "fresh"
    """g_t at the local model of step t - 1."""
    STALE = "stale"
    """A single gradient a round, at the round's first model, used in all T steps: Alg. 1 as printed (L137)."""


class ClientMemory(StrEnum):
    """Start of the moments of Fed-LAMB's clients in a round; the box mixes the indices r - 1 and t - 1 (L140-141)."""

    CARRIED = "carried"
    """m_i and v_i from the end of the client's last round, however long ago."""
    RESET = "reset"
    """m_i = 0 and v_i = v_0 in every round."""
    TWO_INDEX = "two-index"
    """Alg. 1 as printed (L140-141): a client keeps m_i^t and v_i^t of every step t; step t of a round averages m_i^t
    with m_i^(t-1), and v_i^t with v_i^t, of the last round that had such a step. m_i^0 = 0 in every round, since no
    line assigns it; at first m_i^t = 0 and v_i^t = v_0."""


class LocalCorrection(StrEnum):
    """Use of 1 - beta^t in Fed-LAMB's local steps."""

    MOMENTS = "moments"
    """A copy of m is divided by 1 - beta1^t for the step; the averages continue from the uncorrected m and v."""
    NONE = "none"
    """No division: the proofs (L577)."""
    IN_PLACE = "in-place"
    """m = m / (1 - beta1^t) and v = v / (1 - beta2^t), and the averages go on from these: Alg. 1 as printed (L140-141),
    a defect: at t = 1 the old m is multiplied by beta1 / (1 - beta1), which exceeds 1 where beta1 exceeds 1/2."""


class Exponent(StrEnum):
    """Steps that t counts in the exponents of Fed-LAMB's bias correction."""

    GLOBAL = "global"
    """All steps that the moments have seen: (r - 1) T + t for a client that takes part in every round. It removes
    the bias of an average that starts at zero, as the text says of these lines (L120), however long the average is
    carried on. Moments that are reset have seen only the steps of the round.
    """
    LOCAL = "local"
    """Steps of the round: t = 1..T, as printed (L140), a defect: moments that are carried on have lost that bias, and
    m_i / (1 - beta1^t) is up to 1 / (1 - beta1) times too long at the first step of a round."""


class Sent(StrEnum):
    """Second moment that Fed-LAMB's clients send: line 9 gives two values the name that line 13 sends (L141, L149)."""

    RAW = "raw"
    """v_i, uncorrected."""
    CORRECTED = "corrected"
    """v_i / (1 - beta2^T), T being the t of the client's last step, as the exponent counts it."""


class Averaged(StrEnum):
    """Divisor of the sums over a round's clients at Fed-LAMB's server."""

    PARTICIPANTS = "participants"
    """The number of participating clients."""
    ALL = "all"
    """n, the number of all clients: Alg. 1 as printed (L152-154), a defect: unless all take part, the model shrinks."""
    LAST_SENT = "last-sent"
    """n, of a sum over all clients (L152-154), in which absent clients count with the values that they sent last; a
    client that has sent nothing yet counts with x0 and v0.
    """


class Phi(StrEnum):
    """Fed-LAMB's scaling function phi of the length of a layer."""

    IDENTITY = "identity"
    """phi(a) = a: the experiments (L329). It has no bounds, although H4 (L188) requires them."""
    CONSTANT = "constant"
    """phi(a) = 1; eta_l absorbs any other constant."""
    CLIP = "clip"
    """phi(a) = min(max(a, phi_m), phi_M), which H4 (L188) allows."""


class ZeroLayer(StrEnum):
    """Step of LAMB in a layer of norm zero, as biases often begin, if phi is the identity."""

    STAYS = "stays"
    """phi(||x||) unchanged: 0 under phi = identity, so that the layer never moves; it moves under other phi."""
    RATIO_ONE = "ratio-one"
    """x = x - eta_l q, the direction neither normalised nor scaled: optax 0.2.8, timm 1.0.31, Keras 3.15.1,
    torch_optimizer 0.3.0 and TensorFlow Addons, whose trust ratio ||x|| / ||q|| is 1 where either length is zero."""


class Normalisation(StrEnum):
    """Normalisation of Fed-LAMB's local steps."""

    LAYER = "layer"
    """Every layer's step has length eta_l phi."""
    NONE = "none"
    """x = x - eta_l q: with lam = 0, Fed-AMS."""
