"""Deviations when rates change, fewer clients take part, or a block moves late are reported; so are the defects."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from test_judge.diagnosing import diagnosed, written
from test_judge.subjects.behind import Behind, moved
from test_judge.test_gates import setting

from fedspec.catalogue import find
from fedspec.contract import Begin, Case, Gradient, Offer
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis import known, search
from fedspec_suite.diagnosis.cases.beside_others import HOLDING
from fedspec_suite.diagnosis.cases.probes import at_edges
from fedspec_suite.diagnosis.cases.resized import ringed
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.edits.of_arrays import first_larger
from fedspec_suite.diagnosis.seen.digits import Model, compared, seen
from fedspec_suite.diagnosis.seen.held_out import held_out, one_by_one, quiet
from fedspec_suite.diagnosis.variants import as_claimed, single
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.laws import all_laws
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.running_error import from_floats
from fedspec_suite.measure.scenario import Scenario, change_events
from fedspec_suite.measure.scheduled_cases import scheduled
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Deviates

pytestmark = pytest.mark.table(1)


def beside(offer: Offer, wrong: Callable[[list[Any], Case], bool]) -> Any:
    """A subject that adds to the model where something holds of the events so far."""

    def start(case: Case) -> Any:
        inner, events = SUBJECT.start(case), list[Any]()

        def step(event: Any) -> dict[str, Any]:
            events.append(event)
            return {"x": inner.step(event)["x"] + wrong(events, case)}

        return SimpleNamespace(step=step)

    return written(offer, start)


def rates(events: list[Any], case: Case) -> list[list[float]]:
    """The rates of the steps so far, round by round."""
    out: list[list[float]] = [[]]
    for e in events:
        if isinstance(e, Begin):
            out.append([])
        else:
            out[-1].append(case.hyper["eta_l"] if e.eta_l is None else e.eta_l)
    return out


def changed(events: list[Any], case: Case) -> bool:
    (*_, now) = rates(events, case)
    return len(now) > 1 and now[-1] != now[-2]


def other_than_there(events: list[Any], case: Case) -> bool:
    (*before, now) = rates(events, case)
    return bool(now) and any(len(r) >= len(now) and r[len(now) - 1] != now[-1] for r in before)


def fewer(events: list[Any], case: Case) -> bool:
    sizes = [len(e.messages) for e in events]
    return sizes[-1] < max(sizes)


def late(events: list[Any], case: Case) -> bool:
    """Some block has its first gradient that is not zero in a later step."""
    seen: list[dict[str, bool]] = []
    for e in events:
        seen = [*seen, {n: bool(a.any()) for n, a in e.g.items()}] if isinstance(e, Gradient) else []
    return len(seen) > 1 and any(seen[-1][n] and not any(s[n] for s in seen[:-1]) for n in seen[-1])


def told_anew(events: list[Any], case: Case) -> bool:
    eta = [e.hyper.get("eta", case.hyper["eta"]) for e in events]
    return len(eta) > 1 and eta[-1] != eta[-2]


def drawn_twice(events: list[Any], case: Case) -> bool:
    took: dict[int, int] = {}
    return any(took.setdefault(i, n) != n for i, n in zip(events[-1].participants, events[-1].steps, strict=True))


def waiting_twice(events: list[Any], case: Case) -> bool:
    buffer = case.hyper["buffer"]
    who = [e.client for e in events[len(events) - buffer :]]
    return len(events) % buffer == 0 and len({*who}) < len(who)


def clients(when: Callable[[list[Any], set[int]], bool]) -> Callable[[list[Any], Case], bool]:
    """Something holds of the clients that take part, with their shares and ||a_i||_1, and of those who did before."""

    def of(e: Any) -> list[tuple[int, float, float | None]]:
        sent = [(m.client, m.weight, m.a_norm) for m in getattr(e, "messages", ())] or [
            (i, 1, None) for i in e.participants
        ]
        return [(i, n / sum(n for _, n, _ in sent), a) for i, n, a in sent]

    return lambda events, case: when(of(events[-1]), {i for e in events[:-1] for i, *_ in of(e)})


def of_one_norm(who: list[Any], met: set[int]) -> bool:
    return len({a for *_, a in who}) == 1


AVERAGE = Offer("fedavg", "server", "mcmahan-2017")
NOVA = Offer("fednova", "server", "fednova", {"solver": "momentum"})
ROUNDS = Offer("fedavg", "round", "mcmahan-2017")
EACH = Offer("momentum", "client", "fednova", rates="each")
SAID = {
    "where the rate of a step is another than that of the step before": (EACH, changed),
    "where the rate of a step is another than that of the same step in a round before": (EACH, other_than_there),
    "where fewer clients take part than in a round before": (AVERAGE, fewer),
    "where a block has only zero gradients at first in a round, and then another": (
        Offer("momentum", "client", "fednova"),
        late,
    ),
    "where a client is drawn twice in a round, for other numbers of steps": (
        Offer("fednova-sampled", "round", "with-replacement"),
        drawn_twice,
    ),
    "where a client has two updates in a buffer that is full": (
        Offer("cc-fedavg", "trace", "client-centric"),
        waiting_twice,
    ),
    "where a rate, mu, rho or gamma is another than in the event before": (
        Offer("fedavg", "server", "mcmahan-2017", rates="rounds"),
        told_anew,
    ),
    "where a client has more than 0.5 of the weights": (
        AVERAGE,
        clients(lambda who, met: max(p for _, p, _ in who) > 0.5),
    ),
    "where a client has less than 0.1 of the weights": (
        AVERAGE,
        clients(lambda who, met: any(0 < p < 0.1 for _, p, _ in who)),
    ),
    "in # of # cases in which clients of a round have one ||a_i||_1": (
        NOVA,
        clients(lambda who, met: of_one_norm(who, met) and len({p for _, p, _ in who}) > 1),
    ),
    "where a client takes part for the first time after the first round": (
        ROUNDS,
        clients(lambda who, met: bool(met) and any(i not in met for i, *_ in who)),
    ),
    "where no two clients of a round have different ||a_i||_1": (NOVA, clients(of_one_norm)),
    "where a client takes part again": (AVERAGE, clients(lambda who, met: any(i in met for i, *_ in who))),
    "where client 0 takes part again": (ROUNDS, clients(lambda who, met: 0 in met and any(i == 0 for i, *_ in who))),
}


@pytest.mark.slow
@pytest.mark.table(2)
@pytest.mark.parametrize("words", SAID)
def test_it_is_said_what_events_and_clients_are_beside_others(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "PAIRS", dict.fromkeys(search.PAIRS, 5))
    monkeypatch.setattr(known, "MOST", 5)
    d = diagnosed(beside(*SAID[words]))
    said = tuple(re.sub(r"\d+ of \d+ cases", "# of # cases", gate) for gate in d.gates)
    assert not d.found and said == (words,) and d.beside > 3


def test_what_is_tied_stays_tied_at_the_edges() -> None:
    of = setting_of(Offer("fedyogi", "server", "reddi-2021", {"v0": "tau-squared"}))
    cases = [s for _, s in at_edges(of, samples_of(of)[0])]
    assert len({s.case.hyper["tau"] for s in cases}) > 3
    assert all(s.case.hyper["v0"] == s.case.hyper["tau"] ** 2 for s in cases)
    assert not any("taken as tau^2" in v.words for v in single(of))


def test_schedules_are_played_where_an_offer_says_that_every_step_has_a_rate() -> None:
    of = setting_of(EACH)
    told = [[e.eta_l for e in s.events if isinstance(e, Gradient)] for s in (*samples_of(of), *held_out(of))]
    assert sum(None not in r and len({*r}) > 1 for r in told) > 12 and sum({*r} == {None} for r in told) > 12
    s = next(s for s in held_out(of) if any(isinstance(e, Begin) for e in s.events[1:]))
    anew = scheduled(s, lambda pool: pool[-1])
    first, *later = [e.eta_l for e in anew.events if isinstance(e, Gradient)]
    # Code that keeps the case's rate at the first step of a round is seen in a later round.
    assert first == s.case.hyper["eta_l"] and {*later} == {2 * first}


def test_gradients_are_quiet_at_first() -> None:
    s = next(s for s in held_out(setting("momentum", "client")) if len(s.case.x0) > 1 and len(s.events) > 2)
    late_block = "where a block has only zero gradients at first in a round, and then another"
    loud = replace(s, events=tuple(Gradient({n: a * 0 + 1 for n, a in s.case.x0.items()}) for _ in range(3)))
    assert [HOLDING[late_block](loud, k) for k in range(3)] == [False] * 3
    for one in (True, False):
        made = quiet(loud, one)
        assert [HOLDING[late_block](made, k) for k in range(3)] == [False, True, False]
        first = made.events[0].g  # type: ignore[union-attr]
        assert sum(a.any() for a in first.values()) == (len(s.case.x0) - 1 if one else 0)


def test_clients_take_part_one_by_one_where_not_everybody_has_to() -> None:
    of = setting("fedavg", "round")
    s = next(s for s in held_out(of) if len({*s.events[0].participants}) > 2)  # type: ignore[union-attr]
    made = one_by_one(of, s)
    assert made is not None
    who = [i for e in made.events for i in e.participants]  # type: ignore[union-attr]
    assert sorted(who) == sorted({*s.events[0].participants}) and len(made.events) == len(who)  # type: ignore[union-attr]
    assert one_by_one(setting("vrl-sgd", "round"), s) is None


@pytest.mark.slow
def test_a_ring_is_mixed_one_way() -> None:
    of = setting("afga", "trace")
    s = next(s for s in held_out(of) if s.case.problem is not None and len(s.case.problem.e) > 2)
    made = ringed(s)
    assert made is not None
    W = made.events[0].mixing  # type: ignore[union-attr]
    assert np.array_equal(W.sum(axis=0), np.ones(len(W))) and W[0, 1] == 0.5 and W[1, 0] == 0
    assert ringed(next(iter(held_out(setting("dsgd", "trace"))))) is None


def intermediates_of(name: str, level: str, words: str, s: Scenario) -> list[dict[str, Any]]:
    """Intermediates of the specification with a defect in it."""
    v = next(v for v in single(setting(name, level)) if v.words == words)
    return list(v.quick(s, v.editions()()))


def test_a_buffer_that_received_more_is_read_to_its_end() -> None:
    """The second round is the first one again: its one message lies where it lay."""
    s = next(s for s in held_out(setting("median", "server")) if len(s.events) > 1)
    many = max(s.events, key=lambda e: len(e.messages))  # type: ignore[union-attr]
    few = replace(many, messages=many.messages[:1])  # type: ignore[union-attr]
    words = "what a round with more messages received is read again behind those of a smaller one"
    got = intermediates_of("median", "server", words, replace(s, events=(many, few)))
    session = SUBJECT.start(s.case)
    want = [session.step(many)["x"] for _ in range(2)]
    assert np.allclose(got[1]["x"], want[1]) and len(many.messages) > 1  # type: ignore[union-attr]


def test_a_short_step_is_not_counted() -> None:
    """A zero gradient between two others, with z = 2: the preconditioner waits for the third step as for a second."""
    case = next(iter(held_out(setting("agdu", "client")))).case
    hyper = {**case.hyper, "z": 2, "epoch": 1, "eps_s": 0.0625, "v0": 0.5, "eps": 0.25, "eta_l": 1.0}
    g, none = {"w": np.array([4.0])}, {"w": np.array([0.0])}
    events = (Gradient(g), Gradient(none), Gradient(g))
    s = Scenario(replace(case, x0={"w": np.array([1.0])}, hyper=hyper), events)
    got = intermediates_of("agdu", "client", "a step that is not taken is not counted", s)
    # Step 1 adds 16; the second is not taken; so the third is step 2, at which nothing is added.
    assert [float(a["v"][0]) for a in got] == [16.5, 16.5, 16.5]
    plain = SUBJECT.start(s.case)
    assert [float(plain.step(e)["v"][0]) for e in events] == [16.5, 16.5, 32.5]  # type: ignore[index]


def test_a_short_step_is_undone() -> None:
    """A step shorter than eps_s: its gradient is in v by the rule, and in nothing here."""
    case = next(iter(held_out(setting("agdu", "client")))).case
    hyper = {**case.hyper, "z": 1, "epoch": 1, "eps_s": 0.5, "v0": 3.0, "eps": 0.25, "eta_l": 1.0}
    s = Scenario(replace(case, x0={"w": np.array([1.0])}, hyper=hyper), (Gradient({"w": np.array([1.0])}),))
    (got,) = intermediates_of("agdu", "client", "a step that is not taken changes nothing that is kept either", s)
    assert float(got["v"][0]) == 3.0 and float(SUBJECT.start(s.case).step(s.events[0])["v"][0]) == 4.0  # type: ignore[index]
    assert float(got["x"][0]) == 1.0


def test_among_peers_a_round_has_several_steps() -> None:
    """v_hat before the round stands for that before the step: u_tilde gains the change of the first step twice."""
    reading = "chen-2021"
    of_peers = setting("dadam", "trace", reading)
    words = "moments.v_hat as it was when the round began stands for moments.v_hat"
    (v,) = [v for v in known.known_of(of_peers).mechanical if v.words.startswith(words)]
    s = next(s for s in held_out(of_peers) if len(s.events[0].computing) == 2)  # type: ignore[union-attr]
    s = replace(s, events=s.events[:1])
    (wrong,) = v.quick(s, v.editions()())
    session = SUBJECT.start(s.case)
    e = s.events[0]
    first = SUBJECT.start(s.case).step(replace(e, computing=e.computing[:1]))  # type: ignore[union-attr, call-arg]
    right = session.step(e)
    extra = np.asarray(first["v_hat"], dtype=float) - s.case.hyper["eps"]
    assert np.allclose(np.asarray(wrong["u_tilde"], dtype=float) - right["u_tilde"], extra) and extra.any()


def test_the_anchor_stays_where_the_steps_before_ended() -> None:
    case = next(iter(held_out(setting("proximal-sgd", "client")))).case
    case = replace(case, x0={"w": np.array([4.0])}, hyper={"eta_l": 0.5, "mu": 1.0})
    g = Gradient({"w": np.array([2.0])})
    s = Scenario(case, (g, Begin({"w": np.array([8.0])}), g))
    words = "the proximal term pulls to the model that the round before ended with"
    # 4 - 1 = 3 is where the first round ends; then 8 - (2 + (8 - 3)) / 2.
    assert [float(a["x"][0]) for a in intermediates_of("proximal-sgd", "client", words, s)] == [3.0, 8.0, 4.5]


def test_what_each_client_met_is_shown_of_it() -> None:
    """Second of two clients, which reads the first one's result: its correction is of a new row and an old one."""
    of_all = setting("fednova-alg2", "round")
    s = next(s for s in held_out(of_all) if len(s.case.problem.e) == 2)  # type: ignore[union-attr]
    words = "d of a client is written when it is done, and those behind it in the round see the new one"
    (got, *_) = intermediates_of("fednova-alg2", "round", words, replace(s, events=s.events[:1]))
    first, second = s.events[0].participants  # type: ignore[union-attr]
    c = np.asarray(got["c_i"], dtype=float).reshape(2, -1)
    # All rows are zero at first: whoever comes first meets zeros, whoever comes second does not.
    assert not c[first].any() and c[second].any()


