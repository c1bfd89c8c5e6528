"""Rounds whose user sets rates anew, for all or for each client, and some that do it wrongly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from right import FedAvg, Subject

from fedspec.contract import ClientMessage, Offer


class Rated(FedAvg):
    """Hands the numbers of a round on, as a scheduler would."""

    def step(self, event):
        self.said = dict(event.hyper)
        first = self.h
        # The server reads the numbers of the round as well.
        self.h = {**first, **{n: v for n, v in self.said.items() if not isinstance(v, tuple)}}
        try:
            return super().step(event)
        finally:
            self.h = first

    def train(self, event):
        out = []
        for at, (i, tau) in enumerate(zip(event.participants, event.steps, strict=True)):
            rate, y = self.rate(at), self.x
            for _ in range(tau):
                y = y - rate * (self.problem.H[i] @ y - self.problem.e[i])
            out.append(ClientMessage(i, named(y - self.x, self.like), self.problem.examples[i], tau, tau))
        return out

    def rate(self, at):
        said = self.said.get("eta_l", self.h["eta_l"])
        return said[at] if isinstance(said, tuple) else said


class First(Rated):
    """Gives all clients the rate of the first."""

    def rate(self, at):
        return super().rate(0)


class Mean(Rated):
    """Gives all clients the mean of their rates."""

    def rate(self, at):
        said = self.said.get("eta_l", self.h["eta_l"])
        return sum(said) / len(said) if isinstance(said, tuple) else said


class Before(Rated):
    """What is said for all reaches the round after its own."""

    def __init__(self, case):
        self.next = {}
        super().__init__(case)

    def step(self, event):
        if not event.hyper:
            return super().step(event)
        each = {n: v for n, v in event.hyper.items() if isinstance(v, tuple)}
        now, self.next = self.next, {n: v for n, v in event.hyper.items() if n not in each}
        return super().step(replace(event, hyper={**now, **each}))


class Strict(FedAvg):
    """Knows the events of old, and stumbles over another field."""

    def step(self, event):
        assert not event.hyper, "never heard of it"
        return super().step(event)


def named(x, like):
    ends = np.cumsum([a.size for a in like.values()])
    return {n: p.reshape(a.shape) for (n, a), p in zip(like.items(), np.split(x, ends[:-1]), strict=True)}


def averaging(session, level="round", rates="clients", **more):
    return Subject(session, Offer("fedavg", level, "mcmahan-2017", dtypes=("float64",), rates=rates, **more))


right, first, mean, before = averaging(Rated), averaging(First), averaging(Mean), averaging(Before)
rounds, at_server = averaging(Rated, rates="rounds"), averaging(Rated, "server", "rounds")
strict = averaging(Strict, rates="one")
clients_at_server = averaging(Rated, "server", "clients")
fixed = averaging(Rated, "server", "rounds", fixed={"eta": 1.0})
