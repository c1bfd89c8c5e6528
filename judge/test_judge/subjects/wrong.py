"""Wrong on purpose, each in one way: the right implementations with one thing changed."""

from __future__ import annotations

import os
import time

import numpy as np
from right import (
    DOUBLE,
    MCMAHAN,
    NOVA,
    REDDI,
    SINGLE,
    Adam,
    FedAdam,
    FedAvg,
    FedNova,
    Momentum,
    Subject,
    flat,
    named,
    parts,
)

from fedspec.contract import Begin, Offer

AVERAGE = Offer("fedavg", "server", MCMAHAN, dtypes=DOUBLE)
AVERAGE_32 = Offer("fedavg", "server", MCMAHAN, dtypes=SINGLE)


def average(session, offer=AVERAGE, **more):
    return Subject(session, offer, **more)


def changed(name, right, **methods):
    """A right implementation with some methods in the place of its own."""
    return type(name, (right,), methods)


def answering(name, answer):
    """FedAvg with another answer, from the server when it has stepped and the blocks of its model."""

    def step(self, event):
        return answer(self, FedAvg.step(self, event)["x"])

    return changed(name, FedAvg, step=step)


def failing(step):
    return changed("Failing", FedAvg, step=lambda self, event: step())


def refuses():
    raise RuntimeError("no kernel for this device")


def quits():
    raise SystemExit(0)


class Late(FedAvg):
    def step(self, event):
        before = named(self.x, self.like)
        super().step(event)
        return {"x": before}


class Forgetful(FedAdam):
    def update(self, messages):
        self.m, self.v = self.m * 0, self.v * 0 + self.h["v0"]
        return super().update(messages)


class FromMomentum(FedAdam):
    def second(self, delta):
        super().second(self.m)


class NeverReset(Momentum):
    def step(self, event):
        u = self.u
        answer = super().step(event)
        if isinstance(event, Begin):
            self.u = u
        return answer


class Chatters(FedAvg):
    def step(self, event):
        print("round", self.t, '{"ok": false}')
        os.write(1, b"from C\n")
        return super().step(event)


class Double(FedAvg):
    """Right, but in float64 whatever it is given."""

    def __init__(self, case):
        super().__init__(case)
        self.x = self.x.astype("float64")


class InPlace(FedAvg):
    def mean(self, messages):
        for m, p in zip(messages, self.weights(messages), strict=True):
            for a in m.delta.values():
                a *= p
        return sum(flat(m.delta) for m in messages)


class InPlaceStart(FedAvg):
    """Steps in the arrays of the case itself."""

    def step(self, event):
        super().step(event)
        for a, new in zip(self.like.values(), parts(self.x, self.like), strict=True):
            a[...] = new
        return {"x": self.like}


class WritesAtStart(FedAvg):
    """Moves the case's own model before the first round, once its own is copied."""

    def __init__(self, case):
        super().__init__(case)
        for a in case.x0.values():
            a += 1


class WritesBack(FedAvg):
    """Keeps the first change as its buffer, and adds the later ones to it."""

    kept = None

    def mean(self, messages):
        mean = super().mean(messages)
        if self.kept is None:
            self.kept = messages[0].delta
        else:
            for a, more in zip(self.kept.values(), parts(mean, self.like), strict=True):
                a += more
        return mean


class WritesProblem(FedAvg):
    """Shares out the examples in the problem itself."""

    def weights(self, messages):
        self.problem.e[...] *= 2
        return super().weights(messages)


class Leaks(FedAdam):
    """Moments that belong to the class."""

    kept: dict[int, list[np.ndarray]] = {}  # noqa: RUF012 - this is the mistake

    def __init__(self, case):
        super().__init__(case)
        self.m, self.v = self.kept.setdefault(self.x.size, [self.m, self.v])

    def update(self, messages):
        shown = super().update(messages)
        self.kept[self.x.size] = [self.m, self.v]
        return shown


class OneAtATime(FedAvg):
    """A new session takes the place of the one before."""

    current = None

    def __init__(self, case):
        super().__init__(case)
        OneAtATime.current = self

    def step(self, event):
        return FedAvg.step(OneAtATime.current, event)


def poisoned(value):
    """Average with one number of the model replaced by the value."""

    def answer(self, x):
        x[next(iter(self.like))].flat[0] = value
        return {"x": x}

    return average(answering("Poisoned", answer))


def everybody(self, messages):
    """Divides by everybody's examples, not by those of the participants."""
    return np.array([m.weight for m in messages]) / self.problem.examples.sum()


def half_double(self, x):
    """Every block but the first comes back in float64."""
    first = next(iter(self.like))
    return {"x": {n: a if n == first else a.astype("float64") for n, a in x.items()}}


