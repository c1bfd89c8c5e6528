"""Cases that ``fedspec show`` describes are the cases that the rules accept."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_judge.support import inside

from fedspec.catalogue import CATALOGUE, Algorithm, find
from fedspec.contract import Arrival, Begin, Case, Event, Exchange, Gradient, Messages, Offer, Round
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.report.cases import holds, only_with, shapes, starts
from fedspec_suite.report.source import text_of

pytestmark = pytest.mark.table(10)


def plain(algorithm: str, level: Any, **options: str) -> tuple[Case, Any]:
    row = CATALOGUE[algorithm]
    s = plain_scenario(setting_of(Offer(algorithm, level, row.readings_at(level)[0].name, options)))
    return s.case, s.events[0]


def taken(case: Case, *events: Event) -> bool:
    session = SUBJECT.start(case)
    try:
        for event in events:
            session.step(event)
    except FedspecError:
        return False
    return True


def said(algorithm: str, level: Any) -> str:
    return "; ".join(holds(CATALOGUE[algorithm], level))


SERVERS = [a.id for a in CATALOGUE.values() if "server" in a.levels]


@pytest.mark.parametrize("algorithm", SERVERS)
def test_a_server_wants_a_message_and_steps(algorithm: str) -> None:
    case, event = plain(algorithm, "server")
    words = said(algorithm, "server")
    assert "one message at least" in words and "steps are whole numbers >= 1" in words
    assert taken(case, event) and not taken(case, Messages(()))
    assert not taken(case, Messages(tuple(replace(m, steps=0) for m in event.messages)))


@pytest.mark.parametrize("weights", ["examples", "uniform", "steps"])
def test_sample_sizes_may_all_be_zero_only_where_nobody_weighs_by_them(weights: str) -> None:
    assert "under weights=examples, where all zero is refused" in said("fedavg", "server")
    case, event = plain("fedavg", "server", weights=weights)
    none = Messages(tuple(replace(m, weight=0) for m in event.messages))
    assert taken(case, none) == (weights != "examples")
    case, event = plain("fedavg", "round", weights=weights)
    assert case.problem is not None
    empty = replace(case, problem=replace(case.problem, examples=np.zeros(2)))
    assert taken(empty, event) == (weights != "examples")


@pytest.mark.parametrize("reading", [r.name for r in CATALOGUE["fednova-sampled"].readings])
def test_a_sample_without_examples_is_refused_where_weights_or_steps_are_made_of_shares(reading: str) -> None:
    (words,) = [line for line in holds(CATALOGUE["fednova-sampled"], "round") if "sample size" in line]
    assert "not those of all drawn" in words
    s = plain_scenario(setting_of(Offer("fednova-sampled", "round", reading)))
    assert s.case.problem is not None
    case = replace(s.case, problem=replace(s.case.problem, examples=np.array([0.0, 5.0])))
    drawn = Round(participants=(0,), steps=(2,))
    assert taken(case, replace(drawn, participants=(1,)))
    refused = {"box": "one share", "box-with-text": "one share", "without-replacement-sampled-steps": "tau_eff: got 0"}
    if reading in refused:
        with pytest.raises(FedspecError, match=refused[reading]):
            SUBJECT.start(case).step(drawn)
    else:
        assert taken(case, drawn)


ROUNDS = [a.id for a in CATALOGUE.values() if "round" in a.levels]


@pytest.mark.parametrize("algorithm", ROUNDS)
def test_a_round_has_participants_who_take_steps(algorithm: str) -> None:
    case, event = plain(algorithm, "round")
    words, everybody = said(algorithm, "round"), "everyone" in CATALOGUE[algorithm].takes
    assert taken(case, event)
    for changed in (replace(event, participants=(), steps=()), replace(event, steps=(0,) * len(event.steps))):
        assert not taken(case, changed), changed
    one = Round((0,), (2,), event.strategies[:1], event.scales[:1], event.noise, event.draws[:1])
    assert taken(case, one) != everybody == ("everybody takes part" in words)
    twice = Round((0, 0), (2, 3), event.strategies, event.scales, event.noise, event.draws)
    if "each once" in words:
        assert not taken(case, twice)
    elif algorithm != "fednova-sampled":
        assert taken(case, twice)


EXCHANGES = [a.id for a in CATALOGUE.values() if a.event == "exchange"]


@pytest.mark.parametrize("algorithm", EXCHANGES)
def test_an_exchange_may_lack_steps_and_some_sets(algorithm: str) -> None:
    case, event = plain(algorithm, "trace")
    assert isinstance(event, Exchange)
    words = said(algorithm, "trace")
    if "the models stay" in words:
        still = SUBJECT.start(case).step(replace(event, computing=()))
        assert np.array_equal(np.ravel(still["x"]), np.ravel(next(iter(case.x0.values()))))
    else:
        assert "one local step or more" in words and not taken(case, replace(event, computing=()))
    assert taken(case, replace(event, computing=((), ()))) == ("may be empty: then nobody steps, and all mix" in words)
    assert taken(case, replace(event, senders=())) != ("one sender" in words)


def test_an_update_never_reaches_back_before_the_first_version() -> None:
    case, _ = plain("fedbuff", "trace")
    assert "never reaches back before x0" in said("fedbuff", "trace")
    assert taken(case, Arrival(0, 1, 0)) and not taken(case, Arrival(0, 1, 1))


def test_a_local_round_may_be_empty_and_a_zero_gradient_counts() -> None:
    case, _ = plain("adam", "client")
    assert taken(case, Begin(case.x0), Begin(case.x0))
    still, moved = {"w": np.zeros(2)}, {"w": np.ones(2)}
    first, late = SUBJECT.start(case), SUBJECT.start(case)
    late.step(Gradient(still))
    assert not np.array_equal(first.step(Gradient(moved))["x"], late.step(Gradient(moved))["x"])
    assert "may have no steps" in said("adam", "client") and "counts as a step" in said("adam", "client")


STARTS: dict[str, dict[str, str]] = {
    "fedadam": {"m": "0", "v": "v0"},
    "fedams-code": {"m": "0", "v": "0", "v_hat": "v_hat0"},
    "cafga": {"m": "0", "v": "0", "v_hat": "0"},
    "fed-lamb": {"m_i": "0", "v_i": "v0", "v_hat": "v0"},
    "sm3-i-delayed": {"mu": "v0", "nu": "0"},
    "scaffold": {"c": "0", "c_i": "0"},
    "fedavg": {},
    # Under other options.
    "dp-fedavg": {"m": "0", "v": "0 (v0 under server = adagrad or adam)"},
    "dadam": {"X": "x0", "m": "0", "v": "0", "v_hat": "0 (eps in chen-2021)", "u_tilde": "0 (eps in chen-2021)"},
    "cc-fedams": {"m": "0", "v": "v0", "v_hat": "v0 (0 under maximum_start = zero)"},
}


@pytest.mark.parametrize("algorithm", STARTS)
def test_what_stands_before_the_first_step(algorithm: str) -> None:
    assert starts(CATALOGUE[algorithm]) == STARTS[algorithm]


PRINTED = [
    ("cc-fedadam", "eps is tau, v_hat is v here", "cc-fedams"),
    ("cc-fedadam", "p_i = 1 / the number", "fedadam"),
    ("sm3-adam", "((t - 1) // epoch) % z is 0", "adam"),
    ("joint-local", "that of the warm-up", "dp-fedavg"),
    ("feddyn", "`case.population` at level server", "vrl-sgd"),
    ("fedadaadam", "in the clients' equations v0 is v0_l, beta1 is beta1_l, beta2", "joint-local"),
    ("dp-joint", "z = 1 and eps_s = 0, here no hyper-parameter", "fedada2"),
    ("fedadam", "another reading: `fedspec show fedadam --reading NAME`", "sgd"),
    ("feddyn --general", "its server alone", "vrl-sgd --general"),
    # What solvers read.
    ("fednova", "alpha = eta_l mu", "fedavg"),
    ("cafga", "reach_i: the sum of client i's row of W", "dsgd"),
    ("fed-lamb", "q / ||q|| is 0 where q = 0", "fedavg"),
    ("sm3-ii", "ratio(a, b) = a / b", "adam"),
    ("fedblended", "sgd.step is not taken where ||g|| < eps_s either", "fedprox"),
    # At level server the clients' rate may cancel.
    ("fednova", "eta_l is not told", "fedavg"),
]


@pytest.mark.table(1)
@pytest.mark.parametrize(("words", "said", "other"), PRINTED)
def test_what_equations_leave_to_the_reader_is_said_where_it_is_needed(words: str, said: str, other: str) -> None:
    assert said in " ".join(inside("show", *words.split(), "--all").out.split())
    assert said not in " ".join(inside("show", *other.split(), "--all").out.split())


def test_a_hyper_parameter_comes_with_the_options_that_the_page_says() -> None:
    """In the cases themselves: those of every value of every option, the others as they are by default."""
    for a in CATALOGUE.values():
        only = only_with(a)
        held: dict[str, dict[str, set[str]]] = {}
        for option, kind in a.options.items():
            for value in map(str, kind):
                for level in a.levels:
                    setting = setting_of(Offer(a.id, level, a.readings_at(level)[0].name))
                    setting = replace(setting, options={**a.defaults(), option: value})
                    for n in plain_scenario(setting).case.hyper:
                        held.setdefault(n, {}).setdefault(option, set()).add(value)
        for n, by in held.items():
            some = {o: values for o, values in by.items() if len(values) < len(list(a.options[o]))}
            said = only.get(n, "")
            assert {part.partition(" = ")[0] for part in said.split(", ") if part} == set(some), (a.id, n)
            for part in filter(None, said.split(", ")):
                option, _, values = part.partition(" = ")
                assert set(values.split(" or ")) == some[option], (a.id, n)
    assert only_with(CATALOGUE["dp-fedavg"])["beta2"] == "server = adam"


@pytest.mark.table(1)
@pytest.mark.parametrize("a", CATALOGUE.values(), ids=lambda a: a.id)
def test_the_text_with_options_is_printed_with_what_it_calls(a: Algorithm) -> None:
    text, out = text_of(a), inside("show", a.id, "--general").out
    whole = text.options or text.code
    shown = {node.name: node for node in ast.parse(whole).body if isinstance(node, ast.FunctionDef)}
    assert whole in out
    # Every option that a reading folds away stands in it, and so does every rule that it calls.
    for said in [*a.options, *(n for n in ("epoch", "warm_up") if n in a.numbers)]:
        assert re.search(rf"\b{said}\b", whole) or "h.of(" in whole, said
    own = [rule.__name__ for rule in a.rules if rule.__module__.startswith(("fedspec.client.", "fedspec.server."))]
    assert not {name for name in own if re.search(rf"\b{name}\(", whole)} - {*shown}


def test_a_server_that_takes_no_mean_shows_what_it_takes() -> None:
    code = {name: text_of(find(name)).code for name in ("median", "trimmed-mean", "fedavg")}
    assert "def coordinate_median(" in code["median"] and "def trimmed_mean(" in code["trimmed-mean"]
    assert "def weighted_mean(" not in code["fedavg"]


def test_what_is_shown_that_is_no_model_has_its_shape() -> None:
    of_clients, of_participants = "[clients, d]", "[participants, d]"
    told = {
        "c_i": of_clients,
        "lam_i": of_clients,
        "v_i": of_clients,
        "h_i": of_clients,
        "g_i": of_clients,
        "e_i": of_participants,
        "m_i": of_participants,
        "x_i": of_clients,
        "s_i": of_participants,
        "w": "[participants]",
        "d_i": of_participants,
        "b_i": "[participants]",
        "tau_eff": "(a number)",
        "eta_t": "(a number)",
        "mix_t": "(a number)",
        "rate": "(a number)",
    }
    own = {"diloco": {"v_i": of_participants}}
    for a in CATALOGUE.values():
        assert shapes(a) == {n: (told | own.get(a.id, {}))[n] for n in a.shows if n in told}, a.id


def test_a_reading_says_which_options_it_settles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    page = inside("show", "dadam", "--all").out
    (line,) = (said for said in page.splitlines() if said.split()[:2] == ["chen-2021", "divided"])
    assert line.rstrip().endswith("denominators = tracked")


@pytest.mark.parametrize("a", CATALOGUE.values(), ids=lambda a: a.id)
def test_every_option_value_that_is_listed_can_be_claimed_and_no_other(a: Algorithm) -> None:
    (row,) = json.loads(inside("show", a.id, "--json").out)
    listed = row["options"]

    def claimed(option: str, value: str) -> bool:
        """True if a reading with this option, or the reading by itself, resolves to the value."""
        for r in a.readings:
            asked = {} if option in r.fixes else {option: value}
            if a.resolve(r.name, asked)[option] == value:
                return True
        return False

    for option, kind in a.options.items():
        assert set(listed[option]) == {str(v) for v in kind if claimed(option, str(v))}


def test_what_one_level_alone_shows_is_said() -> None:
    out = inside("show", "scaffold", "--all").out
    assert "delta, c_i [clients, d] (at level round alone), c" in " ".join(out.split())
    assert "alone" not in inside("show", "fedadam", "--all").out.partition("may return beside x")[2].splitlines()[0]
