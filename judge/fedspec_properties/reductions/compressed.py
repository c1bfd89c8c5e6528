"""Reductions of algorithms whose clients compress their messages."""

from __future__ import annotations

from fedspec_properties.reductions.edge import reduces, rooted
from fedspec_suite.measure.scenario import in_one_coordinate

EDGES = (
    reduces("fedpaq", "fedavg", "its definition: a = s", undecided=True).under(
        "there is one coordinate: it is all of its length, and so on the last level", in_one_coordinate
    ),
    reduces("ef21", "fedavg", "its definition: g_i is the gradient")
    .under(compressor="top-k", kept=8)
    .told(eta_l=lambda h, o: h["eta"], eta=1),
    rooted("fedcams", "fedams", "its definition: all entries are sent, and nothing is owed")
    .under(compressor="top-k", server="fedams", kept=8)
    .told(weights="uniform"),
    rooted("fedcams", "fedams-code", "the authors' code: all entries are sent, and nothing is owed")
    .under(compressor="top-k", server="corrected", kept=8)
    .told(weights="uniform"),
)
