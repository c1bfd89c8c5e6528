"""Laws of Fed-LAMB, Fed-AMS and Fed-SGD."""

from __future__ import annotations

from fedspec_properties.layerwise import bounds, paths, single, transformed, zero
from fedspec_suite.laws.law import Law

LAWS: tuple[Law, ...] = (*paths.LAWS, *bounds.LAWS, *single.LAWS, *transformed.LAWS, *zero.LAWS)
