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
    FedAMSGrad,
    FedAvg,
    FedNova,
    FedProx,
    FedYogi,
    Momentum,
    ProximalSGD,
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


# --- wrong numbers, server


class Zero(FedAvg):
    def step(self, event):
        return {"x": named(self.x * 0, self.like)}


class Late(FedAvg):
    def step(self, event):
        before = named(self.x, self.like)
        super().step(event)
        return {"x": before}


class Uniform(FedAvg):
    def weights(self, messages):
        return np.full(len(messages), 1 / len(messages))


class Population(FedAvg):
    """Divides by everybody's examples, not by those of the participants."""

    def weights(self, messages):
        return np.array([m.weight for m in messages]) / self.problem.examples.sum()


class LastOnly(FedAvg):
    def mean(self, messages):
        for m in messages:
            delta = flat(m.delta)
        return delta


class Twice(FedAdam):
    def direction(self):
        return self.h["eta"] * super().direction()


class Forgetful(FedAdam):
    def update(self, messages):
        self.m, self.v = self.m * 0, self.v * 0 + self.h["v0"]
        return super().update(messages)


class FromMomentum(FedAdam):
    def second(self, delta):
        super().second(self.m)


class YogiSign(FedYogi):
    def second(self, delta):
        self.v = self.v + (1 - self.h["beta2"]) * delta**2 * np.sign(self.v - delta**2)


class NoMaximum(FedAMSGrad):
    def direction(self):
        self.v_hat = self.v
        return self.m / np.sqrt(self.v + self.h["eps"])


class StepsNormaliser(FedNova):
    """Normalises by tau_i whatever the solver."""

    def norms(self, messages):
        return np.array([float(m.steps) for m in messages])


class PlainNormaliser(FedNova):
    """The normaliser of plain SGD beside a momentum solver, at level round."""

    def norm(self, tau):
        return tau


class UniformTauEff(FedNova):
    def effective(self, p, a, messages):
        return a.mean()


class StepsTauEff(FedNova):
    def effective(self, p, a, messages):
        return p @ np.array([m.steps for m in messages])


class Sorted(FedAvg):
    """Works on the blocks in alphabetical order and answers with one flat vector."""

    def step(self, event):
        super().step(event)
        by_name = named(self.x, self.like)
        return {"x": np.concatenate([np.ravel(by_name[n]) for n in sorted(by_name)])}


# --- wrong numbers, client


class NeverReset(Momentum):
    def step(self, event):
        u = self.u
        answer = super().step(event)
        if isinstance(event, Begin):
            self.u = u
        return answer


class MovingAnchor(ProximalSGD):
    def move(self, g):
        self.anchor = self.x
        return super().move(g)


class MovingAnchorRounds(FedProx):
    local = FedAvg.local


class ServerCorrectionLate(FedAdam):
    """Claims Kingma and Ba's correction; the exponent is one too large."""

    def direction(self):
        b1, b2, t = self.h["beta1"], self.h["beta2"], self.t + 1
        return self.m / (1 - b1**t) / (np.sqrt(self.v / (1 - b2**t)) + self.h["tau"])


class CorrectionLate(Adam):
    def exponent(self):
        return self.t + 1


class EpsilonInside(Adam):
    def below(self, v):
        return np.sqrt(v + self.h["eps"])


# --- wrong manners


class Raises(FedAvg):
    def step(self, event):
        raise RuntimeError("no kernel for this device")


class Hangs(FedAvg):
    def step(self, event):
        time.sleep(3600)


class HangsAtStart(FedAvg):
    def __init__(self, case):
        time.sleep(3600)


class Dies(FedAvg):
    def step(self, event):
        os._exit(7)


class Quits(FedAvg):
    def step(self, event):
        raise SystemExit(0)


class Nothing(FedAvg):
    def step(self, event):
        super().step(event)


class NoX(FedAvg):
    def step(self, event):
        return {"model": super().step(event)["x"]}


class Chatters(FedAvg):
    def step(self, event):
        print("round", self.t, '{"ok": false}')
        os.write(1, b"from C\n")
        return super().step(event)


class Transposed(FedAvg):
    def step(self, event):
        return {"x": {n: a[None] for n, a in super().step(event)["x"].items()}}


class Short(FedAvg):
    def step(self, event):
        super().step(event)
        return {"x": self.x[:-1]}


class Renamed(FedAvg):
    def step(self, event):
        return {"x": {n + ".weight": a for n, a in super().step(event)["x"].items()}}


class Poisoned(FedAvg):
    value = np.nan

    def step(self, event):
        answer = super().step(event)
        answer["x"][next(iter(self.like))].flat[0] = self.value
        return answer


