"""What outlives its round, what waits wrongly and what is mistaken for another is named, whatever the algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_judge.test_gates import Behind, diagnosed

from fedspec.contract import Begin, Case, Event, Gradient, Messages, Offer, Round, SubjectInfo
from fedspec_suite.diagnosis.identify import Diagnosis, identify
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutant, Mutated

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


def edited(algorithm: str, rule: str, old: str, new: str, reading: str = "", leaks: bool = False) -> Diagnosis:
    """What is said of a rule with a piece of its text changed by hand."""
    flaw = Mutant(
        id="by-hand",
        words="by hand",
        algorithms=(algorithm,),
        rule=f"fedspec.{rule}",
        old=old,
        new=new,
        leaks="session" if leaks else "",
    )
    subject = Mutated(flaw)
    offer = next(o for o in subject.info.offers if reading in {"", o.reading})
    offer = replace(offer, dtypes=("float64",))
    of = setting_of(offer)
    return identify(bench_of(Inside(subject), offer, of), of)


def names(d: Diagnosis) -> list[str]:
    return [f.words for f in d.found]


def of_first_round(k: int, e: Any, there: list[int] = []) -> Any:  # noqa: B006 - it is what the subject remembers
    n = len(e.messages)
    there[:] = [n] if k == 0 else there
    return Messages(tuple(replace(m, delta={b: a * n / there[0] for b, a in m.delta.items()}) for m in e.messages))


def once(e: Any) -> Any:
    told = dict(zip(e.participants, e.steps, strict=True))
    return replace(e, participants=tuple(told), steps=tuple(told.values()))


def seen_so_far(inner: Any, e: Any, k: int, seen: set[int] = set()) -> Any:  # noqa: B006
    if k == 0:
        seen.clear()
    seen |= {m.client for m in e.messages}
    inner.state = replace(inner.state, clients=len(seen))
    return inner.step(e)


def lagging(inner: Any, e: Any, k: int, came: list[Any] = []) -> Any:  # noqa: B006
    before = inner.state.c
    answer = inner.step(e)
    came[:] = [came[-1] if k else 0 * before, inner.state.c - before]
    inner.state = replace(inner.state, c=before + came[0])
    return {**answer, "c": inner.state.c}


def stays(inner: Any, e: Any, k: int) -> Any:
    answer = inner.step(e)
    if not inner.state.pending:
        inner.state = replace(inner.state, pending=(answer["delta_i"],))
    return answer


def every_arrival_counts(inner: Any, e: Any, k: int, models: list[Any] = []) -> Any:  # noqa: B006
    models[:] = models if k else [inner.state.x]
    state = inner.state
    # What is read are the models after every arrival; what is kept are the versions.
    inner.state = replace(state, versions=tuple(models))
    answer = inner.step(e)
    models.append(answer["x"])
    return answer


def replaces(inner: Any, e: Any, k: int, owners: list[int] = []) -> Any:  # noqa: B006
    if k == 0:
        owners.clear()
    state = inner.state
    waits = [d for i, d in zip(owners, state.pending, strict=True) if i != e.client]
    owners[:] = [*(i for i in owners if i != e.client), e.client]
    begun = max(0, len(state.versions) - 1 - e.delay)
    inner.state = replace(state, pending=tuple(waits))
    answer = inner.step(replace(e, delay=len(state.versions) - 1 - begun))
    if not inner.state.pending:
        owners.clear()
    return answer


def never_falls(inner: Any, e: Any, k: int, most: list[float] = []) -> Any:  # noqa: B006
    before, answer = inner.state, inner.step(e)
    most[:] = [max([*most, answer["rate"]] if k else [answer["rate"]])]
    inner.state = before + answer["delta"] * most[0]
    return {**answer, "x": inner.state, "rate": most[0]}


def only_once(inner: Any, e: Any, k: int) -> Any:
    answer = inner.step(e)
    if isinstance(e, Begin):
        inner.state = replace(inner.state, v=0 * inner.state.v)
    return answer


RISING = (
    "rate never falls, the largest so far stands for it in (x + delta * rate, rate), the first time it stands there"
)
BEHIND = {
    RISING: Behind("fedexp", "server", take=never_falls),
    "v starts at v0 in the first round alone, later ones at 0": Behind("adagrad", "client", take=only_once),
    "divided by the number of clients of the first round, not of this one": Behind(
        "fedyogi", "server", event=of_first_round
    ),
    "a client that is drawn twice counts once": Behind("joint-direct", "round", event=lambda k, e: once(e)),
    "the number of all clients is that of those seen so far": Behind("feddyn", "server", take=seen_so_far),
    "c takes what came in the round before": Behind("scaffold", "server", take=lagging),
    "the last update stays in the buffer when the server has stepped": Behind("cc-fedavg", "trace", take=stays),
    "delays are counted in arrivals, not in versions of the model": Behind(
        "cc-fedavgm", "trace", take=every_arrival_counts
    ),
    "a second update of a client replaces its first in the buffer": Behind("cc-fedsgd", "trace", take=replaces),
}


EDITED: dict[str, tuple[str, str, str, str]] = {
    "the magnitude of delta stands for its square": (
        "cc-fedadam",
        "server.client_centric.cc_adam",
        "delta**2",
        "maximum(delta, -delta)",
    ),
    "1 - beta1 stands for 1 - beta2": ("amsgrad", "client.amsgrad.amsgrad", "(1 - beta2)", "(1 - beta1)"),
    "never where z = 1 and epoch = 1, as if t mod z had to be 1": (
        "sm3-adam",
        "client.delay.due",
        "(t - 1) // epoch % z == 0",
        "(t % z == 1 if epoch == 1 else (t - 1) // epoch % z == 0)",
    ),
    "the proximal term pulls to the very first model": (
        "fedasync",
        "algorithms.fedasync.step",
        "gradient(k, x), x_mu,",
        "gradient(k, x), state.versions[0],",
    ),
    "the proximal term pulls to the server's present model, not to the one downloaded": (
        "fedasync",
        "algorithms.fedasync.step",
        "gradient(k, x), x_mu,",
        "gradient(k, x), state.x,",
    ),
}


SHORT = (
    "c takes what came in the round before",
    "the last update stays in the buffer when the server has stepped",
)


@pytest.mark.parametrize("words", [n if n in SHORT else pytest.param(n, marks=pytest.mark.night) for n in BEHIND])
def test_what_is_kept_and_what_waits_has_a_name(words: str) -> None:
    assert names(diagnosed(BEHIND[words]))[0] == words


@pytest.mark.night
@pytest.mark.parametrize("words", EDITED)
def test_what_is_mistaken_for_another_has_a_name(words: str) -> None:
    assert names(edited(*EDITED[words]))[0] == words


def test_a_solver_that_remembers_has_a_name() -> None:
    """FedNova's Algorithm 2, whose clients begin a round with the buffer of their last."""
    d = edited(
        "fednova-alg2",
        "algorithms.fednova_alg2.step",
        """local = begin(x)
        for k in range(tau - missed):
            local = momentum(local, corrected_gradient(gradient(k, local.x), c_i[i]), eta_l=h.eta_l, rho=h.rho)
""",
        """local = type(begin(x))(x, vars(step).get(i, begin(x).u))
        for k in range(tau - missed):
            local = momentum(local, corrected_gradient(gradient(k, local.x), c_i[i]), eta_l=h.eta_l, rho=h.rho)
        vars(step)[i] = local.u
""",
        leaks=True,
    )
    assert names(d)[0] == "what a client's solver keeps lives on when its next round begins"


