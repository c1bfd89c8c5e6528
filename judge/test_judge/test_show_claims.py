"""``fedspec show ID --reading R --option NAME=VALUE`` prints what runs under a claim, and nothing else."""

from __future__ import annotations

import json
import sys
from types import FrameType
from typing import Any

import pytest
from test_judge.support import inside

from fedspec.catalogue import CATALOGUE, Algorithm, find
from fedspec.contract import Offer
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec.rules import RULES, equations, printed
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.report import offer_page

EACH_HIS_OWN = ("fedblended", "fednova-solvers")
"""Algorithms whose clients have a solver each, of which a plain case plays some."""

BESIDE = {
    "dadam": {"fedspec.mixing.gossip.gossip"},
    "fedprox": {"fedspec.mixing.accumulation.accumulation"},
    "lamb": {"fedspec.client.lamb.layer_step"},
}
"""Rules that run and stand in no row: of two the equations are of something else, and no server reads the length."""


def _name(f: Any) -> str:
    return f"{f.__module__}.{f.__qualname__}"


def _played(offer: Offer) -> tuple[set[str], set[str]]:
    """The functions that are entered while a plain case of an offer is played, and the names of the answers."""
    seen, answers = set[str](), list[dict[str, Any]]()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}")

    s = plain_scenario(setting_of(offer))
    before = sys.getprofile()
    sys.setprofile(look)
    try:
        session = SUBJECT.start(s.case)
        answers += (session.step(event) for event in s.events)
    finally:
        sys.setprofile(before)
    return seen, {name for answer in answers for name in answer}


def _claims(a: Algorithm) -> list[tuple[str, dict[str, str]]]:
    """Every reading, alone and with each value that it leaves open."""
    out: list[tuple[str, dict[str, str]]] = []
    for r in a.readings:
        open_ = [{n: str(v)} for n, kind in a.options.items() if n not in r.fixes for v in kind]
        for options in ({}, *open_):
            try:
                offer_page.record(a, r.name, options)
            except FedspecError:
                continue
            out.append((r.name, options))
    return out


@pytest.mark.table(1)
@pytest.mark.parametrize("a", CATALOGUE.values(), ids=lambda a: a.id)
def test_a_row_lists_the_rules_that_run_and_the_names_that_it_shows(a: Algorithm) -> None:
    for reading, options in _claims(a):
        level = next(level for level in reversed(a.levels) if a.reading(reading) in a.readings_at(level))
        entered, shown = _played(Offer(a.id, level, reading, options))
        listed = {_name(r): r for r in a.rules if r not in a.resting(a.resolve(reading, options))}
        ran = {name for name, r in (RULES | listed).items() if name in entered and printed(r)}
        assert ran <= listed.keys() | BESIDE.get(a.id, set()) and {"x", *a.shows_at(level)} <= shown, (reading, options)
        if a.id not in EACH_HIS_OWN:
            assert ran >= listed.keys(), (reading, options)
            record = offer_page.record(a, reading, options)
            assert {e["rule"] for e in record["equations"]} <= ran
            assert {e.id for r in listed.values() for e in equations(r)} <= {e["id"] for e in record["equations"]}


