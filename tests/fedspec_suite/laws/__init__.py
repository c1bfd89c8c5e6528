"""Laws as data: properties that any correct implementation obeys, with the cases that look for a violation."""

from __future__ import annotations

from fedspec_suite.laws import aggregation, common, following, rounds, solving, unrolled
from fedspec_suite.laws.law import Law

__all__ = ["LAWS", "Law"]

LAWS: dict[str, Law] = {
    law.id: law
    for law in (
        *following.LAWS,
        *unrolled.LAWS,
        *aggregation.LAWS,
        *solving.LAWS,
        *rounds.LAWS,
        *common.LAWS,
    )
}
"""Every law by its id, those that follow the rule first."""
