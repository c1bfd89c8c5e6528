"""Slips in the text of any rule, and clients that work on what is meant for another, are named by what was done."""

from __future__ import annotations

import ast
from dataclasses import replace
from types import FunctionType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from test_judge.diagnosing import diagnosed, edited, names, written
from test_judge.subjects.behind import Behind

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Begin, Case, Messages, Offer
from fedspec.params import flatten
from fedspec.schedules import FACTORS
from fedspec_suite.diagnosis.defects.defect import with_x
from fedspec_suite.diagnosis.diagnosis import Diagnosis, in_words, unrepeated
from fedspec_suite.diagnosis.edits.claimed import KNOWN
from fedspec_suite.diagnosis.edits.rewrites import rewritten
from fedspec_suite.diagnosis.edits.slips import INSIDE, instead
from fedspec_suite.diagnosis.edits.systematic import edits
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.bench import specified
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutant, functions

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

KEPT_SUM = (
    "yours: v_hat = eps + max(v_hat, v), wanted: v_hat = max(v_hat, v) at fedamsgrad.v_hat, "
    "and yours: x = x + eta m / sqrt(v_hat), wanted: x = x + eta m / sqrt(v_hat + eps)"
)

SCALED = "yours: u = eta_l (rho u + g), wanted: u = rho u + g, and yours: x = x - u, wanted: x = x - eta_l u"

