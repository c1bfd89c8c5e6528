"""Mistakes that are found on the numbers that a subject shows, two at a time; and some in losses, blocks and rounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.by_hand import Fair, Nova, Scaffold, subject
from test_judge.diagnosing import benched, named, written

from fedspec.arith import Array
from fedspec.contract import Begin, Case, Claim, Exchange, Messages
from fedspec.params import unflatten
from fedspec_suite.diagnosis.forced import given_names
from fedspec_suite.diagnosis.identify import half_of
from fedspec_suite.diagnosis.known import known_of


def scaffold(*does: str) -> Any:
    return subject(Scaffold, *does, intermediates=("delta", "c_i", "c"))


def shown_by(it: Any, words: str) -> set[str]:
    """The names of what a variant gives, and not the claimed rule, of the numbers that a subject shows."""
    bench, setting = benched(it)
    known = known_of(setting)
    given = [(s, bench.play(s)) for s in known.samples]
    (v,) = (v for v in known.variants if v.words == words)
    names = ("x", *it.info.claims[0].intermediates)
    return given_names(known, v, given, names) - given_names(known, known.claimed, given, names)


def test_a_variant_gives_what_it_alone_decides() -> None:
    words = "the correction has the wrong sign"
    assert shown_by(scaffold("turned"), words) == {"x", "delta", "c_i", "c"}
    assert shown_by(scaffold("turned", "of those"), words) == {"x", "delta", "c_i"}


def test_one_that_gives_a_quantity_in_a_few_cases_alone_is_not_said() -> None:
    turned, straight = (benched(scaffold(*does)) for does in (("turned", "of those"), ("of those",)))
    known = known_of(turned[1])
    first, second, *_ = known.samples
    (v,) = (v for v in known.variants if v.words == "the correction has the wrong sign")
    cases = [(first, turned[0].play(first)), (second, turned[0].play(second))]
    assert half_of(known, [v], cases, ["x", "c"]) == f"x that you return follow from this: {v.words}"
    assert half_of(known, [v], [*cases, (second, straight[0].play(second))], ["x", "c"]) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "words"),
    [
        (("turned", "of those"), ("the correction has the wrong sign", "c is updated with the mean over the")),
        (("examples", "no rate"), ("p_i = n_i / sum(n_j)", "eta_l is left out")),
    ],
)
def test_each_of_two_mistakes_is_found_on_what_it_decides(does: tuple[str, ...], words: tuple[str, ...]) -> None:
    nearest = named(scaffold(*does))
    assert all(said in nearest for said in words), nearest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("root", "tau_eff = sqrt(sum_i p_i ||a_i||_1^2)"),
        ("all", "tau_eff = sum_i n_i ||a_i||_1 / n, n of all clients"),
        ("inverse", "tau_eff = 1 / (sum_i p_i ||a_i||_1^-1)"),
    ],
)
def test_another_mean_of_the_norms_has_a_name(does: str, words: str) -> None:
    options = {"solver": "momentum", "weights": "examples"}
    nearest = named(subject(Nova, does, options=options, intermediates=("tau_eff",)))
    assert words in nearest and (does != "root" or "at fednova.w" in nearest), nearest


def adamw(case: Case) -> Any:
    """AdamW by hand, without decay in blocks of fewer than two axes."""
    h, x = case.hyper, {n: a.astype(float) for n, a in case.x0.items()}
    k = [0]
    first, v = ({n: 0 * a for n, a in x.items()} for _ in range(2))

    def step(e: Any) -> dict[str, Any]:
        k[0] = 0 if isinstance(e, Begin) else k[0] + 1
        for n, a in (e.x if isinstance(e, Begin) else e.g).items():
            if isinstance(e, Begin):
                x[n], first[n], v[n] = a.astype(float), 0 * first[n], 0 * v[n]
                continue
            first[n] = h["beta1"] * first[n] + (1 - h["beta1"]) * a
            v[n] = h["beta2"] * v[n] + (1 - h["beta2"]) * a**2
            mean, root = first[n] / (1 - h["beta1"] ** k[0]), np.sqrt(v[n] / (1 - h["beta2"] ** k[0]))
            x[n] = x[n] - h["eta_l"] * (h["wd"] * x[n] * (x[n].ndim > 1) + mean / (root + h["eps"]))
        return {"x": {n: a.astype(case.dtype) for n, a in x.items()}}

    return SimpleNamespace(step=step)


def of_blocks(case: Case) -> Any:
    """FedAdagrad with one accumulator for each block, or FedMom without extrapolation in flat blocks, by hand."""
    h, x = case.hyper, {n: a.astype(float) for n, a in case.x0.items()}
    adagrad = case.algorithm == "fedadagrad"
    v = {n: 0 * a + h["v0"] if adagrad else a for n, a in x.items()}
    m = {n: 0 * a for n, a in x.items()}

    def step(e: Messages) -> dict[str, Any]:
        total = sum(c.weight for c in e.messages)
        for n, a in x.items():
            delta = sum(c.weight / total * c.delta[n].astype(float) for c in e.messages)
            if adagrad:
                m[n] = h["beta1"] * m[n] + (1 - h["beta1"]) * delta
                v[n] = v[n] + (delta**2).sum()
                x[n] = a + h["eta"] * m[n] / (np.sqrt(v[n]) + h["tau"])
            else:
                y = a + h["eta"] * delta
                x[n], v[n] = y + h["beta"] * (y - v[n]) * (a.ndim > 1), y
        return {"x": {n: a.astype(case.dtype) for n, a in x.items()}}

    return SimpleNamespace(step=step)


EXAMPLES = {"weights": "examples"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("it", "words"),
    [
        (written(Claim("adamw", "client"), adamw), "wd is 0 in blocks with fewer than two axes"),
        (written(Claim("fedmom", "server", "", EXAMPLES), of_blocks), "beta is 0 in blocks with fewer than two axes"),
        (written(Claim("fedadagrad", "server", "", EXAMPLES), of_blocks), "v = v + (sum of (Delta^2) over the block)"),
    ],
)
def test_what_blocks_have_of_their_own_is_named(it: Any, words: str) -> None:
    assert words in named(it)


@pytest.mark.slow
@pytest.mark.parametrize(("does", "words"), [("largest", "F_i / max over j of F_j"), ("one", "F_i is 1 + F_i")])
def test_other_losses_have_names(does: str, words: str) -> None:
    assert words in named(subject(Fair, does))


def peers(case: Case, *does: str) -> Any:
    """DSGD by hand: mixes at the first local step of a round alone, or evenly with those of whom it hears."""
    p: Any = case.problem
    X = [np.array(np.concatenate([np.ravel(a) for a in case.x0.values()])).reshape(p.e.shape)]

    def step(e: Exchange) -> dict[str, Any]:
        heard = (e.mixing > 0).astype(float)
        W = heard / heard.sum(axis=1, keepdims=True) if "evenly" in does else e.mixing
        for k, computing in enumerate(e.computing):
            G = np.zeros(p.e.shape)
            for i in computing:
                G[i] = p.H[i] @ X[-1][i] - p.e[i]
            mixed: Array = X[-1] if k and "first" in does else W @ X[-1]
            X.append(mixed - case.hyper["eta_l"] * G)
        return {"x": unflatten(X[-1].reshape(-1).astype(case.dtype), case.x0)}

    return SimpleNamespace(step=step)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("first", "only the first local step of a round mixes"),
        ("evenly", "each client mixes evenly with those of whom it hears"),
    ],
)
def test_other_exchanges_have_names(does: str, words: str) -> None:
    assert words in named(written(Claim("dsgd", "trace"), lambda case: peers(case, does)))
