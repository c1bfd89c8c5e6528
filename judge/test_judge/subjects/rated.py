"""Rounds and local solvers whose user sets rates anew, and some that do it wrongly."""

from __future__ import annotations

from dataclasses import replace

from right import FedAvg, Momentum, ProximalSGD, Subject, named

from fedspec.contract import ClientMessage, Gradient, Offer


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
    """Client that uses the rates of a round for all in the next round."""

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


class EachRate:
    """Hands the rate of a step on, as a scheduler would."""

    def step(self, event):
        if isinstance(event, Gradient):
            self.h = {**self.h, "eta_l": self.rate(event)}
        return super().step(event)

    def rate(self, event):
        return self.h["eta_l"] if event.eta_l is None else event.eta_l


class HeavyBall(EachRate, Momentum):
    pass


class Proximal(EachRate, ProximalSGD):
    pass


class Late(HeavyBall):
    """Each rate reaches the step after its own."""

    def __init__(self, case):
        self.next = case.hyper["eta_l"]
        super().__init__(case)

    def rate(self, event):
        now, self.next = self.next, super().rate(event)
        return now


class InBuffer(HeavyBall):
    """The buffer holds rates times gradients: another algorithm as soon as rates differ."""

    def move(self, g):
        self.u = self.h["rho"] * self.u + self.h["eta_l"] * g
        self.x = self.x - self.u
        return {}


class Deaf(Momentum):
    """Takes the first rate throughout."""


def averaging(session, level="round", rates="clients", **more):
    return Subject(session, Offer("fedavg", level, "mcmahan-2017", dtypes=("float64",), rates=rates, **more))


right, first, mean, before = averaging(Rated), averaging(First), averaging(Mean), averaging(Before)
rounds, at_server = averaging(Rated, rates="rounds"), averaging(Rated, "server", "rounds")
strict = averaging(Strict, rates="one")
clients_at_server = averaging(Rated, "server", "clients")
fixed = averaging(Rated, "server", "rounds", fixed={"eta": 1.0})


def solver(session, algorithm="momentum", **more):
    return Subject(session, Offer(algorithm, "client", "fednova", **{"dtypes": ("float64",), "rates": "each", **more}))


heavy_ball = solver(HeavyBall, dtypes=("float64", "float32"))
proximal = solver(Proximal, "proximal-sgd")
late, in_buffer, deaf = solver(Late), solver(InBuffer), solver(Deaf)
constant = solver(Deaf, rates="one")
fixed_rate = solver(HeavyBall, fixed={"eta_l": 0.5})
each_at_server = Subject(HeavyBall, Offer("fedavg", "server", "mcmahan-2017", rates="each"))
word = solver(HeavyBall, rates="some")
