"""The equation of a subject, where one equation of a rule is another: written out, or described by its facts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace as Names
from typing import Any

import numpy as np
import pytest
from test_judge.by_hand import Scaffold, adaptive, subject
from test_judge.diagnosing import benched, diagnosed, offer_of, written

from fedspec.contract import Arrival, Case, Exchange, Level, Messages
from fedspec.params import flatten
from fedspec_suite.diagnosis.variants import as_claimed
from fedspec_suite.diagnosis.written import synthesis
from fedspec_suite.diagnosis.written.box import boxes
from fedspec_suite.diagnosis.written.card import card
from fedspec_suite.diagnosis.written.synthesis import rule_with
from fedspec_suite.diagnosis.written.synthesis import written as written_out
from fedspec_suite.measure.formulas import evaluated, number
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutated, find

sqrt, sign = np.sqrt, np.sign


def peers(move: Callable[[Any], Any]) -> Any:
    """Decentralised SGD of NumPy with another step; W is the mixing matrix, G the gradients, w the diagonal of W."""

    def start(case: Case) -> Any:
        (block,) = case.x0
        s, problem = Names(**case.hyper, X=case.x0[block]), case.problem
        assert problem is not None

        def step(event: Exchange) -> Any:
            s.W, s.w = np.asarray(event.mixing), np.diag(event.mixing)[:, None]
            for _ in event.computing:
                s.G = np.einsum("ijk,ik->ij", problem.H, s.X) - problem.e
                s.X = move(s)
            return {"x": {block: s.X}}

        return Names(step=step)

    return written(offer_of("dsgd", "trace", "lian-2017", dtypes=("float64",), intermediates=()), start)


def late(reading: str, share: Callable[[Any, int], Any]) -> Any:
    """FedAsync of NumPy with another share of an update, by its delay."""

    def start(case: Case) -> Any:
        s, versions, problem = Names(**case.hyper), [flatten(case.x0)], case.problem
        assert problem is not None

        def step(e: Arrival) -> Any:
            y = start = versions[-1 - e.delay]
            for _ in range(e.steps):
                y = y - s.eta_l * (problem.H[e.client] @ y - problem.e[e.client] + s.mu * (y - start))
            mix = share(s, e.delay)
            versions.append((1 - mix) * versions[-1] + mix * y)
            return {"x": versions[-1]}

        return Names(step=step)

    return written(offer_of("fedasync", "trace", reading, dtypes=("float64",), intermediates=()), start)


ADAM = "fedadam"
MISTAKES: dict[str, tuple[Any, str]] = {
    "AdaBelief": (
        adaptive(ADAM, v=lambda s: s.beta2 * s.v_old + (1 - s.beta2) * (s.delta - s.m) ** 2),
        "v = beta2 v + (1 - beta2) (Delta - m)^2",
    ),
    "AMSGrad's maximum": (
        adaptive(ADAM, v=lambda s: np.maximum(s.v_old, s.beta2 * s.v_old + (1 - s.beta2) * s.delta**2)),
        "v = beta2 v + (1 - beta2) max(Delta^2, v)",
    ),
    "Nesterov": (
        adaptive(ADAM, step=lambda s: (s.beta1 * s.m + (1 - s.beta1) * s.delta) / (sqrt(s.v) + s.tau)),
        "x = x + eta ((1 - beta1) Delta + beta1 m) / (sqrt(v) + tau)",
    ),
    "a decay of the model": (
        adaptive(ADAM, step=lambda s: s.m / (sqrt(s.v) + s.tau) - 0.01 * s.x / s.eta),
        "x = 0.99 x + eta m / (sqrt(v) + tau)",
    ),
    "a warm-up": (
        adaptive(ADAM, step=lambda s: min(1, s.t / 3) * s.m / (sqrt(s.v) + s.tau)),
        'eta has the schedule "warm-up/round period=3"',
    ),
    "a rate that falls": (
        adaptive(ADAM, step=lambda s: s.m / (sqrt(s.v) + s.tau) / sqrt(s.t)),
        'eta has the schedule "inverse-sqrt/round"',
    ),
    "a rate over the participants": (
        adaptive(ADAM, step=lambda s: s.m / (sqrt(s.v) + s.tau) / s.M),
        "x = x + (eta / M) m / (sqrt(v) + tau)",
    ),
    "a product of two rounds": (
        adaptive(ADAM, v=lambda s: s.beta2 * s.v_old + (1 - s.beta2) * s.delta * s.delta_old),
        "v = beta2 v + (1 - beta2) Delta Delta_old",
    ),
    "a power of the decay": (adaptive("fedavgm", v=lambda s: s.beta**s.t * s.v_old + s.delta), "v = beta^t v + Delta"),
    "the variance": (
        adaptive(ADAM, step=lambda s: s.m / (sqrt(np.maximum(s.v - s.m**2, 0)) + s.tau)),
        "x = x + eta m / (sqrt(max(0, v - m^2)) + tau)",
    ),
    "cautious": (
        adaptive(ADAM, step=lambda s: np.where(s.m * s.delta > 0, s.m, 0) / (sqrt(s.v) + s.tau)),
        "x = x + eta (m if 0 < Delta m else 0) / (sqrt(v) + tau)",
    ),
    "clipped steps": (
        adaptive(ADAM, step=lambda s: np.clip(s.m / (sqrt(s.v) + s.tau), -1, 1)),
        "x = x + eta m / max(abs(m), sqrt(v) + tau)",
    ),
    "v from its maximum": (
        adaptive("fedamsgrad", v=lambda s: s.beta2 * s.v_hat_old + (1 - s.beta2) * s.delta**2),
        "v = beta2 v_hat + (1 - beta2) Delta^2",
    ),
    "signs enter the buffer": (
        adaptive("fedavgm", v=lambda s: s.beta * s.v_old + sign(s.delta)),
        "v = beta v + sign(Delta)",
    ),
    "a buffer clipped to length 1": (
        adaptive("fedavgm", step=lambda s: s.v * min(1, 1 / np.linalg.norm(s.v))),
        "x = x + (eta / max(1, ||v||)) v",
    ),
    "a gradient times a client's weight of itself": (
        peers(lambda s: s.W @ s.X - s.eta_l * s.w * s.G),
        "X = W X - eta_l w_ii G",
    ),
    "mixed half-way": (peers(lambda s: (s.X + s.W @ s.X) / 2 - s.eta_l * s.G), "X = (X + W X) / 2 - eta_l G"),
    "a hyperbola of the delay": (late("xie-2019", lambda s, u: s.mix / (1 + u)), "mix_t = mix / (delay + 1)"),
    "half of twice a": (
        late("xie-2019-polynomial", lambda s, u: s.mix / (1 + s.twice_a / 2 * u)),
        "mix_t = mix / ((2 + delay twice_a) / 2)",
    ),
}
UNWRITTEN = adaptive("fedavgm", step=lambda s: np.sin(s.v))


@pytest.mark.table(1)
@pytest.mark.parametrize("it, equation", MISTAKES.values(), ids=MISTAKES)
def test_a_wrong_equation_is_written_out(it: Any, equation: str) -> None:
    """Find a right side that nobody listed, from the subject's models alone."""
    found = next(written_out(*benched(it)))
    assert found.words.startswith(f"yours: {equation}, wanted: ")


