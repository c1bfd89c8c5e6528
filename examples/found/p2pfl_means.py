"""``Krum`` and ``FedMedian`` of p2pfl at daa16b6, whose two files equal those of package 0.4.4.

``SOURCE=path/to/p2pfl fedspec check examples/found/p2pfl_means.py:Adapter``

median   ``FedMedian``
krum     ``Krum``, which has no number f; the case's is not handed over; once more with models of one array

Handed over are models, a list of arrays each, as clients send them; what comes back is the next model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import means
import numpy as np
import source
from means import MakeNext, Models

from fedspec.contract import Blocks

COMMIT = "daa16b6"


class Base:
    """Empty base class for the aggregators; these two don't use it."""

    addr = ""


class Sent:
    """Stand-in for the model that a client sends."""

    def __init__(self, params: Any, num_samples: float, contributors: Any = ()) -> None:
        self.params, self.num_samples, self.contributors = params, num_samples, list(contributors)

    def get_parameters(self) -> Any:
        """Return the model's arrays."""
        return self.params

    def get_num_samples(self) -> float:
        """Return the client's number of examples."""
        return self.num_samples

    def get_contributors(self) -> Any:
        """Return the contributors of the model."""
        return self.contributors

    def build_copy(self, **more: Any) -> Sent:
        """Return a copy with changed fields."""
        return Sent(**more)


def Adapter() -> Models:
    """Adapter of all three claims."""
    version = source.dated(COMMIT)
    given = {"np": np, "Aggregator": Base, "NoModelsToAggregateError": ValueError, "P2PFLModel": Sent}
    folder = "p2pfl/learning/aggregators"

    def of(file: str, name: str) -> MakeNext:
        aggregate = source.definitions(COMMIT, f"{folder}/{file}.py", name, given=given)[name].aggregate

        def next_of(models: Sequence[Blocks], examples: Sequence[float]) -> Blocks:
            sent = [Sent(list(m.values()), n) for m, n in zip(models, examples, strict=True)]
            return dict(zip(models[0], aggregate(Base(), sent).params, strict=True))

        return lambda h: next_of

    return Models(
        "p2pfl",
        version,
        [
            (means.offer_of_models("median", "yin-2018"), of("fedmedian", "FedMedian")),
            (means.offer_of_models("krum", "blanchard-2017"), of("krum", "Krum")),
            (means.offer_of_models("krum", "blanchard-2017", blocks="one", variant="one-array"), of("krum", "Krum")),
        ],
    )