class Infinite(Poisoned):
    value = np.inf


class Double(FedAvg):
    """Right, but in float64 whatever it is given."""

    def __init__(self, case):
        super().__init__(case)
        self.x = self.x.astype("float64")


class HalfDouble(FedAvg):
    """Every block but the first comes back in float64."""

    def step(self, event):
        answer = super().step(event)
        first = next(iter(self.like))
        return {"x": {n: a if n == first else a.astype("float64") for n, a in answer["x"].items()}}


class Single(FedAvg):
    """Loses half of the digits, and hides it."""

    def step(self, event):
        super().step(event)
        return {"x": named(self.x.astype("float32").astype("float64"), self.like)}


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


class Random(FedAvg):
    def mean(self, messages):
        return super().mean(messages) * (1 + 1e-15 * int.from_bytes(os.urandom(1)))


class Hides(FedAdam):
    """Offers m and v and does not show them."""

    def answer(self, shown):
        return {}


class Awkward(FedAvg):
    """Answers with a number type that JSON does not have."""

    def step(self, event):
        return {"x": {n: a + 0j for n, a in super().step(event)["x"].items()}}


zero, late, uniform, last_only, sorted_blocks = map(average, (Zero, Late, Uniform, LastOnly, Sorted))
raises, hangs, hangs_at_start, dies, quits = map(average, (Raises, Hangs, HangsAtStart, Dies, Quits))
nothing, no_x, chatters, awkward = map(average, (Nothing, NoX, Chatters, Awkward))
transposed, short, renamed, nan, inf = map(average, (Transposed, Short, Renamed, Poisoned, Infinite))
in_place, in_place_start, random = map(average, (InPlace, InPlaceStart, Random))
writes_at_start, writes_back = map(average, (WritesAtStart, WritesBack))
writes_problem = average(WritesProblem, Offer("fedavg", "round", MCMAHAN, dtypes=DOUBLE))
single = average(Single)
double, half_double = average(Double, AVERAGE_32), average(HalfDouble, AVERAGE_32)
one_at_a_time = average(OneAtATime)
honest_one_at_a_time = average(OneAtATime, concurrent=False)
population = average(Population, Offer("fedavg", "round", MCMAHAN, dtypes=DOUBLE))

ADAM = Offer("fedadam", "server", REDDI, intermediates=("delta", "m", "v"), dtypes=DOUBLE)
twice, forgetful, from_momentum, leaks, hides = (
    Subject(kind, ADAM) for kind in (Twice, Forgetful, FromMomentum, Leaks, Hides)
)
server_correction_late = Subject(ServerCorrectionLate, Offer("fedadam", "server", "kingma-ba", dtypes=DOUBLE))
yogi_sign = Subject(YogiSign, Offer("fedyogi", "server", REDDI, intermediates=("m", "v"), dtypes=DOUBLE))
no_maximum = Subject(NoMaximum, Offer("fedamsgrad", "server", "afga", intermediates=("v_hat",), dtypes=DOUBLE))

OWN_NORMS = {"solver": "momentum"}
NORMALISED = Offer("fednova", "server", NOVA, OWN_NORMS, dtypes=DOUBLE)
steps_normaliser, uniform_tau_eff, steps_tau_eff = (
    Subject(kind, NORMALISED) for kind in (StepsNormaliser, UniformTauEff, StepsTauEff)
)
shown_tau_eff = Subject(
    StepsTauEff, Offer("fednova", "server", NOVA, OWN_NORMS, intermediates=("tau_eff",), dtypes=DOUBLE)
)
# A server that counts steps is right if its clients are plain SGD, which the second offer says.
steps_unsaid = Subject(
    StepsNormaliser,
    Offer("fednova", "server", NOVA, dtypes=DOUBLE),
    Offer("fednova", "server", NOVA, {"solver": "sgd"}, dtypes=DOUBLE),
)
plain_normaliser = Subject(PlainNormaliser, Offer("fednova", "round", NOVA, {"solver": "momentum"}, dtypes=DOUBLE))

never_reset = Subject(NeverReset, Offer("momentum", "client", NOVA, intermediates=("u",), dtypes=DOUBLE))
moving_anchor = Subject(MovingAnchor, Offer("proximal-sgd", "client", NOVA, dtypes=DOUBLE))
moving_anchor_rounds = Subject(MovingAnchorRounds, Offer("fedprox", "round", NOVA, dtypes=DOUBLE))
ADAM_L = Offer("adam", "client", "kingma-2015", intermediates=("m", "v"), dtypes=DOUBLE)
correction_late, epsilon_inside = Subject(CorrectionLate, ADAM_L), Subject(EpsilonInside, ADAM_L)
