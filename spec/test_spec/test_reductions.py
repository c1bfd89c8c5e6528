"""The graph of reductions: each edge holds as a law, exactly, and on symbols; and says no more than it must."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from test_spec.reduction_runs import Drawn, agrees, drawn, offers_of
from test_spec.reduction_symbols import Decided, decided

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Offer
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec_properties.reductions import EDGES, Edge
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Status

pytestmark = pytest.mark.table(1)

edges = pytest.mark.parametrize("edge", EDGES, ids=lambda edge: edge.id)
CASES = 4 if os.environ.get("FEDSPEC_PROFILE") == "quick" else 12


def test_the_graph_is_one_of_algorithms() -> None:
    assert len({edge.id for edge in EDGES}) == len(EDGES)
    for edge in EDGES:
        source = CATALOGUE[edge.source]
        assert edge.target in CATALOGUE
        assert set(edge.levels) <= set(source.levels)
        assert set(edge.options) <= set(source.options)
        for name, value in edge.options.items():
            assert value in list(source.options[name]), f"{edge.id}: {name} has no value {value!r}"
        assert set(edge.zeroes) <= set(edge.needs) and set(edge.needs) | set(edge.about) <= set(source.numbers)
        assert list(offers_of(edge)), f"{edge.id}: no reading of {edge.source} allows {dict(edge.options)}"


def restricts(edge: Edge) -> bool:
    """True if the edge restricts anything: some rows are always others."""
    return bool(edge.options or edge.draw) or edge.narrow is not Edge.narrow


def cases(edge: Edge, count: int = CASES) -> list[Drawn]:
    """Scenarios under the edge's restriction: more of the first reading, some of the others."""
    return [c for k, offer in enumerate(offers_of(edge)) for c in drawn(edge, offer, count if k == 0 else count // 3)]


def unheard(edge: Edge) -> list[Offer]:
    """Options under which the edge is a law, but which no offer of the specification declares together."""
    return [offer for offer in offers_of(edge) if _asked(offer) not in _heard()]


@cache
def _heard() -> frozenset[tuple[object, ...]]:
    return frozenset(map(_asked, SUBJECT.info.offers))


def _asked(offer: Offer) -> tuple[str, str, str, tuple[tuple[str, str], ...]]:
    options = CATALOGUE[offer.algorithm].resolve(offer.reading, offer.options)
    return offer.algorithm, offer.level, offer.reading, tuple(options.items())


@pytest.mark.long
@pytest.mark.parametrize("edge", [edge for edge in EDGES if unheard(edge)], ids=lambda edge: edge.id)
def test_it_holds_as_a_law_where_the_laws_are_not_asked(edge: Edge) -> None:
    for offer in unheard(edge):
        (obligation,) = judge_offer(
            InProcess(SUBJECT), replace(offer, dtypes=("float64",)), profile="quick", law=edge.id
        )
        assert obligation.status is Status.PASS, f"{offer}: {obligation.deviation or obligation.reason}"


@edges
def test_it_holds_without_rounding(edge: Edge) -> None:
    arithmetics = set()
    # Few cases may miss the root.
    for case in cases(edge, 12 if edge.roots else CASES):
        agree, arithmetic = agrees(edge, case.s)
        assert agree, f"{edge.words}: not on {case.s}"
        arithmetics.add(arithmetic)
    if edge.roots:
        assert "decimals" in arithmetics, f"{edge.id} is exact in fractions: drop its roots=True"
    else:
        assert arithmetics == {"fractions"}, f"{edge.id} takes irrational roots: say roots=True"


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    # The terms of those with noise are long, and their exact runs say the same.
    "edge",
    [pytest.param(e, id=e.id, marks=[pytest.mark.night] * e.id.startswith("dp-")) for e in EDGES],
)
def test_it_holds_on_symbols(edge: Edge) -> None:
    offers = enumerate(offers_of(edge))
    said = {decided(edge, drawn(edge, offer, 20, small=True), thorough=k == 0) for k, offer in offers}
    assert Decided.DIFFERENT not in said, f"{edge.words}: not for every value of the symbols"
    if edge.undecided:
        assert Decided.POINTS in said, f"{edge.id} is proved: drop its undecided=True"
    else:
        assert said == {Decided.IDENTITY}, f"{edge.id} is not proved: say undecided=True"


@pytest.mark.long
@pytest.mark.parametrize("edge", [edge for edge in EDGES if restricts(edge)], ids=lambda edge: edge.id)
def test_the_restriction_is_needed(edge: Edge) -> None:
    """Without it the two sides differ on some scenario, so that ``when`` says something."""
    # Most differ in one of the first few.
    assert any(
        differs(loose, case)
        for count in (5, 30)
        for loose, offers in loosened(edge)
        for offer in offers
        for case in drawn(loose, offer, count)
    )


def loosened(edge: Edge) -> Sequence[tuple[Edge, list[Offer]]]:
    """The edge without what it does to a scenario, and without what it asks of the options."""
    first = next(offers_of(edge))
    kept_by_plain = ("id", "source", "target", "level", "carry", "back", "at")
    plain = Edge(**{n: getattr(edge, n) for n in kept_by_plain}, when="", cited="")
    others: list[Offer] = []
    for name, value in edge.options.items():
        for other in CATALOGUE[edge.source].options[name]:
            kept = {**edge.options, name: str(other)}
            if str(other) != value:
                others += offers_of(replace(edge, options=kept))
    return [(plain, [first]), (edge, others)]


def differs(edge: Edge, case: Drawn) -> bool:
    """True if the two sides differ, or the target cannot even run."""
    try:
        return not agrees(edge, case.s)[0]
    except (FedspecError, ArithmeticError):
        return True


def test_every_way_of_checking_finds_a_false_edge() -> None:
    """Momentum is not SGD: neither as a law, nor in fractions, nor on symbols."""
    true = next(edge for edge in EDGES if edge.id == "momentum-is-sgd")
    false = Edge(id="false", source="momentum", target="sgd", when="", cited="", level="client", carry=true.carry)
    (offer,) = offers_of(false)
    assert any(not agrees(false, case.s)[0] for case in drawn(false, offer, CASES))
    assert decided(false, drawn(false, offer, 20, small=True)) is Decided.DIFFERENT
