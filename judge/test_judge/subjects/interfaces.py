"""Package with two interfaces, an offer of each: the case names the interface to build."""

from __future__ import annotations

from right import DOUBLE, MCMAHAN, FedAvg, Subject

from fedspec.contract import Offer


class Either(FedAvg):
    """The old interface averages; the new one adds."""

    def __init__(self, case):
        super().__init__(case)
        self.variant = case.variant

    def mean(self, messages):
        assert self.variant in {"old", "new"}, f"variant {self.variant!r}"
        return super().mean(messages) * (len(messages) if self.variant == "new" else 1)


def offer(variant):
    return Offer("fedavg", "server", MCMAHAN, dtypes=DOUBLE, variant=variant)


both = Subject(Either, offer("old"), offer("new"))
below = Subject(Either, offer("old"), offer("new"), variant="sdk")
odd = Subject(Either, offer("old:er"))
starred = Subject(Either, offer("*"))
