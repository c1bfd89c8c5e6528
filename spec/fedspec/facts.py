"""Facts: properties of an algorithm beyond its equations, by which laws choose their algorithms.

A fact that a row does not have is not denied; nothing rests on it. A row denies (``denies``) what would be read off it
and is not so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from fedspec.division import STABILISERS


class Fact(StrEnum):
    """Property of an algorithm; the value describes it in words."""

    # Read off the row.
    GOSSIP = "a server whose clients mix"
    PEERS = "clients without a server"
    FREE_SETS = "clients that all mix, whoever computes and whoever sends"
    LATE = "late updates"
    BUFFERED = "buffers of changes"
    PLAIN_MEAN = "the weighted mean of changes"
    EXACT_MEAN = "an exact mean in the last local step of a round"
    PERIODIC = "local models that are averaged, and no step of a server"
    CROSS_CLIENT = "corrections by what all clients' directions differ by"
    ADAPTIVE = "a denominator with a stabiliser"
    PRIVATE = "clipped changes with noise"
    DECAYING = "a decay of the model"
    LAYERED = "steps whose length is that of a layer"
    MATRICES = "steps whose direction is that of a matrix, and models of nothing else"
    ORDERED = "order statistics of what clients send"
    ELECTING = "changes that are taken for their nearest neighbours"
    DISTANT = "changes that count the less, the farther they are"
    CENTRED = "changes that are clipped around the last move"
    EXTRAPOLATING = "a rate that is larger, the less the changes agree"
    SIGNED = "a second moment that moves by the sign of a difference, under all options"

    # Said by the row.
    AFFINE = "models that are an affine function of those before, and of nothing else"
    ISOTROPIC = "rules to which one direction is as good as another"
    NORMALISED = "steps over the length of their own gradient"
    JOINT = "adaptive clients under an adaptive server"
    CONTROLLED = "control variates that hold the minimum, whatever steps follow"
    COUNTS_ALL = "means or shares over all clients, those included that sit out"


class _Row(Protocol):
    """Parts of a row by which facts are read off it."""

    @property
    def event(self) -> str: ...
    @property
    def takes(self) -> tuple[str, ...]: ...
    @property
    def numbers(self) -> tuple[str, ...]: ...
    @property
    def options(self) -> Mapping[str, object]: ...
    def runs(self, rule: str) -> bool: ...


READ_OFF: dict[Fact, Callable[[_Row], bool]] = {
    Fact.GOSSIP: lambda a: a.event == "exchange" and "peers" not in a.takes,
    Fact.PEERS: lambda a: "peers" in a.takes,
    Fact.FREE_SETS: lambda a: a.event == "exchange" and not a.takes,
    Fact.LATE: lambda a: a.event == "arrival",
    Fact.BUFFERED: lambda a: a.event == "arrival" and "buffer" in a.numbers,
    Fact.PLAIN_MEAN: lambda a: a.runs("weighted_mean"),
    Fact.EXACT_MEAN: lambda a: a.runs("global_mean"),
    Fact.PERIODIC: lambda a: a.runs("model_mean"),
    Fact.CROSS_CLIENT: lambda a: a.runs("cross_client"),
    Fact.ADAPTIVE: lambda a: bool({*STABILISERS} & {*a.numbers}),
    Fact.PRIVATE: lambda a: "sigma" in a.numbers,
    Fact.DECAYING: lambda a: bool({"lam", "wd"} & {*a.numbers}),
    Fact.LAYERED: lambda a: "phi" in a.options,
    Fact.MATRICES: lambda a: a.runs("newton_schulz"),
    Fact.ORDERED: lambda a: a.runs("coordinate_median") or a.runs("trimmed_mean"),
    Fact.ELECTING: lambda a: a.runs("krum_scores"),
    Fact.DISTANT: lambda a: a.runs("weiszfeld"),
    Fact.CENTRED: lambda a: a.runs("centred_clipping"),
    Fact.EXTRAPOLATING: lambda a: a.runs("extrapolated"),
    Fact.SIGNED: lambda a: a.runs("yogi") and "server" not in a.options,
}
"""Facts that fedspec derives from a row, each with its test; the row need not declare them."""