def test_a_claim_is_printed_without_what_runs_under_other_options() -> None:
    asked = ("--reading", "gradient-clip", "--option", "server=adam", "--option", "client=adam")
    out = inside("show", "dp-joint", *asked).out
    other = inside("show", "dp-joint", "--reading", "gradient-clip").out
    assert "fedadam.v" in out and "fedadagrad.v" not in out and "sm3-adam.m" in out and "beta2_l" in out
    assert "fedadam.v" not in other and "fedadagrad.v" in other and "sm3-adam.m" not in other
    assert "beta2" not in other and "beta1_l" not in other
    rising = " ".join(inside("show", "joint-local", "--option", "warm_up_from=zero").out.split())
    assert (
        "eta_l min(1, (k - 1) / warm_up) in its step k the text that runs" in rising
        and "with warm_up_from = zero" not in rising
    )
    (row,) = json.loads(inside("show", "dp-joint", *asked, "--json").out)
    assert row["options"]["server"] == "adam" and row["starts"] == {"m": "0", "v": "v0"}
    assert row["reading"] == "gradient-clip" and "beta2" in row["domains"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--reading", "mine"), "reading: lamb has no reading 'mine'; known: you-2020"),
        (("--reading", "assigned", "--general"), "--general and --mirror don't depend on the claim"),
        (("--option", "phi"), "--option: got 'phi'; write NAME=VALUE"),
        (("--option", "colour=red"), "option: lamb has no option 'colour'"),
        (
            ("--reading", "assigned", "--option", "phi=clip", "--option", "zero_layer=ratio-one"),
            "plays no part in lamb",
        ),
    ],
)
def test_a_claim_that_nobody_can_make_is_refused(asked: tuple[str, ...], said: str) -> None:
    inside("show", "lamb", *asked).refused(said)


@pytest.mark.parametrize("epsilon", ["inside", "outside"])
@pytest.mark.parametrize("algorithm", ["cc-fedadagrad", "cc-fedadam", "cc-fedams"])
def test_of_two_steps_that_are_printed_one_runs(algorithm: str, epsilon: str) -> None:
    row = offer_page.record(find(algorithm), "", {"epsilon": epsilon})
    (step,) = [e["text"] for e in row["equations"] if e["id"].endswith(".step") and e["id"] != "sgd.step"]
    assert ("/ sqrt(" in step) is (epsilon == "inside")


def test_a_claim_says_what_its_reading_asks_and_what_is_tied() -> None:
    assert "it asks mu > 0" in inside("show", "feddyn", "--reading", "gradient-steps").out
    tied = inside("show", "fedyogi", "--option", "v0=tau-squared").out
    assert "tau-squared" in tied and "v_0 >= tau^2" in tied
    inside("show", "median", "--option", "v0=tau-squared").refused("option: median has no option 'v0'")
    (row,) = json.loads(inside("show", "median", "--reading", "lower-middle", "--json").out)
    assert row["domains"]["eta_l"]["levels"] == ["round"] and row["domains"]["eta"]["levels"] == ["server", "round"]


@pytest.mark.parametrize(
    ("algorithm", "value", "said"),
    [
        ("median", "tau-squared", "median has no option 'v0'"),
        ("fedams", "tau-squared", "fedams has no option 'v0'"),
        ("fedadam", "zero", "unknown value 'zero' of v0; known: tau-squared"),
    ],
)
def test_a_start_that_a_row_does_not_have_is_refused_in_an_offer_too(algorithm: str, value: str, said: str) -> None:
    for refused in (
        lambda: offer_page.record(find(algorithm), "", {"v0": value}),
        lambda: setting_of(Offer(algorithm, "server", find(algorithm).readings[0].name, {"v0": value})),
    ):
        with pytest.raises(FedspecError, match=said):
            refused()


def test_a_claim_with_other_options_says_so_where_its_reading_stands() -> None:
    out = inside("show", "cc-fedadagrad", "--option", "epsilon=inside", "--option", "v0=tau-squared").out
    assert "; here epsilon = inside" in " ".join(out.split())
    row = offer_page.record(find("cc-fedadagrad"), "", {"epsilon": "inside", "v0": "tau-squared"})
    assert row["but"] == {"epsilon": "inside"} and row["starts"]["v"] == row["domains"]["v0"]["domain"] == "tau^2"
    assert not offer_page.record(find("cc-fedadagrad"), "", {})["but"]


