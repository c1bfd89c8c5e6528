"""Mistakes in what is kept, counted or divided by client, each in an own implementation: what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedspec.contract import Begin, Case, Offer, SubjectInfo
from fedspec_suite.diagnosis.identify import identify, in_words
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


def _said(offer: Offer, session: Any) -> str:
    class Subject:
        info = SubjectInfo("wrong", "1", (offer,))

        def start(self, case: Case) -> Any:
            return session(case)

    setting = setting_of(offer)
    return in_words(identify(bench_of(Inside(Subject(), copies=True), offer, setting), setting, further=True), True)


class Buffered:
    """CC-FedSGD; how a full buffer is divided is what differs."""

    divide: Any

    def __init__(self, case: Case) -> None:
        assert case.problem
        ((self.name, x),) = case.x0.items()
        self.h, self.problem, self.versions, self.waits = case.hyper, case.problem, [x], []
        self.came = 0

    def step(self, event: Any) -> Any:
        start = self.versions[-1 - event.delay]
        y, H, e = start, self.problem.H[event.client], self.problem.e[event.client]
        for _ in range(event.steps):
            y = y - self.h["eta_l"] * (H @ y - e)
        self.waits.append((y - start, event))
        self.came += 1
        shown = {"delta_i": {self.name: (y - start) / event.steps}}
        if len(self.waits) == self.h["buffer"]:
            delta = type(self).divide(self.waits, self.came)
            self.versions.append(self.versions[-1] + self.h["eta"] * delta)
            self.waits = []
            shown["delta"] = {self.name: delta}
        return {"x": {self.name: self.versions[-1]}, **shown}


def _by_the_last(waits: Any, came: int) -> Any:
    return sum(change for change, _ in waits) / (len(waits) * waits[-1][1].steps)


def _by_the_first(waits: Any, came: int) -> Any:
    return sum(change for change, _ in waits) / (len(waits) * waits[0][1].steps)


def _by_all_steps(waits: Any, came: int) -> Any:
    return sum(change for change, _ in waits) / sum(e.steps for _, e in waits)


def _by_all_so_far(waits: Any, came: int) -> Any:
    mean = 0
    for k, (change, e) in enumerate(waits):
        mean = mean + (change / e.steps - mean) / (came - len(waits) + k + 1)
    return mean


def _by_clients(waits: Any, came: int) -> Any:
    return sum(change / e.steps for change, e in waits) / len({e.client for _, e in waits})


def _towards_each(waits: Any, came: int) -> Any:
    mean = 0
    for change, e in waits:
        mean = mean + (change / e.steps - mean) / len(waits)
    return mean


@pytest.mark.parametrize(
    ("divide", "said"),
    [
        (_towards_each, "the mean of a buffer moves by 1 / buffer of what it lacks of each update, from 0 on"),
        (_by_the_last, "all updates in a buffer are divided by the steps of the one that fills it"),
        (_by_the_first, "all updates in a buffer are divided by the steps of the first in it"),
        (_by_all_steps, "all updates in a buffer are divided by the mean of all their steps"),
        (_by_all_so_far, "the sum of a full buffer is divided by the number of all that came so far"),
        (_by_clients, "the sum of a full buffer is divided by the number of the different clients in it"),
    ],
)
def test_a_buffer_that_is_divided_by_something_else(divide: Any, said: str) -> None:
    of = Offer("cc-fedsgd", "trace", "client-centric", {"normalise": "per-step"}, intermediates=("delta_i", "delta"))
    assert said in _said(of, type("Wrong", (Buffered,), {"divide": staticmethod(divide)}))


class Server:
    """FedAvg or FedNova by flat vectors; who weighs how much is what differs."""

    def __init__(self, case: Case) -> None:
        self.x, self.h = dict(case.x0), case.hyper
        self.first: dict[int, Any] = {}
        self.last: dict[int, Any] = {}


class OneTooMany(Server):
    """The total begins at 1, so that nothing is divided by 0."""

    def step(self, event: Any) -> Any:
        total = 1 + sum(m.weight for m in event.messages)
        delta = {n: sum(m.weight * m.delta[n] for m in event.messages) / total for n in self.x}
        self.x = {n: self.x[n] + self.h["eta"] * delta[n] for n in self.x}
        return {"x": self.x, "delta": delta}


class NormOfTheFirst(Server):
    """A client says its ||a_i||_1 once."""

    def step(self, event: Any) -> Any:
        norms = [self.first.setdefault(m.client, m.a_norm) for m in event.messages]
        p = 1 / len(norms)
        tau_eff = sum(p * a for a in norms)
        delta = {
            n: tau_eff * sum(p * m.delta[n] / a for m, a in zip(event.messages, norms, strict=True)) for n in self.x
        }
        self.x = {n: self.x[n] + delta[n] for n in self.x}
        return {"x": self.x, "tau_eff": tau_eff}


class StepsBefore(Server):
    """A client's number of steps is written down when it is done with: the next round weighs by it."""

    def step(self, event: Any) -> Any:
        taus = [self.last.get(m.client, m.steps) for m in event.messages]
        self.last |= {m.client: m.steps for m in event.messages}
        delta = {n: sum(t * m.delta[n] for t, m in zip(taus, event.messages, strict=True)) / sum(taus) for n in self.x}
        self.x = {n: self.x[n] + self.h["eta"] * delta[n] for n in self.x}
        return {"x": self.x, "delta": delta}


