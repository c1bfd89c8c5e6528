"""What 1 / K_t is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.problems import Clients, flat
from fedspec_proofs.client_centric.second_moments import Buffer
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities


def _harmonic(draw: Draw, reading: str) -> Any:
    """(1 / m^2) sum 1 / K_i less (1 / m) (1 / K_t), for three readings of 1 / K_t."""
    m = 3
    K = [draw(f"K_{i}", positive=True) for i in range(m)]
    one = {
        "harmonic": sum(1 / k for k in K) / m,
        "L914": sum(1 / k for k in K),
        "footnote": sum(K) / m,
    }[reading]
    return [sum(1 / k for k in K) / m**2 - one / m]


@claim(
    "client-centric.footnote-5",
    statement="With 1 / K_t = (1 / m) sum over S_t of 1 / K_(t,i), (1 / m^2) sum 1 / K_(t,i) = (1 / m) (1 / K_t): "
    "the noise of the buffer's mean, as L907 has it",
    source=Source(CLIENT_CENTRIC, "footnote 5 (L282) and L914, as L907 and L1094 need it"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="m = 3",
    assumptions={"harmonic": "1 / K_t is the mean of the 1 / K_(t,i)"},
)
def footnote_5() -> Finding:
    """Three clients, as symbols; and a buffer of pure noise with K = (2, 4) has exactly this second moment.

    The conversion of footnote 5 shows a bar over K_(t,i) where the fraction's was, and L914 has no 1 / m.
    """
    K = (2, 4)
    noise = Buffer(
        Clients(((flat(0),), (flat(0),)), Fraction(1)), exact.vector(0), K, Fraction(1), Fraction(1), Fraction(1)
    )
    if noise.expected()[0] != noise.K / 2:
        return Finding(Verdict.REFUTED, f"{noise.expected()[0]} is not {noise.K / 2}")
    return identities(
        {"m = 3": lambda draw: _harmonic(draw, "harmonic")},
        without={
            "harmonic": {
                "L914": lambda draw: _harmonic(draw, "L914"),
                "footnote": lambda draw: _harmonic(draw, "footnote"),
            }
        },
    )
