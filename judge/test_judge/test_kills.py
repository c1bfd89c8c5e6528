"""Kills by mutant: the comparison with the rule kills all mutants, and some property kills each."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

import pytest
from test_judge.support import fedspec

from fedspec.catalogue import CATALOGUE
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec_suite.cli.mutants import fate, killers
from fedspec_suite.judge import mutant_runs
from fedspec_suite.laws import LAWS, all_laws, properties
from fedspec_suite.mutants import MUTANTS, Mutant, original, written

OF: dict[str, list[str]] = {}
"""The mutants by the algorithm that they are first of."""
for _mutant in MUTANTS.values():
    OF.setdefault(_mutant.algorithms[0], []).append(_mutant.id)

COMPARES = sorted((law.id for law in LAWS.values() if law.reads_rule), key=lambda id: (id != "follows-x", id))
"""The laws that compare with the rule: the one about the model first, since it kills most."""

FIRST = (
    *("unrolled", "affine-round", "joint-history", "arrivals-unrolled", "peers-recursion", "layerwise-history"),
    *("tie-stays", "sent-and-owed", "signs-sent", "first-of-equals", "rates-linear", "outer-rates", "singular-values"),
)


def proving(algorithm: str) -> list[str]:
    """The properties: first those that kill most, then the algorithm's own, then those with few and short cases."""

    def rank(id: str) -> tuple[int, bool, bool, str]:
        first = FIRST.index(id) if id in FIRST else len(FIRST)
        return first, not id.startswith(algorithm), "-is-" not in id, id

    return sorted(properties(), key=rank)


MOMENTUM = "fedspec.client.momentum.momentum"


def noticed(**more: str) -> Mutant:
    """An edit of local momentum that is no edit, unless told otherwise."""
    edit = {"id": "noticed", "words": "", "algorithms": ("momentum",), "rule": MOMENTUM}
    return Mutant(**{**edit, "old": "rho * state.u + g", "new": "(rho * state.u + g)", **more})  # type: ignore[arg-type]


def cells(name: str, number: int, *laws: str) -> mutant_runs.MutantResult:
    """Results of one mutant on one offer, of these laws or of all."""
    return mutant_runs.ask(number, [name], laws or tuple(all_laws()), seed=0, count=4)[name]


@pytest.mark.slow
def test_what_changes_nothing_survives_every_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MUTANTS, "noticed", noticed())
    (number,) = mutant_runs.offers_of(MUTANTS["noticed"])
    asked = cells("noticed", number)
    assert not asked.killed and {"follows-x", "unrolled", "repeats"} <= set(asked.survived)
    assert sorted([*asked.survived, *(law for laws in asked.not_asked.values() for law in laws)]) == sorted(all_laws())


def test_a_law_that_does_not_apply_is_not_asked() -> None:
    (number,) = mutant_runs.offers_of(MUTANTS["momentum-stale"])
    asked = cells("momentum-stale", number, "client-order", "follows-v", "follows-x")
    reasons = {law: why for why, laws in asked.not_asked.items() for law in laws}
    assert "follows-x" not in reasons
    assert reasons["client-order"] == "is about level server"
    assert reasons["follows-v"] == "momentum has no v"


def test_a_rule_that_does_not_run_is_not_asked() -> None:
    server, round_ = (
        next(i for i in mutant_runs.offers_of(MUTANTS["proximal-sign"]) if SUBJECT.info.offers[i].level == level)
        for level in ("server", "round")
    )
    asked = cells("proximal-sign", server, "follows-x", "unrolled")
    assert asked.not_asked == {"the edited function does not run here": ("follows-x", "unrolled")} and not asked.killed
    assert "follows-x" in cells("proximal-sign", round_, "follows-x").killed


def test_a_mutant_that_raises_is_not_counted_as_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MUTANTS, "noticed", noticed(new="g.no_such_thing"))
    asked = cells("noticed", mutant_runs.offers_of(MUTANTS["noticed"])[0], "follows-x", "unrolled")
    assert not asked.killed and not asked.survived
    assert any("no_such_thing" in why for why in asked.not_asked)


