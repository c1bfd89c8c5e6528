"""What implementations that nobody at hand had seen did wrong, each by a loop of its own and by its generic words."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from test_judge.test_other_ways import called, known_at

from fedspec.contract import Arrival, Gradient, Messages, Offer, Round
from fedspec.params import flatten, layers, shapes
from fedspec_suite.diagnosis.edits.changes import as_given
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.steady import models
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import setting_of

pytestmark = pytest.mark.table(1)


def up_to_it(changes: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    mean, seen = 0 * changes[0], 0
    for change, n in zip(changes, sizes, strict=True):
        seen += n
        mean = mean + (n / seen * change if seen else 0)
    return mean


def one_after_another(changes: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    mean = changes[0]
    for change in changes[1:]:
        mean = (mean + change) / 2
    return mean


MEANS: dict[str, Callable[[Sequence[np.ndarray], Sequence[int]], np.ndarray]] = {
    "a client's share is of the examples up to it, not of all": up_to_it,
    "the mean so far and the next change are averaged, one after another": one_after_another,
}


@pytest.mark.parametrize("words", MEANS)
def test_a_mean_taken_in_passing(words: str) -> None:
    known = known_at("fedavg/server/mcmahan-2017")
    sizes = {len(e.messages) for s in known.samples for e in s.events if isinstance(e, Messages)}
    assert max(sizes) > 2
    for s in known.samples:
        x, ends = flatten(s.case.x0).astype(float), []
        for e in s.events:
            assert isinstance(e, Messages)
            mean = MEANS[words]([flatten(m.delta) for m in e.messages], [m.weight for m in e.messages])
            x = x + s.case.hyper["eta"] * mean
            ends.append(x)
        assert np.allclose(models(called(known, words), s), ends)
    assert any(not np.allclose(models(called(known, words), s), models(known.claimed, s)) for s in known.samples)


def test_a_total_that_grows_from_round_to_round() -> None:
    known = known_at("fedavg/server/mcmahan-2017")
    grown = called(known, "divided by the number of examples of all rounds so far, not of this one")
    for s in known.samples:
        x, total, ends = flatten(s.case.x0).astype(float), 0, []
        for e in s.events:
            assert isinstance(e, Messages)
            total += sum(m.weight for m in e.messages)
            x = x + s.case.hyper["eta"] * sum(m.weight * flatten(m.delta) for m in e.messages) / total
            ends.append(x)
        assert np.allclose(models(grown, s), ends)


def test_an_effective_number_of_steps_that_is_rounded() -> None:
    known = known_at("fednova/server/fednova")
    rounded, moved = called(known, "tau_eff is rounded to a whole number"), 0
    for s in known.samples:
        x, ends = flatten(s.case.x0).astype(float), []
        for e in s.events:
            assert isinstance(e, Messages)
            n = sum(m.weight for m in e.messages)
            tau = sum(m.weight / n * m.a_norm for m in e.messages)
            moved += round(tau) != tau
            d = sum(m.weight / n * flatten(m.delta) / m.a_norm for m in e.messages)
            x = x + s.case.hyper.get("eta", 1) * round(tau) * d
            ends.append(x)
        assert np.allclose(models(rounded, s), ends)
    assert moved


def test_squares_averaged_wherever_a_statement_reads_them() -> None:
    known = known_at("fedyogi/server/reddi-2021")
    squared = called(known, "the clients' mean of delta ** 2 stands for that of their mean")
    for s in known.samples[:4]:
        h, x, ends = s.case.hyper, flatten(s.case.x0).astype(float), []
        m, v = 0 * x, 0 * x + h["v0"]
        for e in s.events:
            assert isinstance(e, Messages)
            deltas = np.array([flatten(message.delta) for message in e.messages])
            squares = (deltas**2).mean(axis=0)
            m = h["beta1"] * m + (1 - h["beta1"]) * deltas.mean(axis=0)
            v = v - (1 - h["beta2"]) * squares * np.sign(v - squares)
            x = x + h["eta"] * m / (np.sqrt(v) + h["tau"])
            ends.append(x)
        assert np.allclose(models(squared, s), ends, equal_nan=True)


def test_participants_that_train_on_the_data_of_others() -> None:
    known = known_at("fedamsgrad/round/afga")
    places = called(known, "participants train on the data of the first clients")
    drawn = [s for s in known.samples if isinstance(s.events[0], Round) and 0 not in s.events[0].participants]
    for s in drawn:
        first, problem = s.events[0], s.case.problem
        assert isinstance(first, Round) and problem
        of = list(range(len(problem.e)))
        for place, i in enumerate(first.participants):
            of[i] = place
        moved = replace(problem, H=problem.H[of], e=problem.e[of])
        told = replace(s, case=replace(s.case, problem=moved))
        assert np.array_equal(models(places, s)[0], models(known.claimed, told)[0])
    assert drawn


@pytest.mark.slow
def test_a_stabiliser_for_which_a_number_of_steps_is_taken() -> None:
    known = known_of(setting_of(Offer("fednova-adaptive", "round", "adagrad")))
    steps = called(known, "the number of steps of the event's last client stands for tau in adagrad")
    for s in known.samples[:4]:
        once = replace(s, events=s.events[:1])
        assert isinstance(s.events[0], Round)
        told = with_hyper(once, tau=float(s.events[0].steps[-1]))
        assert np.allclose(models(steps, once), models(known.claimed, told))


def test_a_length_that_is_that_of_the_whole_model() -> None:
    known = known_at("lamb/client/you-2020")
    longer = called(known, "the length of x_l is that of all of x in")
    s = next(s for s in known.samples if len(s.case.x0) > 1 and all(map(np.any, s.case.x0.values())))
    s = replace(with_hyper(s, eps=0.5), events=s.events[:1])
    x = flatten(s.case.x0).astype(float)
    step, right = models(longer, s)[0] - x, models(known.claimed, s)[0] - x
    for part in layers(shapes(s.case.x0)):
        assert np.allclose(step[part], right[part] * np.linalg.norm(x) / np.linalg.norm(x[part]))


def test_powers_that_are_multiplied_into_what_is_kept() -> None:
    known = known_at("decayed-sgd/client/fednova")
    product = called(known, "the product of every gamma ** k so far stands for gamma ** k")
    for s in known.samples:
        h, x, k, ends = s.case.hyper, flatten(s.case.x0).astype(float), 0, []
        for e in s.events:
            if isinstance(e, Gradient):
                rate = h["eta_l"] if e.eta_l is None else e.eta_l
                x = x - rate * h["gamma"] ** (k * (k + 1) // 2) * flatten(e.g)
                k += 1
            else:
                x, k = flatten(e.x).astype(float), 0  # type: ignore[union-attr]
            ends.append(x)
        assert np.allclose(models(product, s), ends)


def one_at_a_time(s: Scenario, room: int) -> list[np.ndarray]:
    """FedBuff with plain clients, a list that is emptied when it holds ``room`` updates."""
    h, problem = s.case.hyper, s.case.problem
    assert problem
    versions, waiting, out = [flatten(s.case.x0).astype(float)], [], []
    for e in s.events:
        assert isinstance(e, Arrival)
        y = start = versions[max(0, len(versions) - 1 - e.delay)]
        for _ in range(e.steps):
            y = y - h["eta_l"] * (problem.H[e.client] @ y - problem.e[e.client])
        waiting.append(y - start)
        if len(waiting) >= room:
            versions.append(versions[-1] + h["eta"] * sum(waiting) / len(waiting))
            waiting = []
        out.append(versions[-1])
    return out


def test_a_server_that_waits_for_one_more() -> None:
    known = known_at("fedbuff/trace/nguyen-2022")
    more = called(known, "the server waits for one update more than buffer")
    for s in known.samples:
        assert np.allclose(models(known.claimed, s), one_at_a_time(s, s.case.hyper["buffer"]))
        assert np.allclose(models(more, s), one_at_a_time(s, s.case.hyper["buffer"] + 1))


def test_what_a_server_keeps_of_its_model_does_not_fall_with_the_delay() -> None:
    known = known_at("fedasync/trace/xie-2019-polynomial")
    kept = called(known, "mix as it is set stands for mix in (1 - mix) * x + mix * x_i, the first time")
    late = 0
    for s in known.samples:
        h, problem = s.case.hyper, s.case.problem
        assert problem
        versions = [flatten(s.case.x0).astype(float)]
        for e in s.events:
            assert isinstance(e, Arrival)
            late += e.delay > 0
            y = start = versions[-1 - e.delay]
            for _ in range(e.steps):
                y = y - h["eta_l"] * (problem.H[e.client] @ y - problem.e[e.client] + h["mu"] * (y - start))
            share = h["mix"] / (1 + e.delay) ** (h["twice_a"] / 2)
            versions.append((1 - h["mix"]) * versions[-1] + share * y)
        assert np.allclose(models(kept, s), versions[1:])
    assert late


def test_what_is_given_is_only_doubted_where_the_setting_is_out_of_sight() -> None:
    node = ast.Name("mix", ast.Load())
    inside = [c.new for c in as_given(node, {"mix": "number"}, ["mix", "mu"], "")]
    assert inside == ["as_set('mix')", "as_set('mu')"]
    assert not [*as_given(node, {"mix": "number", "h.mix": "number"}, ["mix"], "")]


def test_a_gradient_and_a_buffer_change_places() -> None:
    known = known_at("nesterov/client/textbook")
    turned = called(known, "g and u change places in x - eta_l * (g + rho * u)")
    s = with_hyper(known.samples[0], rho=0.25)
    x = flatten(s.case.x0).astype(float)
    u, ends = 0 * x, []
    for e in s.events:
        if isinstance(e, Gradient):
            g = flatten(e.g).astype(float)
            u = 0.25 * u + g
            x = x - s.case.hyper["eta_l"] * (u + 0.25 * g)
        else:
            x = flatten(e.x).astype(float)  # type: ignore[union-attr]
            u = 0 * x
        ends.append(x)
    assert np.allclose(models(turned, s), ends) and not np.allclose(models(known.claimed, s), ends)


def test_a_count_that_a_wrong_rule_makes_of_numbers_with_bounds() -> None:
    known = known_at("fed-sgd/round/fed-sgd")
    weighted = next(v for v in known.variants if v.kind == "mutant" and v.mutants[0].id == "fed-sgd-weighted")
    assert all(known.exact(weighted, k) for k in range(len(known.samples)))
