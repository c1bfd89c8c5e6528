"""Local solvers whose user sets the rate of every step, and some that do it wrongly."""

from __future__ import annotations

from right import Momentum, ProximalSGD, Subject

from fedspec.contract import Gradient, Offer


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


def solver(session, algorithm="momentum", **more):
    return Subject(session, Offer(algorithm, "client", "fednova", **{"dtypes": ("float64",), "rates": "each", **more}))


heavy_ball = solver(HeavyBall, dtypes=("float64", "float32"))
proximal = solver(Proximal, "proximal-sgd")
late, in_buffer, deaf = solver(Late), solver(InBuffer), solver(Deaf)
constant = solver(Deaf, rates="one")
fixed = solver(HeavyBall, fixed={"eta_l": 0.5})
at_server = Subject(HeavyBall, Offer("fedavg", "server", "mcmahan-2017", rates="each"))
word = solver(HeavyBall, rates="some")