def test_two_edits_at_once_are_named_where_one_gives_the_first_deviation() -> None:
    d = edited(
        "nesterov",
        "client.momentum.nesterov",
        "g\n    x = state.x - eta_l * (g + rho * u)",
        "(1 - rho) * g\n    x = state.x - eta_l * (g + rho * state.u)",
    )
    assert set(names(d)[0].split(", and ")) == {
        "the look-ahead uses the old buffer",
        "g is multiplied by 1 - rho at nesterov.u",
    }


def named(offer: Offer, session: Callable[[Case], Any]) -> list[str]:
    """What is said of a subject that begins a session of its own for each case."""

    class Subject:
        info = SubjectInfo("written out", "1", (offer,))

        def start(self, case: Case) -> Any:
            return session(case)

    of = setting_of(offer)
    return names(identify(bench_of(Inside(Subject()), offer, of), of))


class OldAnchor:
    """FedProx, written out, whose clients are pulled to the model that they got in the round before."""

    def __init__(self, case: Case) -> None:
        ((self.block, self.x),) = case.x0.items()
        self.case, self.anchor = case, self.x

    def step(self, event: Event) -> Mapping[str, Any]:
        assert isinstance(event, Round) and self.case.problem
        h, problem, ends = self.case.hyper, self.case.problem, []
        for i, steps in zip(event.participants, event.steps, strict=True):
            y = self.x
            for _ in range(steps):
                y = y - h["eta_l"] * (problem.H[i] @ y - problem.e[i] + h["mu"] * (y - self.anchor))
            ends.append(y)
        self.anchor, self.x = self.x, self.x + h["eta"] * (np.mean(ends, axis=0) - self.x)
        return {"x": {self.block: self.x}}


def test_an_anchor_of_the_round_before_has_a_name() -> None:
    offer = Offer("fedprox", "round", "fednova", {"weights": "uniform"}, dtypes=("float64",))
    assert named(offer, OldAnchor) == ["the proximal term pulls to the model of the round before"]


class OldLengths:
    """LAMB, written out, with the lengths of the layers as they were when the round began."""

    def __init__(self, case: Case) -> None:
        self.h = case.hyper
        self.begin(case.x0)

    def begin(self, x: Mapping[str, Any]) -> None:
        self.x, self.t = dict(x), 0
        self.lengths = {n: np.linalg.norm(a) for n, a in x.items()}
        self.m, self.v = {n: 0 * a for n, a in x.items()}, {n: 0 * a for n, a in x.items()}

    def step(self, event: Event) -> Mapping[str, Any]:
        h = self.h
        if isinstance(event, Begin):
            self.begin(event.x)
            return {"x": self.x}
        assert isinstance(event, Gradient)
        self.t += 1
        for n, g in event.g.items():
            self.m[n] = h["beta1"] * self.m[n] + (1 - h["beta1"]) * g
            self.v[n] = h["beta2"] * self.v[n] + (1 - h["beta2"]) * g**2
            m, v = self.m[n] / (1 - h["beta1"] ** self.t), self.v[n] / (1 - h["beta2"] ** self.t)
            q = m / (np.sqrt(v) + h["eps"]) + h["lam"] * self.x[n]
            length = np.linalg.norm(q)
            self.x[n] = self.x[n] - h["eta_l"] * (self.lengths[n] * q / length if length else 0 * q)
        return {"x": dict(self.x)}


def test_lengths_of_when_the_round_began_have_a_name() -> None:
    offer = Offer("lamb", "client", "you-2020", {"phi": "identity"}, dtypes=("float64",))
    (said,) = named(offer, OldLengths)
    assert said.startswith("the length of x_l when the round began stands for its length")
