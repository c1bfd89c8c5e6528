"""Generic edits and defects give the numbers of hand-written mistakes; of two at once the plainest cases show one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from fedspec.contract import Arrival, Begin, Gradient, Messages, Offer, Round
from fedspec.params import flatten, layers, shapes, unflatten
from fedspec.reference import SUBJECT as REFERENCE
from fedspec_suite.diagnosis.comparing import agrees, evidence
from fedspec_suite.diagnosis.composed import together
from fedspec_suite.diagnosis.defects import defects
from fedspec_suite.diagnosis.edits.changes import as_given
from fedspec_suite.diagnosis.edits.forms import STABILISED
from fedspec_suite.diagnosis.edits.moved import moved
from fedspec_suite.diagnosis.edits.turned import turned
from fedspec_suite.diagnosis.known import Known, known_of
from fedspec_suite.diagnosis.search import LIKELY
from fedspec_suite.diagnosis.shrinking import Link, chains, halves
from fedspec_suite.diagnosis.steady import models
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.scenario import with_hyper
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutant

pytestmark = pytest.mark.table(1)

CATALOGUED = {
    "mean-first-twice": (
        "fedavg/server/mcmahan-2017",
        "the first of the deltas counts twice in weigh(p, deltas), and in the sum of weights",
    ),
    "joint-dead-zone-cap": (
        "fedadaadagrad/round/fedada2",
        "y is shortened to eps_s where u is longer, unless eps_s is 0",
    ),
    "fedada2-blocks-reversed": (
        "fedada2/round/fedada2",
        "the cover takes the blocks of the model in the reverse order",
    ),
    "fedblended-strategies-reversed": ("fedblended/round/fedada2", "the strategies are those of other clients"),
    "cc-against-present": (
        "cc-fedavg/trace/client-centric",
        "a late client trains from the model that it downloaded; its change is taken from the present one",
    ),
    "delay-one-step-an-epoch": ("agdu/client/fedada2", "the first step alone of epoch counts"),
    "late-by-one-more": ("cc-fedavg/trace/client-centric", "every update begins one version earlier"),
    "late-by-one-at-most": ("cc-fedavg/trace/client-centric", "an update begins one version back at most"),
    "fednova-sampled-inverse-shares": (
        "fednova-sampled/round/box",
        "one over p stands for it, wherever p / sum(p) reads it",
    ),
    "gossip-self-left-out": ("afga/trace/afga", "what each keeps of its own by W is left out in W @ X"),
    "gossip-uniform": (
        "afga/trace/afga",
        "the plain mean of a client's own row and its neighbours', not that by W, in W @ X",
    ),
    "fed-lamb-norm-epsilon": ("fed-lamb/round/fed-lamb", "1e-06 is added to norm(q) in ratio(q, norm(q))"),
    "sm3-i-hidden-epsilon": ("sm3-i/client/anil-2019", "1e-08 is added to nu in sqrt(nu)"),
    "fed-sgd-first-twice": ("fed-sgd/round/fed-sgd", "the first of the models counts twice in their mean"),
    "clip-always": (
        "dp-fedavg/round/mcmahan-2018",
        "ratio(clip_norm, length) stands for minimum(s, ratio(clip_norm, length))",
    ),
    "adapted-everyone": ("afga-a/trace/re-sampled", "all rows stand for S, wherever put(X, S, X[S] - eta_l"),
    "cafga-adapted-everyone": ("cafga-a/trace/re-sampled", "V stands for S, wherever put(X, S, X[S] - eta_l"),
    "pga-first": ("gossip-pga/trace/chen-2021", "0 stands for last"),
    "fedasync-all-begin-at-0": ("fedasync/trace/xie-2019-polynomial", "the number of events before stands for delay"),
    "fedasync-old-server": ("fedasync/trace/xie-2019", "versions[-1 - arrival.delay] stands for x in mixed("),
    "fedasync-changes": ("fedasync/trace/xie-2019", "the change of a late client's model is added to the present one"),
    "normalised-by-examples": (
        "fedavg-normalised/round/fedada2",
        "weighting = examples stands for weighting = uniform in weighted_mean(",
    ),
    "private-clips-the-mean": ("dp-fedavg/round/mcmahan-2018", "clip is applied to noisy_mean("),
    "one-hop-reversed": ("cafga/trace/one-hop", "x and x_i change places in where_less("),
    "fedadagrad-plain-first-round": (
        "fedadagrad/server/reddi-2021",
        "the first event moves the model by eta times Delta; the state is as specified",
    ),
    "admu-momentum-delayed": ("admu/client/fedada2", "m = beta1 * m + (1 - beta1) * g only where"),
    "dp-joint-root-sent": ("dp-joint/round/joint-direct", "the root of sent stands for it"),
    "cc-other-client": (
        "cc-fedavg/trace/client-centric",
        "an update is that of the client before the one who sends it",
    ),
    "fedams-code-maximum-corrected": (
        "fedams-code/server/wang-2022-code",
        "v is divided by 1 - beta2 ** t before the maximum is taken",
    ),
    "fedams-code-start-in-v": ("fedams-code/server/wang-2022-code", "v starts as v_hat does"),
    "fednova-adaptive-adagrad-decays": (
        "fednova-adaptive/server/adagrad",
        "beta1 * v + (1 - beta1) * delta ** 2 stands for v + delta ** 2",
    ),
    "cc-fedadam-corrected": (
        "cc-fedadam/trace/client-centric",
        "the step has m / (1 - beta1 ** t) for m and v / (1 - beta2 ** t) for v",
    ),
    "decayed-hyperbolic": ("decayed-sgd/client/fednova", "1 / (1 + gamma * k) stands for gamma ** k"),
    "decayed-late": ("decayed-sgd/client/fednova", "k - 1 stands for k, but where that is 0"),
    "sm3-i-sums": ("sm3-i/client/fedada2", "a set takes the sum of its coordinates, not the largest"),
    "sm3-ii-adds-up": ("sm3-ii/client/fedada2", "mu is added to cover.greatest(nu)"),
    "adam-betas-swapped": ("adam/client/kingma-2015", "beta1 and beta2 change places in m and v"),
    "adapted-sorted": ("afga-a/trace/one-set", "plan.senders in ascending order stands for it"),
    "buffer-not-emptied": ("cc-fedavg/trace/client-centric", "the buffer is never emptied"),
    "joint-first-client": ("fedada2/round/fedada2", "participants train on the data of the round's first one"),
    "joint-weights-normalised": ("fedadaadagrad/round/fedada2", "the weights of the changes are divided by their mean"),
    "adapted-first-draw": ("afga-a/trace/re-sampled", "S_t of the first in the event stands for S_t"),
    "cafga-summed": ("cafga/trace/afga", "the sum of the deltas stands for w @ deltas"),
    "cc-fedams-v0-in-max-only": ("cc-fedams/trace/client-centric", "v starts at zero, whatever v_0 is"),
    "clusters-squared": (
        "cafga/trace/clusters-by-size",
        "w stands twice in w @ deltas, and is made to sum to one again",
    ),
    "clip-drops": (
        "dp-fedavg/round/mcmahan-2018",
        "zero stands for minimum(s, ratio(clip_norm, length)) where ratio(clip_norm, length) is the smaller one",
    ),
    "dead-zone-coordinates": (
        "agdu/client/fedada2",
        "the dead zone looks at each coordinate, not at the length of the step",
    ),
    "decayed-inverse": ("decayed-sgd/client/fednova", "eta_l / gamma ** k stands for eta_l * gamma ** k"),
    "fed-ams-scaled": ("fed-ams/round/fed-ams", "eta_l * p is multiplied by the length of x in x - eta_l * p"),
    "fed-lamb-decoupled-decay": (
        "fed-lamb/round/fed-lamb",
        "the decay stands outside the direction: eta_l lam x is subtracted before the step",
    ),
    "fed-lamb-largest-client": ("fed-lamb/round/fed-lamb", "the largest of the moments stands for their mean"),
    "fed-lamb-moments-over-all": ("fed-lamb/round/fed-lamb", "len(clients) stands for n in moment_maximum("),
    "fed-lamb-trust-clamped": ("fed-lamb/round/fed-lamb", "norm(x[..., l]) is taken as one where it is more"),
    "fedbuff-over-all-clients": (
        "fedbuff/trace/nguyen-2022",
        "the buffer's sum is divided by the number of clients, not of updates",
    ),
    "fedbuff-trains-present": (
        "fedbuff/trace/nguyen-2022",
        "a late client trains from the present model; its change is taken from the one that it downloaded",
    ),
    "lamb-one-layer": ("lamb/client/you-2020", "the whole model is one layer"),
    "late-counted-forwards": (
        "cc-fedavg/trace/client-centric",
        "the delay is counted from the first version of the model",
    ),
    "lamb-unsigned": ("fed-lamb/round/fed-lamb", "the magnitude of g stands for it in beta1 * m"),
    "nova-sizes-ignored": ("fednova/server/fednova", "the mean of p stands for each in general_weights("),
    "afga-frozen": ("afga/trace/afga", "only the rows of S become gossip(X, W)"),
    "scaffold-shared": ("scaffold/round/karimireddy-2020", "all clients share one c_i, that of the last participant"),
    "scaffold-starts-at-model": ("scaffold/round/karimireddy-2020", "c starts as the model"),
    "sm3-column-major": ("sm3-i/client/fedada2", "the coordinates of a block are counted along its columns"),
    "tracked-outside": ("dadam/trace/chen-2021", "sqrt(mixed) + eps stands for sqrt(maximum(mixed, eps))"),
}
"""Offer where each hand-written mutant shows, and the generic words for it."""


@lru_cache(maxsize=4)
def known_at(offer: str) -> Known:
    algorithm, level, reading = offer.split("/")
    return known_of(setting_of(Offer(algorithm, level, reading)))  # type: ignore[arg-type]


def called(known: Known, words: str) -> Variant:
    named = (v for v in known.variants if v.kind != "mutant")
    return next(v for v in (*named, *known.edits, *known.mechanical) if v.words.startswith(words))


def same(known: Known, a: Variant, b: Variant) -> bool:
    """True if both come to the same models; a client without examples has one over its share, which is no number."""
    return all(
        np.allclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True)
        for s in known.samples
        for x, y in zip(models(a, s), models(b, s), strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("mutant", sorted(CATALOGUED, key=lambda mutant: CATALOGUED[mutant][0]))
def test_a_generic_mistake_is_the_one_written_by_hand(mutant: str) -> None:
    offer, words = CATALOGUED[mutant]
    known = known_at(offer)
    by_hand = next(v for v in known.variants if v.kind == "mutant" and v.mutants[0].id == mutant)
    generic = called(known, words)
    assert same(known, generic, by_hand) and not same(known, generic, known.claimed)


BY_HAND: dict[str, tuple[str, str, str, str]] = {
    "a client's share is of the examples up to it, not of all": (
        "fedavg/server/mcmahan-2017",
        "mixing.weighted.weighted_mean",
        "weigh(p, deltas)",
        "sum(p_i / sum(p[: i + 1]) * delta if p_i else 0 for i, (p_i, delta) in enumerate(zip(p, deltas)))",
    ),
    "the mean so far and the next change are averaged, one after another": (
        "fedavg/server/mcmahan-2017",
        "mixing.weighted.weighted_mean",
        "weigh(p, deltas)",
        "__import__('functools').reduce(lambda mean, delta: (mean + delta) / 2, deltas)",
    ),
    "divided by the number of examples of all rounds so far, not of this one": (
        "fedavg/server/mcmahan-2017",
        "mixing.weighted.shares",
        "p: Weights = counts / total",
        "vars(shares)['all'] = vars(shares).get('all', 0) + total\n    p = counts / vars(shares)['all']",
    ),
    "tau_eff is rounded to a whole number": (
        "fednova/server/fednova",
        "mixing.nova.effective_steps",
        "sum(p * (a_norms if choice is TauEff.WEIGHTED_NORM else numbers(steps, p)))",
        "round(float(sum(p * a_norms)))",
    ),
    "the product of every gamma ** k so far stands for gamma ** k": (
        "decayed-sgd/client/fednova",
        "client.sgd.decayed_sgd",
        "eta_l * gamma**k",
        "eta_l * gamma ** (k * (k + 1) // 2)",
    ),
    "g and u change places in x - eta_l * (g + rho * u)": (
        "nesterov/client/textbook",
        "client.momentum.nesterov",
        "eta_l * (g + rho * u)",
        "eta_l * (u + rho * g)",
    ),
    "the server waits for one update more than buffer": (
        "fedbuff/trace/nguyen-2022",
        "algorithms.fedbuff.step",
        "check_room(h.buffer, state.pending, arrivals)",
        "h, begun = replace(h, buffer=h.buffer + 1), len(state.versions) - 1\n"
        "    arrivals = [replace(a, delay=min(a.delay, begun)) for a in arrivals]",
    ),
    "mix as it is set stands for mix in (1 - mix) * x + mix * x_i, the first time": (
        "fedasync/trace/xie-2019-polynomial",
        "algorithms.fedasync.step",
        "mixed(state.x, x_i, mix=mix_t)",
        "(1 - h.mix) * state.x + mix_t * x_i",
    ),
    "u is computed only where due(t, z, epoch), and stays what it was elsewhere": (
        "agdu/client/fedada2",
        "client.agdu.agdu",
        "g / (sqrt(v) + eps)\n    x",
        "vars(agdu)['u'] = g / (sqrt(v) + eps) if due(t, z, epoch) else vars(agdu)['u']\n    x",
    ),
    "the length of x_l is that of q where it is longer in": (
        "lamb/client/you-2020",
        "client.lamb.layer_step",
        "* scaling(x, phi, phi_m, phi_M)",
        "* min(norm(x), norm(q))",
    ),
}
"""Edits that no rule's text suggests at first sight, each beside the same mistake written into the rule by hand."""