@pytest.mark.parametrize(
    ("u", "v", "larger"),
    [((1, 5), (2, 0), (2, 0)), ((2, 0), (1, 5), (2, 0)), ((1, 5), (1, 6), (1, 6)), ((1, 6), (1, 5), (1, 6))],
)
def test_lists_are_compared_at_the_first_number_that_differs(u: Any, v: Any, larger: Any) -> None:
    assert first_larger(np.array(u), np.array(v)).tolist() == list(larger) == max(list(u), list(v))


TIED = {"v0": "tau-squared"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "offer",
    [
        Offer("cc-fedadagrad", "trace", "client-centric", {"epsilon": "inside", **TIED}),
        Offer("fedadam", "server", "epsilon-inside", TIED),
        Offer("fedadam", "round", "epsilon-inside", TIED),
        Offer("fedyogi", "server", "epsilon-inside", TIED),
        Offer("fedadagrad", "server", "reddi-2021", TIED),
    ],
    ids=lambda o: f"{o.algorithm}-{o.level}-{o.reading}",
)
def test_who_begins_at_tau_squared_is_right_in_every_unit(offer: Offer) -> None:
    """Inside the root tau has the unit of v0, so that in other units v0 = tau^2 is another rule: no law may ask it."""

    subject = written(
        offer, lambda case: SUBJECT.start(replace(case, hyper={**case.hyper, "v0": case.hyper["tau"] ** 2}))
    )
    found = judge_offer(InProcess(subject), offer, cases=8)
    assert conclude(found)[0] is Conformity.CONFORMS, found


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("reading", [r.name for r in find("fedyogi").readings])
def test_who_rests_from_v_0_is_decided(reading: str, dtype: str) -> None:
    """No bound tells how a v was rounded that a sign has moved from 0; that the model rests is seen all the same."""
    offer = Offer("fedyogi", "server", reading, fixed={"v0": 0.0}, dtypes=(dtype,))
    of, law = setting_of(offer), all_laws()["rests"]

    @settings(max_examples=8, database=None, deadline=None, phases=[Phase.generate])
    @given(law.cases(of))
    def rests(s: Any) -> None:
        law.check(bench_of(InProcess(SUBJECT), offer, of), s)

    rests()


