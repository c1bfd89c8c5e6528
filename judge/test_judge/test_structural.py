"""Mistakes in how code is built are told: what is shared, when it is computed, by what it is looked up."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.by_hand import Clients, Dynamic, Scaffold, adaptive, subject
from test_judge.diagnosing import diagnosed, names, unguarded, written

from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE
from fedspec.client.lamb import layer_step
from fedspec.contract import Case, Event, Gradient, Offer, Round
from fedspec.errors import FedspecError, ParameterError
from fedspec.mixing import arrivals, gossip
from fedspec.params import flatten, unflatten
from fedspec.readings import Phi
from fedspec_suite.diagnosis.composed import together
from fedspec_suite.diagnosis.defects.defect import calling
from fedspec_suite.diagnosis.defects.functions import of_ratio
from fedspec_suite.diagnosis.edits.at_hand import kind_of
from fedspec_suite.diagnosis.edits.changes import exchanged
from fedspec_suite.diagnosis.edits.in_edits import NEEDS, asked, of_first, of_last
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.edits.restated import restated
from fedspec_suite.diagnosis.edits.structural import rebuilt
from fedspec_suite.diagnosis.edits.turned import turned
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.steady import models, steady
from fedspec_suite.measure.bench import specified
from fedspec_suite.measure.scenario import with_hyper
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutant

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


class Adaptive(Clients):
    """A method whose server is FedAdagrad."""

    def adagrad(self, deltas: list[Array]) -> None:
        delta, h = np.mean(deltas, axis=0), self.h
        self.m = h["beta1"] * self.m + (1 - h["beta1"]) * delta
        self.v = self.v + delta**2
        self.x = self.x + h["eta"] * self.m / (np.sqrt(self.v) + h["tau"])


class Warm(Adaptive):
    """Joint adaptivity, its warm-up counted on from round to round where that is asked for."""

    algorithm, reading, options = "joint-local", "fedada2", {"client": "adagrad", "server": "adagrad"}

    def round(self, S: list[int], T: list[int]) -> None:
        h, deltas = self.h, []
        for i, tau in zip(S, T, strict=True):
            y, v = self.x, 0 * self.x
            for k in range(1, tau + 1):
                g = self.g(i, y)
                v = v + g**2
                rate = min(1, (k + self.kept[i, 0]) / h["warm_up"])
                y = y - h["eta_l"] * rate * g / (np.sqrt(v) + h["eps"])
            self.kept[i, 0] += tau if self.does else 0
            deltas.append(y - self.x)
        self.adagrad(deltas)


class Overwritten(Clients):
    """FedNova with variance reduction; wrong, d is written while the clients of the round still read it."""

    algorithm, reading, options = "fednova-vr", "fednova", {"solver": "sgd", "weights": "uniform"}

    def round(self, S: list[int], T: list[int]) -> None:
        eta_l, n, d = self.h["eta_l"], len(S), self.kept.copy()
        for i, tau in zip(S, T, strict=True):
            read = d if self.does else self.kept
            c, y = read.sum(axis=0) / n - read[i], self.x
            for _ in range(tau):
                y = y - eta_l * (self.g(i, y) + c)
            d[i] = (self.x - y) / (eta_l * tau) - c
        self.kept = d
        self.x = self.x - sum(T) / n * eta_l * d.sum(axis=0) / n


class OneSolver(Adaptive):
    """Joint adaptivity with Adam at the clients; wrong, one solver serves them, and begins too little anew."""

    algorithm, reading, options = "joint-local", "fedada2", {"client": "adam", "server": "adagrad"}
    solver: Mapping[str, Any] = {}

    def round(self, S: list[int], T: list[int]) -> None:
        h, deltas, anew = self.h, [], {"m": 0 * self.x, "v": 0 * self.x, "t": 0}
        self.solver = {} if self.does == ("in a round",) else self.solver
        for i, tau in zip(S, T, strict=True):
            own, y = (
                {**anew, **{n: a for n, a in self.solver.items() if n == "t" or self.does == ("in a round",)}},
                self.x,
            )
            for k in range(1, tau + 1):
                g, own["t"] = self.g(i, y), own["t"] + 1
                own["m"] = h["beta1_l"] * own["m"] + (1 - h["beta1_l"]) * g
                own["v"] = h["beta2_l"] * own["v"] + (1 - h["beta2_l"]) * g**2
                m, v = own["m"] / (1 - h["beta1_l"] ** own["t"]), own["v"] / (1 - h["beta2_l"] ** own["t"])
                y = y - h["eta_l"] * min(1, k / h["warm_up"]) * m / (np.sqrt(v) + h["eps"])
            self.solver = own if self.does else {}
            deltas.append(y - self.x)
        self.adagrad(deltas)


class Shared(Clients):
    """DiLoCo, whose workers keep their moments; wrong, one AdamW object counts the steps of all of them."""

    algorithm, reading, options = "diloco", "diloco", {"weights": "uniform"}
    t = 0
    outer: Any = 0.0

    def round(self, S: list[int], T: list[int]) -> None:
        h, deltas = self.h, []
        self.moments = vars(self).get("moments", {})
        for i, tau in zip(S, T, strict=True):
            y, (m, v, t) = self.x, self.moments.get(i, (0 * self.x, 0 * self.x, 0))
            for _ in range(tau):
                g, self.t, t = self.g(i, y), self.t + 1, t + 1
                m = h["beta1"] * m + (1 - h["beta1"]) * g
                v = h["beta2"] * v + (1 - h["beta2"]) * g**2
                count = self.t if self.does else t
                corrected = m / (1 - h["beta1"] ** count), v / (1 - h["beta2"] ** count)
                y = y - h["eta_l"] * h["wd"] * y - h["eta_l"] * corrected[0] / (np.sqrt(corrected[1]) + h["eps"])
            self.moments[i] = m, v, t
            deltas.append(y - self.x)
        delta = sum(deltas) / len(deltas)
        self.outer = h["beta"] * self.outer + delta
        self.x = self.x + h["eta"] * (delta + h["beta"] * self.outer)


WRITTEN: dict[str, tuple[type[Clients], str]] = {
    "the model that comes out of the event stands for x in": (Dynamic, "new"),
    "what clients keep is looked up and stored by their place among the participants": (Scaffold, "place"),
    "c takes a participant's change at once, and the next one": (Scaffold, "in turn"),
    "the count k of a client goes on from where its last round left it": (Warm, "goes on"),
    "d of a client is written when it is done, and those behind it in the round see the new one": (Overwritten, "soon"),
    "the count of steps of a client's solver goes on from client to client": (OneSolver, "ever"),
    "the count of steps of a client's solver goes on from client": (Shared, "ever"),
    "what a client's solver keeps goes on from client to client, anew in every round": (OneSolver, "in a round"),
}


@pytest.mark.parametrize("words", WRITTEN)
def test_what_is_built_wrongly_is_named(words: str) -> None:
    assert names(diagnosed(subject(*WRITTEN[words]), further=False))[0].startswith(words)


@pytest.mark.parametrize("method", [Warm, Overwritten, OneSolver, Shared], ids=lambda method: method.__name__)
def test_what_is_built_rightly_is_what_it_claims(method: type[Clients]) -> None:
    assert diagnosed(subject(method), further=False).follows


def test_two_edits_of_functions_that_call_each_other_are_both_made() -> None:
    known = known_of(setting_of(Offer("fednova-vr", "round", "fednova", {"solver": "momentum"})))
    inner = next(v for v in known.variants if v.words == "the mean direction is unweighted")
    outer = next(v for v in known.mechanical if v.words.startswith("plan.steps stands for numbers(a, p)"))
    assert inner.mutants[0].rule != outer.mutants[0].rule
    both = together(known.setting, inner, outer)
    assert both
    s = known.samples[0]
    runs = [models(v, s)[-1] for v in (inner, outer, both)]
    assert all(not np.allclose(runs[2], run) for run in runs[:2])


def test_a_printed_closed_form_is_edited_as_it_is_printed() -> None:
    known = known_of(setting_of(Offer("fednova-alg2", "round", "repaired")))
    words = "rho * (1 - rho ** tau) stands for rho * (1 - rho ** tau) / (1 - rho) in (tau"
    v = next(v for v in known.mechanical if v.words.startswith(words))
    flaw = Mutant(
        id="by-hand",
        words="by hand",
        algorithms=("fednova-alg2",),
        rule="fedspec.mixing.accumulation.a_norm",
        old="return sum(accumulation(solver, tau, alpha=alpha, rho=rho, gamma=gamma))",
        new="return (tau - rho * (1 - rho**tau)) / (1 - rho)",
    )
    by_hand = replace(known.claimed, mutants=(flaw,))
    s = known.samples[0]
    assert np.array_equal(models(v, s), models(by_hand, s)) and v.equation == "fednova-alg2.a_i"
    assert not np.allclose(models(v, s), models(known.claimed, s))
    assert not [v for v in known.mechanical if "alpha stands" in v.words and "(tau - rho" in v.words]


PERIOD = """
def period(X, n):
    kept = X
    for t in range(n):
        Z = 2
        X = X + 10**t
        X = Z * X
    return X