@pytest.mark.slow
@pytest.mark.parametrize("words", BY_HAND)
def test_an_edit_does_what_is_written_by_hand(words: str) -> None:
    offer, rule, old, new = BY_HAND[words]
    known = known_at(offer)
    leaks = "session" if "vars(" in new else ""
    flaw = Mutant(id="by-hand", words="", algorithms=(), rule=f"fedspec.{rule}", old=old, new=new, leaks=leaks)
    edit = called(known, words)
    assert same(known, edit, replace(known.claimed, mutants=(flaw,))) and not same(known, edit, known.claimed)


COVERS = {
    "first axis alone": [{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}],
    "last axis alone": [{0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}],
    "first two axes": [{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}, {0, 1, 6, 7}, {2, 3, 8, 9}, {4, 5, 10, 11}],
    "first and the last axis": [{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}, {0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}],
    "its first axis by all others": [{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}, *({k, k + 6} for k in range(6))],
    "all axes but the last": [*({2 * k, 2 * k + 1} for k in range(6)), {0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}],
    "lines along each axis": [
        *({k, k + 6} for k in range(6)),
        *({k, k + 2, k + 4} for k in (0, 1, 6, 7)),
        *({k, k + 1} for k in range(0, 12, 2)),
    ],
    "a block of one axis is one set": [
        {0, 1, 2, 3, 4, 5},
        {6, 7, 8, 9, 10, 11},
        {0, 1, 6, 7},
        {2, 3, 8, 9},
        {4, 5, 10, 11},
        {0, 2, 4, 6, 8, 10},
        {1, 3, 5, 7, 9, 11},
    ],
}
"""The sets of a block of 2 x 3 x 2 coordinates; behind it come a block of two and one of a single number."""