def test_who_drifts_from_v_0_is_found() -> None:
    offer = Offer("fedyogi", "server", "reddi-2021", fixed={"v0": 0.0})
    drifting = Behind("fedyogi", "server", take=moved(lambda k, x: x * (1 + 1e-9)), claimed={"fixed": {"v0": 0.0}})
    of, law = setting_of(offer), all_laws()["rests"]
    s = change_events(plain_scenario(of), change=lambda a: a * 0)
    law.check(bench_of(InProcess(SUBJECT), offer, of), s)
    with pytest.raises(Deviates):
        law.check(bench_of(InProcess(drifting), offer, of), s)


@pytest.mark.slow
@pytest.mark.parametrize(
    "offer",
    [
        Offer("fedadam", "server", "reddi-2021", fixed={"tau": 0.0}),
        Offer("fedams", "server", "option-1", fixed={"eps": 0.0}),
        Offer("adam", "client", "kingma-2015", fixed={"eps": 0.0}),
    ],
    ids=lambda o: o.algorithm,
)
def test_who_has_no_stabiliser_is_judged_where_nothing_is_divided_by_zero(offer: Offer) -> None:
    """A law whose cases divide by 0 is not offered; no second session is blamed for it, and no law breaks off."""

    found = judge_offer(InProcess(written(offer, SUBJECT.start)), offer, cases=8)
    assert conclude(found)[0] is Conformity.CONFORMS, found
    beyond = [o.reason for o in found if "is fixed at 0, so that the rule may divide by 0" in o.reason]
    assert len(beyond) < len(found) / 2


@pytest.mark.parametrize("turned", [False, True])
def test_changes_added_to_the_model_in_another_order_are_told(turned: bool) -> None:
    """The model itself is none that is wanted: what is added to it each round is wanted, at other places."""
    claimed, samples = setting_of(Offer("fedavgm", "server", "hsu-2019")), list[Scenario]()
    models: list[Model] = []
    for s in samples_of(claimed):
        wanted = [np.array([float(v) for v in a["x"]]) for a in as_claimed(claimed).bounded(s)]
        got = before = np.concatenate([a.ravel() for a in s.case.x0.values()])
        samples.append(s)
        for k, want in enumerate(wanted):
            got = got + ((want - before)[::-1] if turned else 1.5 * (want - before))
            before = want
            models.append(compared(len(samples) - 1, k, got, from_floats(want, "float64"), "float64"))
    assert ("the steps are those wanted, at other places" in seen(samples, models)) == turned
