"""The obligations of one offer, run one at a time on the same cases as ``fedspec check``, each at most once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fedspec.contract import Offer, Subject
from fedspec_suite.judge.equation_coverage import compared_quantities
from fedspec_suite.judge.expected_failures import Expectation, excused
from fedspec_suite.judge.refused_zeros import refused_by
from fedspec_suite.judge.request import Request, chosen, command
from fedspec_suite.judge.runner import (
    PROFILES,
    REQUIREMENT,
    asked_of,
    asks,
    own_properties,
    patterns_of,
    requirement_obligations,
    result_of,
    run_law,
)
from fedspec_suite.laws import law_named
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Obligation, Status, format_claim, format_declaration


class OneByOne:
    """Obligations of an offer and the outcomes so far.

    Attributes:
        rows: the law and the type of each obligation.
        entries: the expected failures that are about the offer.
        refused: the zeros that the subject refuses, where an answer was missing for that; none are asked from then on.
        refusing: the law and the type that found it out.
    """

    def __init__(self, request: Request, name: str, subject: Subject, number: int) -> None:
        """List the obligations of an offer.

        Args:
            request: the request to the judge.
            name: the subject, as it was typed.
            subject: the subject.
            number: number of the offer among the subject's.

        Raises:
            FedspecError: the offer cannot be judged.
        """
        self.request, self.name, self.subject = request, name, subject
        self.offer: Offer = subject.info.offers[number]
        self.entries = [e for e in request.expect if number in chosen(subject.info.offers, [e.offer])]
        self.refused: Mapping[str, str] | None = None
        self.refusing: tuple[str, str] | None = None
        self._ask_of(self.offer)
        self._known: dict[tuple[str, str], Obligation] = {}
        self.rows: list[tuple[str, str]] = []
        patterns = patterns_of(request.law, self.entries, own_properties(subject, self.offer))
        for dtype, setting in self._settings.items():
            for law, reason in asked_of(setting, self.offer, subject.info.concurrent, patterns):
                self.rows.append((law.id, dtype))
                if reason:
                    self._known[law.id, dtype] = Obligation(law.id, dtype, Status.SKIP, (), reason=reason)
        required = requirement_obligations(setting_of(self.offer))
        for o in required if asks(request.law, REQUIREMENT) else ():
            self.rows.append((REQUIREMENT, o.dtype))
            self._known[REQUIREMENT, o.dtype] = o
        self._named = False

    def _ask_of(self, offer: Offer) -> None:
        self._settings = {dtype: setting_of(offer, dtype, self.request.reach) for dtype in offer.dtypes}
        self._benches = {dtype: bench_of(self.subject, offer, s) for dtype, s in self._settings.items()}

    def _run(self, law: str, dtype: str) -> Obligation:
        setting, bench = self._settings[dtype], self._benches[dtype]
        rule = law_named(law)
        assert rule is not None
        if reason := rule.why_not(setting, bench.offer.intermediates, self.subject.info.concurrent):
            return Obligation(law, dtype, Status.SKIP, (), reason=reason)
        found = run_law(rule, bench, setting, PROFILES[self.request.profile], self.request.seed)
        return replace(found, case=None)

    def ask(self, law: str, dtype: str) -> Obligation:
        """Return the outcome of an obligation; it runs once, or again if the subject turns out to refuse a zero."""
        if (law, dtype) not in self._known:
            found = self._run(law, dtype)
            if self.refused is None and found.reason and found.status in {Status.ERROR, Status.FAIL}:
                self.refused, taken = refused_by(self.subject, self.offer, [found])
                if self.refused:
                    self.refusing = law, dtype
                    self._ask_of(taken)
                    again = self._run(law, dtype)
                    found = again if again.status is Status.FAIL else found
            self._known[law, dtype] = found
        (o,) = excused([self._known[law, dtype]], self.entries, self.request.today)
        return o

    def told(self) -> str:
        """Sentence on the obligations run so far, if some were left out and no other failed; else empty."""
        known = [*self._known.values()]
        passed = replace(
            result_of(self.subject, self.offer, known, profile=self.request.profile), seen=compared_quantities(known)
        )
        return passed.said if passed.verdict is Conformity.ASKED_IN_PART else ""

    def about(self, entry: Expectation) -> list[Obligation]:
        """Run the obligations that an entry of expected failures is about, up to the first that fails as expected."""
        out: list[Obligation] = []
        for law, dtype in self.rows if entry in self.entries else ():
            if entry.about(Obligation(law, dtype, Status.SKIP, ())):
                out.append(self.ask(law, dtype))
                if out[-1].status is Status.XFAIL:
                    break
        return out

    def nearest(self, law: str) -> tuple[str, list[dict[str, Any]]]:
        """Return the nearest known variant, in words and as data, on the first call; empty afterwards."""
        if self._named:
            return "", []
        self._named = True
        bench = next(iter(self._benches.values()))
        failed = [o for o in self._known.values() if o.law == law and o.status in {Status.FAIL, Status.XFAIL}]
        # As in `check`, what is known of mistakes is loaded if something is wrong.
        from fedspec_suite.judge.explained import explanation, searching

        d, words = explanation(self.subject, bench.offer, failed, search=searching(bench.offer, self.request.profile))
        return words, [f.data for f in d.found]

    def again(self, law: str) -> str:
        """Return the command that runs one law on this offer."""
        return command(replace(self.request, law=law), self.name, self.offer, self.subject.info.offers)


def names(offers: Sequence[Offer]) -> list[str]:
    """Name each offer by variant, algorithm, level, reading, and as many options as distinguish it."""

    def said(o: Offer, reading: str) -> str:
        return f"{o.variant}{':' * bool(o.variant)}{o.algorithm}/{o.level}/{reading}"

    out: list[str] = []
    for k, o in enumerate(offers):
        for words in (lambda p: p.reading, format_claim, format_declaration):
            name = said(o, words(o))
            twins = [j for j, p in enumerate(offers) if said(p, words(p)) == name]
            if len(twins) == 1:
                break
        out.append(name if len(twins) == 1 else f"{name} ({twins.index(k) + 1} of {len(twins)})")
    return out