@pytest.mark.parametrize("words", COVERS)
def test_the_sets_of_another_cover(words: str) -> None:
    setting = setting_of(Offer("sm3-i", "client", "fedada2", {"cover": "axes"}))
    (defect,) = (d for d in defects(setting) if words in d.words)
    x0 = {"a": np.zeros((2, 3, 2)), "b": np.zeros(2), "c": np.zeros(())}
    scenario = known_of(setting).samples[0]
    s = replace(scenario, case=replace(scenario.case, x0=x0))
    cover = defect.session(REFERENCE.start(s.case), s).cover
    small = [{12, 13}] if "one set" in words or "lines" in words else [{12}, {13}]
    assert sorted(map(sorted, cover.sets)) == sorted(map(sorted, [*COVERS[words], *small, {14}]))


FORMS = {
    "the squares of all g since the last update are added": lambda g: sum(a**2 for a in g),
    "the mean of the squares of all g since": lambda g: sum(a**2 for a in g) / len(g),
    "the square of the sum of all g since": lambda g: sum(g) ** 2,
    "the square of the mean of all g since": lambda g: (sum(g) / len(g)) ** 2,
}


@pytest.mark.parametrize("words", FORMS)
def test_what_waits_for_an_update_may_be_gathered(words: str) -> None:
    known = known_at("agdu/client/fedada2")
    waiting = next(s for s in known.samples if s.case.hyper["z"] == 2 and s.case.hyper["epoch"] == 1)
    s = with_hyper(waiting, eps_s=0.0)
    h, ends = s.case.hyper, []
    x, v, t, since = flatten(s.case.x0).astype(float), np.full(1, h["v0"]), 0, []
    for e in s.events:
        if isinstance(e, Gradient):
            g = flatten(e.g).astype(float)
            since.append(g)
            if t % h["z"] == 0:
                v, since = v + FORMS[words](since), []
            t, x = t + 1, x - h["eta_l"] * g / (np.sqrt(v) + h["eps"])
        else:
            assert isinstance(e, Begin)
            x, v, t, since = flatten(e.x).astype(float), np.full(1, h["v0"]), 0, []
        ends.append(x)
    got = models(called(known, words), s)
    assert np.allclose(got, ends) and not np.allclose(got, models(known.claimed, s))


