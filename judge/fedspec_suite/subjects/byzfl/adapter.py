"""byzfl 0.0.11 as a federated server: its robust aggregators, called with the clients' changes, one vector each.

median             ``Median()``
trimmed-mean       ``TrMean(f=floor(trim n))``; its documentation has the number f for a share
krum, byzfl        ``Krum(f=f)``; documented with the n - f nearest among all n, of which a vector itself is one
geometric-median   ``GeometricMedian(nu=smooth, T=passes)``; documented as the smoothed Weiszfeld algorithm
centred-clipping   ``CenteredClipping(L=passes, tau=clip_norm)``; documented with the formula of the row

Each is offered twice: ``numpy`` hands over one array of two axes, ``torch`` a tensor, which byzfl makes float32
whatever it was. An aggregator says nothing of a server's rate: the model moves by what it returns (eta is 1). It gets
no numbers of examples. A new one is made for each round, except ``CenteredClipping``, which keeps its last vector.
Shown: what it returns. ``MultiKrum`` keeps n - f vectors, while the row's m is a parameter: it is not offered. Nor are
MDA, MoNNA, Meamed, CAF, SMEA and what goes before an aggregator, which are no rows.
"""
# mypy: disable-error-code="import-not-found,import-untyped"

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from math import floor
from typing import Any

import numpy as np
import torch

from fedspec.contract import Answer, Case, Event, Messages, Offer, SubjectInfo
from fedspec.errors import ContractError
from fedspec.params import flatten, unflatten
from fedspec_suite.subjects import torchvision_stub

torchvision_stub.declare()
import byzfl  # noqa: E402

Make = Callable[[Mapping[str, Any], int], Any]

AGGREGATORS: dict[str, tuple[str, Make]] = {
    "median": ("yin-2018", lambda h, n: byzfl.Median()),
    "trimmed-mean": ("yin-2018", lambda h, n: byzfl.TrMean(f=floor(h["trim"] * n))),
    "krum": ("byzfl", lambda h, n: byzfl.Krum(f=int(h["f"]))),
    "geometric-median": ("from-zero", lambda h, n: byzfl.GeometricMedian(nu=h["smooth"], T=int(h["passes"]))),
    "centred-clipping": (
        "karimireddy-2021",
        lambda h, n: byzfl.CenteredClipping(L=int(h["passes"]), tau=h["clip_norm"]),
    ),
}
"""Reading of each aggregator, and its constructor from the hyper-parameters and the number of clients."""

KINDS: dict[str, dict[str, Any]] = {
    "numpy": {},
    "torch": {"dtypes": ("float32",), "notes": "tensors are made float32"},
}


def offers() -> tuple[Offer, ...]:
    """Return an offer for every aggregator with both kinds of vectors."""
    return tuple(
        Offer(
            algorithm,
            "server",
            reading,
            fixed={"eta": 1.0},
            intermediates=("v",) if algorithm == "centred-clipping" else ("delta",),
            variant=variant,
            **more,
        )
        for variant, more in KINDS.items()
        for algorithm, (reading, _) in AGGREGATORS.items()
    )


class ByzflSession:
    """Session: an aggregator and the current model as one vector."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.x = flatten(case.x0)
        self.kept: Any = None

    def step(self, event: Event) -> Answer:
        """Aggregate one round's messages."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        sent = np.stack([flatten(m.delta) for m in event.messages])
        _, make = AGGREGATORS[self.case.algorithm]
        if self.kept is None or self.case.algorithm != "centred-clipping":
            self.kept = make(self.case.hyper, len(sent))
        found = self.kept(torch.from_numpy(sent) if self.case.variant == "torch" else sent)
        self.x = self.x + np.asarray(found)
        name = "v" if self.case.algorithm == "centred-clipping" else "delta"
        return {"x": unflatten(self.x, self.case.x0), name: unflatten(np.asarray(found), self.case.x0)}


class Byzfl:
    """ByzFL as a subject."""

    info = SubjectInfo("byzfl", version("byzfl"), offers())

    def start(self, case: Case) -> ByzflSession:
        """Create a session at the case's model."""
        if case.algorithm not in AGGREGATORS:
            raise ContractError(f"case: {case.algorithm} is not claimed")
        return ByzflSession(case)


SUBJECT = Byzfl()