def test_a_claim_says_what_may_be_shown_and_set_anew() -> None:
    row = offer_page.record(find("fedbuff"), "discounted-by-hinge", {})
    assert row["shows"] == "delta_i, delta" and any("eta, eta_l anew" in words for words in row["settable"])
    assert any("multiplied by its mix_t" in words for words in row["notes"])
    assert not any("multiplied by its mix_t" in words for words in offer_page.record(find("fedasync"), "", {})["notes"])
    assert any("z is the noise" in words for words in offer_page.record(find("dp-joint"), "gradient-clip", {})["notes"])


def test_the_plainest_case_holds_what_makes_an_algorithm_what_it_is() -> None:
    """A step waits, a client sits out and comes back, a number is trimmed, and a rate above 1 falls."""
    agdu = plain_scenario(setting_of(Offer("agdu", "client", "fedada2")))
    h = agdu.case.hyper
    assert {((t - 1) // h["epoch"]) % h["z"] == 0 for t in range(1, len(agdu.events) + 1)} == {True, False}
    first, second = plain_scenario(setting_of(Offer("trimmed-mean", "server", "yin-2018"))).events
    who = [{m.client for m in e.messages} for e in (first, second)]  # type: ignore[union-attr]
    assert who[1] < who[0] and int(0.375 * len(who[0])) == 1
    fedexp = plain_scenario(setting_of(Offer("fedexp", "server", "jhunjhunwala-2023")))
    session: Any = SUBJECT.start(fedexp.case)
    rates = [float(session.step(e)["rate"]) for e in fedexp.events]
    assert rates[0] > rates[1] == 1


def test_an_option_that_plays_no_part_is_not_shown() -> None:
    assert "exponent" not in offer_page.record(find("fed-ams"), "", {"memory": "two-index"})["options"]
    assert "exponent" in offer_page.record(find("fed-ams"), "", {})["options"]


def test_scaffolds_two_options_are_one_rule_on_the_server() -> None:
    a = find("scaffold")
    answers = []
    for reading in ("karimireddy-2020", "option-1"):
        s = plain_scenario(setting_of(Offer(a.id, "server", reading)))
        session = SUBJECT.start(s.case)
        answers.append([{n: v.tolist() for n, v in session.step(e).items()} for e in s.events])  # type: ignore[union-attr]
    assert answers[0] == answers[1]
    assert "at level server, which is told c_i^+ - c_i, the same rule" in a.reading("option-1").words


def test_smoke_has_its_case_with_all_digits() -> None:
    (row,) = inside("smoke", "py:examples/momentum_client.py:ADAPTER", "--json").rows
    g, h, x, u = [e["g"]["w"] for e in row["events"]], row["case"]["hyper"], row["case"]["x0"]["w"], [0.0, 0.0]
    for k, now in enumerate(g):
        u = [h["rho"] * a + b for a, b in zip(u, now, strict=True)]
        x = [a - h["eta_l"] * b for a, b in zip(x, u, strict=True)]
        assert row["wanted"][k] == row["answers"][k] == {"x": x, "u": u}


@pytest.mark.parametrize(
    ("offer", "told"),
    [
        (Offer("sgd", "client", "fednova", rates="each"), "eta_l"),
        (Offer("fedavgm", "server", "hsu-2019", rates="rounds"), "hyper"),
        (Offer("fednova", "server", "fednova", {"solver": "momentum"}), "messages"),
        (Offer("fedasync", "trace", "xie-2019"), "delay"),
    ],
)
def test_the_plainest_case_plays_what_an_offer_takes(offer: Offer, told: str) -> None:
    first, *between, last = plain_scenario(setting_of(offer)).events
    match told:
        case "eta_l":
            assert first.eta_l == last.eta_l == 2 * between[0].eta_l  # type: ignore[union-attr, operator]
        case "hyper":
            assert not first.hyper and set(last.hyper) == {"eta"}  # type: ignore[union-attr]
        case "messages":
            assert all(m.steps != m.a_norm for m in first.messages)  # type: ignore[union-attr]
        case _:
            assert (first.delay, last.delay) == (0, 1)  # type: ignore[union-attr]