@pytest.mark.slow
def test_a_mean_of_means_counts_a_group_once() -> None:
    known = known_at("fedblended/round/fedada2")
    s = next(s for s in known.samples if isinstance(s.events[0], Round) and len(s.events[0].participants) > 2)
    first = s.events[0]
    assert isinstance(first, Round)
    i, j, *_ = first.participants

    def round_of(clients: tuple[int, ...], strategies: tuple[str, ...]) -> Round:
        return replace(first, participants=clients, steps=(2,) * len(clients), strategies=strategies, scales=())

    drawn = replace(s, events=(round_of((i, i, j), ("adam",) * 3),))
    once = replace(s, events=(round_of((i, j), ("adam",) * 2),))
    mixed = replace(s, events=(round_of((i, i, i), ("adam", "adam", "sgd")),))
    each = replace(s, events=(round_of((i, i), ("adam", "sgd")),))
    words = {
        "of a client that is drawn twice the mean counts once": (drawn, once),
        "Delta is the mean over the strategies of the mean within each": (mixed, each),
    }
    for said, (more, less) in words.items():
        got, want = models(called(known, said), more)[-1], models(known.claimed, less)[-1]
        assert np.allclose(got, want) and not np.allclose(got, models(known.claimed, more)[-1])


def test_a_root_is_kept_off_zero_in_every_other_way() -> None:
    for form in STABILISED:
        text = form.format(v="v", e="tau")
        found = {c.new for c in turned(ast.parse(text, mode="eval").body, {}, "") if c.rank == 1}
        others = {f.format(v="v", e="tau") for f in STABILISED} - {text}
        # Where a power of e is added, or e a second time, that is what is taken for e.
        assert others <= found or text.endswith(("tau ** 2)", "tau ** 2))", "sqrt(tau)", "v + tau) + tau"))