"""


def test_a_statement_of_a_loop_may_be_left_out_in_one_turn_or_done_in_one_alone() -> None:
    """Statements without a value to go on with cannot be left out."""
    found = {r.words: r for r in rebuilt(ast.parse(PERIOD)) if "turn" in r.words}
    ends = {}
    for words, r in found.items():
        made: dict[str, Any] = {}
        exec(compile(ast.fix_missing_locations(r.tree), "period", "exec"), made)
        ends[words] = made["period"](0, 3)
    # All turns: 2 (2 (2 (0 + 1) + 10) + 100) = 248.
    assert ends == {
        "X = X + 10 ** t is left out in the last turn": 2 * (2 * (2 * 1 + 10)),
        "X = X + 10 ** t is left out in the first turn": 2 * (2 * (0 + 10) + 100),
        "X = X + 10 ** t is done in the last turn alone": 2 * 100,
        "X = X + 10 ** t is done in the first turn alone": 2 * 2 * 2 * 1,
        "X = Z * X is left out in the last turn": 2 * (2 * 1 + 10) + 100,
        "X = Z * X is left out in the first turn": 2 * (2 * (1 + 10) + 100),
        "X = Z * X is done in the last turn alone": 2 * (1 + 10 + 100),
        "X = Z * X is done in the first turn alone": 2 * 1 + 10 + 100,
    }
    assert {r.symbol for r in found.values()} == {"X"}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("step", "where x first deviates, m and v are as claimed"),
        ("v", "where x first deviates, m is as claimed and v is not"),
        ("m and v", "where x first deviates, m and v are not as claimed"),
    ],
)
def test_what_else_is_shown_says_how_far_the_claim_is_followed(wrong: str, words: str) -> None:
    def odd(s: Any, name: str) -> Any:
        """No factor that anybody has a name for."""
        return 1 + (name in wrong) * np.sin(1.7 * s.t + s.M) / 3

    it = adaptive(
        "fedadam",
        "reddi-2021",
        ("m", "v"),
        m=lambda s: s.beta1 * s.m_old + odd(s, "m") ** 2 * (1 - s.beta1) * s.delta,
        v=lambda s: s.beta2 * s.v_old + odd(s, "v") * (1 - s.beta2) * s.delta**2,
        step=lambda s: odd(s, "step") * s.m / (np.sqrt(s.v) + s.tau),
    )
    assert words in diagnosed(it, further=False).seen


BOX = """
def step(h, state, clients, plan):
    sent = state.v

    def client(i, x, gradient, tau):
        y, v = x, sent + 0
        for k in range(tau):
            v = v + y
            y = y - v
        return y

    x = each(client, clients, plan, state.x)
    return replace(state, x=x)
