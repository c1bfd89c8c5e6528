# FedAvg's server, the smallest adapter: fedspec check examples/mine.py
from fedspec.contract import Claim, Info


class Session:
    def __init__(self, case):
        self.x, self.h = dict(case.x0), case.hyper

    def step(self, event):
        n = sum(m.weight for m in event.messages)
        for name in self.x:
            mean = sum(m.weight / n * m.delta[name] for m in event.messages)
            self.x[name] = self.x[name] + self.h["eta"] * mean
        return {"x": self.x}


class Adapter:
    info = Info("mine", "0.1", (Claim("fedavg", "server", "mcmahan-2017", {"weights": "examples"}),))

    def start(self, case):
        return Session(case)


# ruff: noqa: D100, D101, D102
