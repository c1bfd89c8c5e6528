"""Slips in the text of any rule, and clients that work on what is meant for another, are named by what was done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_judge.test_gates import Behind, diagnosed
from test_judge.test_remembered import edited, names

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Offer
from fedspec.params import flatten
from fedspec_suite.diagnosis.defects.defect import with_x
from fedspec_suite.diagnosis.edits.systematic import edits
from fedspec_suite.diagnosis.identify import Diagnosis, in_words, unrepeated
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.bench import specified
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutant

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

EDITED: dict[str, tuple[str, ...]] = {
    "v_hat + eps is kept as v_hat": (
        "fedamsgrad",
        "server.amsgrad.amsgrad",
        "v=v, v_hat=v_hat, t=t)",
        "v=v, v_hat=v_hat + eps, t=t)",
    ),
    "eta_l * u is kept as u": ("momentum", "client.momentum.momentum", "x=x, u=u)", "x=x, u=eta_l * u)"),
    "eta_l multiplies g alone in eta_l * (g + rho * u)": (
        "nesterov",
        "client.momentum.nesterov",
        "eta_l * (g + rho * u)",
        "(eta_l * g + rho * u)",
    ),
    "the largest magnitude of q stands for its length": (
        "lamb",
        "client.lamb.layer_step",
        "ratio(q, norm(q))",
        "ratio(q, largest(maximum(q, -q)))",
    ),
    "the length of delta stands for its square": (
        "fedexp",
        "mixing.extrapolated.extrapolated",
        "total(delta**2)",
        "sqrt(total(delta**2))",
    ),
    "clients / (the number of p) is rounded down": (
        "fednova-sampled",
        "mixing.sampling.sampled_weights",
        "p * clients / len(p)",
        "p * (clients // len(p))",
        "without-replacement",
    ),
    "where the scaled length of x is zero, q is taken as it is": (
        "fed-lamb",
        "client.lamb.layer_step",
        "ratio(q, norm(q)) * scaling(x, phi, phi_m, phi_M)",
        "(ratio(q, norm(q)) * norm(x) if norm(x) > 0 else q)",
    ),
    "v stands for the first square in (1 - beta2) * square * sign(v - square)": (
        "fedyogi",
        "server.yogi.yogi",
        "(1 - beta2) * square * sign",
        "(1 - beta2) * state.v * sign",
    ),
    "gossip(X, W) is done once behind the loop, not in every turn": (
        "afga",
        "algorithms.afga.change",
        "        X = gossip(X, W)\n",
        "    X = gossip(X, W)\n",
    ),
    "W is made symmetric, (W + W')/2": (
        "gossip-pga",
        "mixing.gossip.gossip",
        "return W @ X",
        "return (W + W.T) / 2 @ X",
    ),
    "late changes are multiplied by 1/(1 + delay)": (
        "cc-fedavgm",
        "algorithms.client_centric.client_centric",
        "    pending, delta = collected(",
        "    deltas = [d / (1 + a.delay) for d, a in zip(deltas, arrivals)]\n    pending, delta = collected(",
    ),
    "divided by the sum of the discounts, not by the number of updates": (
        "fedbuff",
        "algorithms.fedbuff.step",
        "    deltas = [s_i * change for s_i, change in zip(s, changes, strict=True)]\n"
        "    pending, delta = collected(state.pending, deltas, m=h.buffer, like=state.x)\n",
        "    vars(step).setdefault('s', []).extend(s)\n"
        "    deltas = [s_i * change for s_i, change in zip(s, changes, strict=True)]\n"
        "    pending, delta = collected(state.pending, deltas, m=h.buffer, like=state.x)\n"
        "    delta = delta if delta is None else delta * h.buffer / sum(vars(step)['s'][-h.buffer :])\n",
        "nguyen-2022-discounted",
    ),
}

SHORT = (
    "v_hat + eps is kept as v_hat",
    "eta_l multiplies g alone in eta_l * (g + rho * u)",
)


@pytest.mark.parametrize("words", [n if n in SHORT else pytest.param(n, marks=pytest.mark.night) for n in EDITED])
def test_a_slip_has_a_name(words: str) -> None:
    assert words in names(edited(*EDITED[words]))


def test_clients_that_go_on_where_the_last_one_ended_are_told_so() -> None:
    flaw = Mutant(
        id="by-hand",
        words="by hand",
        algorithms=(),
        rule="fedspec.algorithms.synchronous.run_round",
        old="return lambda i, x, gradient, tau: local(h_i, x, gradient, tau) - x",
        new="""ends = []

        def client(i, x, gradient, tau):
            ends.append(local(h_i, ends[-1] if ends else x, gradient, tau))
            return ends[-1] - x

        return client""",
    )
    d = diagnosed(Behind("fedavgm", "round", edits=(flaw,)))
    assert names(d)[0] == "each client begins at the model at which the one before it ended"


def leaves_alone(inner: Any, e: Any, k: int) -> Any:
    """What a sparse optimiser does: a coordinate without a gradient keeps everything."""
    before, answer = inner.state, inner.step(e)
    if not hasattr(e, "g"):
        return answer
    g = flatten(e.g)
    kept = {n: getattr(inner.state, n).copy() for n in ("x", "m", "v")}
    for n, v in kept.items():
        v[g == 0] = getattr(before, n)[g == 0]
    inner.state = replace(inner.state, **kept)
    return {**answer, **kept}


def clips(k: int, e: Any) -> Any:
    if not hasattr(e, "g"):
        return e
    length = float((flatten(e.g) ** 2).sum()) ** 0.5
    return replace(e, g={n: a / max(1.0, length) for n, a in e.g.items()})


def test_a_gradient_that_is_clipped_whole_is_told_so() -> None:
    d = diagnosed(Behind("lamb", "client", event=clips))
    assert names(d)[0] == "the gradient is clipped to length 1, all blocks together"


def slower(inner: Any, e: Any, k: int) -> Any:
    """Every step is divided by the root of its number."""
    before, answer = inner.state.x, inner.step(e)
    x = before + (inner.state.x - before) / (k + 1) ** 0.5
    inner.state = replace(inner.state, x=x)
    return {**answer, "x": x}


def test_what_a_sparse_optimiser_leaves_alone_is_said() -> None:
    d = diagnosed(Behind("adam", "client", take=leaves_alone))
    assert "a coordinate whose gradient is zero is left alone, with its state" in names(d)


def test_a_step_that_is_a_multiple_is_said_so_and_nothing_else() -> None:
    d = diagnosed(Behind("fedadagrad", "server", take=slower))
    assert not d.found and in_words(d, True) == "every step is the specified one times t^(-1/2) (t counts all steps)"


def test_who_does_not_repeat_himself_is_told_so_before_where_he_deviates() -> None:
    """Where it deviates is chance, unless it has a name."""
    d = Diagnosis(3, 1e9, gates=("where rho is more than 0",), seen="the deviation grows")
    said = in_words(unrepeated(d), True)
    assert said.startswith("no known variant; the same case gives other numbers the second time")
    assert "rho" not in said and "grows" not in said


def test_every_state_takes_another_model() -> None:
    """Many defects put a model back, wherever an algorithm holds it."""
    for a in CATALOGUE.values():
        for level in a.levels:
            s = plain_scenario(setting_of(Offer(a.id, level, a.readings_at(level)[0].name)))
            session: Any = specified(s)
            session.step(s.events[0])
            x = getattr(session.state, "x", session.state)
            after = with_x(session.state, 2 * x + 1)
            assert type(after) is type(session.state), a.id
            assert (getattr(after, "x", after) == 2 * x + 1).all(), a.id


def test_every_edit_of_every_rule_is_a_text() -> None:
    for a in CATALOGUE.values():
        for level in a.levels:
            for e in edits(a, level):
                compile(e.mutant.new, e.words, "exec")
