"""Chains of claims: a claim that follows from other claims gets no stronger verdict than the weakest of them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fedspec.papers import PAPERS
from fedspec_proofs import ledger
from fedspec_proofs.claim import SUMMED, Claim, Engine, Finding, Record, Verdict

STRENGTH = (
    (Verdict.PROVED,),
    (Verdict.PROVED_AT_SIZES, Verdict.CERTIFIED, Verdict.TIGHT),
    (Verdict.CHECKED,),
    (Verdict.NOT_CONTRADICTED,),
    (Verdict.UNDECIDABLE, Verdict.UNKNOWN),
    (Verdict.REFUTED,),
)
"""Verdicts from the strongest to the weakest; verdicts in the same tuple count as equally strong."""


@dataclass(frozen=True)
class Link:
    """A claim in a chain, with its depth.

    Attributes:
        claim: the claim at this place of the chain.
        depth: 0 for the claim at the head of the chain, 1 for the claims from which it follows, and so on.
        again: True if the claim occurred earlier in the chain; the claims from which it follows aren't repeated then.
    """

    claim: Claim
    depth: int
    again: bool


def rank(verdict: Verdict) -> int:
    """Rank of a verdict by weakness: 0 for proved, larger for weaker verdicts."""
    return next(n for n, line in enumerate(STRENGTH) if verdict in line)


def links(claim: Claim) -> tuple[Link, ...]:
    """Claims that a claim follows from, directly or through other claims, depth first.

    Raises:
        ValueError: a claim follows from itself.
    """
    seen: set[str] = set()

    def below(one: Claim, depth: int, above: tuple[str, ...]) -> Iterator[Link]:
        for id in one.chain:
            if id in above:
                raise ValueError(f"chain: {id} follows from itself; remove the cycle from the claims' chain=")
            again = id in seen
            seen.add(id)
            link = ledger.find(id)
            yield Link(link, depth, again)
            if not again:
                yield from below(link, depth + 1, (*above, id))

    return tuple(below(claim, 1, (claim.id,)))


def weakest(claim: Claim) -> tuple[Claim, ...]:
    """Claims of the chain whose verdict is the weakest; empty if all are proved."""
    found = {link.claim.id: link.claim for link in links(claim)}
    worst = max((rank(one.verdict) for one in found.values()), default=0)
    return tuple(one for one in found.values() if worst and rank(one.verdict) == worst)


NAMED = re.compile(rf"\b(?:{'|'.join(PAPERS)})\.[a-z0-9]+(?:-[a-z0-9]+)*")
"""Pattern of a claim's id within prose, without the full stop that may follow."""


def lacking(claim: Claim, evidence: str = "") -> tuple[str, ...]:
    """Ids that a claim's assumptions or evidence name and that its chain leaves out."""
    named = {id for words in claim.assumptions.values() for id in NAMED.findall(words)}
    named |= set(re.findall(SUMMED.format(rf"({NAMED.pattern})"), evidence))
    return tuple(sorted(named - {link.claim.id for link in links(claim)}))


def weakened(claim: Claim, found: Finding) -> Finding:
    """Downgrade a proof to the strength of the weakest claim in its chain; other verdicts stay.

    Nor does a proof whose assumptions name rows that are no links: they are assumed, and nothing that runs shows them.
    """
    if found.verdict is not Verdict.PROVED:
        return found
    if missing := lacking(claim, found.evidence):
        return replace(found, verdict=Verdict.UNKNOWN, evidence=f"no link of the chain: {', '.join(missing)}")
    weak = weakest(claim)
    if not weak:
        return found
    words = f"{found.evidence}\nweakest link: {', '.join(f'{one.id} ({one.verdict})' for one in weak)}"
    if weak[0].verdict in STRENGTH[1]:
        verdict = Verdict.PROVED if claim.sizes else Verdict.UNKNOWN
    else:
        verdict = Verdict.NOT_CONTRADICTED if rank(weak[0].verdict) < len(STRENGTH) - 2 else Verdict.UNKNOWN
    return replace(found, verdict=verdict, evidence=words)


UNDOUBTED = {Engine.SYMBOLIC, Engine.SMT}
"""Engines whose proofs need agreement of a second engine."""


def run_evidence(claim: Claim) -> Record:
    """Run the evidence of a claim and downgrade its verdict by its chain, second engine, sizes and sharpness."""
    start = time.perf_counter()
    found = weakened(claim, claim.body())
    if found.verdict is Verdict.PROVED and claim.engine in UNDOUBTED and not (found.second and found.second.instances):
        found = replace(found, verdict=Verdict.UNKNOWN, evidence=f"no second engine agrees\n{found.evidence}")
    if found.verdict is Verdict.PROVED and claim.sizes:
        found = replace(found, verdict=Verdict.PROVED_AT_SIZES)
    if found.verdict is Verdict.CHECKED and not (found.sharpness and found.sharpness.sharp):
        found = replace(found, verdict=Verdict.NOT_CONTRADICTED)
    seconds = time.perf_counter() - start
    dropped = dict(found.dropped)
    return Record(claim.id, found.verdict, found.evidence, dropped, found.second, seconds, found.sharpness)
