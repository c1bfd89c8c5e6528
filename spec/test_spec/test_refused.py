"""Refusals by name: domains, counts, weights, shapes that broadcast, plans, settings, draws, and sizes too large."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import sympy
import torch
import z3

from fedspec.algorithms import peers
from fedspec.algorithms.fedada2 import FedAda2
from fedspec.algorithms.fedopt import FedAdam
from fedspec.arith import array
from fedspec.catalogue import CATALOGUE
from fedspec.client import adagrad, adam, admu, agdu, lamb_solver, momentum, sgd, sm3, sm3_adam, sm3_delayed, yogi
from fedspec.client.lamb import layer_step
from fedspec.covers import Cover, named_cover
from fedspec.domains import COUNTS, DOMAINS, MOST, PLANNED, require, require_count
from fedspec.errors import (
    ContractError,
    CoverError,
    FedspecError,
    MixingError,
    ParameterError,
    PlanError,
    ShapeError,
    UnknownNameError,
    WeightError,
)
from fedspec.linear import solve
from fedspec.mixing import topology
from fedspec.mixing.accumulation import accumulation, momentum_norm
from fedspec.mixing.arrivals import discount, local_change
from fedspec.mixing.control_variates import client_control, cross_client, drift_controls, server_control
from fedspec.mixing.duals import dynamic_average, server_dual
from fedspec.mixing.gossip import broadcast, check_mixing
from fedspec.mixing.nova import effective_steps, general_weights, normalised_gradient
from fedspec.mixing.periodic import model_mean, moment_maximum
from fedspec.mixing.private import noisy_mean
from fedspec.mixing.sampling import sampled_steps, sampled_update, sampled_weights
from fedspec.mixing.scaled import scaled
from fedspec.mixing.weighted import shares
from fedspec.params import flatten, layers, size
from fedspec.plan import Arrival, Exchange, Messages, Plan, Setup
from fedspec.problems.heavy_tailed import draw_cauchy, draw_student
from fedspec.problems.quadratic import QuadraticClients, given, local_matrix
from fedspec.readings import CoverName, NovaWeights, Phi, SampledSteps, SampledWeights, Solver, TauEff
from fedspec.rules import RULES
from fedspec.server.adagrad import init
from fedspec_suite.judge.capsules.codec import decoded

pytestmark = pytest.mark.table(20)

TWO, ROWS, NOBODY = np.ones(2), np.arange(6.0).reshape(3, 2), np.ones((0, 2))
THIRDS, PAIR = np.full(3, 1 / 3), Cover(((0, 1),), 2)


def v(*numbers: Any) -> Any:
    return np.array(numbers)


BEGINNINGS: dict[str, Callable[..., Any]] = {
    "server": lambda **h: init(TWO, **h),
    "adagrad": lambda **h: adagrad.begin(TWO, **h),
    "agdu": lambda **h: agdu.begin(TWO, **h),
    "admu": lambda **h: admu.begin(TWO, **h),
    "yogi": lambda **h: yogi.begin(TWO, **h),
    "sm3 delayed": lambda **h: sm3_delayed.begin(TWO, PAIR, **h),
}


@pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
@pytest.mark.parametrize("v0", [-1, -0.5, F(-1), Decimal(-1), math.nan, math.inf, True, "1", 1j, TWO], ids=repr)
def test_no_state_begins_with_a_second_moment_that_is_none(begin: Callable[..., Any], v0: Any) -> None:
    with pytest.raises(ParameterError, match=r"^v0: got "):
        begin(v0=v0)


@pytest.mark.parametrize("m0", [-1, math.nan, F(-1)])
def test_no_state_begins_with_a_first_moment_outside_its_domain(m0: Any) -> None:
    with pytest.raises(ParameterError, match=r"^m0: got "):
        admu.begin(TWO, m0=m0)


@pytest.mark.parametrize("begin", BEGINNINGS.values(), ids=BEGINNINGS)
@pytest.mark.parametrize(
    "v0",
    [0, 0.5, F(1, 2), F(10) ** 400, sympy.Symbol("v"), z3.Real("v")],
    ids=["0", "0.5", "1/2", "10^400", "sympy", "z3"],
)
def test_symbols_and_large_fractions_begin_a_state(begin: Callable[..., Any], v0: Any) -> None:
    begin(v0=v0) if isinstance(v0, float | int) else init(np.array([v0, v0]), v0=v0)


def test_a_state_begins_in_torch_with_a_number_for_each_client() -> None:
    X, column = torch.ones(3, 2, dtype=torch.float64), torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float64)
    assert init(X, v0=column).v.tolist() == [[0, 0], [1, 1], [2, 2]]
    with pytest.raises(ParameterError, match=r"^v0: got -1"):
        init(X, v0=-column)


@pytest.mark.parametrize("module", [sm3, sm3_adam, sm3_delayed], ids=lambda m: m.__name__)
def test_no_state_begins_on_the_cover_of_another_model(module: Any) -> None:
    with pytest.raises(ShapeError, match="shapes do not fit together"):
        module.begin(np.ones(3), PAIR)


TAU_EFF = {"p": v(0.5, 0.5), "a_norms": v(1.0, 2.0), "steps": [1, 2], "choice": TauEff.WEIGHTED_NORM}
DRAWN = {"clients": 3, "sampled_weights": SampledWeights.WITHOUT_REPLACEMENT}
DRIFT = {"v": ROWS, "X": ROWS, "x": TWO, "steps": [1, 2, 3], "eta_l": 0.1}
STEPS = {"p": THIRDS, "w": THIRDS, "a_norms": np.ones(3), "sampled_steps": SampledSteps.SAMPLE}


# Without the tests' own check of annotations, as a user has it.
unwrap = inspect.unwrap


def layered(*layers: slice) -> lamb_solver.Lamb:
    start = lamb_solver.begin(TWO)
    return lamb_solver.lamb(start, TWO, layers, eta_l=0.1, beta1=0.5, beta2=0.5, eps=0.1)


HUGE = 2**63
RATES: dict[str, Any] = {"eta_l": 0.1, "eta": 1, "beta1": 0.5, "tau": 0.1, "v0": 1}


def plan(**more: Any) -> Plan:
    return Plan(**{"participants": (0, 1), "steps": (1, 1), "examples": (1, 1), **more})


REFUSED: dict[type[FedspecError], dict[str, tuple[Callable[[], object], str]]] = {
    PlanError: {
        "a mean over fewer than come": (lambda: model_mean(ROWS, clients=2), "^models: got 3 rows for 2"),
        "a mean over -3": (lambda: model_mean(ROWS, clients=-3), "^clients: got -3"),
        "a mean over 3.5": (lambda: model_mean(ROWS, clients=3.5), "^clients: got 3.5"),  # type: ignore[arg-type]
        "a mean of nothing": (lambda: model_mean(NOBODY, clients=3), "^models: got 0 rows for 3"),
        "moments of too many": (lambda: moment_maximum(TWO, ROWS, clients=1), "^moments: got 3 rows for 1"),
        "duals of too many": (lambda: server_dual(TWO, ROWS, mu=1.0, clients=1), "^deltas: got 3 rows for 1"),
        "models of nobody": (lambda: dynamic_average(NOBODY, TWO, mu=1.0), "^Y: got 0 rows for 0"),
        "noise for nobody": (lambda: noisy_mean(NOBODY, TWO, clip_norm=1.0, sigma=1.0), "^deltas: got 0 rows for 0"),
        "-3 local steps": (lambda: local_change(TWO, TWO, steps=-3), "^steps: got -3"),
        "2.5 local steps": (lambda: local_change(TWO, TWO, steps=2.5), "^steps: got 2.5"),  # type: ignore[arg-type]
        "no step": (lambda: client_control(TWO, TWO, TWO, TWO, steps=0, eta_l=0.1), "^steps: got 0"),
        "delay -1": (lambda: discount(0.5, delay=-1), "^delay: got -1"),
        "delay 1.5": (lambda: discount(0.5, delay=1.5), "^delay: got 1.5"),  # type: ignore[arg-type]
        "delay nan": (lambda: Arrival(0, 1, math.nan), "^delay: got nan"),  # type: ignore[arg-type]
        "delay none": (lambda: Arrival(0, 1, None), "^delay: got None"),  # type: ignore[arg-type]
        "norm of 2.5 steps": (lambda: momentum_norm(2.5, rho=0.5), "^tau: got 2.5"),  # type: ignore[arg-type]
        "step -1": (lambda: sgd.decayed_sgd(TWO, TWO, k=-1, eta_l=0.1, gamma=0.5), "^k: got -1"),
        "step -1 of momentum": (
            lambda: momentum.dampened(momentum.begin(TWO), TWO, k=-1, eta_l=0.1, rho=0.5),
            "^k: got -1",
        ),
        "drift of -2 steps": (lambda: drift_controls(**{**DRIFT, "steps": [1, -2, 3]}), "^steps: got -2"),
        "drift of half steps": (lambda: drift_controls(**{**DRIFT, "steps": [1, 0.5, 3]}), "^steps: got 0.5"),
        "steps -2": (lambda: effective_steps(**{**TAU_EFF, "steps": [1, -2]}), "^steps: got -2"),
        "more drawn than exist": (lambda: sampled_weights(THIRDS, **{**DRAWN, "clients": 2}), "^p: 3 .* from 2"),
        "steps for each coordinate": (lambda: local_change(TWO, TWO, steps=v(3, 3)), r"^steps: .* shape \(2,\)"),
        "one number of steps": (lambda: drift_controls(**{**DRIFT, "steps": 3}), "^steps: got 3"),
        "a state after -1 steps": (
            lambda: adam.adam(replace(adam.begin(TWO), t=-1), TWO, eta_l=0.1, beta1=0.5, beta2=0.5, eps=0.1),
            r"^state\.t: got -1",
        ),
        "gradients run out": (lambda: given([TWO])(1, TWO), "^gradients: 1 given, and local step 2"),
        "drawn from -3": (lambda: sampled_weights(v(0.5, 0.5), **{**DRAWN, "clients": -3}), "^clients: got -3"),
        "client 0.5": (lambda: Plan((0.5,), (1,), (1,)).check_clients([0, 1]), "client 0.5 is not one"),  # type: ignore[arg-type]
        "client True": (lambda: Plan((True,), (1,), (1,)).check_clients([0, 1]), "client True is not one"),
        "a plain bool": (lambda: require_count("delay", True), "^delay: got True"),
        "^scales: entry 1 is nan": (lambda: plan(scales=(1.0, math.nan)), "^scales: entry 1 is nan"),
        "^scales: entry 0 is inf": (lambda: plan(scales=(math.inf, 1.0)), "^scales: entry 0 is inf"),
        "^scales: entry 1 is '2'": (lambda: plan(scales=(1.0, "2")), "^scales: entry 1 is '2'"),
        "^noise: entry 1 is nan": (lambda: plan(noise=(0.5, math.nan)), "^noise: entry 1 is nan"),
        "^examples: there is no client": (lambda: Setup((), {}), "^examples: there is no client"),
        "^messages: 2 deltas, 1 examples": (
            lambda: Messages(np.ones((2, 2)), [1], [1, 1], [1, 1]),
            "^messages: 2 deltas, 1 examples",
        ),
        "^computing: the list is empty": (
            lambda: peers.check_everyone(Exchange((), (), np.eye(1)), [lambda k, x: x]),
            "^computing: the list is empty",
        ),
        "a norm": (lambda: momentum_norm(tau=HUGE, rho=0.5), "^tau: got 9223372036854775808"),
        "a vector": (lambda: accumulation(Solver.SGD, 2**40), "^steps: got 1099511627776"),
        "steps of a change": (lambda: local_change(TWO, TWO, steps=2**60), "^steps: got .* at most"),
        "a plan": (lambda: Plan((0,), (HUGE,), (1,)), "^steps: got .* at most"),
        "a delay": (lambda: Arrival(0, 1, HUGE), "^delay: got .* at most"),
        "half of a float": (lambda: Plan((0,), (2.5,), (1,)), "^steps: got 2.5"),  # type: ignore[arg-type]
        "a whole float": (lambda: Plan((0,), (2.0,), (1,)), "^steps: got 2.0; .* write 2$"),  # type: ignore[arg-type]
        "a whole float of a rule": (lambda: local_change(TWO, TWO, steps=2.0), "^steps: got 2.0; .* write 2$"),  # type: ignore[arg-type]
        "a long double": (lambda: require_count("steps", np.longdouble(2)), "^steps: got .*write 2$"),
        "long doubles": (lambda: require_count("steps", np.ones(2, np.longdouble) / 2), "^steps: got .*0.5"),
    },
    ShapeError: {
        "noise by rows": (lambda: noisy_mean(ROWS, ROWS, clip_norm=1.0, sigma=1.0), r"noise \(3, 2\)"),
        "drift from rows": (lambda: drift_controls(**{**DRIFT, "x": ROWS}), r"x \(3, 2\)"),
        "drift from a row": (lambda: drift_controls(**{**DRIFT, "x": ROWS[:1]}), r"x \(1, 2\)"),
        "norms for one": (lambda: normalised_gradient(TWO, eta_l=0.1, a_norm=v(1.0, 2.0)), r"a_norm \(2,\)"),  # type: ignore[arg-type]
        "a model of words": (lambda: sgd.sgd(v("a", "b").astype(object), TWO, eta_l=0.1), "^x: .* type str"),
        "a model of complex numbers": (lambda: sgd.sgd(v(1j, 2).astype(object), TWO, eta_l=0.1), "^x: .* type complex"),
        "a mean of a list": (lambda: model_mean([[1.0, 2.0]], clients=1), "^models: got list"),  # type: ignore[arg-type]
        "quadratics of integers": (
            lambda: QuadraticClients(np.ones((1, 1, 1), int), np.ones((1, 1))),
            "^H: got an array of int64",
        ),
        "quadratics of nobody": (lambda: QuadraticClients(np.ones((0, 1, 1)), np.ones((0, 1))), "n >= 1"),
        "weights of fewer": (
            lambda: QuadraticClients(np.ones((2, 1, 1)), np.ones((2, 1))).minimiser(v(1.0)),
            "^weights: 1 for 2",
        ),
        "a length of -1": (lambda: layers({"w": (2, -1)}), r"^w: shape \(2, -1\)"),
        "half a length": (lambda: named_cover(CoverName.ONE, {"w": (1.5,)}), r"^w: shape \(1.5,\)"),  # type: ignore[dict-item]
        "no block": (lambda: flatten({}), "^x: the model has no blocks"),
        "mixing by a list": (lambda: unwrap(check_mixing)([[1.0]]), "^W: got list"),  # type: ignore[arg-type]
        "a weight for each coordinate": (lambda: scaled(TWO, scale=v(1.0, 2.0)), r"scale \(2,\)"),  # type: ignore[arg-type]
        "too few layers": (lambda: layered(slice(0, 1)), "^layers: "),
        "layers that overlap": (lambda: layered(slice(0, 2), slice(1, 2)), "^layers: "),
        "a shorter right side": (lambda: solve(np.eye(2), np.ones(3)), r"^solve: got A \(2, 2\) and b \(3,\)"),
        "no coordinates, one length": (
            lambda: named_cover(CoverName.AXES, {"w": (0, 2**60)}),
            r"^w: shape \(0, 1152921504606846976\).* at most",
        ),
        "a length": (lambda: size("w", (HUGE,)), "^w: shape .* at most"),
        "a product": (lambda: layers({"w": (2**31, 2**31)}), "^w: shape .* at most"),
    },
    WeightError: {
        "weights not one": (lambda: general_weights(v(0.5, 0.6), v(1.0, 2.0), NovaWeights.NOVA), "^p: .* sums to 1.1"),
        "exact weights not one": (
            lambda: general_weights(v(F(1, 2), F(10**20 + 1, 2 * 10**20)), v(F(1), F(2)), NovaWeights.IMPLIED),
            "^p: .* sums to ",
        ),
        "norm -2": (lambda: general_weights(v(0.5, 0.5), v(1.0, -2.0), NovaWeights.IMPLIED), "^a_norms: entry 1 is -2"),
        "norm inf": (lambda: normalised_gradient(TWO, eta_l=0.1, a_norm=math.inf), "^a_norm: entry 0 is inf"),
        "steps of no weights": (lambda: effective_steps(**{**TAU_EFF, "p": v(0.5, 0.6)}), "sums to 1.1"),
        "steps of norm 0": (lambda: effective_steps(**{**TAU_EFF, "a_norms": v(1.0, 0.0)}), "^a_norms: entry 1 is 0"),
        "a drawn share above 1": (lambda: sampled_weights(v(1.5), **DRAWN), "^p: entry 0 is 1.5"),
        "drawn shares above 1": (lambda: sampled_weights(v(0.75, 0.5), **DRAWN), "^p: the sum is 1.25"),
        "a share above 1, twice drawn": (
            lambda: sampled_weights(v(F(3, 2), F(1, 2)), clients=2, sampled_weights=SampledWeights.WITH_REPLACEMENT),
            "^p: entry 0 is 3/2",
        ),
        "drawn without examples": (
            lambda: sampled_weights(v(0.0, 0.0), clients=2, sampled_weights=SampledWeights.SELF_NORMALISED),
            "^p: .* sums to 0",
        ),
        "steps of shares above 1": (lambda: sampled_steps(**{**STEPS, "p": 6 * THIRDS}), "^p: entry 0 is 2"),
        "controls above 1": (lambda: server_control(TWO, ROWS, v(1.5, 0.0, 0.0)), "^p: entry 0 is 1.5"),
        "controls above 1 together": (lambda: server_control(TWO, ROWS, 2 * THIRDS), "^p: the sum is 2"),
        "sample sizes of truth": (lambda: shares([True, False], TWO), "^weight: client message 0 has True"),
        "sample sizes in words": (lambda: shares(["1", "3"], TWO), "^weight: client message 0 has '1'"),  # type: ignore[list-item]
        "weights of truth": (lambda: server_control(TWO, ROWS[:1], v(True).astype(object)), "^p: entry 0 is True"),
        "drawn share -0.5": (lambda: sampled_weights(v(0.5, -0.5), **DRAWN), "^p: entry 1 is -0.5"),
        "drawn steps of -1": (lambda: sampled_steps(**{**STEPS, "w": -THIRDS}), "^w: entry 0"),
        "drawn update": (lambda: sampled_update(TWO, ROWS, -THIRDS, tau_eff=1.0, eta_l=0.1), "^w: entry 0"),
        "controls below zero": (lambda: server_control(TWO, ROWS, v(0.5, 0.5, -0.5)), "^p: entry 2"),
        "corrections not one": (lambda: cross_client(ROWS, v(0.5, 0.5, 0.5)), "^p: .* sums to 1.5"),
        "reach below zero": (lambda: broadcast(TWO, ROWS, v(1.0, -1.0, 0.0)), "^reach: entry 1 is -1"),
        "reach NaN": (lambda: broadcast(TWO, ROWS, v(1.0, np.nan, 0.0)), "^reach: entry 1 is nan"),
        "reach infinite": (lambda: broadcast(TWO, ROWS, v(1.0, 0.0, np.inf)), "^reach: entry 2 is inf"),
        "size NaN": (lambda: Plan((4, 2), (1, 1), (1.0, np.nan)), "^examples: client 2 has nan"),
        "size infinite": (lambda: Plan((4, 2), (1, 1), (np.inf, 1.0)), "^examples: client 4 has inf"),
        "^examples: client 1 has -2": (lambda: plan(examples=(1, -2)), "^examples: client 1 has -2"),
        "^examples: client 0 has True": (lambda: plan(examples=(True, 1)), "^examples: client 0 has True"),
        "^examples: client 1 has inf": (lambda: Setup((1, math.inf), {}), "^examples: client 1 has inf"),
    },
    ParameterError: {
        "fixed -3": (lambda: effective_steps(**{**TAU_EFF, "choice": TauEff.FIXED, "fixed": -3}), "^tau_eff: got -3"),
        "mu 0": (lambda: dynamic_average(ROWS, TWO, mu=0), "^mu: got 0"),
        "a change that is no vector": (lambda: scaled(TWO, scale=True), "^scale: got True"),
        "a weight that is no number": (lambda: scaled(TWO, scale=math.nan), "^scale: got nan"),
        "a rate nan": (lambda: local_matrix(Solver.SGD, np.eye(2), 2, eta_l=math.nan), "^eta_l: got nan"),
        "a factor nan": (lambda: accumulation(Solver.PROXIMAL, 2, alpha=math.nan), "^alpha: got nan"),
        "degrees of freedom": (lambda: draw_student(np.random.default_rng(0), math.nan, (1,)), "^nu: got nan"),  # type: ignore[arg-type]
        "a scale of noise": (lambda: draw_cauchy(np.random.default_rng(0), math.inf, (1,)), "^gamma: got inf"),
        "ends exchanged": (
            lambda: layer_step(TWO, TWO, eta_l=0.1, phi_m=2.0, phi_M=1.0, phi=Phi.CLIP),
            "^phi_m: got 2.0",
        ),
        "a NumPy bool": (lambda: require("eta", np.True_), "^eta: got "),
        "a NumPy complex": (lambda: require("eta", np.complex64(1)), "^eta: got "),
        "a cycle": (lambda: FedAda2(**RATES, eps=0.1, z=HUGE), "^z: got .* at most"),
        "a record without rates": (lambda: FedAdam(eta_l=0.1), "^eta, .*v0: not given; FedAdam needs them"),  # type: ignore[call-arg]
        "a rule without its rate": (lambda: sgd.sgd(TWO, TWO), "^sgd: eta_l is not given; it is the"),  # type: ignore[call-arg]
        "a rule without a gradient": (lambda: sgd.sgd(TWO, eta_l=0.1), "^sgd: g is not given"),  # type: ignore[call-arg]
    },
    UnknownNameError: {
        "a weighting of another name": (lambda: unwrap(shares)([1, 3], TWO, "mine"), "^weights: .*'mine'"),  # type: ignore[arg-type]
        "a solver of another name": (lambda: local_matrix("mine", np.eye(2), 2, eta_l=0.1), "^solver: .*'mine'"),  # type: ignore[arg-type]
        "a cover of another name": (lambda: named_cover("mine", {"w": (2,)}), "^cover: .*'mine'"),  # type: ignore[arg-type]
        "a ring of another name": (lambda: unwrap(topology.ring)(2, of_two="mine"), "^of_two: .*'mine'"),  # type: ignore[arg-type]
    },
    CoverError: {
        "a cover by name": (lambda: sm3.accumulate_i(np.ones(1), TWO, "one"), "^cover: got 'one'"),  # type: ignore[arg-type]
        "a cover of truth": (lambda: Cover(((True, False),), 2), "^cover: set 0"),
        "a cover of -1": (lambda: Cover((), -1), "^cover: d = -1"),
        "a cover": (lambda: Cover((), HUGE), f"^cover: coordinate 0 .* of {HUGE} missing"),
        "a cover with a gap": (lambda: Cover(((0, 1, 3),), HUGE), "^cover: coordinate 2 belongs to no set"),
    },
    MixingError: {
        "half a client": (lambda: unwrap(topology.complete)(2.5), "^W: 2.5 clients"),  # type: ignore[arg-type]
        "an edge of truth": (lambda: topology.metropolis(2, [(True, False)]), r"^edges: got \(True, False\)"),
        "an order of truth": (lambda: topology.permutation([True, False]), r"^order: \(True, False\)"),
        "a blend of fewer": (lambda: topology.blended([1.0], [np.eye(2)] * 2), "^weights: 1 for 2"),
    },
    ContractError: {
        "a capsule": (lambda: decoded({"array": [], "shape": [0, 2**60], "dtype": "float64"}, "case"), "^case: "),
        "a capsule of three axes": (
            lambda: decoded({"array": [], "shape": [0, 2**40, 2**40], "dtype": "float64"}, "case"),
            "^case: ",
        ),
    },
}
"""By error, and by name or by the words of the refusal."""


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [(call, kind, words) for kind, rows in REFUSED.items() for call, words in rows.values()],
    ids=[name for rows in REFUSED.values() for name in rows],
)
def test_a_wrong_number_is_refused(call: Callable[[], object], kind: type[FedspecError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        call()
    assert type(caught.value) is kind


def test_every_count_of_a_rule_has_a_domain() -> None:
    # All rules are there once the rows are.
    assert CATALOGUE
    counted = {
        p.name
        for rule in RULES.values()
        for p in inspect.signature(rule).parameters.values()
        if str(p.annotation) in ("int", "Count", "Sequence[int]")
    }
    assert counted == set(PLANNED) | (counted & COUNTS)
    assert set(DOMAINS) & set(PLANNED) == {"tau"}


def test_what_is_just_inside_is_taken() -> None:
    assert model_mean(ROWS, clients=3).tolist() == [2, 3]
    assert model_mean(ROWS, clients=4).tolist() == [1.5, 2.25]
    assert (
        sampled_weights(v(1.0, 1.0), clients=1, sampled_weights=SampledWeights.WITH_REPLACEMENT).tolist() == [0.5] * 2
    )
    third = v(*[F(1, 3)] * 3)
    drawn = sampled_weights(third, clients=3, sampled_weights=SampledWeights.WITHOUT_REPLACEMENT)
    assert drawn.tolist() == third.tolist()
    assert server_control(TWO, ROWS, THIRDS).tolist() == pytest.approx([3, 4])
    assert discount(F(1, 2), delay=0) == F(1, 2)
    assert local_change(v(F(3)), v(F(1)), steps=np.int64(2)).tolist() == [1]  # type: ignore[arg-type]
    assert sgd.decayed_sgd(v(F(1)), v(F(1)), k=0, eta_l=F(1, 2), gamma=F(1, 2)).tolist() == [F(1, 2)]


def test_what_is_infinite_is_refused_for_that() -> None:
    with pytest.raises(ParameterError, match=r"^eta_l: got inf; .* must be finite and > 0$"):
        require("eta_l", math.inf)


def test_what_has_a_meaning_is_taken() -> None:
    assert plan(scales=(F(1, 2), 0), examples=(0, sympy.Symbol("n"))).scales == (F(1, 2), 0)
    assert plan(scales=(-1.0, 2.0)).scales == (-1.0, 2.0)
    assert Exchange((0,), (), np.eye(1)).computing == ()
    assert accumulation(Solver.DECAYED, 3, gamma=2) == [1, 2, 4]
    assert Plan((0,), (MOST,), (1,)).steps == (MOST,)
    assert size("w", (10**6, 10**6)) == 10**12
    require_count("steps", np.array([2.0, 3.0]))
    # What fits no parameter is Python's to say.
    with pytest.raises(TypeError, match="mu"):
        sgd.sgd(TWO, TWO, eta_l=0.1, mu=1)  # type: ignore[call-arg]


def test_noise_and_draws_may_be_arrays() -> None:
    """A large model's are no tuple of Python's numbers; what they may hold is the same."""
    draws = (0.25, 0.5, 0.0)
    plans = [
        Plan((0,), (1,), (1,), noise=made((-1.5, 0.25, 2.0)), draws=(made(draws),))  # type: ignore[arg-type]
        for made in (tuple, np.array)
    ]
    for like in (np.zeros(3), np.zeros(3, np.float32)):
        for field in ("noise", "draws"):
            rows = [getattr(plan, field) if field == "noise" else plan.draws[0] for plan in plans]
            one, other = (array(row, like) for row in rows)
            assert one.dtype == other.dtype == like.dtype and np.array_equal(one, other)
    with pytest.raises(PlanError, match="noise: entry 1 is"):
        Plan((0,), (1,), (1,), noise=np.array([0.0, np.nan]))  # type: ignore[arg-type]
    for wrong in (1.0, -0.5, np.inf):
        with pytest.raises(PlanError, match="draws: participant 0 has"):
            Plan((0,), (1,), (1,), draws=(np.array([0.0, wrong]),))  # type: ignore[arg-type]
