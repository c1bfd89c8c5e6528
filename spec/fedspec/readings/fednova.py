"""Readings of FedNova."""

from __future__ import annotations

from enum import StrEnum


class Solver(StrEnum):
    """Local solver that is linear in its gradients, so that FedNova has an accumulation vector for it."""

    SGD = "sgd"
    PROXIMAL = "proximal"
    DECAYED = "decayed"
    MOMENTUM = "momentum"
    NESTEROV = "nesterov"
    DAMPENED = "dampened"
    MOMENTUM_PROXIMAL_OUTSIDE = "momentum-proximal-outside"
    MOMENTUM_PROXIMAL_INSIDE = "momentum-proximal-inside"


class BufferStart(StrEnum):
    """Value of a dampened momentum buffer after the first step."""

    ZERO = "zero"
    """(1 - rho) g, since the buffer starts at zero."""
    FIRST_GRADIENT = "first-gradient"
    """g, the first gradient itself."""


class TauEff(StrEnum):
    """FedNova's effective number of local steps."""

    WEIGHTED_NORM = "weighted-norm"
    """sum_i p_i ||a_i||_1, the default of FedNova, eq. (12)."""
    WEIGHTED_STEPS = "weighted-steps"
    """sum_i p_i tau_i, used with the proximal solver in the experiments of FedNova, sec. 5."""
    FIXED = "fixed"
    """A constant of the server, as App. G assumes when clients are sampled."""


class NovaNorm(StrEnum):
    """Divisor of a client's change in FedNova if the momentum buffer includes the proximal term."""

    ENTRIES = "entries"
    """||a_i||_1, the sum of the entries of a_i: FedNova, eq. (4)."""
    CODE = "code"
    """The divisor that the authors' code accumulates, external: it is neither the norm for a proximal term inside
    the buffer, which the code runs, nor that for one beside it. At tau = 20, rho = 0.9 and eta_l mu = 0.05 the three
    are 94.2, 22.4 and 85.7.
    """


class NovaWeights(StrEnum):
    """The weights w_i of FedNova's general rule, eq. (4)."""

    NOVA = "nova"
    """w_i = p_i: FedNova."""
    IMPLIED = "implied"
    """w_i proportional to p_i ||a_i||_1: the weights that averaging the changes implies, eqs. (5)-(7)."""


class BufferHolds(StrEnum):
    """Quantity that the buffer of FedNova's server momentum accumulates."""

    CHANGES = "changes"
    """v = beta v + P, x = x + v: the text (L204) puts the change P into the buffer."""
    GRADIENTS = "gradients"
    """v = beta v - P / eta_l, x = x - eta_l v: SlowMo (Wang et al., 2020). The same x as long as eta_l is constant."""


class NovaServer(StrEnum):
    """Adaptive server of Reddi et al. (2021) that gets FedNova's change as its pseudo-gradient."""

    ADAM = "adam"
    ADAGRAD = "adagrad"
    YOGI = "yogi"


class Stored(StrEnum):
    """Direction d_i that corrects the gradients of the next round in FedNova with cross-client variance reduction."""

    UNCORRECTED = "uncorrected"
    """d_i = G_i a_i / ||a_i||_1 over the gradients themselves: the text (L204) with eq. (12)."""
    CORRECTED = "corrected"
    """d_i = (x - x_i) / (eta a_i), which holds the correction: Alg. 2, line 13 as printed (L985), a defect. With h_i
    for the uncorrected direction it makes c_i^(t+1) = sum_j p_j h_j - h_i - c_i^(t), which never settles."""


class Loop(StrEnum):
    """Number of steps of FedNova's Alg. 2 (L978-981), whose printed step k takes the gradient at its own result."""

    SHIFTED = "shifted"
    """u^(k+1) = rho u^(k) + g~(x^(k)), x^(k+1) = x^(k) - eta u^(k+1), k = 0..tau-1: eqs. (35)-(36)."""
    PRINTED = "printed"
    """u^(0) = 0 and x^(0) are given (lines 2, 3), so that k = 1..tau-1 are left, and x^(tau) is x^(tau-1): a defect,
    since a_i counts the step that is not made. The gradient of step k is taken at x^(k-1), or nothing could run."""


class SampledWeights(StrEnum):
    """The weights w_i of the clients drawn in a round, q out of m."""

    SELF_NORMALISED = "self-normalised"
    """p_i / sum over S of p_j: FedNova, Alg. 1, line 6 (L969); biased unless all clients take part."""
    WITH_REPLACEMENT = "with-replacement"
    """1 / q for every draw, drawn with probabilities p_i: scheme (i) of FedNova, footnote 1 (L87), and eq. (153)."""
    WITHOUT_REPLACEMENT = "without-replacement"
    """p_i m / q, drawn uniformly: scheme (ii) of FedNova, footnote 1 (L87)."""


class SampledSteps(StrEnum):
    """The effective number of local steps when clients are sampled."""

    SAMPLE = "sample"
    """sum over S of w_i ||a_i||_1: FedNova, Alg. 1, line 6 (L969). It depends on the sample."""
    SUM = "sum"
    """sum over S of p_i ||a_i||_1, not divided by sum over S of p_j: the text before Alg. 1 (L961)."""
    FIXED = "fixed"
    """A constant of the server, as App. G assumes; choose sum_i p_i ||a_i||_1 over all clients."""