LISTED: dict[str, tuple[Level, str]] = {
    "fedpd-no-pull": ("round", "x = x - eta_l (g + lam_i)"),
    # The first step of a round has no proximal term.
    "proximal-sign": ("round", "x = x - eta_l (g + mu (anchor - x))"),
    "cc-uphill": ("trace", "x = x - Delta"),
    "dampened-buffer-too": ("client", "u = (1 - rho) rho u + (1 - rho) g"),
    "amsgrad-average": ("client", "v_hat = (v + v_hat) / 2"),
    "adamw-decay-in-ratio": (
        "client",
        "x = x - (eta_l / (sqrt(v_hat) + eps)) wd x - eta_l m_hat / (sqrt(v_hat) + eps)",
    ),
    "k-gt-unmixed": ("trace", "X = X + W (X - eta eta_l steps V) - W X"),
    "fedcm-stepped-again": ("round", "x = x + eta Delta - eta_l rho D_old"),
    "adagrad-maximum": ("client", "v = max(g^2, v)"),
    "normalised-epsilon-inside-root": ("client", "x = x - eta_l (g / sqrt(eps + ||g||^2))"),
}
"""Mutants that no generic mistake is like, with a level at which they are judged and what they compute."""


@pytest.mark.table(1)
@pytest.mark.parametrize("mutant", LISTED)
def test_a_clients_equation_is_written_out_in_rounds_too(mutant: str) -> None:
    """Solve for a client's step from its models, or from those of rounds with one client."""
    level, equation = LISTED[mutant]
    mutated = Mutated(find(mutant))
    offer = next(o for o in mutated.info.offers if o.level == level)
    found = [*written_out(*benched(written(offer, mutated.start)))]
    # Where both are zero, a quotient of them has no value: the diagnosis tries the next formula.
    assert any(v.words.startswith(f"yours: {equation}, wanted: ") for v in found)
    assert mutant != "fedpd-no-pull" or found[0].equation == "fedpd.x_i"


