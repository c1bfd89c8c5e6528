"""Messages that aren't right: the server's treatment is the declared one, or `fedspec faults` says which it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_judge.support import check, fedspec, inside, py

from fedspec.contract import Claim, Offer
from fedspec.faults import KINDS
from fedspec_suite.measure.bench import reference
from fedspec_suite.measure.fault_cases import dealt, faulty, faulty_round
from fedspec_suite.measure.scenario import change_events
from fedspec_suite.measure.setting import setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

LAW = ("--law", "faults-*")


@pytest.mark.parametrize("name", ["skipping", "keeping", "ones", "passing", "strict", "zeroing", "dropping"])
def test_a_right_declaration_holds(name: str) -> None:
    (row,) = check(py(f"faulty:{name}"), *LAW).rows
    (law,) = [o for o in row["obligations"] if o["law"] == "faults-as-declared"]
    assert law["status"] == "pass", law


def test_who_looks_at_the_first_block_alone_is_found_in_a_few_cases() -> None:
    (row,) = check(py("faulty:first_block"), *LAW).rows
    assert "NaN in block b, not w (nan): declared skips, but passes-on" in row["first_deviation"]


def test_faults_stand_in_different_places() -> None:
    """Read off the cases themselves: which message, block, number and sign is faulty."""
    of = setting_of(Claim("fedavg", "server", "mcmahan-2017"))
    cases = [dealt(of, number) for number in range(24)]

    def spoilt(kind: str) -> set[tuple[int, str, int, float]]:
        found = set()
        for s in cases:
            sent: Any = faulty(s, kind).events[faulty_round(s)]
            for k, m in enumerate(sent.messages):
                for name, a in m.delta.items():
                    found |= {(k, name, j, v) for j, v in enumerate(a.reshape(-1)) if not np.isfinite(v)}
        return found

    places = {(k, name, j) for k, name, j, _ in spoilt("nan")}
    assert places == {(k, name, j) for k in (0, 1) for name, last in (("w", 2), ("b", 1)) for j in (0, last)}
    assert {v for *_, v in spoilt("infinite")} == {np.inf, -np.inf}
    weights = [min(m.weight for m in faulty(s, "negative-weight").events[faulty_round(s)].messages) for s in cases]  # type: ignore[union-attr]
    assert {*weights} == {-1, -2, -3}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("says_skips", "a change holds NaN (nan): declared skips, but passes-on"),
        ("says_keeps", "(nan): declared skips-divisor-kept, but skips"),
        ("says_raises", "(infinite): declared raises, but skips-divisor-kept"),
        ("twice", "a message comes twice in a round (twice): declared skips, but passes-on"),
        ("stale", "(stale): declared skips, but passes-on"),
        ("late", "(nan): declared passes-on, but does something else (in the next round: FloatingPointError"),
        ("clipping", "(nan): declared skips, but does something else (x = "),
        ("halving", "(stale): declared skips, but does something else (its messages count 1/18, 7/9, 1/9; without"),
        ("barring", "skips in that round; in the next round it leaves out the sender's message, which is right)"),
        ("slowing", "something else (skips in that round, but the model of the next round is another)"),
        ("cleaning", "something else (an infinite number counts as 1.8e+308, the largest of its type)"),
        ("masked", "something else (in the coordinates that aren't finite skips, in the others passes-on)"),
        ("block_by_block", "but does something else (in block w passes-on, in block b drops-round)"),
        ("last_good", "but does something else (the sender's message of the round before counts in its place)"),
        ("zeroes", "(nan): declared skips, but zeroes"),
        ("drops", "(nan-weight): declared skips, but drops-round"),
        ("negative", "a weight is negative (negative-weight): declared passes-on, but counts-as-one"),
        ("missing", "(no-weight): declared counts-as-one, but skips"),
        ("spread", "(shape): declared raises, but passes-on"),
        ("empty", "(no-examples): declared passes-on, but skips"),
        ("one_alone", "in two messages (nan): declared skips, but does something else (skips message 1 (w[0]), passes"),
        ("from_the_second", "in two messages (infinite): declared skips, but passes-on"),
    ],
)
def test_a_wrong_declaration_is_told_what_the_server_does(name: str, words: str) -> None:
    (row,) = check(py(f"faulty:{name}"), *LAW).rows
    assert words in row["first_deviation"], row["first_deviation"]
    # These two treat a client without examples as a faulty one, which the rule does not.
    assert (row["nearest"] == "x follows the claimed reading") is (name not in {"negative", "drops"})


def test_who_declares_nothing_is_not_judged_on_it_and_is_told_what_it_does() -> None:
    (row,) = check(py("faulty:undeclared")).rows
    assert row["verdict"] == "conforms" and "faults-as-declared" not in {o["law"] for o in row["obligations"]}
    (seen,) = fedspec("faults", py("faulty:undeclared"), "--json").rows
    # Without momentum, a change of zero is no change.
    assert {kind: found["does"][0] for kind, found in seen["faults"].items()} == dict.fromkeys(KINDS, "skips")


def test_rounding_decides_no_case() -> None:
    setting = setting_of(Offer("fedyogi", "server", "reddi-2021"), "float32")
    for number in range(200):
        s = dealt(setting, number)
        near = change_events(s, lambda a: a * np.float32(1 + 1e-6))
        for k, (x, y) in enumerate(zip(reference(s), reference(near), strict=True)):
            a, b = (np.array([float(v) for v in shown["x"]]) for shown in (x, y))
            assert np.abs(a - b).max() < 1e-4, (number, k)


def test_a_wrong_declaration_ends_the_command_with_1() -> None:
    ran = fedspec("faults", py("faulty:says_skips"))
    assert ran.code == 1 and "skips (wrong)" in ran.out


def test_a_rule_that_reads_no_weight_is_sent_no_wrong_one() -> None:
    seen, *_ = fedspec("faults", "spec", "--only", "median/server", "--json").rows
    assert {*KINDS} - {*seen["faults"]} == {"no-weight", "nan-weight", "negative-weight", "no-examples"}


@pytest.mark.parametrize(("name", "words"), [("unknown", ("'nans'", "no-message")), ("unmeant", ("nan", "passes-on"))])
def test_what_can_not_be_declared_is_refused(name: str, words: tuple[str, ...]) -> None:
    inside("check", py(f"faulty:{name}")).refused("faults", *words)
