"""CC-FedAvg with changes of one age: by which factor two runs of it come closer in a step of the server."""

from __future__ import annotations

from fedspec_proofs.claim import CLIENT_CENTRIC, Source
from fedspec_proofs.worst_cases.outer_claims import factors

late = factors(
    "client-centric.late-factors",
    "Where the buffer of CC-FedAvg takes a change of every client, each begun D versions ago, a positive definite "
    "quadratic form in the difference of two runs' last D + 1 models changes by at most the number of the table in a "
    "step of the server, whatever the clients",
    Source(CLIENT_CENTRIC, "ours, about Alg. 3 (L149-181) at one delay of all"),
    ("cc-fedavg",),
)