@pytest.mark.parametrize("algorithm", ["fedbuff", "fadas"])
def test_a_rule_with_an_option_that_its_row_fixes_is_opened(algorithm: str) -> None:
    """The rows fix how a change is divided, which is no option of their own."""
    assert [*boxes(setting_of(offer_of(algorithm, "trace")))]


@pytest.mark.slow
def test_an_equation_that_runs_once_a_client_is_written_out_from_what_it_shows() -> None:
    """The mean change is not known while the clients work, and with one client it is the client's own."""
    found = next(written_out(*benched(subject(Scaffold, "mean", intermediates=("delta", "c_i", "c")))))
    assert found.words.startswith("yours: c_i = c_i - c - Delta / (eta_l steps), wanted: ")
    assert found.equation == "scaffold.c_i"


def test_an_equation_is_placed_by_what_it_makes() -> None:
    """The name delta of the rule is Delta in its equations, whose ids are named otherwise."""
    setting = setting_of(offer_of("delayed-nesterov", "trace"))
    box = next(box for box in boxes(setting) if "delta" in box.made and "m" in box.made)
    v = rule_with(setting, box, "delta", ast.parse("state.delta", mode="eval").body)
    assert (v.words, v.equation) == ("yours: Delta = Delta, wanted: Delta = Delta + Delta_i", "delayed-nesterov.total")


