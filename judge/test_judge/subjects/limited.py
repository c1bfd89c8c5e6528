"""The specification behind an offer that says what it cannot take, and refuses all of that."""

from __future__ import annotations

from fedspec.catalogue import find
from fedspec.contract import Case, Event, Exchange, Messages, Offer, Round, SubjectInfo
from fedspec.reference import SUBJECT as REFERENCE


def attending(e: Event) -> list[set[int]]:
    """The sets of clients that an event speaks of."""
    match e:
        case Messages(messages=sent):
            return [{m.client for m in sent}]
        case Round(participants=who):
            assert len(set(who)) == len(who), f"client twice in {who}"
            return [set(who)]
        case Exchange(senders=senders, computing=computing):
            return [set(S) for S in (*computing, *([senders] if senders else []))]
    return []


class Limited:
    """Runs the rules, and raises on a model or a round that its offer excludes."""

    def __init__(self, offer: Offer) -> None:
        self.info, self.offer = SubjectInfo("limited", "1", (offer,)), offer

    def start(self, case: Case) -> Limited:
        shapes = [a.shape for a in case.x0.values()]
        assert self.offer.blocks != "matrices" or all(len(s) == 2 for s in shapes), f"no matrices: {shapes}"
        assert self.offer.blocks != "one" or len(shapes) == 1, f"{len(shapes)} blocks"
        running = Limited(self.offer)
        running.inner = REFERENCE.start(case)
        running.known = None if case.problem is None else set(range(len(case.problem.e)))
        return running

    def step(self, event: Event) -> dict[str, object]:
        for who in attending(event) if self.offer.participation == "all" else ():
            self.known = self.known or who
            assert who == self.known, f"{who} take part, not {self.known}"
        return self.inner.step(event)


def limited(algorithm: str, level: str, **limits: str) -> Limited:
    """The canonical reading of an algorithm, with such limits."""
    a = find(algorithm)
    return Limited(Offer(a.id, level, a.readings[0].name, intermediates=a.shows, dtypes=("float64",), **limits))


average = limited("fedavg", "round", participation="all")
sm3 = limited("sm3-ii", "client", blocks="matrices")
lone = limited("adagrad", "client", participation="all")
late = limited("fedbuff", "trace", participation="all")
vector = limited("fedavg", "round", blocks="matrices")
peers = limited("dsgd", "trace", blocks="matrices")
often = limited("fedavg", "server", participation="mostly")
