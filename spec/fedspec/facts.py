"""Facts: what is true of an algorithm beyond its equations, and what laws are asked of it by.

A fact that a row does not have is not denied; nothing rests on it.
"""

from __future__ import annotations

from enum import StrEnum


class Fact(StrEnum):
    """The value completes "it is about ..."."""

    # Read off the row.
    GOSSIP = "a server whose clients mix"
    PEERS = "clients without a server"
    FREE_SETS = "clients that all mix, whoever computes and whoever sends"
    LATE = "late updates"
    BUFFERED = "buffers of changes"
    MIXED_MODELS = "models that are mixed into the server's"
    PLAIN_MEAN = "the weighted mean of changes"
    EXACT_MEAN = "an exact mean in the last local step of a round"
    PERIODIC = "local models that are averaged, and no step of a server"
    CROSS_CLIENT = "corrections by what all clients' directions differ by"
    ADAPTIVE = "a denominator with a stabiliser"
    PRIVATE = "clipped changes with noise"
    DECAYING = "a decay of the model"
    LAYERED = "steps whose length is that of a layer"

    # Said by the row.
    AFFINE = "models that are an affine function of those before, and of nothing else"
    ISOTROPIC = "rules to which one direction is as good as another"
    NORMALISED = "steps over the length of their own gradient"
    JOINT = "adaptive clients under an adaptive server"
    CONTROLLED = "control variates that hold the minimum, whatever steps follow"
    COUNTS_ALL = "means or shares over all clients, those included that sit out"
    EPS_UNDER_ROOT = "an eps that is compared with squares"