LOOP = """
def step(x, v, g):
    for k in range(3):
        v = v + g(x)
        x = x - v
        u = 2 * x
        w = 3 * u
    return x
"""


def test_statements_change_places_where_that_makes_a_difference() -> None:
    found = {m.words: ast.unparse(m.tree) for m in moved(ast.parse(LOOP))}
    assert [m.partition(" = ")[0] + m.partition(" comes after")[2][:2] for m in found] == ["v x", "x u"]
    text = found["v = v + g(x) comes after x = x - v"]
    assert text.index("x = x - v") < text.index("v = v + g(x)") < text.index("u = 2 * x")


def test_the_numbers_of_all_clients_may_be_those_of_the_server() -> None:
    known = known_of(setting_of(Offer("joint-local", "round", "fedada2", {"client": "adam", "server": "adam"})))
    v = called(known, "the clients take the server's beta1, beta2")
    told = v.told(known.samples[0]).case.hyper
    assert told["beta1_l"] == told["beta1"] and told["beta2_l"] == told["beta2"]
    other = called(known, "the server takes the clients' beta1_l, beta2_l")
    was, told = known.samples[0].case.hyper, other.told(known.samples[0]).case.hyper
    assert told["beta1"] == was["beta1_l"] and told["beta2"] == was["beta2_l"]