def test_what_a_mutant_remembers_ends_where_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer kept for a session shows in its second round only; one kept for good shows in a second run."""
    for name, leak, second in (("momentum-not-reset", "session", False), ("momentum-shared", "process", True)):
        assert MUTANTS[name].leaks == leak
        killed = cells(name, mutant_runs.offers_of(MUTANTS[name])[0], "round-afresh", "repeats").killed
        assert "round-afresh" in killed
        assert ("repeats" in killed) is second


def test_offers_are_those_that_claim_what_is_edited() -> None:
    offers = [SUBJECT.info.offers[i] for i in mutant_runs.offers_of(MUTANTS["fedadam-step-correction-late"])]
    assert {(o.algorithm, o.reading) for o in offers} == {("fedadam", "kingma-ba-step")}
    # No reading of FedAMSGrad has it: a subject claims the canonical one.
    offers = [SUBJECT.info.offers[i] for i in mutant_runs.offers_of(MUTANTS["fedamsgrad-step-correction-late"])]
    assert {(o.level, o.reading) for o in offers} == {("server", "afga"), ("round", "afga")}


def living(names: Iterable[str], laws: Sequence[str]) -> set[str]:
    """Mutants that none of the laws kills on any offer."""
    left = set(names)
    on = {name: set(mutant_runs.offers_of(MUTANTS[name])) for name in left}
    for law in map(all_laws().__getitem__, laws):
        for number in sorted(set().union(*(on[name] for name in left))):
            setting, shown = mutant_runs.offer_setting(number), SUBJECT.info.offers[number].intermediates
            here = sorted(name for name in left if number in on[name])
            if here and not law.why_not(setting, shown, concurrent=True):
                found = mutant_runs.ask(number, here, (law.id,), seed=0, count=mutant_runs.CASES)
                left -= {name for name, asked in found.items() if asked.killed}
    return left


@pytest.mark.table(3, len(OF))
@pytest.mark.parametrize("algorithm", sorted(OF))
def test_the_comparison_with_the_rule_kills_every_mutant(algorithm: str) -> None:
    assert not living(OF[algorithm], COMPARES)


@pytest.mark.table(3, len(OF))
@pytest.mark.parametrize("algorithm", sorted(OF))
def test_a_property_kills_every_mutant(algorithm: str) -> None:
    """Without running the rule; so no mistake is in the rule and in what it is compared with."""
    assert not living(OF[algorithm], proving(algorithm))


def test_ids_are_used_once() -> None:
    ids = [m.id for m in written.mutants()]
    assert len(set(ids)) == len(ids) > 600


def test_a_mutant_of_unknown_words_is_refused() -> None:
    edit = "[adam.a]\nwords = 'b'\nold = 'c'\nnew = 'd'\n"
    (read,) = written.read(edit, "fedspec.client.adam")
    assert (read.id, read.rule, read.seen) == ("a", "fedspec.client.adam.adam", ())
    for wrong in (edit + "nwe = 'e'\n", edit.replace("old", "odl"), edit + "[adam.a]\n", edit + "[[adam.a.seen]]\n"):
        with pytest.raises(FedspecError, match=r"edits of fedspec\.client\.adam: .*written\.py"):
            list(written.read(wrong, "fedspec.client.adam"))


def test_a_mutant_that_names_no_algorithm_belongs_to_those_that_run_its_rule() -> None:
    edit = "[momentum.a]\nwords = 'b'\nold = 'c'\nnew = 'd'\n"
    (read,) = written.read(edit, "fedspec.client.momentum")
    assert {"fednova", "fednova-momentum"} <= {*read.algorithms}
    assert "fedavg" not in read.algorithms
    with pytest.raises(FedspecError, match=r"no algorithm runs fedspec\.client\.momentum\.Vector"):
        list(written.read(edit.replace("momentum.a", "Vector.a"), "fedspec.client.momentum"))


def called(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """A function and all that it calls by name inside the specification."""
    seen: set[Any] = set()
    waiting = [function]
    while waiting:
        f = waiting.pop()
        body = inspect.unwrap(f)
        if f in seen or not isinstance(body, FunctionType) or not f.__module__.startswith("fedspec."):
            continue
        seen.add(f)
        waiting += [body.__globals__[n] for n in names(body.__code__) if callable(body.__globals__.get(n))]
    yield from seen


def names(code: CodeType) -> set[str]:
    inner = [names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


RULES = {f"{r.__module__}.{r.__qualname__}": r for a in CATALOGUE.values() for r in a.rules}


def test_every_rule_has_three_mutants() -> None:
    edited = [original(m) for m in MUTANTS.values()]
    for rule, function in RULES.items():
        parts = {*called(function)}
        assert sum(f in parts for f in edited) >= 3, rule


@pytest.mark.slow
def test_the_same_bytes_however_the_work_is_shared() -> None:
    few = ("--law", "follows-x", "--law", "unrolled", "--law", "rate", "--json")
    ran = [fedspec("mutants", "run", "dampened-*", "momentum-shared", *few, "--jobs", jobs) for jobs in ("1", "2")]
    assert [r.code for r in ran] == [0, 0], ran[0].err
    assert ran[0].out == ran[1].out and len(json.loads(ran[0].out)) > 4


def test_a_mutant_says_who_kills_it_and_why_nobody_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit that fails in every case lives through no law: it says why none was asked."""
    result = mutant_runs.MutantResult
    of = {"a": result(("follows-x", "unrolled"), ("rate",)), "b": result(("follows-x",))}
    assert killers(of) == ("unrolled", "follows-x")
    assert fate("x", of) == "killed by unrolled, follows-x"
    assert fate("x", {"b": of["b"]}) == "only follows-x kills it; unexplained"
    assert fate("x", {"a": result((), ("rate",))}) == "no law kills it; unexplained"
    why = "no law was asked about it; why not: "
    assert fate("x", {"a": result((), (), {"it crashes": ("rate",)})}) == f"{why}it crashes"
    assert fate("x", {}) == f"{why}no claim runs it"
    monkeypatch.setitem(MUTANTS, "noticed", noticed(survives="it changes nothing"))
    assert fate("noticed", {"b": of["b"]}) == "only follows-x kills it; it changes nothing"