"""


def test_what_clients_begin_with_may_be_handed_on() -> None:
    # All of them first: what is made for one is not changed for the next.
    found = {r.words: ast.unparse(r.tree) for r in [*rebuilt(ast.parse(BOX))]}
    assert list(found)[7] == "v = v + y comes after y = y - v" and all(" turn" in words for words in list(found)[8:])
    assert "taking_over" not in found["v of a client begins as the client before it left it, anew in every round"]
    text = found["the clients share the server's v and write into it, one after another"]
    assert "v = handed(('round', 'v'), v)" in text and "state = taking_over(state, 'v', ('round', 'v'))" in text
    assert text.index("hand_on(") > text.index("y = y - v")
    assert "('client', 'y', i)" in found["y of a client begins a round as that client's last one left it"]


@pytest.mark.parametrize("algorithm", ["scaffold", "fed-lamb", "joint-local"])
def test_what_is_handed_on_stays_in_its_session(algorithm: str) -> None:
    reading = CATALOGUE[algorithm].readings_at("round")[0].name
    known = known_of(setting_of(Offer(algorithm, "round", reading)))
    asking = ("handed(", "time_before(")
    some = [v for v in known.mechanical if any(f in m.new for f in asking for m in v.mutants)][:40:8]
    assert some
    for v in some:
        runs = [models(v, known.samples[k]) for k in (0, 1, 0)]
        assert all(map(np.array_equal, runs[0], runs[2]))


def test_an_edit_has_what_its_text_asks_for() -> None:
    assert asked("a + b") == ()
    needed = [NEEDS[f] for f in NEEDS if f.__name__ in ("new_model", "event_number", "time_before")]
    assert [*asked("time_before('g', g) + event_number() - new_model()")] == [*dict.fromkeys(needed)]


def test_counts_stand_for_numbers_and_not_the_other_way_round() -> None:
    value = ast.parse("p + a", mode="eval").body
    assert isinstance(value, ast.BinOp)
    kinds = {
        n: kind_of(a) for n, a in (("p", np.ones(3)), ("steps", (1, 2, 3)), ("few", (1, 2)), ("tau", 2), ("r", 0.5))
    }
    there = {n: kind for n, kind in kinds.items() if kind}
    instead = {c.new for c in exchanged(value.left, there, "")}
    assert "numbers(steps, p)" in instead and not {n for n in instead if "few" in n or n in {"tau", "r"}}
    assert "tau" in {c.new for c in exchanged(ast.parse("r", mode="eval").body, there, "")}
    assert "r" not in {c.new for c in exchanged(ast.parse("tau", mode="eval").body, there, "")}


def test_numbers_that_hold_still_are_known_without_a_bound() -> None:
    known = known_of(setting_of(Offer("fedprox", "round", "fednova", {"weights": "examples"})))
    v = next(v for v in known.mechanical if v.words.startswith("x - anchor is divided by its length in"))
    s = next(s for s in known.samples if max(max(e.steps) for e in s.events if isinstance(e, Round)) > 1)
    right = models(v, s)
    assert all(mask.all() for mask in steady(v, s, right))
    # The fourth root of a rounding is no rounding.
    assert not any(mask.any() for mask in steady(v, s, [x + 1e-6 for x in right]))


def test_the_text_of_an_edit_is_that_of_a_function() -> None:
    known = known_of(setting_of(Offer("joint-direct", "round", "fedada2", {"server": "adagrad"})))
    rebuilt = [v for v in known.mechanical if "share the server's" in v.words]
    assert rebuilt
    for v in rebuilt:
        (m,) = v.mutants
        assert m.old == m.within and compile(m.new, "edited", "exec")


class Counting:
    """A session whose event asks for a name three times."""

    def __init__(self, ask: Callable[[Memory, str, int], int]) -> None:
        self.ask, self.state, self.memory = ask, State(x=np.zeros(1)), Memory()

    def step(self, event: Event) -> dict[str, Any]:
        asked = [self.ask(self.memory, "n", n) for n in (2, 5, 3)]
        self.state = State(x=self.state.x + sum(asked))
        return {"x": self.state.x, "asked": asked}


@dataclass(frozen=True)
class State:
    x: Array


@pytest.mark.parametrize(("ask", "wanted"), [(of_first, 2), (of_last, 3)])
def test_the_first_and_the_last_of_an_event_are_known_in_all_of_it(ask: Any, wanted: int) -> None:
    known = known_of(setting_of(Offer("scaffold", "round", "karimireddy-2020")))
    session = NEEDS[ask].session(Counting(ask), known.samples[0])
    for k in (1, 2):
        answer = session.step(known.samples[0].events[0])
        assert answer["asked"] == [wanted] * 3 and answer["x"] == 3 * wanted * k
    assert any(v.words.startswith("tau of the last in the event stands for tau in") for v in known.mechanical)


def test_a_wrong_rule_may_leave_its_domain_and_a_right_one_may_not() -> None:
    x = np.ones(2)
    with pytest.raises(ParameterError):
        arrivals.mixed(x, 2 * x, mix=1.5)
    rules: list[Any] = [arrivals.mixed, gossip.gossip]
    mixed, mean = map(unguarded, rules)
    assert mixed(x, 2 * x, mix=1.5).tolist() == [2.5, 2.5]
    assert mean(np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]])).tolist() == [[1, 1], [0, 1]]
    with pytest.raises(FedspecError):
        gossip.gossip(np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]]))


def test_a_decay_in_the_gradients_is_taken_by_the_moments() -> None:
    known = known_of(setting_of(Offer("lamb", "client", "you-2020")))
    v = next(v for v in known.variants if v.words.startswith("lam x is added to the gradient"))
    s = next(s for s in known.samples if s.case.hyper["lam"] > 0)
    by_hand, lam = specified(with_hyper(s, lam=0.0)), s.case.hyper["lam"]
    x, wanted = flatten(s.case.x0), []
    for e in s.events:
        if isinstance(e, Gradient):
            g = flatten(e.g) + lam * x
            e = replace(e, g=unflatten(g, s.case.x0))
        x = np.asarray(by_hand.step(e)["x"], dtype=float).reshape(-1)
        wanted.append(x)
    assert all(map(np.allclose, models(v, s), wanted))
    assert not np.allclose(models(known.claimed, s)[-1], wanted[-1])


def test_a_clipped_trust_ratio_is_another_step() -> None:
    offer = Offer("lamb", "client", "you-2020", {"phi": "clip"})
    assert any("trust ratio" in v.words for v in known_of(setting_of(offer)).variants)
    x, p = np.array([3.0, 4.0]), np.array([0.0, 2.0])
    # ||x|| / ||p|| = 2.5 is moved to 2, ||x|| = 5 would be, too.
    for step, wanted in ((calling(of_ratio)(layer_step), [3, 2]), (layer_step, [3, 3])):
        assert step(x, p, eta_l=0.5, phi_m=1.0, phi_M=2.0, phi=Phi.CLIP).tolist() == wanted


def test_rows_are_mixed_and_squares_are_of_distances() -> None:
    at_hand = {"m": np.ones((3, 2)), "W": np.eye(3), "g": np.ones(2), "u": np.ones(2)}
    there = {n: kind for n, a in at_hand.items() if (kind := kind_of(a))}
    mixed = {c.words: c.new for c in exchanged(ast.parse("m", mode="eval").body, there, "")}
    assert mixed["m is mixed by W"] == "(W @ (m))"
    apart = {c.words: c.new for c in turned(ast.parse("g ** 2", mode="eval").body, there, "")}
    assert apart["(g - u) ** 2 stands for g ** 2"] == "(g - u) ** (2)"
    assert not [words for words in apart if "(g - m)" in words]


def fair(case: Case) -> Any:
    """q-FedAvg's server by hand, whose squared length is that of the sum of the layers' lengths."""
    x = {n: a.copy() for n, a in case.x0.items()}

    def step(event: Any) -> dict[str, Any]:
        (L, q), below = (1 / case.hyper["eta_l"], case.hyper["q"]), 0.0
        moved = {n: 0 * a for n, a in x.items()}
        for m in event.messages:
            F = float(m.loss) + case.hyper["guard"]
            length = sum(float(np.linalg.norm(L * a)) for a in m.delta.values())
            below += q * F ** (q - 1) * length**2 + L * F**q
            moved = {n: a + F**q * L * m.delta[n] for n, a in moved.items()}
        for n, a in moved.items():
            x[n] = (x[n] + a / below).astype(x[n].dtype)
        return {"x": {**x}}

    return SimpleNamespace(step=step)


def test_a_length_that_adds_the_lengths_of_layers_is_told() -> None:
    (said,) = names(diagnosed(written(Offer("q-fedavg", "server"), fair)))
    assert said.startswith("the sum of the lengths of the blocks of g_i stands for its length in"), said


@pytest.mark.parametrize(("test", "many"), [("t", 2), ("i", 0)])
def test_a_condition_of_a_comprehension_is_not_put_where_its_names_are_unknown(test: str, many: int) -> None:
    text = f"def rule(state, t):\n    m = state.m + 1\n    v = state.v + 1\n    return [m if {test} else v for i in t]"
    assert len(list(restated(ast.parse(text)))) == many
