"""A server's momentum over clients with SGD: by which factor two of its states come closer in a round."""

from __future__ import annotations

from fedspec_proofs.claim import FEDNOVA, Source
from fedspec_proofs.worst_cases.outer_claims import factors

momentum = factors(
    "fednova.outer-factors",
    "In a round of FedAvgM, heavy ball or Nesterov, a positive definite quadratic form in the difference of two states "
    "(x, v) changes by at most the number of the table, whatever the clients: below 1 its rounds go to one model",
    Source(FEDNOVA, "ours, about server momentum (L204, L244); with DiLoCo's numbers and SGD for its clients' AdamW"),
    ("fedavgm",),
)
