"""Servers of SCAFFOLD and FedDyn without their clients: right ones, and what is written wrongly."""

from __future__ import annotations

import numpy as np
from right import DOUBLE, Subject, flat, named

from fedspec.contract import Offer


class Scaffold:
    """Server of SCAFFOLD: the model and c."""

    def __init__(self, case):
        self.eta, self.like, self.N = case.hyper["eta"], case.x0, case.population
        self.x, self.c = flat(case.x0), 0 * flat(case.x0)

    def step(self, event):
        sent = event.messages
        self.x = self.x + self.eta * sum(flat(m.delta) for m in sent) / len(sent)
        self.c = self.kept(sent)
        return {"x": named(self.x, self.like), "c": named(self.c, self.like)}

    def kept(self, sent):
        return self.c + self.mean([flat(m.control) for m in sent])

    def mean(self, changes):
        return sum(changes) / self.N


class ScaffoldOfParticipants(Scaffold):
    def mean(self, changes):
        return sum(changes) / len(changes)


class ScaffoldOfChanges(Scaffold):
    """Takes the change of the model for that of c_i."""

    def kept(self, sent):
        return self.c + self.mean([flat(m.delta) for m in sent])


class FedDyn:
    """Server of FedDyn: the model and h."""

    def __init__(self, case):
        self.mu, self.like, self.N = case.hyper["mu"], case.x0, case.population
        self.x, self.h = flat(case.x0), 0 * flat(case.x0)

    def step(self, event):
        changes = np.stack([flat(m.delta) for m in event.messages])
        self.h = self.h - self.mu * changes.sum(axis=0) / self.counted(changes)
        self.x = self.x + changes.mean(axis=0) - self.h / self.mu
        return {"x": named(self.x, self.like), "h": named(self.h, self.like)}

    def counted(self, changes):
        return self.N


class FedDynOfParticipants(FedDyn):
    def counted(self, changes):
        return len(changes)


class FedDynOfTwo(FedDyn):
    """Shows h as it should be, and steps with one over the participants."""

    def __init__(self, case):
        super().__init__(case)
        self.other = self.h

    def step(self, event):
        changes = np.stack([flat(m.delta) for m in event.messages])
        self.h = self.h - self.mu * changes.sum(axis=0) / self.N
        self.other = self.other - self.mu * changes.mean(axis=0)
        self.x = self.x + changes.mean(axis=0) - self.other / self.mu
        return {"x": named(self.x, self.like), "h": named(self.h, self.like)}


def offered(session, algorithm, reading, shown, **more):
    return Subject(session, Offer(algorithm, "server", reading, intermediates=(shown,), **{"dtypes": DOUBLE, **more}))


def scaffold_server(session, **more):
    return offered(session, "scaffold", more.pop("reading", "karimireddy-2020"), "c", **more)


scaffold = scaffold_server(Scaffold, dtypes=("float64", "float32"))
option_1 = scaffold_server(Scaffold, reading="option-1")
everybody = scaffold_server(ScaffoldOfParticipants, participation="all")
scaffold_participants = scaffold_server(ScaffoldOfParticipants)
scaffold_changes = scaffold_server(ScaffoldOfChanges)
weighted = scaffold_server(Scaffold, reading="weighted")
clients_too = offered(Scaffold, "scaffold", "karimireddy-2020", "c_i")
feddyn = offered(FedDyn, "feddyn", "gradient-steps", "h", dtypes=("float64", "float32"))
feddyn_participants = offered(FedDynOfParticipants, "feddyn", "gradient-steps", "h")
feddyn_of_two = offered(FedDynOfTwo, "feddyn", "gradient-steps", "h")
