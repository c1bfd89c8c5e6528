"""Laws of Fed-LAMB, Fed-AMS and Fed-SGD."""

from __future__ import annotations

from fedspec_properties.layerwise import rounds, zero
from fedspec_suite.laws.law import Law

LAWS: tuple[Law, ...] = (*rounds.LAWS, *zero.LAWS)
