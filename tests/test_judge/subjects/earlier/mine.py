# As it stood in examples at commit 09f30b8.
"""The smallest subject: FedAvg at level server. Judge it with ``fedspec check py:examples/mine.py:Subject``."""

from fedspec.contract import Offer, SubjectInfo


class Session:
    """One case: the model and the hyper-parameters."""

    def __init__(self, case):
        self.x, self.h = dict(case.x0), case.hyper

    def step(self, event):
        """Average the changes of the round by examples and add them."""
        n = sum(m.weight for m in event.messages)
        for name in self.x:
            mean = sum(m.weight / n * m.delta[name] for m in event.messages)
            self.x[name] = self.x[name] + self.h["eta"] * mean
        return {"x": self.x}


class Subject:
    """What the judge talks to."""

    info = SubjectInfo("mine", "0.1", (Offer("fedavg", "server", "mcmahan-2017", {"weights": "examples"}),))

    def start(self, case):
        """Begin a case."""
        return Session(case)