@pytest.mark.parametrize("yours", ["", "v_i = x / tau[:, None]"])
def test_an_equation_that_reads_like_the_wanted_one_or_like_code_is_not_printed(
    yours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alike(*given: Any) -> Any:
        v = rule_with(*given)
        return replace(v, names=tuple({**name, "yours": yours or name["wanted"]} for name in v.names))

    monkeypatch.setattr(synthesis, "rule_with", alike)
    it, _ = next(iter(MISTAKES.values()))
    assert [*written_out(*benched(it))] == []


def test_what_follows_its_rule_has_no_equation_of_its_own() -> None:
    """An equation is printed only if it differs from the claimed one."""
    assert [*written_out(*benched(adaptive(ADAM)))] == []


def test_an_equation_beyond_the_search_is_not_printed() -> None:
    """Print facts and no formula of a function that formulas do not have."""
    bench, setting = benched(UNWRITTEN)
    assert [*written_out(bench, setting)] == []
    assert (
        card(bench, setting, as_claimed(setting))
        == "if all Delta double, a step changes by no fixed factor, and the claimed step doubles"
    )


FACTS: dict[str, tuple[Any, str]] = {
    "no memory": (
        adaptive("fedavgm", v=lambda s: s.delta),
        "a step does not depend on Delta of t - 1, Delta of t - 2, Delta of t - 3 and beta",
    ),
    "a pull": (adaptive("fedavgm", step=lambda s: s.v - np.sin(s.x)), "a step depends on x too"),
    "one number for all": (
        adaptive("fedavgm", step=lambda s: np.full_like(s.v, s.v.mean())),
        "a coordinate depends on the whole model, not on itself alone",
    ),
}


@pytest.mark.parametrize("it, fact", FACTS.values(), ids=FACTS)
def test_a_card_holds_what_experiments_show(it: Any, fact: str) -> None:
    """Facts in which the subject differs from the claim, and no others of their kind."""
    bench, setting = benched(it)
    assert fact in card(bench, setting, as_claimed(setting)).split("; ")


@pytest.mark.slow
def test_a_diagnosis_names_the_equation() -> None:
    """The equation stands in a diagnosis where no listed name fits."""
    it, equation = MISTAKES["Nesterov"]
    said = diagnosed(it, further=False).instead("; or ")
    assert said.startswith(f"yours: {equation}, wanted: x = x + eta m / (sqrt(v) + tau) at fedadam.step")


@pytest.mark.parametrize(
    ("algorithm", "level", "rule", "made"),
    [
        ("afga", "trace", "amsgrad", "state.x + eta * m / sqrt(v_hat + eps)"),
        ("fednova", "round", "effective_steps", "sum(p * a_norms)"),
        ("fedada2", "round", "adagrad", "state.v + delta ** 2"),
        ("diloco", "round", "adamw", "state.x - shrunk * state.x - step"),
    ],
)
def test_an_option_at_its_default_is_folded_away(algorithm: str, level: Level, rule: str, made: str) -> None:
    (box,) = (b for b in boxes(setting_of(offer_of(algorithm, level))) if b.function.__name__ == rule)
    assert made in map(ast.unparse, box.made.values())
    assert not any(isinstance(n, ast.IfExp) for value in box.made.values() for n in ast.walk(value))


def test_a_formula_may_have_the_root_of_a_constant() -> None:
    np.testing.assert_allclose(evaluated("sqrt(2) * a", {"a": np.array([3.0])}), 18**0.5)


def test_a_number_is_a_simple_fraction_or_a_short_decimal() -> None:
    found = {v: number(v) for v in (64 / 63, 0.99, 1 / 3, 1023 / 1024, 0.123456789, 2.0)}
    said = {v: ast.unparse(c) if c else "" for v, c in found.items()}
    assert [*said.values()] == ["64 / 63", "0.99", "1 / 3", "1023 / 1024", "", "2"]


@pytest.mark.slow
def test_a_rule_that_shows_more_than_its_model_is_solved_too() -> None:
    """FedExP, which returns its rate beside the model: eps stands outside of 2 M, and is eps / (2 M) inside."""

    def start(case: Case) -> Any:
        x, eps = [flatten(case.x0)], case.hyper["eps"]

        def step(e: Messages) -> Any:
            sent = [flatten(m.delta) for m in e.messages]
            mean = sum(sent) / len(sent)
            below = 2 * len(sent) * float(mean @ mean) + eps
            above = sum(float(d @ d) for d in sent)
            x.append((x[-1] + max(1.0, above / below if below else 1.0) * mean).astype(case.dtype))
            return {"x": x[-1]}

        return Names(step=step)

    (found,) = diagnosed(written(offer_of("fedexp", "server"), start)).found
    assert "(total(Delta^2) + eps / 2 / M)" in found.words and found.equation == "fedexp.rate", found


def test_a_quantity_of_two_statements_is_written_out_whole() -> None:
    setting = setting_of(offer_of("fedams", "server", "option-1"))
    box = next(box for box in boxes(setting) if {"v_hat", "v_hat_"} <= box.made.keys())
    v = rule_with(setting, box, "v_hat", ast.parse("maximum(v, state.v)", mode="eval").body)
    assert v.words == "yours: v_hat = max(max(v, v_old), eps), wanted: v_hat = max(v_hat, v, eps)"