zero = average(answering("Zero", lambda self, x: {"x": {n: 0 * a for n, a in x.items()}}))
late = average(Late)
uniform = average(changed("Uniform", FedAvg, weights=lambda self, messages: np.full(len(messages), 1 / len(messages))))
last_only = average(changed("LastOnly", FedAvg, mean=lambda self, messages: flat(messages[-1].delta)))
# The blocks in alphabetical order, as one flat vector.
sorted_blocks = average(answering("Sorted", lambda self, x: {"x": np.concatenate([np.ravel(x[n]) for n in sorted(x)])}))
raises, hangs, dies, quits = (
    average(failing(step)) for step in (refuses, lambda: time.sleep(3600), lambda: os._exit(7), quits)
)
hangs_at_start = average(changed("Hangs", FedAvg, __init__=lambda self, case: time.sleep(3600)))
nothing = average(answering("Nothing", lambda self, x: None))
no_x = average(answering("NoX", lambda self, x: {"model": x}))
chatters = average(Chatters)
# A number type that JSON does not have.
awkward = average(answering("Awkward", lambda self, x: {"x": {n: a + 0j for n, a in x.items()}}))
transposed = average(answering("Transposed", lambda self, x: {"x": {n: a[None] for n, a in x.items()}}))
short = average(answering("Short", lambda self, x: {"x": self.x[:-1]}))
renamed = average(answering("Renamed", lambda self, x: {"x": {n + ".weight": a for n, a in x.items()}}))
nan, inf = poisoned(np.nan), poisoned(np.inf)
in_place, in_place_start = average(InPlace), average(InPlaceStart)
random = average(
    changed(
        "Random",
        FedAvg,
        mean=lambda self, messages: FedAvg.mean(self, messages) * (1 + 1e-15 * int.from_bytes(os.urandom(1))),
    )
)
writes_at_start, writes_back = average(WritesAtStart), average(WritesBack)
writes_problem = average(WritesProblem, Offer("fedavg", "round", MCMAHAN, dtypes=DOUBLE))
# Half of the digits are lost, and it is hidden.
single = average(
    answering("Single", lambda self, x: {"x": {n: a.astype("float32").astype("float64") for n, a in x.items()}})
)
double, half_double = average(Double, AVERAGE_32), average(answering("HalfDouble", half_double), AVERAGE_32)
one_at_a_time = average(OneAtATime)
honest_one_at_a_time = average(OneAtATime, concurrent=False)
population = average(changed("Population", FedAvg, weights=everybody), Offer("fedavg", "round", MCMAHAN, dtypes=DOUBLE))

ADAM = Offer("fedadam", "server", REDDI, intermediates=("delta", "m", "v"), dtypes=DOUBLE)
Twice = changed("Twice", FedAdam, direction=lambda self: self.h["eta"] * FedAdam.direction(self))
# It offers m and v and does not show them.
Hides = changed("Hides", FedAdam, answer=lambda self, shown: {})
twice, forgetful, from_momentum, leaks, hides = (
    Subject(kind, ADAM) for kind in (Twice, Forgetful, FromMomentum, Leaks, Hides)
)


OWN_NORMS = {"solver": "momentum"}
NORMALISED = Offer("fednova", "server", NOVA, OWN_NORMS, dtypes=DOUBLE)
StepsNormaliser = changed(
    "StepsNormaliser", FedNova, norms=lambda self, messages: np.array([float(m.steps) for m in messages])
)
StepsTauEff = changed(
    "StepsTauEff", FedNova, effective=lambda self, p, a, messages: p @ np.array([m.steps for m in messages])
)
steps_normaliser, steps_tau_eff = (Subject(kind, NORMALISED) for kind in (StepsNormaliser, StepsTauEff))
shown_tau_eff = Subject(
    StepsTauEff, Offer("fednova", "server", NOVA, OWN_NORMS, intermediates=("tau_eff",), dtypes=DOUBLE)
)
# A server that counts steps is right if its clients are plain SGD, which the second offer says.
steps_unsaid = Subject(
    StepsNormaliser,
    Offer("fednova", "server", NOVA, dtypes=DOUBLE),
    Offer("fednova", "server", NOVA, {"solver": "sgd"}, dtypes=DOUBLE),
)

never_reset = Subject(NeverReset, Offer("momentum", "client", NOVA, intermediates=("u",), dtypes=DOUBLE))
ADAM_L = Offer("adam", "client", "kingma-2015", intermediates=("m", "v"), dtypes=DOUBLE)
correction_late = Subject(changed("CorrectionLate", Adam, exponent=lambda self: self.t + 1), ADAM_L)