class SortedAlongItself(Server):
    """The axis of the clients is forgotten."""

    def step(self, event: Any) -> Any:
        M, delta = len(event.messages), {}
        for n in self.x:
            rows = np.sort(np.stack([m.delta[n] for m in event.messages]))
            delta[n] = rows[(M - 1) // 2]
        self.x = {n: self.x[n] + self.h["eta"] * delta[n] for n in self.x}
        return {"x": self.x}


AVERAGE = {"weights": "examples"}


@pytest.mark.parametrize(
    ("offer", "session", "said"),
    [
        (
            Offer("fedavg", "server", "mcmahan-2017", AVERAGE, intermediates=("delta",)),
            OneTooMany,
            "the examples are counted from 1, so that their sum is one too many",
        ),
        (
            Offer("fednova", "server", "fednova", {"weights": "uniform"}, intermediates=("tau_eff",)),
            NormOfTheFirst,
            "||a_i||_1 is as it was in the first message of its client",
        ),
        (
            Offer("fedavg", "server", "mcmahan-2017", {"weights": "steps"}, intermediates=("delta",)),
            StepsBefore,
            "tau_i is as it was in the message before of its client",
        ),
        (
            Offer("median", "server", "lower-middle"),
            SortedAlongItself,
            "what is put in order are a client's numbers along a block's last axis",
        ),
    ],
)
def test_a_server_that_keeps_or_counts_something_else(offer: Offer, session: Any, said: str) -> None:
    assert said in _said(offer, session)


class Uncounted:
    """ADMU, which returns before it has counted a step that it does not take."""

    def __init__(self, case: Case) -> None:
        self.h, self.x = case.hyper, case.x0
        self.begin()

    def begin(self) -> None:
        self.m = {n: 0 * a for n, a in self.x.items()}
        self.v = {n: 0 * a + self.h["v0"] for n, a in self.x.items()}
        self.v_hat = {n: 0 * a for n, a in self.x.items()}
        self.t = self.updates = 0

    def step(self, event: Any) -> Any:
        h = self.h
        if isinstance(event, Begin):
            self.x = event.x
            self.begin()
            return {"x": self.x}
        due = self.t // h["epoch"] % h["z"] == 0
        self.updates += due
        u = {}
        for n, g in event.g.items():
            self.m[n] = h["beta1"] * self.m[n] + (1 - h["beta1"]) * g
            if due:
                self.v[n] = h["beta2"] * self.v[n] + (1 - h["beta2"]) * g**2
                self.v_hat[n] = self.v[n] / (1 - h["beta2"] ** self.updates)
            u[n] = self.m[n] / (1 - h["beta1"] ** (self.t + 1)) / (np.sqrt(self.v_hat[n]) + h["eps"])
        if np.sqrt(sum((a**2).sum() for a in u.values())) >= h["eps_s"]:
            self.x = {n: self.x[n] - h["eta_l"] * u[n] for n in u}
            self.t += 1
        return {"x": self.x}


def test_a_step_that_is_not_taken_and_not_counted() -> None:
    said = "a step that is not taken is not counted, but the update of v that it made is"
    assert said in _said(Offer("admu", "client", "fedada2"), Uncounted)


class Cubed(Server):
    """Where nothing is sent nothing is wrong; of two clients no less than of one."""

    def step(self, event: Any) -> Any:
        total = sum(m.weight for m in event.messages)
        delta = {n: sum(m.weight * m.delta[n] for m in event.messages) / total for n in self.x}
        delta = {n: d + np.sin(d**3) for n, d in delta.items()}
        self.x = {n: self.x[n] + self.h["eta"] * delta[n] for n in self.x}
        return {"x": self.x, "delta": delta}


def test_a_case_in_which_nothing_moves_shows_no_gate() -> None:
    said = _said(Offer("fedavg", "server", "mcmahan-2017", AVERAGE, intermediates=("delta",)), Cubed)
    assert "no known variant" in said and "clients on" not in said and "examples of a client on" not in said
    assert "delta is not as claimed: it begins at fedavg.delta" in said


class StaleAnchor(Server):
    """FedDyn, whose dual takes the changes from the model that the round before began with; mu cancels in x."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.N, self.old = case.population, dict(case.x0)
        self.dual = {n: 0 * a for n, a in self.x.items()}

    def step(self, event: Any) -> Any:
        mu, came = self.h["mu"], len(event.messages)
        y = [{n: a + m.delta[n] for n, a in self.x.items()} for m in event.messages]
        self.dual = {n: a - mu / self.N * sum(each[n] - self.old[n] for each in y) for n, a in self.dual.items()}
        self.old = self.x
        self.x = {n: sum(each[n] for each in y) / came - self.dual[n] / mu for n in self.x}
        return {"x": self.x}


def test_what_plays_no_part_in_what_is_claimed_and_shown_is_not_told() -> None:
    said = _said(Offer("feddyn", "server", "gradient-steps"), StaleAnchor)
    assert "from round 2 on" in said and "no effect" not in said


class OneOfFour(Server):
    """One value at least is left out of four; no two mistakes that agree with it in small cases are named."""

    def step(self, event: Any) -> Any:
        M, delta = len(event.messages), {}
        b = int(self.h["trim"] * M)
        b = max(b, 1) if M > 3 and self.h["trim"] > 0 else b
        for n in self.x:
            rows = np.sort(np.stack([m.delta[n] for m in event.messages]), axis=0)
            delta[n] = rows[b : M - b].sum(axis=0) / (M - 2 * b)
        self.x = {n: self.x[n] + self.h["eta"] * delta[n] for n in self.x}
        return {"x": self.x, "delta": delta}


def test_no_pair_of_mistakes_is_named_that_fits_in_small_cases_alone() -> None:
    said = _said(Offer("trimmed-mean", "server", "yin-2018", intermediates=("delta",)), OneOfFour)
    assert not ("in small cases" in said and ", and " in said), said