EDITED: dict[str, tuple[str, ...]] = {
    KEPT_SUM: ("fedamsgrad", "server.amsgrad.amsgrad", "v=v, v_hat=v_hat, t=t)", "v=v, v_hat=v_hat + eps, t=t)"),
    SCALED: ("momentum", "client.momentum.momentum", "x=x, u=u)", "x=x, u=eta_l * u)"),
    "yours: x = x - eta_l (g + (rho / eta_l) u), wanted: x = x - eta_l (g + rho u)": (
        "nesterov",
        "client.momentum.nesterov",
        "eta_l * (g + rho * u)",
        "(eta_l * g + rho * u)",
    ),
    "x - anchor is divided by twice its length in x - eta_l * (g + mu * (x - anchor))": (
        "proximal-sgd",
        "client.proximal.proximal_sgd",
        "mu * (x - anchor)",
        "mu * (x - anchor) / (2 * max(float(((x - anchor) ** 2).sum()) ** 0.5, 1e-300))",
    ),
    "the largest magnitude of q stands for its length": (
        "lamb",
        "client.lamb.layer_step",
        "ratio(q, norm(q))",
        "ratio(q, largest(maximum(q, -q)))",
    ),
    "the largest entries of p are kept by their signed value": (
        "choco",
        "client.compress.top_k",
        "largest: Vector = keep_largest(p, kept)",
        "order = sorted(range(len(p)), key=lambda j: -p[j])\n    largest = 0 * p\n"
        "    largest[order[:kept]] = p[order[:kept]]",
    ),
    "the larger of mu and cover.greatest(g_squared) stands for their sum": (
        "sm3-i",
        "client.sm3.accumulate_i",
        "mu + cover.greatest(g_squared)",
        "-minimum(-mu, -cover.greatest(g_squared))",
    ),
    "the length of delta stands for its square": (
        "fedexp",
        "mixing.extrapolated.extrapolated",
        "total(delta**2)",
        "sqrt(total(delta**2))",
    ),
    # The first are all clients, the second those that are drawn.
    "clients / (the number of clients) is rounded down": (
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
    "yours: v = v - (1 - beta2) v sign(v - Delta^2), wanted: v = v - (1 - beta2) Delta^2 sign(v - Delta^2)": (
        "fedyogi",
        "server.yogi.yogi",
        "(1 - beta2) * u**2 * sign",
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
    "late changes are divided by their age": (
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
    "yours: v = beta2 v + (1 - beta2) abs(Delta), wanted: v = beta2 v + (1 - beta2) Delta^2": (
        "cc-fedadam",
        "server.client_centric.cc_adam",
        "delta**2",
        "maximum(delta, -delta)",
    ),
    "yours: v = beta2 v + (1 - beta1) g^2, wanted: v = beta2 v + (1 - beta2) g^2": (
        "amsgrad",
        "client.amsgrad.amsgrad",
        "state.v + (1 - beta2)",
        "state.v + (1 - beta1)",
    ),
    "never where z = 1 and epoch = 1, as if t mod z had to be 1 in decided((t - 1) // epoch % z = 0)": (
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

SHORT = (KEPT_SUM, "yours: x = x - eta_l (g + (rho / eta_l) u), wanted: x = x - eta_l (g + rho u)")


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
    """Step of a sparse optimiser: a coordinate without a gradient keeps everything."""
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
    assert names(d)[0] == "every gradient is clipped to length 1, all blocks together"


def slower(inner: Any, e: Any, k: int) -> Any:
    """Every step is divided by the root of its number."""
    before, answer = inner.state.x, inner.step(e)
    x = before + (inner.state.x - before) / (k + 1) ** 0.5
    inner.state = replace(inner.state, x=x)
    return {**answer, "x": x}


def test_what_a_sparse_optimiser_leaves_alone_is_said() -> None:
    d = diagnosed(Behind("adam", "client", take=leaves_alone))
    assert "a coordinate whose gradient is zero is left alone, with its state" in names(d)


def test_a_step_that_is_a_multiple_is_written_out() -> None:
    d = diagnosed(Behind("fedadagrad", "server", take=slower))
    assert 'yours: eta has the schedule "inverse-sqrt/round", wanted: eta is constant' in in_words(d, True)


def test_who_does_not_repeat_himself_is_told_so_before_where_he_deviates() -> None:
    """Place of a deviation by chance isn't reported, unless it has a name."""
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


def test_every_edit_of_every_rule_and_of_every_word_of_a_claim_is_a_text() -> None:
    words = [*KNOWN.values(), *(cast(FunctionType, f) for f in FACTORS.values())]
    for found in (words, *(functions(a, level) for a in CATALOGUE.values() for level in a.levels)):
        for e in edits(found):
            compile(e.mutant.new, e.words, "exec")


def test_a_distance_from_the_mean_change_is_told_from_a_length() -> None:
    """FedAtt by hand."""

    def start(case: Case) -> Any:
        x = dict(case.x0)

        def step(event: Messages) -> Any:
            for n, a in x.items():
                changes = np.stack([m.delta[n].reshape(-1) for m in event.messages])
                s = np.linalg.norm(changes - changes.mean(axis=0), axis=1)
                e = np.exp(s - s.max())
                x[n] = a + case.hyper["eta"] * (e / e.sum() @ changes).reshape(a.shape)
            return {"x": dict(x)}

        return SimpleNamespace(step=step)

    d = diagnosed(written(Offer("fedatt", "server", "frobenius", dtypes=("float64",)), start), further=False)
    assert names(d)[0] == "the distance from the mean of deltas stands for its length"


@pytest.mark.parametrize("name", [*INSIDE])
def test_a_parenthesis_may_be_closed_too_late(name: str) -> None:
    node = ast.parse(f"{name}(a / b) + c", mode="eval").body
    said = {words: ast.unparse(ast.fix_missing_locations(other)) for words, other in instead(node)}
    assert said[f"c stands inside the {INSIDE[name]}"] == f"{name}(a / b + c)"


def test_a_mean_and_a_function_change_places() -> None:
    words = [
        said for said, *_ in rewritten(ast.parse("def f(w, a):\n    x = log(1 + w @ a)\n    return w @ sqrt(a) + x"))
    ]
    assert {"w @ log(1 + a) stands for log(1 + w @ a)", "sqrt(w @ a) stands for w @ sqrt(a)"} <= {*words}


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


def first_norm(k: int, e: Any, said: dict[int, float] = {}) -> Any:  # noqa: B006
    if k == 0:
        said.clear()
    return Messages(tuple(replace(m, a_norm=said.setdefault(m.client, m.a_norm)) for m in e.messages))


def steps_before(k: int, e: Any, told: dict[int, int] = {}) -> Any:  # noqa: B006
    if k == 0:
        told.clear()
    late = Messages(tuple(replace(m, steps=told.get(m.client, m.steps)) for m in e.messages))
    told |= {m.client: m.steps for m in e.messages}
    return late


def stale_anchor(inner: Any, e: Any, k: int, begun: list[Any] = []) -> Any:  # noqa: B006
    """The dual takes the changes from the model that the round before began with."""
    x, mu = inner.state.x, inner.h.mu
    begun[:] = [begun[-1] if k else x, x]
    inner.step(e)
    more = len(e.messages) / inner.state.clients * (x - begun[0])
    inner.state = replace(inner.state, h=inner.state.h - mu * more, x=inner.state.x + more)
    return {"x": inner.state.x}


BEHIND = {
    "rate never falls, the largest so far stands for it": Behind("fedexp", "server", take=never_falls),
    "v starts at v0 in the first round alone, later ones at 0": Behind("adagrad", "client", take=only_once),
    "divided by the number of clients of the first round, not of this one": Behind(
        "fedyogi", "server", event=of_first_round
    ),
    "||a_i||_1 is as it was in the first message of its client": Behind("fednova", "server", event=first_norm),
    "tau_i is as it was in the message before of its client": Behind(
        "fedavg", "server", event=steps_before, claimed={"options": {"weights": "steps"}}
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


SHOWN_DAILY = (
    "c takes what came in the round before",
    "the last update stays in the buffer when the server has stepped",
)


@pytest.mark.parametrize("words", [n if n in SHOWN_DAILY else pytest.param(n, marks=pytest.mark.night) for n in BEHIND])
def test_what_is_kept_and_what_waits_has_a_name(words: str) -> None:
    assert names(diagnosed(BEHIND[words]))[0] == words


def test_what_plays_no_part_in_what_is_claimed_and_shown_is_not_told() -> None:
    """Neither mu nor the dual is seen in the models alone."""
    d = diagnosed(Behind("feddyn", "server", take=stale_anchor, claimed={"intermediates": ()}))
    said = in_words(d, True)
    assert "from round 2 on" in said and "no effect" not in said, said


def test_an_anchor_of_the_round_before_has_a_name() -> None:
    d = edited(
        "fedprox",
        "algorithms.synchronous.run_round",
        "return lambda i, x, gradient, tau: local(h_i, x, gradient, tau) - x",
        """met = vars(run_round).setdefault("met", [])
        met.append(model(state))

        def client(i, x, gradient, tau):
            return local(h_i, x, lambda k, y: gradient(k, y) + h_i.mu * (x - met[-2:][0]), tau) - x

        return client""",
        level="round",
        leaks=True,
    )
    assert names(d) == ["the proximal term pulls to the model of the round before"]


def test_lengths_of_when_the_round_began_have_a_name() -> None:
    d = edited(
        "lamb",
        "client.lamb_solver.lamb",
        "moved = layer_step(x_l, r_l, eta_l=eta_l, lam=lam, phi_m=phi_m, phi_M=phi_M, phi=phi)",
        """begun = vars(lamb)["x"] = vars(lamb)["x"] if state.t else state.x
        q = r_l + lam * x_l
        moved = x_l - eta_l * (ratio(q, norm(q)) * norm(begun[..., l]))""",
        leaks=True,
    )
    (said,) = names(d)
    assert said.startswith("the length of x_l when the round began stands for its length")


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


def test_two_edits_at_once_are_two_equations() -> None:
    d = edited(
        "nesterov",
        "client.momentum.nesterov",
        "g\n    x = state.x - eta_l * (g + rho * u)",
        "(1 - rho) * g\n    x = state.x - eta_l * (g + rho * state.u)",
    )
    assert set(names(d)[0].split(", and ")) == {
        "yours: u = rho u + (1 - rho) g, wanted: u = rho u + g at nesterov.u",
        "yours: x = x - eta_l (g + rho u_old), wanted: x = x - eta_l (g + rho u)",
    }