def test_a_first_round_may_only_average() -> None:
    known = known_at("fedadam/server/reddi-2021")
    v = called(known, "the first event moves the model by Delta itself; the state begins with the second")
    s = known.samples[0]
    first = s.events[0]
    assert isinstance(first, Messages)
    x = flatten(s.case.x0) + np.mean([flatten(m.delta) for m in first.messages], axis=0)
    rest = replace(s, case=replace(s.case, x0=unflatten(x, s.case.x0)), events=s.events[1:])
    assert np.allclose(models(v, s), [x, *models(known.claimed, rest)])


TWO: Mapping[str, tuple[str, str, str]] = {
    "round": ("joint-local/round/fedada2", "v0 is ignored (taken as 0)", "the count k of a client goes on"),
    "server": ("fedamsgrad/server/epsilon-outside", "m stands for delta", "beta1 plays no part in the first event"),
    "arrivals": ("fedbuff/trace/nguyen-2022", "eta is squared", "the delay is counted from the first version"),
}


@pytest.mark.parametrize("level", TWO)
def test_the_plain_end_of_a_chain_shows_one_of_two_mistakes(level: str) -> None:
    offer, *said = TWO[level]
    known = known_at(offer)
    a, b = (called(known, words) for words in said)
    both = together(known.setting, a, b)
    assert both

    def asked(s: object) -> tuple[int, list[dict[str, np.ndarray]]] | None:
        answers = [{"x": x} for x in models(both, s)]  # type: ignore[arg-type]
        head = evidence(known, {0: answers}, (s,)).head  # type: ignore[arg-type]
        return (head[1], answers) if head else None

    start = next(s for s in known.samples if asked(s))
    found = chains(known.setting, start, asked)
    assert all(len(links) > 1 for links in found)
    ends: list[Link] = [links[-1] for links in found]
    assert any(agrees(v, *end.cut) for end in ends for v in (a, b))
    assert halves(found, (a, b, known.claimed))[0] in (a, b)
    assert plainness(ends[0]) < plainness(found[0][0])


def plainness(link: Link) -> int:
    """Size of a case: number of participants, steps and odd hyper-parameters."""
    events = sum(
        len(e.participants) + sum(e.steps)
        if isinstance(e, Round)
        else e.steps
        if isinstance(e, Arrival)
        else len(e.messages)
        if isinstance(e, Messages)
        else 0
        for e in link.s.events
    )
    return events + len(set(link.s.case.hyper.values()) - {0, 1})


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


def test_what_is_given_is_only_doubted_where_the_setting_is_out_of_sight() -> None:
    node = ast.Name("mix", ast.Load())
    inside = [c.new for c in as_given(node, {"mix": "number"}, ["mix", "mu"], "")]
    assert inside == ["as_set('mix')", "as_set('mu')"]
    assert not [*as_given(node, {"mix": "number", "h.mix": "number"}, ["mix"], "")]


def test_a_count_that_a_wrong_rule_makes_of_numbers_with_bounds() -> None:
    known = known_at("fed-sgd/round/fed-sgd")
    weighted = next(v for v in known.variants if v.kind == "mutant" and v.mutants[0].id == "fed-sgd-weighted")
    assert all(known.exact(weighted, k) for k in range(len(known.samples)))


def test_a_delay_in_epochs_shows_on_the_samples() -> None:
    """An epoch of which the first step alone updates is another thing than an epoch of one step."""
    known = known_at("fedadaadagrad/round/fedada2")
    first = called(known, "the first step alone of epoch counts")
    ignored = next(v for v in known.variants if v.words == "the delay counts steps")
    pairs = [(a, b) for s in known.samples for a, b in zip(models(first, s), models(ignored, s), strict=True)]
    assert not all(np.allclose(a, b) for a, b in pairs)


def test_one_number_of_steps_for_all_is_looked_for_with_another_mistake() -> None:
    known = known_at("vrl-sgd/round/own-steps")
    assert called(known, "the largest of tau stands for each").rank < LIKELY
    assert called(known, "the largest of x stands for each in numbers").rank >= LIKELY
