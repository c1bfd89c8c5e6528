"""Slips of a kind that any method may have are named in subjects that are written out, not edited."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.by_hand import (
    Adam,
    AdamW,
    Admu,
    Average,
    Dynamic,
    Fair,
    HeavyBall,
    Late,
    Nova,
    PrimalDual,
    Proximal,
    Remembered,
    Scaffold,
    subject,
)
from test_judge.diagnosing import benched, diagnosed, names, offer_of, server, written
from test_judge.subjects.flawed import ALL, SAID, flawed

from fedspec.arith import Array
from fedspec.contract import Answer, Case, ClientMessage, Event, Messages, Offer
from fedspec.params import flatten, unflatten
from fedspec.reference import SUBJECT
from fedspec_suite.api import DoesNotConform, check_subject
from fedspec_suite.diagnosis.diagnosis import Diagnosis, in_words
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.seen.idle import idle, without_effect
from fedspec_suite.diagnosis.written.box import boxes
from fedspec_suite.diagnosis.written.notation import in_symbols
from fedspec_suite.diagnosis.written.plays import alone as lone
from fedspec_suite.diagnosis.written.plays import generic_cases, taken
from fedspec_suite.diagnosis.written.replay import opened
from fedspec_suite.measure.scenario import problem_of
from fedspec_suite.measure.setting import Setting
from fedspec_suite.vectors.checker import judged
from fedspec_suite.vectors.store import FOLDER, load

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

OF_ONE_VERSION = "of updates that began at one version the"
NAMED: dict[tuple[type[Any], str], str] = {
    (Average, "subtracted once"): (
        "models times n_i are added and divided by the sum of n_i, with the old one subtracted once"
    ),
    (Average, "decay"): "yours: x = x - eta_l (g + 0.003 x), wanted: x = x - eta_l g",
    (Late, "last of a version"): f"{OF_ONE_VERSION} last alone counts",
    (Late, "mean of a version"): f"{OF_ONE_VERSION} changes are averaged first, and that mean counts once",
    (Late, "sum of a version"): f"{OF_ONE_VERSION} changes are added, and that sum counts once",
    (Nova, "one short"): "||a_i||_1 lacks the first entry of a_i, unless it is the only one",
    (Nova, "models"): "models, not changes, are averaged by w_i tau_eff / ||a_i||_1, which need not sum to one",
    (HeavyBall, "u_0 = -g"): "u starts at minus the first gradient",
    (Adam, "decay"): "0.003 x is added to every gradient (weight decay inside the gradient, L2)",
    (Adam, "clipped"): "every gradient is clipped to [-0.7, 0.7]",
    (Adam, "shortened"): "every gradient is clipped to length 1.5, all blocks together",
    (Admu, "uncounted"): "a step that is not taken is not counted, but the update of v that it made is",
    (AdamW, "to the start"): (
        "how far shrunk * x is from where the round began stands for shrunk * x in x - shrunk * x - step"
    ),
    (Average, "place"): "participants weigh as much as the first clients: their place is taken for their number",
    (Average, "falls"): "a client's gradients are divided by k, the number of the local step in the round",
    (
        Proximal,
        "step before",
    ): "the client's model of the step before stands for anchor in x - eta_l * (g + mu * (x - anchor))",
    (Nova, "largest"): "||a_i||_1 is the largest entry of a_i, not the sum",
    # What is kept and not shown is solved for in the model of the next round.
    (Scaffold, "half"): (
        "yours: c_i = (c_i - c) / 2 - Delta / (eta_l steps), wanted: c_i = c_i - c - Delta_i / (eta_l tau_i)"
    ),
    (Dynamic, "slow"): "yours: lam_i = (9 / 10) lam_i - mu Delta, wanted: lam_i = lam_i - mu Delta_i",
    (Scaffold, "slow"): "yours: c = (9 / 10) c + p changes, wanted: c = c + sum over S of q_i (c_i^+ - c_i)",
    (Scaffold, "seen"): "c is the mean of c_i over the clients seen so far, not over all",
    (Scaffold, "busiest"): (
        "the number of steps of the event's busiest stands for tau in (delta, c_i[i] - c - delta / (eta_l * tau))"
    ),
    (Remembered, "heard"): (
        "the number of clients so far stands for the number of clients in the sum of g_i / the number of clients"
    ),
    (Remembered, "moves"): (
        "the mean of the g_i moves by their changes over the number of the event's clients, "
        "not over the number of clients"
    ),
    (PrimalDual, "each step"): "the new lam_i takes the place of lam_i after every local step, not once",
    (Late, "later"): "an update begins one version later, and that without delay at the first",
}


def said(method: type[Any], *does: str) -> Diagnosis:
    return diagnosed(subject(method, *does), further=False)


@pytest.mark.parametrize("flaw", NAMED, ids=lambda flaw: f"{flaw[0].algorithm}: {flaw[1]}")
def test_it_is_named_and_nothing_else_is(flaw: tuple[type[Any], str]) -> None:
    assert [f.words for f in said(*flaw).found] == [NAMED[flaw]]


def test_what_a_client_keeps_while_it_sits_out_ends_what_is_solved_and_contradicts_nothing() -> None:
    """The dual that client 0 keeps in its second round shows in its third, after a round of client 1."""
    bench, setting = benched(subject(Dynamic, "slow"))
    (box,) = (b for b in boxes(setting) if b.function.__name__ == "client_dual")
    s = next(s for s in generic_cases(setting) if problem_of(s).e.shape[0] > 1)
    rounds = zip(lone(setting, s, 1).events, (0, 0, 1, 0), strict=False)  # type: ignore[union-attr]
    case = replace(s, events=tuple(replace(e, participants=(i,)) for e, i in rounds))  # type: ignore[type-var]
    found = opened(box, box.model, [*taken(bench, [case])])
    assert found is not None and found.want.size == s.case.problem.e.shape[1]  # type: ignore[union-attr]


METHODS = (HeavyBall, Adam, AdamW, Admu, Average, Proximal, Nova, Scaffold, Dynamic, Fair, Remembered, PrimalDual, Late)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.algorithm)
def test_without_a_slip_they_are_right(method: type[Any]) -> None:
    assert said(method).follows


def follows(method: Any, laws: str) -> str:
    """The name of a deviation, as a check by some laws gives it."""
    with pytest.raises(DoesNotConform) as found:
        check_subject(method, law=laws)
    return found.value.results[0].nearest


def test_what_is_lost_after_some_rounds_of_absence_is_told() -> None:
    lost = "g_i of a client that sits out 2 rounds in a row is forgotten"
    assert follows(subject(Remembered, "loses"), "follows-*,far-*").startswith(lost)


def test_a_server_that_steps_at_other_arrivals_is_told_by_its_model_not_by_what_it_does_not_show() -> None:
    keyed = subject(Late, "by client", intermediates=("delta",))
    assert follows(keyed, "follows-*").startswith("a second update of a client replaces its first in the buffer")
    bench, setting = benched(keyed)
    (stored,) = load(FOLDER, ["fedbuff"])
    notes = [d.note for o in judged(bench, setting, stored).obligations if (d := o.deviation)]
    assert any(note.startswith("the claimed server steps") for note in notes) and not any(
        "adapter:" in n for n in notes
    )


def of_two(move: Any) -> Any:
    """A server that answers the mean of its last two models."""

    def start(case: Case) -> Any:
        inner, last = move.start(case), [case.x0]

        def step(e: Any) -> dict[str, Any]:
            last.append(inner.step(e)["x"])
            return {"x": {n: (last[-2][n] + last[-1][n]) / 2 for n in case.x0}}

        return SimpleNamespace(step=step)

    return SimpleNamespace(info=move.info, start=start)


def stacked(sent: tuple[ClientMessage, ...], n: str) -> Array:
    return np.stack([m.delta[n] for m in sent])


def middle(case: Case, sent: tuple[ClientMessage, ...], n: str) -> Array:
    """The median of those who have examples."""
    return np.median(stacked(tuple(m for m in sent if m.weight > 0) or sent, n), axis=0)  # type: ignore[no-any-return]


def plain(case: Case, sent: tuple[ClientMessage, ...], n: str) -> Array:
    return np.average(stacked(sent, n), axis=0, weights=[m.weight for m in sent])  # type: ignore[no-any-return]


def test_servers_that_average_their_answers_or_leave_out_who_has_no_examples_are_told() -> None:
    (said,) = names(diagnosed(of_two(server("fedavg", plain))))
    assert said == "every answer is the mean of the models before and after it; the run goes on from the one after"
    assert names(diagnosed(server("median", middle))) == ["a client without examples is left out, and not counted"]


class Buffered(Late):
    """CC-FedSGD; how a full buffer is divided is what differs."""

    algorithm, reading, options = "cc-fedsgd", "client-centric", {"normalise": "per-step"}
    came = 0

    def divided(self) -> Array:
        self.came += len(self.waits)
        return np.asarray(BUFFERS[self.does[0]](self.waits, self.came))


def _in_turn(waits: Any, counts: Any) -> Any:
    """The mean so far moves by one over a count of what it lacks of the next update."""
    mean = 0
    for (change, e, _), n in zip(waits, counts, strict=True):
        mean = mean + (change / e.steps - mean) / n
    return mean


def _sum(waits: Any) -> Any:
    return sum(change for change, *_ in waits)


BUFFERS: dict[str, Any] = {
    "the mean of a buffer moves by 1 / buffer of what it lacks of each update, from 0 on": (
        lambda waits, came: _in_turn(waits, [len(waits)] * len(waits))
    ),
    "all updates in a buffer are divided by the steps of the one that fills it": (
        lambda waits, came: _sum(waits) / (len(waits) * waits[-1][1].steps)
    ),
    "all updates in a buffer are divided by the steps of the first in it": (
        lambda waits, came: _sum(waits) / (len(waits) * waits[0][1].steps)
    ),
    "all updates in a buffer are divided by the mean of all their steps": (
        lambda waits, came: _sum(waits) / sum(e.steps for _, e, _ in waits)
    ),
    "the sum of a full buffer is divided by the number of all that came so far": (
        lambda waits, came: _in_turn(waits, range(came - len(waits) + 1, came + 1))
    ),
    "the sum of a full buffer is divided by the number of the different clients in it": (
        lambda waits, came: sum(change / e.steps for change, e, _ in waits) / len({e.client for _, e, _ in waits})
    ),
}


@pytest.mark.parametrize("words", BUFFERS)
def test_a_buffer_that_is_divided_by_something_else(words: str) -> None:
    d = diagnosed(subject(Buffered, words, intermediates=("delta_i", "delta")))
    assert words in in_words(d, True)


KRUM = Offer("multi-krum", "server", "blanchard-2017", fixed={"eta": 1.0}, nonzero=("weight",), dtypes=("float64",))


class Products:
    """Multi-Krum by examples on models, whose distances are ||a||^2 + ||b||^2 - 2 ab: of a tie either may win.

    Where its list is cut from the end, it is cut elsewhere if fewer come than are kept.
    """

    def __init__(self, cut: bool, case: Case) -> None:
        self.cut, self.x, self.h = cut, dict(case.x0), case.hyper

    def step(self, event: Event) -> Answer:
        assert isinstance(event, Messages)
        f, keep = int(self.h["f"]), int(self.h["keep"])
        w = np.stack([flatten(self.x) + flatten(m.delta) for m in event.messages])
        squares = np.square(w).sum(axis=1)
        apart = squares[:, None] + squares[None, :] - 2 * w @ w.T
        near = max(1, len(w) - f - 2)
        scores = [row[np.argsort(row)[1 : near + 1]].sum() for row in apart]
        best = np.argsort(scores)
        best = best[::-1][len(w) - keep :] if self.cut else best[:keep]
        sizes: Any = np.array([float(event.messages[i].weight) for i in best])
        self.x = unflatten(sizes @ w[best] / sizes.sum(), self.x)
        return {"x": self.x}


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (False, "reading weighted at multi-krum.delta"),
        (True, "reading weighted, and of n < m clients not all are kept but the first m - n at multi-krum.delta"),
    ],
)
def test_it_has_its_name(cut: bool, said: str) -> None:
    words = in_words(diagnosed(written(KRUM, lambda case: Products(cut, case)), further=False), True)
    assert words.startswith(said), words


def ordered(sent: tuple[ClientMessage, ...], n: str, axis: int) -> Array:
    return np.sort(np.stack([m.delta[n] for m in sent]), axis=axis)


def test_a_median_along_the_axis_of_a_block_is_told() -> None:
    """The axis of the clients is forgotten."""
    median = server("median", lambda case, sent, n: ordered(sent, n, -1)[(len(sent) - 1) // 2], "lower-middle")
    assert "what is put in order are a client's numbers along a block's last axis" in names(diagnosed(median))[0]


def test_a_median_in_the_place_of_a_mean_has_its_name() -> None:
    median = server("fedavg", lambda case, sent, n: np.median([m.delta[n] for m in sent], axis=0))
    assert "the median of each coordinate stands for the mean" in names(diagnosed(median))


def test_a_product_with_a_difference_is_printed_as_an_average() -> None:
    said = ast.parse("rho * (u - g) + g", mode="eval").body
    assert in_symbols(said, ()) == "rho u + (1 - rho) g"
    assert in_symbols(ast.parse("rho * (u - g) + v", mode="eval").body, ()) == "rho (u - g) + v"


@pytest.mark.night
def test_of_mistakes_that_fit_in_small_cases_alone_one_is_named_and_no_pair() -> None:
    """A trimmed mean without one value at either end of three and of four, and with all of more."""

    def move(case: Case, sent: tuple[ClientMessage, ...], n: str) -> Array:
        b = int(len(sent) in (3, 4))
        return np.asarray(ordered(sent, n, 0)[b : len(sent) - b].mean(axis=0))

    said = in_words(diagnosed(server("trimmed-mean", move)), True)
    assert re.match(r"in small cases one value at least is left out at either end, whatever trim M is \(", said), said
    assert ", and " not in said


@pytest.mark.parametrize("v_hat0", [1, 0.02])
def test_the_rule_of_another_algorithm_is_named_with_a_number_that_the_claim_lacks(v_hat0: float) -> None:
    claimed = offer_of("fedams", "server", "option-1", dtypes=("float64",), intermediates=())

    def code(case: Case) -> Any:
        told = replace(case, algorithm="fedams-code", reading="wang-2022-code", options={"weights": "uniform"})
        return SUBJECT.start(replace(told, hyper={**case.hyper, "v_hat0": v_hat0}))

    assert names(diagnosed(written(claimed, code))) == [f"the rule of fedams-code, with v_hat0 = {v_hat0}"]


class Averages:
    """A server that adds the mean change at a rate of its own, whatever else it is offered as."""

    def __init__(self, case: Case, rate: str, odd: bool) -> None:
        self.x, self.case, self.rate, self.odd = dict(case.x0), case, rate, odd

    def step(self, event: Event) -> Answer:
        assert isinstance(event, Messages)
        sizes = np.array([float(m.weight) for m in event.messages])
        shares = sizes / sizes.sum() if self.case.options["weights"] == "examples" else 1 / len(sizes) + 0 * sizes
        rate = self.case.hyper[self.rate] if self.rate else 1.0
        for name in self.x:
            mean: Any = sum(p * m.delta[name] for p, m in zip(shares, event.messages, strict=True))
            self.x[name] = self.x[name] + rate * (np.arctan(mean) if self.odd else mean)
        return {"x": self.x}


def averaged(algorithm: str, reading: str, rate: str = "", odd: bool = False, **more: Any) -> str:
    offer = Offer(algorithm, "server", reading, dtypes=("float64",), **more)
    return in_words(diagnosed(written(offer, lambda case: Averages(case, rate, odd)), further=False), True)


NO_EFFECT: dict[str, Callable[[], str]] = {
    "eta and beta have no effect: plain fedavg with eta = 1 (": lambda: averaged("fedavgm", "hsu-2019"),
    "eta and beta have no effect: plain fedavg": lambda: averaged(
        "fedavgm", "hsu-2019", options={"weights": "uniform"}
    ),
    "beta1, beta2, tau and v0 have no effect: plain fedavg (": lambda: averaged("fedadam", "reddi-2021", "eta"),
    "eta, beta2 and v0 have no effect: plain fedavg with eta = 1 (": (
        lambda: averaged("fedadam", "reddi-2021", fixed={"beta1": 0.5, "tau": 0.125})
    ),
    # It has a name of its own.
    "eta is ignored (taken as 1) (": lambda: averaged("fedavg", "mcmahan-2017"),
}


@pytest.mark.parametrize("said", NO_EFFECT)
def test_what_has_no_effect_is_said_before_another_algorithm(said: str) -> None:
    told = NO_EFFECT[said]()
    assert told.startswith(said) and "; or " not in told and "fednova" not in told


def test_it_is_said_where_nothing_has_a_name() -> None:
    assert "eta and beta have no effect" in averaged("fedavgm", "hsu-2019", odd=True)


def known(subject: Any) -> tuple[Setting, tuple[str, ...]]:
    bench, setting = benched(subject)
    there = known_of(setting)
    given = {k: bench.play(s) for k, s in enumerate(there.samples)}
    return setting, idle(setting, there, given, bench.play)


@pytest.mark.parametrize(
    ("algorithm", "level"), [("fedadam", "server"), ("admu", "client"), ("fedasync", "trace"), ("fed-lamb", "round")]
)
def test_all_numbers_of_the_specification_have_one(algorithm: str, level: str) -> None:
    assert known(written(offer_of(algorithm, level), SUBJECT.start))[1] == ()


@pytest.mark.parametrize("names", [("beta2",), ("eps", "z"), ("v0", "m0")])
def test_those_that_are_not_heard_have_none(names: tuple[str, ...]) -> None:
    offer = offer_of("admu", "client")
    heard: dict[str, float] = {"beta2": 0.5, "eps": 0.25, "z": 2, "v0": 1.0, "m0": 1.0}
    told = {n: heard[n] for n in names}
    deaf = written(offer, lambda case: SUBJECT.start(replace(case, hyper={**case.hyper, **told})))
    setting, found = known(deaf)
    assert set(found) == set(names) & set(setting.numbers)


def test_numbers_that_are_not_heard_are_listed_in_a_sentence() -> None:
    assert without_effect(("eta",)) == "eta has no effect"
    assert without_effect(("eta", "beta", "tau")) == "eta, beta and tau have no effect"


SERVERS = [(algorithm, flaw) for flaw, (where, _) in SAID.items() for algorithm in where]


@pytest.mark.parametrize("algorithm", ALL)
def test_servers_without_a_flaw_are_right(algorithm: str) -> None:
    assert diagnosed(flawed(algorithm)).follows


@pytest.mark.table(4)
@pytest.mark.parametrize(("algorithm", "flaw"), SERVERS)
def test_flaws_of_servers_are_called_by_their_names(algorithm: str, flaw: str) -> None:
    said = in_words(diagnosed(flawed(algorithm, flaw)), True)
    assert re.search(SAID[flaw][1], said), said
